"""Manifests of streams name what is needed to play one quality, and nothing is made up."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from aahcrawler import streams
from aahcrawler.page import Headers, Page
from aahcrawler.streams import MAX_PARTS, StreamManifest, UnreadableManifestError, manifest_of

URL = "https://film.test/a/master"
MASTER = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="hi",NAME="Deutsch",LANGUAGE="de",URI="de.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="hi",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="lo",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en-low.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",NAME="Deutsch",URI="subs/de.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,AUDIO="lo"
low/index.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=5000000,RESOLUTION=1920x1080,AUDIO="hi",SUBTITLES="subs"
/b/high.m3u8?t=1
#EXT-X-STREAM-INF:BANDWIDTH=18000000,RESOLUTION=3840x2160,AUDIO="hi",SUBTITLES="subs"
finest.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=90000,URI="frames.m3u8"
"""
MEDIA = """#EXTM3U
#EXT-X-TARGETDURATION:6
#EXT-X-MAP:URI="head.mp4"
#EXT-X-KEY:METHOD=AES-128,URI="https://keys.test/1"
#EXTINF:6.0,
1.m4s
#EXT-X-BYTERANGE:100@0
#EXTINF:6.0,
whole.m4s
#EXT-X-BYTERANGE:100@100
#EXTINF:6.0,
whole.m4s
"""
MPD = """<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="{type}" mediaPresentationDuration="PT10S">
<BaseURL>film/</BaseURL>
<Period>
<AdaptationSet contentType="video">
<SegmentTemplate timescale="1000" duration="4000" startNumber="1" initialization="$RepresentationID$/head.mp4"
 media="$RepresentationID$/$Number%03d$.m4s"/>
<Representation id="v1" height="360" bandwidth="500000"/><Representation id="v2" height="720" bandwidth="2000000"/>
</AdaptationSet>
<AdaptationSet mimeType="audio/mp4" lang="fr">
<Representation id="a1" bandwidth="64000">
<SegmentTemplate timescale="10" initialization="a/head.mp4" media="a/$Time$.m4s">
<SegmentTimeline><S t="5" d="40" r="1"/><S d="20"/></SegmentTimeline></SegmentTemplate></Representation>
</AdaptationSet>
<AdaptationSet mimeType="audio/mp4" lang="en"><Representation id="a2"><BaseURL>en.mp4</BaseURL></Representation>
</AdaptationSet>
<AdaptationSet mimeType="text/vtt"><Representation id="t1"><BaseURL>fr.vtt</BaseURL></Representation></AdaptationSet>
</Period></MPD>"""


def page(text: str, *, complete: bool = True) -> Page:
    return Page(URL, 200, Headers(()), text.encode(), datetime(2026, 1, 1, tzinfo=UTC), complete=complete)


def read(text: str, most_lines: int = 1080) -> StreamManifest:
    found = manifest_of(page(text), most_lines)
    assert found is not None
    return found


def test_a_master_playlist_asks_for_one_quality_its_default_sound_and_its_subtitles() -> None:
    found = read(MASTER)
    assert found.parts == (
        "https://film.test/b/high.m3u8?t=1",
        "https://film.test/a/en.m3u8",
        "https://film.test/a/subs/de.m3u8",
    )
    assert found.left_out == 3
    assert read(MASTER, 400).parts == ("https://film.test/a/low/index.m3u8", "https://film.test/a/en-low.m3u8")
    assert read(MASTER, 0).parts[0] == "https://film.test/a/finest.m3u8"


def test_a_media_playlist_asks_for_keys_heads_and_segments_each_once() -> None:
    found = read(MEDIA)
    assert found.parts == (
        "https://keys.test/1",
        "https://film.test/a/head.mp4",
        "https://film.test/a/1.m4s",
        "https://film.test/a/whole.m4s",
    )
    assert found.is_live
    assert not read(MEDIA + "#EXT-X-ENDLIST\n").is_live


@pytest.mark.parametrize(
    "key", ['METHOD=SAMPLE-AES,URI="skd://x"', 'METHOD=AES-128,URI="x",KEYFORMAT="com.apple.streamingkeydelivery"']
)
def test_what_needs_a_licence_is_not_asked_for(key: str) -> None:
    found = read(f"#EXTM3U\n#EXT-X-KEY:{key}\n#EXTINF:6,\n1.ts\n#EXT-X-ENDLIST\n")
    assert found == StreamManifest(is_protected=True)


