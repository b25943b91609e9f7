"""Find the URLs of records: fragments of their page, and links of their own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from aahcrawler.induction.outline import Outline, numbered
from aahcrawler.induction.record_bodies import Part
from aahcrawler.urls import resolve

_DEED = re.compile(
    r"repl|quote|edit|report|delet|vote|like|rate|flag|login|register|share|print|mode=|action=|do=", re.IGNORECASE
)
_FRONT = re.compile(r"/(?:(?:index|default|home)\.\w+)?")


def is_front(url: str) -> bool:
    """Return whether a URL is that of a site's front page."""
    parts = urlsplit(url)
    return not parts.query and _FRONT.fullmatch(parts.path) is not None


@dataclass(frozen=True, slots=True)
class RecordIdentity:
    """The URL of a record: the fragment within the page, and the URL it gives for itself."""

    key: str | None
    permalink: str | None


def record_identity(outline: Outline, part: Part, base: str) -> RecordIdentity:
    """Find the identifier of a record, and the link of its own that leads to itself.

    Such a link has a fragment that lies within the record, or repeats the number of its identifier.
    """
    keys = list(_keys(outline, part))
    known = frozenset(keys)
    numbers = frozenset(parts[1] for key in keys if (parts := numbered(key)) and len(parts[1]) <= 15)
    best: tuple[int, str, str] | None = None
    for place in part.places(outline):
        href = outline.elements[place].get("href") if outline.tags[place] == "a" else None
        if not href or len(href) > 2_000:
            continue
        rank = _rank(href, known, numbers)
        if rank and (best is None or rank > best[0]):
            best = (rank, *_halves(href))
    key = best[2] if best and best[2] else keys[0] if keys else None
    url = resolve(base, best[1]) if best and best[1] else None
    return RecordIdentity(key, f"{url}#{best[2]}" if url and best and best[2] else url)


def _halves(href: str) -> tuple[str, str]:
    plain, _, fragment = href.partition("#")
    return plain, fragment


def _rank(href: str, known: frozenset[str], numbers: frozenset[str]) -> int:
    """Return how surely a reference within a record leads to the record itself; 0 if it does not."""
    plain, fragment = _halves(href)
    if _DEED.search(plain):
        return 0
    if fragment in known:
        return 4 if plain else 2
    if fragment and (parts := numbered(fragment)) and parts[1] in numbers:
        return 3 if plain else 1
    return 1 if plain and not fragment and _ends_with_number(plain, numbers) else 0


def _ends_with_number(address: str, numbers: frozenset[str]) -> bool:
    found = numbered(address.rstrip("/"))
    return found is not None and found[1] in numbers and len(found[1]) > 1


def _keys(outline: Outline, part: Part) -> Iterator[str]:
    """Yield identifiers that end with a number, those of the outermost elements first, then all others."""
    others: list[str] = []
    for root in part.roots:
        for place in (root, *list(outline.ancestors(root))[:2]):
            key = outline.elements[place].get("id")
            if root > place + 1 and key and outline.free(place) > 1.3 * outline.free(root) + 50:
                break
            if key and numbered(key):
                yield key
    for place in part.places(outline):
        element = outline.elements[place]
        for key in (element.get("id"), element.get("name") if element.tag == "a" else None):
            if key and place not in part.roots:
                if numbered(key):
                    yield key
                else:
                    others.append(key)
    yield from others
