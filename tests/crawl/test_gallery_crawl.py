"""A gallery of software that nobody described: its files belong to its pages, whatever their number."""

from pathlib import Path

from aahcrawler.objects.reader import object_rows, page_rows
from tests.crawl.articles import english
from tests.crawl.site import Answer, Reply, Site, links, serving
from tests.crawl.verifying import assert_whole
from tests.crawl.world import crawl, network
from tests.page.test_media_file import PNG

HOST = "http://site.test"
WORDS = ("crane", "jetty", "ferry", "gauge", "sluice", "barge", "lock", "weir", "dike", "mill")
PICTURES = 40


def album(name: str) -> Reply:
    cells = "".join(
        f'<figure><a href="/{name}/big/{n}.png"><img src="/{name}/small/{n}.png" alt=""></a>'
        f"<figcaption>The {WORDS[n % 10]} behind the {WORDS[n // 10]} of {name}.</figcaption></figure>"
        for n in range(PICTURES)
    )
    return english(name, f"<h1>{name}</h1><div class=gallery>{cells}</div>")


def test_files_of_photographs_are_fetched_and_are_neither_pages_nor_refused(tmp_path: Path) -> None:
    albums = ("harbour", "polder", "island")
    pages: dict[str, Answer] = {"//site.test/": english("Pictures", links(*(f"/{name}/" for name in albums)))}
    pages |= {f"/{name}/": album(name) for name in albums}
    pages["/robots.txt"] = Reply(b"", 404)
    files = [f"/{name}/{size}/{n}.png" for name in albums for size in ("big", "small") for n in range(PICTURES)]
    pages |= dict.fromkeys(files, Reply(PNG, headers={"Content-Type": "image/png"}))
    with serving(Site(pages, other=Reply(b"", 404))) as site:
        crawled = crawl(tmp_path, [f"{HOST}/"], network=network(site, "site.test"))
        asked = set(site.paths())
    assert set(files) <= asked
    assert sorted(row.url for row in page_rows(crawled.folder)) == [f"{HOST}/", *sorted(f"{HOST}/{a}/" for a in albums)]
    rows = list(object_rows(crawled.folder))
    assert {row.type for row in rows} == {"photo"}
    assert len({row.iri for row in rows}) == len(rows) == len(albums) * PICTURES
    assert not crawled.summary.get("refused")
    assert_whole(crawled.folder)
