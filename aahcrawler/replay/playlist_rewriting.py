"""HLS playlists (RFC 8216) that lead into the archive alone, and offer the qualities that it holds."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, takewhile
from typing import Final, NamedTuple

from aahcrawler.streams.stream_manifest import LARGEST, MOST_PARTS

MOST_QUALITIES: Final = 300
"""Qualities and languages of a manifest that are looked up in the archive; further ones are not shown."""
_MOST_SEGMENTS: Final = 5_000
"""Segments at the end of a playlist that are looked up; where none of them was captured, all are shown."""
_MOST_LINES: Final = 6 * MOST_PARTS
_LARGEST_MADE: Final = 4 * LARGEST
_LINE_END: Final = re.compile(r"\r\n?|\n")
_ADDRESS: Final = re.compile(r'([:,]\s*[A-Z0-9-]*+)="((?<=URI=")[^"]*+|(?i:https?:|)//[^"]*+)"')
"""An attribute that names something else: by its name, or because its value is a URL (section 4.2)."""
_ATTRIBUTE: Final = re.compile(r'[:,]\s*([A-Z0-9-]++)=(?:"([^"]*+)"|([^",]*+))')
_GROUPED: Final = re.compile(r',\s*(AUDIO|VIDEO|SUBTITLES)="([^"]*+)"|(?<=:)(AUDIO|VIDEO|SUBTITLES)="([^"]*+)",?')
_VARIANT: Final = "#EXT-X-STREAM-INF:"
_OFFERED: Final = ("#EXT-X-MEDIA:", "#EXT-X-I-FRAME-STREAM-INF:")
_END: Final = "#EXT-X-ENDLIST"
_LIVE: Final = (
    *("#EXT-X-SERVER-CONTROL", "#EXT-X-PRELOAD-HINT", "#EXT-X-RENDITION-REPORT", "#EXT-X-PART", "#EXT-X-SKIP"),
    "#EXT-X-CONTENT-STEERING",
)
"""Tags that have a player ask a server for what comes next, or which server to ask."""

Link = Callable[[str], str | None]
"""Returns the address in the archive of a URI as written, None where it is no URL of the web."""
Has = Callable[[str], bool]
"""Returns whether the archive holds what a URI as written names."""


class ShownManifest(NamedTuple):
    """A manifest as it is shown, and how much of it is left out, since the archive does not hold it.

    ``left_out`` counts qualities and languages, or segments at the end.
    """

    body: bytes
    left_out: int = 0


class _Offer(NamedTuple):
    """Lines of a master playlist that are shown together, or not: ``uri`` is what they offer, empty for nothing."""

    lines: tuple[str, ...]
    uri: str = ""


def rewrite_playlist(text: str, link: Link, has: Has) -> ShownManifest:
    """Return a playlist whose every URI is an address in the archive.

    Only qualities that the archive holds are offered, and segments at the end that it does not hold are left out,
    unless nothing remained. A live playlist ends with what it named when it was captured.
    """
    lines = [found for line in islice(_LINE_END.split(text[:LARGEST]), _MOST_LINES) if (found := line.strip())]
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
    missing = takewhile(lambda at: not looked_up(lines[at]), islice(reversed(segments), _MOST_SEGMENTS))
    left_out = sum(1 for _ in missing)
    if left_out in (len(segments), _MOST_SEGMENTS):
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
    wanted = set(islice(dict.fromkeys(each.uri for each in offers if each.uri), MOST_QUALITIES))
    return [each for each in offers if not each.uri or (each.uri in wanted and looked_up(each.uri))]


def _attributes(line: str) -> dict[str, str]:
    return {match[1]: match[2] or match[3] or "" for match in _ATTRIBUTE.finditer(line)}


def _group(line: str) -> tuple[str, str]:
    attributes = _attributes(line)
    return attributes.get("TYPE", ""), attributes.get("GROUP-ID", "")


def _of_groups(line: str, groups: set[tuple[str, str]]) -> str:
    """Return a line without the groups that it names but nobody offers any more: players refuse such a playlist."""
    if not line.startswith(_VARIANT):
        return line

    def kept(match: re.Match[str]) -> str:
        return match[0] if ((match[1] or match[3]), match[2] or match[4] or "") in groups else ""

    return _GROUPED.sub(kept, line)


def _joined(lines: Iterator[str], link: Link) -> bytes:
    made = bytearray()
    for line in lines:
        made += _linked(line, link).encode("utf-8", "replace") + b"\n"
        if len(made) > _LARGEST_MADE:
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
