"""A frameset is a page whose frames are its parts, in its description and where it is selected."""

from pathlib import Path

from aahcrawler.captures import ArchivedCaptures
from aahcrawler.objects import vocabulary as v
from tests.crawl.articles import english
from tests.crawl.crawling import aah
from tests.crawl.site import Answer, Reply, Site, serving
from tests.crawl.verifying import assert_whole
from tests.crawl.world import crawl, network

HOST = "http://site.test"
FRAMESET = "<html lang=en><title>Floods</title><frameset><frame src=/menu><frame src=/text></frameset></html>"
WORDS = "<p>The storm surge broke the dike, and the harbour stood under the flood for days.</p>"


def test_frames_are_the_parts_of_their_page(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {
        "//site.test/": Reply(FRAMESET.encode()),
        "/menu": english("Menu", "<a href=/more>More</a>"),
        "/text": english("Text", f"{WORDS}<img src=/dike.png>"),
        "/more": english("More", WORDS),
        "/dike.png": Reply(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"}),
        "/robots.txt": Reply(b"", 404),
    }
    with serving(Site(pages, other=Reply(b"", 404))) as site:
        crawled = crawl(tmp_path, [f"{HOST}/"], network=network(site, "site.test"))
    with ArchivedCaptures(crawled.folder) as source:
        read = [each.reading for each in source.captures() if each.reading is not None]
    found = {each.row.url.removeprefix(HOST): each for each in read if not each.is_requisite}
    assert found["/"].description.frames == (f"{HOST}/menu", f"{HOST}/text")
    assert {name: each.description.frame_of for name, each in found.items()} == {
        "/": "",
        "/more": "",
        **dict.fromkeys(("/menu", "/text"), f"{HOST}/"),
    }
    assert (found["/text"].capture, v.FRAME_OF, f"{HOST}/") in found["/text"].said
    assert_whole(crawled.folder)
    target = tmp_path / "whole.warc.gz"
    (tmp_path / "urls").write_text(f"{HOST}/\n")
    ended = aah("select", crawled.folder, "--urls", tmp_path / "urls", "--to", target)
    assert ended.code == 0, ended.err
    index = Path(f"{target}.cdxj").read_text("utf-8")
    assert all(f'"{HOST}{path}"' in index for path in ("/", "/menu", "/text", "/dike.png"))
    assert f'"{HOST}/more"' not in index
