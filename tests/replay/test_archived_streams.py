"""A captured stream plays from the archive alone, in the quality that was captured."""

import re
import time
from pathlib import Path

import pytest
from lxml import etree
from playwright.sync_api import Browser

from aahcrawler.archive.records import Resource
from aahcrawler.metadata import Link, LinkType, Metadata, write_metadata
from aahcrawler.replay.addresses import Modifier
from aahcrawler.replay.archived_streams import MAX_QUALITIES
from aahcrawler.replay.replay_app import FixedFolders, replay_app
from aahcrawler.replay.replayed_captures import ReplayedCaptures
from tests.browsing import patient
from tests.crawl.crawling import PATIENCE
from tests.pace import at_most
from tests.replay.archived import MOMENT, URL, Archived, body_of, shown
from tests.replay.serving import serving

HLS = {"Content-Type": "application/x-mpegURL"}
DASH = {"Content-Type": "application/dash+xml"}
FILMED = ("0.aac", "1.aac", "2.aac")
OCTETS = {"Content-Type": "application/octet-stream"}
MASTER = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-CONTENT-STEERING:SERVER-URI="https://steering.test/"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="hi",NAME="Deutsch",URI="https://cdn.test/de.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="hi",NAME="English",DEFAULT=YES,URI="//cdn.test/en.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",URI="texts.m3u8"
#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="English",INSTREAM-ID="CC1"
#EXT-X-STREAM-INF:BANDWIDTH=800000,AUDIO="hi",SUBTITLES="s",CLOSED-CAPTIONS="cc",X-MORE="http://more.test/a"
/v/low.m3u8
#EXT-X-STREAM-INF:AUDIO="hi",BANDWIDTH=9000000
https://cdn.test/fine.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=9000,URI="frames.m3u8"
"""
MEDIA = """#EXTM3U
#EXT-X-TARGETDURATION:4
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES
#EXT-X-KEY:METHOD=AES-128,URI="https://keys.test/1?a=b,c",IV=0x01
#EXT-X-MAP:URI="/head.mp4",BYTERANGE="720@0"
#EXTINF:4,URI="no attribute
../1.m4s
#EXTINF:4,
javascript:alert(1)
"""
MPD = """<?xml version="1.0"?><?xml-stylesheet href="http://evil.test/"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:xlink="http://www.w3.org/1999/xlink" type="static"
 mediaPresentationDuration="PT8S"><Location>https://film.test/new.mpd</Location>
<BaseURL>https://cdn.test/film/</BaseURL><BaseURL>https://other.test/</BaseURL>
<UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-iso:2014" value="https://time.test/"/>
<Period><AdaptationSet contentType="video"><SegmentTemplate duration="4" initialization="$RepresentationID$/head.mp4"
 media="/m/$RepresentationID$/$Number%03d$.m4s"/><Representation id="v1" height="360" bandwidth="5"/>
