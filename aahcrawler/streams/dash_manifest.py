"""Read a DASH manifest (ISO/IEC 23009-1): periods of adaptation sets, each with representations to choose from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import urljoin

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.streams.durations import seconds_of
from aahcrawler.streams.quality import Quality, chosen
from aahcrawler.streams.segment_urls import Described, segments_of
from aahcrawler.streams.stream_manifest import MOST_PARTS, StreamManifest, UnreadableManifestError

_TEXT: Final = ("text", "application")


@dataclass(frozen=True, slots=True)
class Representation:
    """A quality: the elements that lead to it and itself, the outermost first, and the seconds of its period."""

    lineage: tuple[Element, ...]
    seconds: float


def read_manifest(body: bytes, url: str, most_lines: int) -> StreamManifest:
    """Return what a manifest asks for: one quality of the picture, the first language of sound, and all texts.

    Of a manifest that goes on (``type="dynamic"``) only segments that it lists with their times are named. Raise
    ``UnreadableManifestError``.
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
                    if len(parts) > MOST_PARTS:
                        return StreamManifest(tuple(parts)[:MOST_PARTS], left_out, is_live, is_protected, is_cut=True)
    return StreamManifest(tuple(parts), left_out, is_live, is_protected and not parts)


def manifest_root(body: bytes) -> Element:
    """Return the root of a manifest. Raise ``UnreadableManifestError``."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, recover=False)
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UnreadableManifestError(f"the manifest is no XML: {error}") from error
    if root.getroottree().docinfo.doctype:
        raise UnreadableManifestError("the manifest has a document type, which none has")
    return root


def children(parent: Element, name: str) -> Iterator[Element]:
    """Yield the children of a local name, whatever their namespace."""
    for child in parent:
        if isinstance(child.tag, str) and etree.QName(child).localname == name:
            yield child


def periods(root: Element) -> Iterator[tuple[Element, float]]:
    """Yield the periods with the seconds that each lasts, 0 where nobody says."""
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
    """Yield the adaptation sets of a period: those of pictures, those of sound, and each of texts by itself."""
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
    """Return the representation to take of adaptation sets of one kind, and how many are passed over.

    Those of sound differ in their language or in whom they are for: the first set is the one that players begin with.
    """
    if not sets:
        return (), 0
    everything = [(each, found) for each in sets for found in children(each, "Representation")]
    of_kind = everything if _kind(sets[0]) == "video" else [pair for pair in everything if pair[0] is sets[0]]
    if not of_kind:
        return (), 0
    qualities = [Quality(_number(it.get("height")), _number(it.get("bandwidth"))) for _, it in of_kind]
    return (of_kind[chosen(qualities, most_lines)],), len(everything) - 1


def urls_of(found: Representation, url: str, *, is_live: bool) -> Iterator[str]:
    """Yield the absolute URLs of what a representation of the manifest at a URL consists of, its head first.

    None of one that is live and names no times, and of one that names nothing.
    """
    base = url
    for element in found.lineage:
        given = next(children(element, "BaseURL"), None)
        base = urljoin(base, (given.text or "").strip()) if given is not None else base
    representation = found.lineage[-1]
    described = Described(representation.get("id") or "", _number(representation.get("bandwidth")), found.seconds)
    segments = segments_of(found.lineage, described, is_live=is_live)
    if segments is None:
        yield from (base,) if base != url else ()
        return
    yield from (urljoin(base, segment) for segment in islice(segments, 2 * MOST_PARTS))


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else 0
