"""Streams of video and audio: find in a manifest (HLS, DASH) the files needed to play one quality."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice, repeat
from math import ceil
from typing import Any, Final
from urllib.parse import urljoin

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.page import Page
from aahcrawler.tallies import CountedName

MAX_PARTS: Final = 20_000
"""Parts of one manifest that are fetched: a day of video in segments of four seconds."""
MAX_MANIFEST_BYTES: Final = 8_000_000

_HLS: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*#EXTM3U")
_BEFORE: Final = rb"(?>(?:<\?xml[^>]*>|<!--.*?-->)\s*)*+"
"""What may stand before the root element. The groups are atomic: backtracking over comments would be exponential."""
_DASH: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*+" + _BEFORE + rb"<(?:[\w.-]+:)?MPD[\s>]", re.DOTALL)
_BEGINNING: Final = 4_096


@dataclass(frozen=True, slots=True)
class StreamManifest:
    """The files that a manifest needs to play a stream in one quality: further manifests, or segments.

    ``parts`` are their absolute URLs, as written, in the order in which a player requests them, without repetitions.
    ``left_out`` counts the qualities and languages that were not chosen. ``is_live``: the stream goes on, and ``parts``
    are those named at this moment. ``is_protected``: it is encrypted for licensed players, and its parts are not named.
    ``is_cut``: it has more than ``MAX_PARTS`` parts.
    """

    parts: tuple[str, ...] = ()
    left_out: int = 0
    is_live: bool = False
    is_protected: bool = False
    is_cut: bool = False


class StreamNote(CountedName):
    """What to tell people about a stream; the notes are counted."""

    READ = "read", "manifests that were read"
    LEFT_OUT = "left out", "that offer other qualities or languages, of which one was chosen"
    """There are other qualities or languages, which were not chosen."""
    LIVE = "live", "that go on: what they named at that moment is kept"
    PROTECTED = "protected", "that need a licence: not fetched"
    CUT = "cut", "with more parts than are read"
    UNREADABLE = "unreadable", "that break their format: no part is fetched"


def notes_of(manifest: StreamManifest) -> Iterator[StreamNote]:
    """Yield the notes that apply to a manifest that was read."""
    yield StreamNote.READ
    told = {
        StreamNote.LEFT_OUT: manifest.left_out,
        StreamNote.LIVE: manifest.is_live,
        StreamNote.PROTECTED: manifest.is_protected,
        StreamNote.CUT: manifest.is_cut,
    }
    yield from (note for note, holds in told.items() if holds)


class UnreadableManifestError(Exception):
    """A manifest breaks the rules of its format; the message says how."""


def is_hls(body: bytes) -> bool:
    """Return whether bytes begin as an HLS playlist must (RFC 8216, section 4.3.1.1).

    >>> is_hls(b"#EXTM3U"), is_hls(b"a.mp3")
    (True, False)
    """
    return _HLS.match(body) is not None


def is_dash(body: bytes) -> bool:
    """Return whether bytes begin as a DASH manifest (ISO/IEC 23009-1, section 5.2).

    >>> is_dash(b'<?xml version="1.0"?><MPD type="static">'), is_dash(b"<svg/>")
    (True, False)
    """
    return _DASH.match(body[:_BEGINNING]) is not None


MAX_LINES: Final = 1080
"""Lines of the picture by default: finer qualities cost much and show little more."""


@dataclass(frozen=True, slots=True)
class Quality:
    """The height of a picture in lines, and its bits a second; each is 0 if the manifest does not give it."""

    lines: int = 0
    bandwidth: int = 0


def best_quality(qualities: Sequence[Quality], most_lines: int = MAX_LINES) -> int:
    """Return the index of the best quality with at most ``most_lines`` lines (0: no limit).

    If all have more lines, return that of the lowest quality.

    >>> best_quality([Quality(360, 1), Quality(2160, 9), Quality(720, 4), Quality(720, 3)])
    2
    >>> best_quality([Quality(2160, 9), Quality(4320, 20)])
    0
    """
    positions = range(len(qualities))
    fitting = [each for each in positions if not most_lines or qualities[each].lines <= most_lines]
    if fitting:
        return max(fitting, key=lambda each: (qualities[each].lines, qualities[each].bandwidth, -each))
    return min(positions, key=lambda each: (qualities[each].lines, qualities[each].bandwidth, each))


MAX_COMPARISONS: Final = 50_000_000
"""Pairs of lines that parsing a playlist may compare; a day of video with a new key every 20 seconds needs a third."""
_OPEN: Final = (None, "", "identity")
"""Key formats that need no licence (RFC 8216, section 4.3.2.4)."""
_BROKEN: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What the parser raises where a playlist breaks the rules."""


