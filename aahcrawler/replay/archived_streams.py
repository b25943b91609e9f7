"""Rewrites the manifests of streams so that they can be played from the archive."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urljoin

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.archive.record_access import RecordError, metadata_in, records_at
from aahcrawler.metadata import LinkType
from aahcrawler.page import Page
from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.recorded_responses import RecordedResponse, RecordedResponses
from aahcrawler.streams import (
    MAX_MANIFEST_BYTES,
    MAX_PARTS,
    Representation,
    UnreadableManifestError,
    children,
    is_dash,
    is_hls,
    manifest_of,
    manifest_root,
    periods,
    urls_of,
)
from aahcrawler.urls import canonicalize, resolve

MAX_QUALITIES: Final = 300
"""Qualities and languages of a manifest that are looked up in the archive; further ones are not shown."""
_MAX_SEGMENTS: Final = 5_000
"""Segments at the end of a playlist that are looked up; where none of them was captured, all are shown."""
_MAX_LINES: Final = 6 * MAX_PARTS
_MAX_MADE: Final = 4 * MAX_MANIFEST_BYTES
_LINE_END: Final = re.compile(r"\r\n?|\n")
_ADDRESS: Final = re.compile(r'([:,]\s*[A-Z0-9-]*+)="((?<=URI=")[^"]*+|(?i:https?:|)//[^"]*+)"')
"""An attribute whose value is a URL: its name ends with ``URI``, or its value begins as a URL does (section 4.2)."""
_ATTRIBUTE: Final = re.compile(r'[:,]\s*([A-Z0-9-]++)=(?:"([^"]*+)"|([^",]*+))')
_GROUPED: Final = re.compile(r',\s*(AUDIO|VIDEO|SUBTITLES)="([^"]*+)"|(?<=:)(AUDIO|VIDEO|SUBTITLES)="([^"]*+)",?')
_VARIANT: Final = "#EXT-X-STREAM-INF:"
_OFFERED: Final = ("#EXT-X-MEDIA:", "#EXT-X-I-FRAME-STREAM-INF:")
_END: Final = "#EXT-X-ENDLIST"
_LIVE: Final = (
    *("#EXT-X-SERVER-CONTROL", "#EXT-X-PRELOAD-HINT", "#EXT-X-RENDITION-REPORT", "#EXT-X-PART", "#EXT-X-SKIP"),
    "#EXT-X-CONTENT-STEERING",
)
"""Tags that make a player ask a server for the next segments, or for another server."""

Link = Callable[[str], str | None]
"""Returns the replay's address of a URI as the manifest writes it; None where it names nothing on the web."""
Has = Callable[[str], bool]
"""Returns whether the archive holds the target of a URI as the manifest writes it."""


class ShownManifest(NamedTuple):
    """A rewritten manifest, and how much of it is left out because the archive does not hold it.

    ``left_out`` counts qualities and languages, or segments at the end.
    """

    body: bytes
    left_out: int = 0


class _Offer(NamedTuple):
    """Lines of a master playlist that are kept or left out together: ``uri`` is what they offer, empty for nothing."""

    lines: tuple[str, ...]
    uri: str = ""


def rewrite_playlist(text: str, link: Link, has: Has) -> ShownManifest:
    """Return a playlist with every URI replaced by an address in the archive.

    Only qualities in the archive are offered, and segments at the end that are not in it are left out, unless nothing
    would remain. A live playlist ends with what it named when it was captured.
    """
    lines = [
        found for line in islice(_LINE_END.split(text[:MAX_MANIFEST_BYTES]), _MAX_LINES) if (found := line.strip())
    ]
    if not any(line.startswith(_VARIANT) for line in lines):
        return _media(lines, link, has)
    offers = list(_offers(lines))
    held = _held(offers, has)
    if not any(each.uri and each.lines[0].startswith(_VARIANT) for each in held):
        held = offers
    groups = {_group(each.lines[0]) for each in held if each.lines[0].startswith(_OFFERED[0])}
    made = (_of_groups(line, groups) for each in held for line in each.lines if not line.startswith(_LIVE))
    return ShownManifest(_joined(made, link), len(offers) - len(held))


