"""Pages are fetched into a work with the manners of a crawl."""

from ipaddress import ip_network
from pathlib import Path

import pytest

from aahcrawler.editor.drafts.draft_collection import DraftCollection
from aahcrawler.editor.drafts.page_fetching import Manners, PageFetchError, PageFetching, fetch_into
from online_analysis.icd import Icd
from tests.authoring.tinyforum import topic
from tests.crawl.site import Reply, Site, serving
from tests.studio.works.sailing import DRAFT

LOOPBACK = ip_network("127.0.0.0/8")
ROBOTS = Reply(b"User-agent: *\nDisallow: /secret", headers={"Content-Type": "text/plain"})
HERE = Manners("me@example.org", (LOOPBACK,), delay=0)


def test_a_page_comes_with_what_the_entry_reads_on_it(tmp_path: Path) -> None:
    work = DraftCollection(tmp_path / "own", ()).begin_from(DRAFT, (), "tinyforum", "Ada")
    moved = Reply(b"", 302, {"Location": "/topic.php?id=7"})
    pages = {"/robots.txt": ROBOTS, "/go": moved, "/topic.php?id=7": Reply(topic().encode())}
    with serving(Site(dict(pages))) as site:
        name = fetch_into(work, f"{site.url}go", "Bo", PageFetching(), HERE)
        assert all("(+me@example.org)" in asked.agent for asked in site.asked)
    page = work.page(name)
    assert (name, page.expected.url) == ("thread", f"{site.url}topic.php?id=7")
    assert [row.author for row in page.expected.objects] == ["Ada", "Bo", "Cleo"]
    assert work.now().steps[-1].said == f"added the page thread ({page.expected.url})"


def test_what_cannot_be_a_page_of_an_entry_is_told_in_words() -> None:
    pages = {
        "/robots.txt": ROBOTS,
        "/secret": Reply(b"<p>No"),
        "/picture": Reply(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"}),
        "/large": Reply(b"<p>" + b"x" * (11 << 20)),
    }
    with serving(Site({**pages})) as site:
        refused = {
            f"{site.url}secret": "robots.txt does not let us",
            f"{site.url}picture": "not HTML",
            f"{site.url}large": "too large",
            f"{site.url}missing": "answers 404",
            "file:///etc/passwd": "begins with http",
        }
        for url, said in refused.items():
            with pytest.raises(PageFetchError, match=said):
                PageFetching().page(url, HERE)
        assert "/secret" not in {asked.path for asked in site.asked}
        asked = len(site.asked)
        # Whoever asks is not at this machine, so that an address that names it means nothing.
        for url in (site.url, f"http://localhost:{site.port}/"):
            with pytest.raises(PageFetchError, match="was not asked"):
                PageFetching().page(url, Manners("me@example.org"))
        with pytest.raises(PageFetchError, match="contact"):
            PageFetching().page(site.url, Manners("", (LOOPBACK,)))
        assert len(site.asked) == asked


def test_pages_of_one_host_are_fetched_one_after_the_other() -> None:
    waited: list[float] = []
    fetching = PageFetching(clock=lambda: 100.0, sleep=waited.append)
    manners = Manners("me@example.org", (LOOPBACK,), delay=12.0)
    with serving(Site({"/robots.txt": ROBOTS, "/": Reply(b"<p>Here")})) as site:
        for _ in range(3):
            fetching.page(site.url, manners)
        with pytest.raises(PageFetchError, match="try again in a minute"):
            fetching.page(site.url, manners)
        fetching.page(f"http://localhost:{site.port}/", manners)
    assert waited == [12.0, 24.0]


def test_the_manners_of_a_crawl_are_those_of_its_definition() -> None:
    text = b"""
id: knots
contact: archive@example.org
seeds: [http://knots.test/]
topic: {keywords: [rope]}
network: {allow_private: [127.0.0.0/8], resolve: {knots.test: "127.0.0.1:8080"}}
politeness: {delay: 3 s}
"""
    manners = Manners.of(Icd.parse(text, Path("knots.yaml")))
    assert manners == Manners("archive@example.org", (LOOPBACK,), 3.0, {"knots.test": "127.0.0.1:8080"})
    proxied = Icd.parse(text.replace(b"network: {", b"network: {proxy: 'http://proxy.test:3128', "), Path("knots.yaml"))
    with pytest.raises(PageFetchError, match="by a proxy"):
        PageFetching().page("http://knots.test/", Manners.of(proxied))
