"""List the segments of a representation in a DASH manifest (ISO/IEC 23009-1, section 5.3.9)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice, repeat
from math import ceil
from typing import Final

from lxml import etree
from lxml.etree import _Element as Element

_IDENTIFIER: Final = re.compile(r"\$(?:(RepresentationID|Number|Bandwidth|Time|SubNumber)(?:%0(\d{1,2})d)?)?\$")
_MOST: Final = 100_000
"""The most segments that a template is unrolled to."""


@dataclass(frozen=True, slots=True)
class Described:
    """A representation: its id, its bits a second, and the seconds that it plays, 0 where nobody says."""

    id: str
    bandwidth: int
    seconds: float


def segments_of(lineage: Sequence[Element], described: Described, *, is_live: bool) -> Iterator[str] | None:
    """Return the URLs of segments as written, the head first; None where a representation is one file.

    ``lineage`` leads from the manifest to the representation; what an outer element says holds where no inner one says
    otherwise. Of a stream that is live (``is_live``) and names no times no segment is known.
    """
    lists = _children(lineage, "SegmentList")
    if lists:
        return _listed(lists)
    templates = _children(lineage, "SegmentTemplate")
    return _templated(templates, described, is_live=is_live) if templates else None


def _children(lineage: Sequence[Element], name: str) -> list[Element]:
    """Return the children of a name, the innermost first."""
    found = (child for parent in reversed(lineage) for child in parent if isinstance(child.tag, str))
    return [child for child in found if etree.QName(child).localname == name]


def _listed(lists: Sequence[Element]) -> Iterator[str]:
    for found in lists[0].iter():
        if isinstance(found.tag, str):
            name = "sourceURL" if etree.QName(found).localname == "Initialization" else "media"
            if url := found.get(name):
                yield url


def _templated(templates: Sequence[Element], described: Described, *, is_live: bool) -> Iterator[str]:
    said = {name: value for template in reversed(templates) for name, value in template.attrib.items()}
    words = {"RepresentationID": described.id, "Bandwidth": str(described.bandwidth)}
    if head := said.get("initialization"):
        yield _filled(head, words)
    media = said.get("media")
    if not media:
        return
    first, scale = _number(said.get("startNumber"), 1), _number(said.get("timescale"), 1) or 1
    timelines = _children(tuple(reversed(templates)), "SegmentTimeline")
    length = 0 if is_live else _number(said.get("duration"), 0)
    whole = described.seconds * scale
    times = _times(timelines[0], whole) if timelines else _even(length, whole)
    for number, time in zip(count(first), islice(times, _MOST), strict=False):
        yield _filled(media, {**words, "Number": str(number), "Time": str(time)})


def _times(timeline: Element, whole: float) -> Iterator[int]:
    """Yield the times at which the segments of a timeline begin; an open repetition lasts to the end of the period."""
    at = 0
    for each in timeline:
        if not isinstance(each.tag, str):
            continue
        at = _number(each.get("t"), at)
        length, text = _number(each.get("d"), 0), each.get("r") or "0"
        if not length:
            return
        times = max(0, ceil((whole - at) / length) - 1) if text.startswith("-") else _number(text, 0)
        for _ in repeat(None, min(times, _MOST) + 1):
            yield at
            at += length


def _even(length: int, whole: float) -> Iterator[int]:
    """Yield the times at which segments of one length begin."""
    if length and whole:
        yield from range(0, ceil(whole - 1e-6), length)


def _filled(template: str, words: Mapping[str, str]) -> str:
    def word(match: re.Match[str]) -> str:
        if not match[1]:
            return "$"
        known = words.get(match[1], match[0])
        return known.zfill(int(match[2])) if match[2] else known

    return _IDENTIFIER.sub(word, template)


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else otherwise