def read_playlist(text: str, url: str, most_lines: int) -> StreamManifest:
    """Return the parts that an HLS playlist names. Raise ``UnreadableManifestError``.

    For a master playlist, these are one quality, its audio in the default language, and all of its subtitles.
    """
    from m3u8 import loads  # noqa: PLC0415 - few crawls meet a stream

    if _comparisons(text) > MAX_COMPARISONS:
        raise UnreadableManifestError("the playlist names too many keys, or too many renditions of its qualities")
    try:
        playlist = loads(text)
        return _of_master(playlist, url, most_lines) if playlist.is_variant else _of_media(playlist, url)
    except _BROKEN as error:
        raise UnreadableManifestError(f"the playlist cannot be read: {error}") from error


def _comparisons(text: str) -> int:
    """Return how many pairs of lines the parser will compare: segments with keys, and qualities with renditions."""
    keys, renditions = text.count("#EXT-X-KEY"), text.count("#EXT-X-MEDIA:")
    return keys * (keys + text.count("#EXTINF")) + renditions * text.count("#EXT-X-STREAM-INF")


def _of_master(playlist: Any, url: str, most_lines: int) -> StreamManifest:
    variants = [variant for variant in playlist.playlists if variant.uri]
    if not variants:
        raise UnreadableManifestError("the playlist names no quality")
    qualities = [_quality(variant.stream_info) for variant in variants]
    best = variants[best_quality(qualities, most_lines)]
    groups = {
        "AUDIO": best.stream_info.audio,
        "VIDEO": best.stream_info.video,
        "SUBTITLES": best.stream_info.subtitles,
    }
    renditions = [media for media in playlist.media if media.uri and groups.get(media.type) == media.group_id]
    taken = [*_defaults(media for media in renditions if media.type != "SUBTITLES")]
    taken += [media for media in renditions if media.type == "SUBTITLES"]
    parts = dict.fromkeys(urljoin(url, uri) for uri in (best.uri, *(media.uri for media in taken)))
    others = {variant.uri for variant in variants} - {best.uri}
    return StreamManifest(tuple(islice(parts, MAX_PARTS)), left_out=len(others) + len(renditions) - len(taken))


def _quality(info: Any) -> Quality:
    return Quality(info.resolution[1] if info.resolution else 0, info.average_bandwidth or info.bandwidth or 0)


def _defaults(renditions: Iterable[Any]) -> Iterator[Any]:
    """Yield the default rendition of each group, or its first if none is the default."""
    groups: dict[tuple[str, str], Any] = {}
    for media in renditions:
        key = media.type, media.group_id
        if key not in groups or (media.default == "YES" and groups[key].default != "YES"):
            groups[key] = media
    yield from groups.values()


def _of_media(playlist: Any, url: str) -> StreamManifest:
    is_live = not playlist.is_endlist and playlist.playlist_type != "vod"
    if any(key is not None and not _is_open(key) for key in playlist.keys):
        return StreamManifest(is_live=is_live, is_protected=True)
    parts = dict.fromkeys(urljoin(url, part) for part in islice(_parts(playlist), 4 * MAX_PARTS))
    return StreamManifest(tuple(islice(parts, MAX_PARTS)), is_live=is_live, is_cut=len(parts) > MAX_PARTS)


def _is_open(key: Any) -> bool:
    return key.method in ("NONE", "AES-128") and key.keyformat in _OPEN


def _parts(playlist: Any) -> Iterator[str]:
    """Yield the URLs of all segments, each after those of its key and its initialization section."""
    for segment in playlist.segments:
        for beside in (segment.key, segment.init_section):
            if beside is not None and beside.uri:
                yield beside.uri
        if segment.uri:
            yield segment.uri


_IDENTIFIER: Final = re.compile(r"\$(?:(RepresentationID|Number|Bandwidth|Time|SubNumber)(?:%0(\d{1,2})d)?)?\$")
_MAX_SEGMENTS: Final = 100_000
"""Segments that a template may stand for; further ones are left out."""


@dataclass(frozen=True, slots=True)
class SegmentValues:
    """A representation's id, bits a second, and duration in seconds, 0 if unknown."""

    id: str
    bandwidth: int
    seconds: float


def segments_of(lineage: Sequence[Element], described: SegmentValues, *, is_live: bool) -> Iterator[str] | None:
    """Return the URLs of a representation's segments, as written; None if it is a single file.

    The initialization segment comes first. ``lineage`` leads from the manifest's root to the representation; an inner
    element overrides what outer ones say. For a live stream (``is_live``) whose manifest gives no times, no segments
    are returned.
    """
    lists = _children(lineage, "SegmentList")
    if lists:
        return _listed(lists)
    templates = _children(lineage, "SegmentTemplate")
    return _templated(templates, described, is_live=is_live) if templates else None


