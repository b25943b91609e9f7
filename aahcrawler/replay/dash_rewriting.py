"""DASH manifests (ISO/IEC 23009-1) that lead into the archive alone, and offer the qualities that it holds."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final
from urllib.parse import urljoin

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.replay.playlist_rewriting import MOST_QUALITIES, Has, Link, ShownManifest
from aahcrawler.streams.dash_manifest import Representation, children, manifest_root, periods, urls_of
from aahcrawler.streams.stream_manifest import UnreadableManifestError

_FIRST: Final = 2
"""What is looked up of a representation: its head and its first segment."""
_MOST_ELEMENTS: Final = 300_000
_MOST_PASSED: Final = 300_000
"""Elements that are passed while qualities are looked up: within some of them each quality looks for its own."""
_ASKING: Final = frozenset({"Location", "PatchLocation", "UTCTiming", "ContentSteering", "Metrics"})
"""Elements that have a player ask a server for the time, for news, or which server to ask, or report to one."""
_REFERENCES: Final = ("media", "initialization", "index", "bitstreamSwitching", "sourceURL")
_REMOTE: Final = "{http://www.w3.org/1999/xlink}href"
_ELSEWHERE: Final = re.compile(r"\s*(?:[a-zA-Z][a-zA-Z0-9+.-]*:|[/\\]|.*\.\.)", re.DOTALL)
"""References that do not lead into the folder of their base, or below it."""


def rewrite_manifest(body: bytes, url: str, link: Link, has: Has) -> ShownManifest:
    """Return the manifest that was captured at a URL; all that it names lies in the archive.

    Of its qualities and languages those are offered whose beginning the archive holds, unless that is nothing. What
    the manifest says of live streams stays: players need it to tell the time within them. Raise
    ``UnreadableManifestError``.
    """
    root = manifest_root(body)
    if sum(1 for _ in islice(root.iter(), _MOST_ELEMENTS + 1)) > _MOST_ELEMENTS:
        raise UnreadableManifestError("the manifest has more elements than any that can be played")
    left_out = _leave_out(root, url, has)
    for element in list(root.iter(etree.Element)):
        if etree.QName(element).localname in _ASKING:
            _remove(element)
    _link(root, url, link)
    made = etree.tostring(root, encoding="utf-8", xml_declaration=True, with_tail=False)
    return ShownManifest(made, left_out)


def _leave_out(root: Element, url: str, has: Has) -> int:
    """Take out what the archive does not hold; return how many representations that are."""
    everything = list(_representations(root))
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
    """Yield those that are looked up."""
    passed = 0
    for each in everything[:MOST_QUALITIES]:
        passed += sum(len(element) for element in each.lineage)
        if passed > _MOST_PASSED:
            return
        yield each


def _representations(root: Element) -> Iterator[Representation]:
    for period, seconds in periods(root):
        for adaptation_set in children(period, "AdaptationSet"):
            for representation in children(adaptation_set, "Representation"):
                yield Representation((root, period, adaptation_set, representation), seconds)


def _link(root: Element, url: str, link: Link) -> None:
    """Make addresses in the archive of the bases, and of what does not lie below its base."""
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
    """Return the base of what is in an element. Of several the first is kept: others are other servers of the same."""
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