def _media(lines: list[str], link: Link, has: Has) -> ShownManifest:
    """Return the playlist of one quality, which ends with the last segment that the archive holds."""
    segments = [at for at, line in enumerate(lines) if not line.startswith("#")]
    looked_up = cache(has)
    missing = takewhile(lambda at: not looked_up(lines[at]), islice(reversed(segments), _MAX_SEGMENTS))
    left_out = sum(1 for _ in missing)
    if left_out in (len(segments), _MAX_SEGMENTS):
        left_out = 0
    elif left_out:
        lines = lines[: segments[-1 - left_out] + 1]
    ended = lines if _END in lines else [*lines, _END]
    return ShownManifest(_joined((line for line in ended if not line.startswith(_LIVE)), link), left_out)


def _offers(lines: Sequence[str]) -> Iterator[_Offer]:
    variant: tuple[str, ...] = ()
    for line in lines:
        if line.startswith(_VARIANT):
            variant = (line,)
        elif not line.startswith("#"):
            yield _Offer((*variant, line), line)
            variant = ()
        elif line.startswith(_OFFERED):
            yield _Offer((line,), _attributes(line).get("URI", ""))
        else:
            yield _Offer((line,))


def _held(offers: Sequence[_Offer], has: Has) -> list[_Offer]:
    looked_up = cache(has)
    wanted = set(islice(dict.fromkeys(each.uri for each in offers if each.uri), MAX_QUALITIES))
    return [each for each in offers if not each.uri or (each.uri in wanted and looked_up(each.uri))]


def _attributes(line: str) -> dict[str, str]:
    return {match[1]: match[2] or match[3] or "" for match in _ATTRIBUTE.finditer(line)}


def _group(line: str) -> tuple[str, str]:
    attributes = _attributes(line)
    return attributes.get("TYPE", ""), attributes.get("GROUP-ID", "")


def _of_groups(line: str, groups: set[tuple[str, str]]) -> str:
    """Return a line without references to groups of which no line is left, since players reject such a playlist."""
    if not line.startswith(_VARIANT):
        return line

    def kept(match: re.Match[str]) -> str:
        return match[0] if ((match[1] or match[3]), match[2] or match[4] or "") in groups else ""

    return _GROUPED.sub(kept, line)


def _joined(lines: Iterator[str], link: Link) -> bytes:
    made = bytearray()
    for line in lines:
        made += _linked(line, link).encode("utf-8", "replace") + b"\n"
        if len(made) > _MAX_MADE:
            break
    return bytes(made)


def _linked(line: str, link: Link) -> str:
    if not line.startswith("#"):
        return link(line) or "about:invalid"
    if not line.startswith("#EXT"):
        return line
    return _ADDRESS.sub(lambda match: f'{match[1]}="{_address(match[2], link)}"', line)


def _address(uri: str, link: Link) -> str:
    # A key may stand in the playlist itself.
    return uri if uri[:5].lower() == "data:" and '"' not in uri else link(uri) or "about:invalid"


_ERRORS: Final = 400


class StreamFormat(StrEnum):
    """The formats of manifests, by their media types."""

    HLS = "application/vnd.apple.mpegurl"
    DASH = "application/dash+xml"


def format_of(beginning: bytes) -> StreamFormat | None:
    """Return the format of a manifest by its beginning, None where it is no manifest."""
    if is_hls(beginning):
        return StreamFormat.HLS
    return StreamFormat.DASH if is_dash(beginning) else None