<Representation id="v2" height="720" bandwidth="9"/></AdaptationSet>
<AdaptationSet contentType="audio" lang="fr"><Representation id="a1"><BaseURL>fr.mp4</BaseURL></Representation>
</AdaptationSet><AdaptationSet contentType="audio" lang="en"><Representation id="a2"><BaseURL>en.mp4</BaseURL>
</Representation></AdaptationSet></Period></MPD>"""


def path(url: str) -> str:
    return f"/test/{MOMENT}oe_/{url}"


def held(tmp_path: Path, manifest: str, headers: dict[str, str], *urls: str) -> ReplayedCaptures:
    crawl = Archived(tmp_path)
    crawl.add(manifest, headers=headers)
    for url in urls:
        crawl.add(b"\0\1", url=url, headers=OCTETS)
    return crawl.close()


def test_a_playlist_offers_what_was_captured_and_leads_there(tmp_path: Path) -> None:
    captures = held(tmp_path, MASTER, HLS, "http://a.test/v/low.m3u8", "http://cdn.test/en.m3u8")
    response = shown(captures, modifier=Modifier.MEDIA)
    assert response.headers["Content-Type"] == "application/vnd.apple.mpegurl"
    assert response.headers["AAH-Left-Out"] == "4"
    assert body_of(response).decode().splitlines() == [
        "#EXTM3U",
        "#EXT-X-VERSION:6",
        f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="hi",NAME="English",DEFAULT=YES,URI="{path("http://cdn.test/en.m3u8")}"',
        '#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="English",INSTREAM-ID="CC1"',
        f'#EXT-X-STREAM-INF:BANDWIDTH=800000,AUDIO="hi",CLOSED-CAPTIONS="cc",X-MORE="{path("http://more.test/a")}"',
        path("http://a.test/v/low.m3u8"),
    ]
    assert body_of(shown(captures, modifier=Modifier.FILE)).decode() == MASTER
    assert f'<video src="{path(URL)}" controls'.encode() in body_of(shown(captures))


def test_of_a_playlist_of_which_nothing_was_captured_all_is_offered(tmp_path: Path) -> None:
    body = body_of(shown(held(tmp_path, MASTER, HLS), modifier=Modifier.MEDIA)).decode()
    assert path("https://cdn.test/fine.m3u8") in body.splitlines()
    assert 'AUDIO="hi",SUBTITLES="s"' in body


def test_keys_heads_and_segments_lead_into_the_archive_and_a_live_stream_ends(tmp_path: Path) -> None:
    captures = held(tmp_path, MEDIA, HLS, "https://keys.test/1?a=b,c")
    assert body_of(shown(captures, modifier=Modifier.MEDIA)).decode().splitlines() == [
        "#EXTM3U",
        "#EXT-X-TARGETDURATION:4",
        f'#EXT-X-KEY:METHOD=AES-128,URI="{path("https://keys.test/1?a=b,c")}",IV=0x01',
        f'#EXT-X-MAP:URI="{path("http://a.test/head.mp4")}",BYTERANGE="720@0"',
        '#EXTINF:4,URI="no attribute',
        path("http://a.test/1.m4s"),
        "#EXTINF:4,",
        "about:invalid",
        "#EXT-X-ENDLIST",
    ]
    key = shown(captures, "https://keys.test/1?a=b,c", modifier=Modifier.MEDIA)
    assert (key.status, body_of(key), key.headers["Content-Type"]) == (200, b"\0\1", "application/octet-stream")


@pytest.mark.slow
def test_a_stream_that_was_cut_short_ends_with_its_last_captured_segment(tmp_path: Path) -> None:
    listed = "".join(f"#EXTINF:4,\n/{number}.ts\n" for number in range(7_000))
    captures = held(tmp_path, f"#EXTM3U\n{listed}", HLS, *(f"http://a.test/{number}.ts" for number in (1, 2_001)))
    response = shown(captures, modifier=Modifier.MEDIA)
    shown_lines = body_of(response).decode().splitlines()
    assert shown_lines[-3:] == ["#EXTINF:4,", path("http://a.test/2001.ts"), "#EXT-X-ENDLIST"]
    assert (len(shown_lines), response.headers["AAH-Left-Out"]) == (2 * 2_002 + 2, "4998")
    early = body_of(
        shown(held(tmp_path / "early", f"#EXTM3U\n{listed}", HLS, "http://a.test/1.ts"), modifier=Modifier.MEDIA)
    )
    assert early.endswith(path("http://a.test/6999.ts").encode() + b"\n#EXT-X-ENDLIST\n")


def test_a_dash_manifest_offers_what_was_captured_and_leads_there(tmp_path: Path) -> None:
    first = "https://cdn.test/film/v2/head.mp4", "https://cdn.test/m/v2/001.m4s", "https://cdn.test/film/en.mp4"
    response = shown(held(tmp_path, MPD, DASH, *first), modifier=Modifier.MEDIA)
    assert (response.headers["Content-Type"], response.headers["AAH-Left-Out"]) == (DASH["Content-Type"], "2")
    root = etree.fromstring(body_of(response))
    assert root.xpath("//*[local-name() = 'Representation']/@id") == ["v2", "a2"]
    assert root.xpath("//*[local-name() = 'AdaptationSet']/@lang") == ["en"]
    assert root.xpath("//*[local-name() = 'BaseURL']/text()") == [
        path("https://cdn.test/film/"),
        path("https://cdn.test/film/en.mp4"),
    ]
    (template,) = root.xpath("//*[local-name() = 'SegmentTemplate']")
    assert template.get("media") == path("https://cdn.test/m/$RepresentationID$/$Number%03d$.m4s")
    assert template.get("initialization") == "$RepresentationID$/head.mp4"
    assert not re.search(rb"evil|other\.test|time\.test|new\.mpd", body_of(response))
    everything = body_of(shown(held(tmp_path / "none", MPD, DASH), modifier=Modifier.MEDIA))
    assert everything.count(b"<Representation") == 4


@pytest.mark.parametrize(
    ("manifest", "headers", "status"),
    [
        ("#EXTM3U\n" + "#EXT-X-STREAM-INF:BANDWIDTH=1\n/{}.m3u8\n" * 10_000, HLS, 200),
        ("#EXTM3U\n" + '#EXT-X-MEDIA:,URI="' * 20_000, HLS, 200),
        ("#EXTM3U\n" + "x\n" * 100_000, HLS, 200),
        (f"<MPD><Period><AdaptationSet>{'<Representation/>' * 10_000}</AdaptationSet></Period></MPD>", DASH, 200),
        (f"<MPD>{'<a/>' * 400_000}</MPD>", DASH, 404),
        (f"<MPD>{'<a>' * 1_000}</MPD>", DASH, 404),
        ("<MPD><BaseURL>http://[</BaseURL></MPD>", DASH, 404),
    ],
    ids=["qualities", "attributes", "lines", "representations", "elements", "depth", "address"],
)
def test_hostile_manifests_are_bounded(tmp_path: Path, manifest: str, headers: dict[str, str], status: int) -> None:
    captures = held(tmp_path, manifest, headers)
    with at_most(5.0):
        response = shown(captures, modifier=Modifier.MEDIA)
        body = body_of(response)
    assert response.status == status
    assert len(body) < 5_000_000


def test_only_so_many_qualities_are_looked_up(tmp_path: Path) -> None:
    offered = "".join(f"#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://a.test/{each}\n" for each in range(MAX_QUALITIES + 1))
    captures = held(
        tmp_path, f"#EXTM3U\n{offered}", HLS, *(f"http://a.test/{MAX_QUALITIES + each}" for each in (-1, 0))
    )
    lines = body_of(shown(captures, modifier=Modifier.MEDIA)).decode().splitlines()
    assert lines[2:] == [path(f"http://a.test/{MAX_QUALITIES - 1}")]


def aac(frames: int) -> bytes:
    """Return frames of silence, 1024 samples at 44,100 Hz each, in ADTS (ISO/IEC 13818-7, section 6.2)."""
    silence = bytes((0x21, 0x00, 0x49, 0x90, 0x02, 0x19, 0x00, 0x23, 0x80))
    length = 7 + len(silence)
    head = bytes((0xFF, 0xF1, 0x50, 0x80 | length >> 11, length >> 3 & 0xFF, (length & 7) << 5 | 0x1F, 0xFC))
    return (head + silence) * frames


@pytest.mark.slow
def test_a_browser_plays_a_captured_stream(tmp_path: Path, chromium: Browser) -> None:
    crawl = Archived(tmp_path)
    kind = {"Content-Type": "audio/aac"}
    crawl.add('<video src="http://cdn.test/master.m3u8"></video>')
    fine = '#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS="mp4a.40.2"\nhttp://cdn.test/fine/list.m3u8\n'
    plain = '#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS="mp4a.40.2"\nhttps://media.test/list.m3u8\n'
    crawl.add(f"#EXTM3U\n{fine}{plain}", url="http://cdn.test/master.m3u8", headers=HLS)
    segments = "".join(f"#EXTINF:2.0,\n/{name}\n" for name in FILMED)
    crawl.add(f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n{segments}", url="https://media.test/list.m3u8", headers=HLS)
    for name in FILMED:
        crawl.add(aac(87), url=f"https://media.test/{name}", headers=kind)
    crawl.close()
    with serving(replay_app(FixedFolders({"test": tmp_path}), ["localhost"])) as replay:
        context = patient(chromium.new_context())
        page = context.new_page()
        asked: list[tuple[str, int]] = []
        page.on("response", lambda response: asked.append((response.url, response.status)))
        page.goto(f"http://localhost:{replay.port}/test/{MOMENT}mp_/{URL}")
        # No script of the document's own runs, timers and listeners included, so it is asked again and again.
        if not page.evaluate(f"(video = document.querySelector('video')).canPlayType('{HLS['Content-Type']}')"):
            pytest.skip("this Chromium plays no HLS")
        page.evaluate("video.muted = true; video.playbackRate = 4; void video.play()")
        is_over, begun = False, time.monotonic()
        while not is_over and time.monotonic() < begun + PATIENCE:
            page.wait_for_timeout(100)
            is_over = page.evaluate("video.ended || video.error !== null")
        assert page.evaluate("video.error && video.error.message") is None
        assert page.evaluate("video.currentTime") > 6
        context.close()
    names = "http://cdn.test/master.m3u8", *(f"https://media.test/{name}" for name in ("list.m3u8", *FILMED))
    assert [url.partition(f":{replay.port}")[2] for url, _ in asked[1:]] == [path(url) for url in names]
    assert {status for _, status in asked} <= {200, 206}


@pytest.mark.parametrize(
    ("elements", "needed", "is_played"),
    [
        ("<video src='blob:http://a.test/1'></video>", ("v/low.m3u8", "v/master.m3u8", "v/1.ts"), True),
        ("<video src='blob:http://a.test/1'></video>", ("v/low.m3u8", "v/master.m3u8", "v/other.m3u8"), False),
        ("<video src='blob:1'></video><video src='blob:2'></video>", ("v/master.m3u8",), False),
        ("<video src='blob:http://a.test/1'></video>", ("v/1.ts", "v/lost.m3u8"), False),
        ("<video src='/v/film.mp4'></video>", ("v/master.m3u8",), False),
    ],
)
def test_what_a_player_in_scripts_played_is_played_without_them(
    tmp_path: Path, elements: str, needed: tuple[str, ...], is_played: bool
) -> None:
    crawl = Archived(tmp_path)
    links = tuple(Link(f"http://a.test/{each}", LinkType.REQUISITE) for each in needed)
    document = Resource.rendered_dom(URL, f"<body>{elements}</body>".encode())
    crawl.add(
        "<div id=player></div>", resources=(document,), metadata=write_metadata(Metadata(links=links, priority=1.0))
    )
    one = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n"
    for name, body in (("master.m3u8", one), ("low.m3u8", "#EXTM3U\n1.ts\n"), ("other.m3u8", "#EXTM3U\n2.ts\n")):
        crawl.add(body, url=f"http://a.test/v/{name}", headers=HLS)
    page = body_of(shown(crawl.close())).decode()
    assert (f'src="{path("http://a.test/v/master.m3u8")}"' in page) is is_played