def _children(lineage: Sequence[Element], name: str) -> list[Element]:
    """Return the children with a name of all elements of a lineage, those of the innermost first."""
    return [child for parent in reversed(lineage) for child in children(parent, name)]


def _listed(lists: Sequence[Element]) -> Iterator[str]:
    for found in lists[0].iter():
        if isinstance(found.tag, str):
            name = "sourceURL" if etree.QName(found).localname == "Initialization" else "media"
            if url := found.get(name):
                yield url


def _templated(templates: Sequence[Element], described: SegmentValues, *, is_live: bool) -> Iterator[str]:
    said = {name: value for template in reversed(templates) for name, value in template.attrib.items()}
    words = {"RepresentationID": described.id, "Bandwidth": str(described.bandwidth)}
    if head := said.get("initialization"):
        yield _filled(head, words)
    media = said.get("media")
    if not media:
        return
    first, scale = _number(said.get("startNumber"), 1), _number(said.get("timescale"), 1) or 1
    timelines = _children(tuple(reversed(templates)), "SegmentTimeline")
    length = 0 if is_live else _number(said.get("duration"))
    whole = described.seconds * scale
    times = _times(timelines[0], whole) if timelines else _even(length, whole)
    for number, time in zip(count(first), islice(times, _MAX_SEGMENTS), strict=False):
        yield _filled(media, {**words, "Number": str(number), "Time": str(time)})


def _times(timeline: Element, whole: float) -> Iterator[int]:
    """Yield the start times of a timeline's segments; an open repetition fills the period."""
    at = 0
    for each in timeline:
        if not isinstance(each.tag, str):
            continue
        at = _number(each.get("t"), at)
        length, text = _number(each.get("d")), each.get("r") or "0"
        if not length:
            return
        times = max(0, ceil((whole - at) / length) - 1) if text.startswith("-") else _number(text)
        for _ in repeat(None, min(times, _MAX_SEGMENTS) + 1):
            yield at
            at += length


def _even(length: int, whole: float) -> Iterator[int]:
    """Yield the start times of segments of equal length."""
    if length and whole:
        yield from range(0, ceil(whole - 1e-6), length)


def _filled(template: str, words: Mapping[str, str]) -> str:
    def word(match: re.Match[str]) -> str:
        if not match[1]:
            return "$"
        known = words.get(match[1], match[0])
        return known.zfill(int(match[2])) if match[2] else known

    return _IDENTIFIER.sub(word, template)


def _number(text: str | None, otherwise: int = 0) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else otherwise


