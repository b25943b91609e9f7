"""A stream that a page plays is kept in one quality, byte for byte, and a crawl that was cut short goes on with it."""

from pathlib import Path

from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.replayed_captures import ReplayedCaptures
from tests.crawl.articles import english
from tests.crawl.crawling import aah
from tests.crawl.site import Answer, Reply, Site, serving
from tests.crawl.test_media import HOST, WORDS
from tests.crawl.world import crawl, define, network

PAGE = f"<article><h1>The flood</h1>{WORDS * 6}<video><source src=/v/master.m3u8 type=application/x-mpegURL></video>"
MASTER = b"""#EXTM3U
#EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360
low.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=9000000,RESOLUTION=3840x2160
fine.m3u8
"""
SEGMENTS = 60
LOW = b"#EXTM3U\n" + b"".join(b"#EXTINF:4,\n%d.ts\n" % number for number in range(SEGMENTS)) + b"#EXT-X-ENDLIST\n"


def segment(path: str) -> Reply:
    if not path.startswith("/v/") or not path.endswith(".ts"):
        return Reply(b"", 404)
    return Reply(b"\x47" + path.encode() * 200, headers={"Content-Type": "video/mp2t"})


def test_all_parts_of_one_quality_are_kept(tmp_path: Path) -> None:
    kind = {"Content-Type": "application/vnd.apple.mpegurl"}
    pages: dict[str, Answer] = {
        "//site.test/": english("The flood", PAGE),
        "/v/master.m3u8": Reply(MASTER, headers=kind),
        "/v/low.m3u8": Reply(LOW, headers=kind),
        "/robots.txt": Reply(b"", 404),
    }
    with serving(Site(pages, other=segment)) as site:
        hosts = network(site, "site.test")
        cut = crawl(tmp_path, [f"{HOST}/"], network=hosts, limits={"bytes": 60_000})
        assert cut.summary["stream"] == {"read": 2, "left out": 1}
        before = [asked.path for asked in site.asked]
        assert 0 < sum(path.endswith(".ts") for path in before) < SEGMENTS
        assert aah("crawl", define(tmp_path, [f"{HOST}/"], network=hosts), "--accept-changes").code == 0
        asked = [asked.path for asked in site.asked if asked.path.endswith(".ts")]
        assert sorted(asked) == sorted({f"/v/{number}.ts" for number in range(SEGMENTS)})
        assert not any("fine" in asked.path for asked in site.asked)
    # What was captured plays: of the master playlist the quality that is there, and all of its segments.
    captures = ReplayedCaptures(cut.folder)
    for name, lines in (("master", ["low.m3u8"]), ("low", [f"{number}.ts" for number in range(SEGMENTS)])):
        shown = captures.show(Address("test", "20260101000000", Modifier.MEDIA, f"{HOST}/v/{name}.m3u8"))
        assert isinstance(shown.body, bytes)
        named = [line for line in shown.body.decode().splitlines() if not line.startswith("#")]
        assert named == [f"/test/20260101000000oe_/{HOST}/v/{line}" for line in lines]
