"""The file of a photo or film is fetched with its page, and is an object with what is certain of it."""

from pathlib import Path

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.counts import object_counts
from aahcrawler.objects.reader import page_rows, statements
from tests.crawl.articles import english
from tests.crawl.site import Answer, Reply, Site, links, serving
from tests.crawl.verifying import assert_whole
from tests.crawl.world import crawl, network
from tests.page.test_media_file import FILM, PNG

HOST = "http://site.test"
PIWIGO = Path(__file__).parents[2] / "knowledge_base/applications/pages/piwigo/photo.html"
WORDS = "<p>The storm surge broke the dike, and the harbour stood under the flood for days and days on end.</p>"
ARTICLE = (
    '<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Article", "headline": "The flood '
    'of the year", "datePublished": "2020-01-02T08:00:00Z", "author": {"@type": "Person", "name": "Jane Doe"}}</script>'
    f"<article><h1>The flood of the year</h1>{WORDS * 6}<video src=/film.mp4></video>{WORDS * 3}</article>"
)


def stated(crawled: Path, subject: str, predicate: str) -> list[str]:
    beginning = f"<{subject}> <{predicate}> "
    return [line[len(beginning) :].split(" ")[0] for line in statements(crawled) if line.startswith(beginning)]


def test_the_file_of_an_object_is_an_object_and_no_page(tmp_path: Path) -> None:
    photo = PIWIGO.read_text("utf-8").replace("</body>", '<img src="/deco.png"></body>')
    shown = "http://site.test/photo.png"
    at = photo.index("theMainImage")
    start, end = photo.rindex("<img", 0, at), photo.index(">", at)
    photo = photo[:start] + '<img src="/photo.png" id="theMainImage"' + photo[end:]
    pages: dict[str, Answer] = {
        "//site.test/": english("Front", links("/photo", "/news")),
        "/photo": Reply(photo.replace('rel="canonical"', "rel=x").encode()),
        "/news": english("The flood of the year", ARTICLE),
        "/photo.png": Reply(PNG, headers={"Content-Type": "image/png"}),
        "/deco.png": Reply(PNG, headers={"Content-Type": "image/png"}),
        "/film.mp4": Reply(b"", 302, {"Location": "/moved.mp4"}),
        "/moved.mp4": Reply(FILM, headers={"Content-Type": "video/mp4"}),
        "/robots.txt": Reply(b"", 404),
    }
    with serving(Site(pages, other=Reply(b"", 404))) as site:
        hosts = network(site, "site.test")
        crawled = crawl(tmp_path, [f"{HOST}/", f"{HOST}/photo", f"{HOST}/news"], network=hosts)
        folder = crawled.folder
        assert stated(folder, shown, v.PROPERTIES["format"]) == ['"image/png"']
        assert stated(folder, shown, v.PROPERTIES["width"]) == [f'"640"^^<{v.XSD_INTEGER}>']
        assert stated(folder, shown, v.PROPERTIES["size"]) == [f'"{len(PNG)}"^^<{v.XSD_INTEGER}>']
        assert f"<{shown}>" in stated(folder, f"{HOST}/photo", v.PROPERTIES["media"])
        assert stated(folder, f"{HOST}/news", v.PROPERTIES["media"]) == [f"<{HOST}/film.mp4>"]
        assert stated(folder, f"{HOST}/moved.mp4", v.PROPERTIES["format"]) == ['"video/mp4"']
        assert not stated(folder, f"{HOST}/deco.png", v.PROPERTIES["format"])
        assert not any(row.url.endswith((".png", ".mp4")) for row in page_rows(folder))
        assert crawled.summary["pages"] == sum(row.is_page for row in page_rows(folder))
        counted = object_counts(folder).types
        assert (counted["image"], counted["video"]) == (1, 1)
        assert crawled.summary["object"]["image"] == 1
        assert_whole(folder)
        again = crawl(tmp_path, [f"{HOST}/", f"{HOST}/photo", f"{HOST}/news"], network=hosts)
        assert again.summary["pages"] == crawled.summary["pages"]
        assert object_counts(folder, 2).types == counted
        assert_whole(folder)