_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d{1,6})D)?(?:T(?:(?P<hours>\d{1,8})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?"
)
_WORTH: Final = {"days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}


def seconds_of(text: str | None) -> float:
    """Return an ISO 8601 duration in seconds; 0 if it is none, or has months or years.

    >>> seconds_of("PT1H2M3.5S"), seconds_of("P1Y"), seconds_of(None)
    (3723.5, 0.0, 0.0)
    """
    match = _DURATION.fullmatch((text or "").strip())
    if match is None:
        return 0.0
    return sum(worth * float(match[name] or 0) for name, worth in _WORTH.items())


_TEXT: Final = ("text", "application")


@dataclass(frozen=True, slots=True)
class Representation:
    """A representation: its element with all its ancestors, the root first, and the seconds of its period."""

    lineage: tuple[Element, ...]
    seconds: float


def read_manifest(body: bytes, url: str, most_lines: int) -> StreamManifest:
    """Return the parts that a DASH manifest names. Raise ``UnreadableManifestError``.

    These are one quality of the picture, the first language of audio, and all subtitles. For a live stream
    (``type="dynamic"``), only segments that are listed with their times are named.
    """
    root = manifest_root(body)
    try:
        return _read(root, url, most_lines)
    except ValueError as error:
        raise UnreadableManifestError(f"the manifest names something that is no URL: {error}") from error


def _read(root: Element, url: str, most_lines: int) -> StreamManifest:
    is_live = root.get("type") == "dynamic"
    parts: dict[str, None] = {}
    left_out, is_protected = 0, False
    for period, seconds in periods(root):
        for group in _kinds(period):
            open_sets = [each for each in group if not _is_protected(each)]
            is_protected |= len(open_sets) < len(group)
            taken, passed = _taken(open_sets, most_lines)
            left_out += passed
            for adaptation_set, representation in taken:
                found = Representation((root, period, adaptation_set, representation), seconds)
                for part in urls_of(found, url, is_live=is_live):
                    parts[part] = None
                    if len(parts) > MAX_PARTS:
                        return StreamManifest(tuple(parts)[:MAX_PARTS], left_out, is_live, is_protected, is_cut=True)
    return StreamManifest(tuple(parts), left_out, is_live, is_protected and not parts)


def manifest_root(body: bytes) -> Element:
    """Parse a manifest and return its root element. Raise ``UnreadableManifestError``."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, recover=False)
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableManifestError(f"the manifest is no XML: {error}") from error
    if root.getroottree().docinfo.doctype:
        raise UnreadableManifestError("the manifest has a document type, which none has")
    return root


def children(parent: Element, name: str) -> Iterator[Element]:
    """Yield the child elements with a local name, in any namespace."""
    for child in parent:
        if isinstance(child.tag, str) and etree.QName(child).localname == name:
            yield child


def periods(root: Element) -> Iterator[tuple[Element, float]]:
    """Yield each period with its duration in seconds, 0 if unknown."""
    periods = list(children(root, "Period"))
    whole = seconds_of(root.get("mediaPresentationDuration"))
    starts: list[float] = []
    for period in periods:
        begun = starts[-1] + seconds_of(periods[len(starts) - 1].get("duration")) if starts else 0.0
        starts.append(seconds_of(period.get("start")) if period.get("start") else begun)
    for place, period in enumerate(periods):
        end = starts[place + 1] if place + 1 < len(periods) else whole
        yield period, seconds_of(period.get("duration")) or max(0.0, end - starts[place])


def _kinds(period: Element) -> Iterator[Sequence[Element]]:
    """Yield the adaptation sets of a period in groups: all of video, all of audio, each set of subtitles by itself."""
    kinds: dict[str, list[Element]] = {"video": [], "audio": []}
    others = []
    for adaptation_set in children(period, "AdaptationSet"):
        kind = _kind(adaptation_set)
        if kind in kinds:
            kinds[kind].append(adaptation_set)
        else:
            others.append(adaptation_set)
    yield from (group for group in kinds.values() if group)
    yield from ([each] for each in others if _kind(each) in _TEXT)


def _kind(adaptation_set: Element) -> str:
    named = adaptation_set.get("contentType") or adaptation_set.get("mimeType")
    first = next(children(adaptation_set, "Representation"), None)
    return (named or ("" if first is None else first.get("mimeType") or "")).partition("/")[0].lower()


def _is_protected(adaptation_set: Element) -> bool:
    within = (adaptation_set, *children(adaptation_set, "Representation"))
    return any(next(children(each, "ContentProtection"), None) is not None for each in within)


def _taken(sets: Sequence[Element], most_lines: int) -> tuple[Sequence[tuple[Element, Element]], int]:
    """Choose one representation from adaptation sets of one kind.

    Return it with its set, or nothing if there is none, and how many others there are. Sets of audio differ in language
    or audience; the first of them is chosen, as players do by default.
    """
    if not sets:
        return (), 0
    everything = [(each, found) for each in sets for found in children(each, "Representation")]
    of_kind = everything if _kind(sets[0]) == "video" else [pair for pair in everything if pair[0] is sets[0]]
    if not of_kind:
        return (), 0
    qualities = [Quality(_number(it.get("height")), _number(it.get("bandwidth"))) for _, it in of_kind]
    return (of_kind[best_quality(qualities, most_lines)],), len(everything) - 1


def urls_of(found: Representation, url: str, *, is_live: bool) -> Iterator[str]:
    """Yield the absolute URLs of a representation's files, its initialization segment first; ``url`` is the manifest's.

    Nothing is yielded for a live stream without times, or if the representation names no file.
    """
    base = url
    for element in found.lineage:
        given = next(children(element, "BaseURL"), None)
        base = urljoin(base, (given.text or "").strip()) if given is not None else base
    representation = found.lineage[-1]
    described = SegmentValues(representation.get("id") or "", _number(representation.get("bandwidth")), found.seconds)
    segments = segments_of(found.lineage, described, is_live=is_live)
    if segments is None:
        yield from (base,) if base != url else ()
        return
    yield from (urljoin(base, segment) for segment in islice(segments, 2 * MAX_PARTS))


def is_manifest(page: Page) -> bool:
    """Return whether a response begins as the manifest of a stream."""
    return is_hls(page.body) or is_dash(page.body)


def manifest_of(page: Page, most_lines: int = MAX_LINES) -> StreamManifest | None:
    """Return the parts that the manifest of a stream names; None if the response is no manifest.

    Raise ``UnreadableManifestError`` for a manifest that breaks its format, is incomplete, or has more than
    ``MAX_MANIFEST_BYTES`` bytes.
    """
    if not is_manifest(page):
        return None
    if len(page.body) > MAX_MANIFEST_BYTES or not page.complete:
        raise UnreadableManifestError("the manifest is too large, or did not come whole")
    if is_hls(page.body):
        return read_playlist(page.body.decode("utf-8-sig", "replace"), page.url, most_lines)
    return read_manifest(page.body, page.url, most_lines)
