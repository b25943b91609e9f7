"""A stream that a page plays is kept in one quality, byte for byte, and a crawl that was cut short goes on with it."""

from pathlib import Path

import pytest

from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.replayed_captures import ReplayedCaptures
from tests.browsing import sandboxed_chromium
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


def streams() -> dict[str, Answer]:
    kind = {"Content-Type": "application/vnd.apple.mpegurl"}
    return {
        "/v/master.m3u8": Reply(MASTER, headers=kind),
        "/v/low.m3u8": Reply(LOW, headers=kind),
        "/robots.txt": Reply(b"", 404),
    }


def test_all_parts_of_one_quality_are_kept(tmp_path: Path) -> None:
    with serving(Site({**streams(), "//site.test/": english("The flood", PAGE)}, other=segment)) as site:
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


PLAYER = b"""<!doctype html><title>Film</title><div id="app"></div><script>
fetch('/v/master.m3u8').then(() => fetch('/v/low.m3u8')).then(() => fetch('/v/0.ts')).then(() => {
  document.getElementById('app').innerHTML = '<h1>The flood</h1><p>' + 'A film of the harbour under water. '.repeat(20);
});</script>"""


@pytest.mark.slow
def test_all_parts_of_a_stream_that_a_script_plays_are_kept_each_fetched_once(tmp_path: Path) -> None:
    sandboxed_chromium()
    with serving(Site({**streams(), "//site.test/": Reply(PLAYER)}, other=segment)) as site:
        crawled = crawl(tmp_path, [f"{HOST}/"], network=network(site, "site.test"))
        assert crawled.summary["stream"] == {"read": 2, "left out": 1}
        asked = [asked.path for asked in site.asked if asked.path.startswith("/v/")]
        assert sorted(asked) == sorted(
            ["/v/master.m3u8", "/v/low.m3u8", *(f"/v/{each}.ts" for each in range(SEGMENTS))]
        )