def test_a_dash_manifest_asks_for_one_picture_the_first_sound_and_all_texts() -> None:
    found = read(MPD.format(type="static"))
    assert [part.removeprefix("https://film.test/a/film/") for part in found.parts] == [
        *("v2/head.mp4", "v2/001.m4s", "v2/002.m4s", "v2/003.m4s"),
        *("a/head.mp4", "a/5.m4s", "a/45.m4s", "a/85.m4s"),
        "fr.vtt",
    ]
    assert found.left_out == 2
    assert not found.is_live


def test_of_a_live_dash_manifest_nothing_is_computed() -> None:
    found = read(MPD.format(type="dynamic"))
    assert found.is_live
    names = [part.rpartition("/")[2] for part in found.parts]
    assert names == ["head.mp4", "head.mp4", "5.m4s", "45.m4s", "85.m4s", "fr.vtt"]


def test_dash_lists_bases_and_protection() -> None:
    listed = """<MPD type="static"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1">
    <BaseURL>https://cdn.test/x/</BaseURL><SegmentList><Initialization sourceURL="h.mp4"/><SegmentURL media="1.mp4"/>
    </SegmentList></Representation></AdaptationSet></Period></MPD>"""
    assert read(listed).parts == ("https://cdn.test/x/h.mp4", "https://cdn.test/x/1.mp4")
    protected = listed.replace("<Representation", '<ContentProtection schemeIdUri="urn:uuid:1"/><Representation')
    assert read(protected) == StreamManifest(is_protected=True)
    empty = '<MPD><Period><AdaptationSet mimeType="video/mp4"><Representation/></AdaptationSet></Period></MPD>'
    assert read(empty).parts == ()


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXTINF:x,\na",
        "#EXTM3U\n#EXT-X-STREAM-INF:RESOLUTION=axb\nx",
        "#EXTM3U\n#EXT-X-KEY:METHOD\nx",
        "<MPD><Period>",
    ],
)
def test_a_broken_manifest_is_said_to_be_broken(text: str) -> None:
    with pytest.raises(UnreadableManifestError):
        manifest_of(page(text))


@pytest.mark.slow
def test_manifests_are_bounded() -> None:
    endless = read("#EXTM3U\n" + "".join(f"#EXTINF:4,\n{number}.ts\n" for number in range(MAX_PARTS + 5)))
    assert len(endless.parts) == MAX_PARTS
    assert endless.is_cut
    huge = MPD.format(type="static").replace("PT10S", "PT99999999H")
    assert len(read(huge).parts) == MAX_PARTS
    timeline = MPD.format(type="static").replace('r="1"', 'r="999999999"')
    assert read(timeline).is_cut
    with pytest.raises(UnreadableManifestError):
        manifest_of(page(MEDIA, complete=False))


def test_other_answers_are_no_manifests() -> None:
    assert manifest_of(page("<!doctype html><p>#EXTM3U</p>")) is None
    assert manifest_of(page("")) is None
    assert manifest_of(page('<!DOCTYPE MPD [<!ENTITY a "b">]><MPD>&a;</MPD>')) is None


def test_any_number_of_comments_may_stand_before_a_manifest() -> None:
    assert manifest_of(page("<!---->" * 500 + "<x/>")) is None
    assert read("<!-- made by hand --> <!-- > -->\n" + MPD.partition("\n")[2].format(type="static")).parts


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(lambda n: f'#EXT-X-KEY:METHOD=AES-128,URI="k{n}"\n#EXTINF:1,\ns{n}.ts\n', id="keys"),
        pytest.param(
            lambda n: (
                f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="{n}",URI="k{n}"\n'
                f'#EXT-X-STREAM-INF:BANDWIDTH={n + 1},AUDIO="a"\nv{n}.m3u8\n'
            ),
            id="renditions",
        ),
    ],
)
def test_a_playlist_whose_lines_are_compared_with_one_another_too_often_is_not_read(
    lines: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read("#EXTM3U\n" + "".join(map(lines, range(30)))).parts
    monkeypatch.setattr(streams, "MAX_COMPARISONS", 1_000)
    assert read("#EXTM3U\n" + "".join(map(lines, range(20)))).parts
    with pytest.raises(UnreadableManifestError, match="too many"):
        read("#EXTM3U\n" + "".join(map(lines, range(40))))