@dataclass(frozen=True, slots=True)
class ArchivedStream:
    """A manifest in the archive, to be shown at an address."""

    responses: RecordedResponses
    response: RecordedResponse
    address: Address

    def shown(self, found: StreamFormat) -> ShownManifest:
        """Return the manifest with archive addresses, without the qualities that the archive does not hold.

        Raises ``UnreadableManifestError`` for a manifest that no player could read, and ``OSError``.
        """
        body, whole = self.responses.decoded(self.response, MAX_MANIFEST_BYTES)
        if found is StreamFormat.HLS:
            text = body.decode("utf-8-sig", "replace")
            # Of a playlist that broke off, the last line may lack its end.
            return rewrite_playlist(text if whole else text[: text.rfind("\n") + 1], self._link, self._has)
        if not whole:
            raise UnreadableManifestError("the manifest is too large, or did not come whole")
        try:
            return rewrite_manifest(body, self.response.url, self._link, self._has)
        except ValueError as error:
            raise UnreadableManifestError(f"the manifest names something that is no URL: {error}") from error

    def _link(self, uri: str) -> str | None:
        url = resolve(self.response.url, uri)
        return Address(self.address.crawl, self.address.moment, Modifier.MEDIA, url).path if url else None

    def _has(self, uri: str) -> bool:
        url = resolve(self.response.url, uri)
        captures = self.responses.lookup.nearest(url, self.address.moment) if url else ()
        return bool(captures) and captures[0].status < _ERRORS


_FIRST: Final = 2
"""The URLs of a representation that are looked up: of its initialisation and of its first segment."""
_MAX_ELEMENTS: Final = 300_000
_MAX_PASSED: Final = 300_000
"""The most child elements of ancestors, summed over the representations that are looked up: each look-up searches the
children of its ancestors anew.
"""
_ASKING: Final = frozenset({"Location", "PatchLocation", "UTCTiming", "ContentSteering", "Metrics"})
"""Elements that make a player ask a server for the time, for a newer manifest or for another server, or report to one.
"""
_REFERENCES: Final = ("media", "initialization", "index", "bitstreamSwitching", "sourceURL")
_REMOTE: Final = "{http://www.w3.org/1999/xlink}href"
_ELSEWHERE: Final = re.compile(r"\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:|[/\\]|.*\.\.)", re.DOTALL)
"""References that leave the folder of their base URL."""


def rewrite_manifest(body: bytes, url: str, link: Link, has: Has) -> ShownManifest:
    """Return the DASH manifest captured at a URL, with archive addresses for everything it names.

    Only qualities and languages whose beginning is in the archive are offered, unless there would be none. Data about
    live streams are kept, since players need them to compute times. Raises ``UnreadableManifestError``.
    """
    root = manifest_root(body)
    if sum(1 for _ in islice(root.iter(), _MAX_ELEMENTS + 1)) > _MAX_ELEMENTS:
        raise UnreadableManifestError("the manifest has more elements than any that can be played")
    left_out = _leave_out(root, url, has)
    for element in list(root.iter(etree.Element)):
        if etree.QName(element).localname in _ASKING:
            _remove(element)
    _link(root, url, link)
    made = etree.tostring(root, encoding="utf-8", xml_declaration=True, with_tail=False)
    return ShownManifest(made, left_out)


def _leave_out(root: Element, url: str, has: Has) -> int:
    """Remove what the archive does not hold; return the number of representations removed."""
    everything = [
        Representation((root, period, adaptation_set, representation), seconds)
        for period, seconds in periods(root)
        for adaptation_set in children(period, "AdaptationSet")
        for representation in children(adaptation_set, "Representation")
    ]
    is_live = root.get("type") == "dynamic"
    held = [each for each in _first(everything) if all(map(has, islice(urls_of(each, url, is_live=is_live), _FIRST)))]
    if not held:
        return 0
    kept = {element for each in held for element in each.lineage}
    for representation in everything:
        for element in reversed(representation.lineage):
            if element not in kept:
                _remove(element)
    return len(everything) - len(held)


def _first(everything: Sequence[Representation]) -> Iterator[Representation]:
    """Yield the representations that are looked up: ``MAX_QUALITIES``, or fewer if that would take too long."""
    passed = 0
    for each in everything[:MAX_QUALITIES]:
        passed += sum(len(element) for element in each.lineage)
        if passed > _MAX_PASSED:
            return
        yield each


def _link(root: Element, url: str, link: Link) -> None:
    """Replace base URLs, and URLs that are not below their base, by archive addresses."""
    waiting: list[tuple[Element, str]] = [(root, url)]
    while waiting:
        element, outer = waiting.pop()
        base = _based(element, outer, link)
        remote = element.get(_REMOTE)
        if remote is not None and not remote.startswith("urn:"):
            element.set(_REMOTE, link(urljoin(base, remote)) or "about:invalid")
        for name in _REFERENCES:
            written = element.get(name)
            if written is not None and _ELSEWHERE.match(written):
                element.set(name, link(urljoin(base, written)) or "about:invalid")
        waiting += [(child, base) for child in element if isinstance(child.tag, str)]


def _based(element: Element, outer: str, link: Link) -> str:
    """Return the base URL for the content of an element. Of several, the first is used: the others are mirrors."""
    bases: Sequence[Element] = list(children(element, "BaseURL"))
    if not bases:
        return outer
    base = urljoin(outer, (bases[0].text or "").strip())
    for each in bases[1:]:
        _remove(each)
    bases[0].text = link(base) or "about:invalid"
    return base


def _remove(element: Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


_MADE: Final = "blob:"
"""The URLs that a script makes of bytes (File API, section 8)."""
_MAX_LOOKED_UP: Final = 500
_MAX_READ: Final = 20
_KIND: Final = "mpegurl"
_NAMES: Final = (".m3u8", ".m3u")


def play_stream(responses: RecordedResponses, response: RecordedResponse, page: Page) -> None:
    """Make a page's only player, if scripts set its source, play the only stream whose parts the page requested.

    With several players or streams it is unknown which belong together, so the page is not changed. The page's tree is
    changed. DASH streams are ignored, as no browser plays them without scripts. Raises ``OSError`` and
    ``NoIndexError``.
    """
    made = [each for each in page.tree.iter("video", "audio") if (each.get("src") or "").startswith(_MADE)]
    if len(made) != 1:
        return
    streams = _streams(responses, response, list(_needed(responses.archive, response)))
    if len(streams) == 1:
        for child in made[0].findall("source"):
            made[0].remove(child)
        made[0].set("src", streams[0])


def _needed(archive: Path, response: RecordedResponse) -> Iterator[str]:
    """Yield the page requisites of a page, from its metadata."""
    records = records_at(archive, (response.own or response.holder).place, response.record_id)
    with suppress(RecordError):
        found = (metadata_in(record) for record in records if record.kind == "metadata")
        metadata = next((each for each in found if each is not None), None)
        for link in metadata.links if metadata is not None else ():
            if link.type is LinkType.REQUISITE:
                yield link.url


def _streams(responses: RecordedResponses, response: RecordedResponse, urls: list[str]) -> list[str]:
    """Return the URLs of captured playlists that none of the other playlists names."""
    parts: dict[str, frozenset[str]] = {}
    for url in islice(dict.fromkeys(urls), _MAX_LOOKED_UP):
        found = responses.lookup.nearest(url, response.moment)
        named = url.partition("?")[0].lower().endswith(_NAMES)
        if not found or not (named or _KIND in found[0].media_type):
            continue
        playlist = responses.nearest(url, response.moment)
        if playlist is not None and (named_in := _parts(responses.page(playlist))) is not None:
            parts[url] = named_in
        if len(parts) > _MAX_READ:
            return []
    inner = frozenset().union(*parts.values())
    return [url for url in parts if url not in inner]


def _parts(page: Page) -> frozenset[str] | None:
    """Return the canonical URLs that a playlist names; None where it cannot be read as a playlist."""
    try:
        manifest = manifest_of(page) if is_hls(page.body) else None
    except UnreadableManifestError:
        return None
    return None if manifest is None else frozenset(url for each in manifest.parts if (url := canonicalize(each)))
