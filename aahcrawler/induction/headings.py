"""Find a page's titles, and the heading that repeats them."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from aahcrawler.induction.outline import Extents, Outline
from aahcrawler.page import Page
from aahcrawler.page.text import bare, excerpt, fold, headline
from aahcrawler.urls import canonicalize, queue_of, resolve

OUTSIDE = ("nav", "aside")
"""Elements whose headings do not name the page."""

MAX_HEADING_LENGTH = 300
"""The most characters of a heading that are read."""
_HEADINGS = ("h1", "h2", "h3")
_MINOR_HEADINGS = ("h4", "h5", "h6")
_LARGE = frozenset({"b", "big", "center", "font", "strong"})
_MIN_TITLE = 4
_PARTS = re.compile(r"\s+(?:[-–—|•»«/·]|::)\s+")
_ANNOUNCES = re.compile(
    r"\W*(?:\d+\s+)?(?:comments?|replies|answers?|responses?|discussion|activit(?:y|ies)|history|notes|journal|"
    r"change history|issue history|description|details|attachments|messages|kommentare?|antworten|historie|verlauf|"
    r"beschreibung|commentaires?|réponses|historique|comentarios|respuestas|historial|commenti|risposte|cronologia|"
    r"reacties|antwoorden|geschiedenis)\W*(?:\d+\W*)?",
    re.IGNORECASE,
)
"""Headings that announce a part that any page may have, rather than a subject."""
_FRONT = re.compile(r"/(?:(?:index|default|home)\.\w+)?")


def is_front(url: str) -> bool:
    """Return whether a URL is that of a site's front page."""
    parts = urlsplit(url)
    return not parts.query and _FRONT.fullmatch(parts.path) is not None


@dataclass(frozen=True, slots=True)
class Names:
    """The names and URLs that a page gives for itself.

    ``title`` is that of its head, ``base`` the base of references, ``own`` all URLs of the page, ``queue`` the site,
    ``here`` the URL at which it was fetched. ``canonical`` is True if the page declares that as its canonical one.
    """

    title: str
    base: str
    own: frozenset[str]
    queue: str
    canonical: bool
    here: str = ""

    @classmethod
    def of(cls, page: Page) -> "Names":
        """Read the names and URLs of a page."""
        title = next((excerpt(element, 500) for element in page.tree.iter("title")), "")
        here = canonicalize(page.url) or page.url
        links = (link.get("href") for link in page.tree.iter("link") if "canonical" in (link.get("rel") or "").split())
        given = frozenset(url for href in links if href and (url := resolve(page.base_url, href)))
        return cls(title, page.base_url, given | {here}, queue_of(here), here in given, here)


def own_address(names: Names) -> str:
    """Return the URL by which a page is known: the one that it declares, if there is only one, else its own."""
    declared = names.own - {names.here}
    return next(iter(declared)) if len(declared) == 1 and not names.canonical else names.here


def page_heading(outline: Outline, names: Names, before: int, roots: Sequence[int]) -> tuple[str, int] | None:
    """Return the heading that names the subject of the page, and its place.

    It comes before the main text or begins it, outside of records. Its words are in the page's title; one that links to
    the page itself is preferred, then one that does not link to the front page, then the last one. If only the site's
    name is before the text, the heading may come after it. Words in bold or large letters may serve as a heading.
    """
    found = headings(outline, names)
    free = [each for each in found if not any(outline.contains(root, each.place) for root in roots)]
    named = [each for each in free if each.place < outline.ends[before]]
    best = max(named, key=lambda each: each.rank, default=None)
    if best is None or not best.rank[0]:
        best = next((each for each in free if each.rank[0]), best)
    if best is not None:
        return _nearer(outline, names, best, before) or (best.text, best.place)
    first = [place for place, tag in enumerate(outline.tags) if tag == "h1"]
    only = first[0] if len(first) == 1 and first[0] < outline.ends[before] else None
    text = outline.once(only, heading_text) if only is not None else ""
    return (text, only) if text and only is not None else _set_apart(outline, names, before, roots)


def _set_apart(outline: Outline, names: Names, before: int, roots: Sequence[int]) -> tuple[str, int] | None:
    """Return the first words before or in a text that are the page's title, set in bold or large letters.

    They are outside of records, whose ``roots`` are given in document order.
    """
    title = bare(names.title)
    records = Extents((root, outline.ends[root]) for root in roots)
    for piece in outline.pieces:
        place = piece.owner
        if place >= outline.ends[before]:
            break
        if piece.linked or outline.tags[place] not in _LARGE or bare(piece.text) != title or len(title) < _MIN_TITLE:
            continue
        is_alone = outline.free(place) + outline.linked(place) == piece.weight
        if is_alone and not outline.is_within(place, OUTSIDE) and not records.cover(place):
            return piece.text, place
    return None


def headed_places(outline: Outline, names: Names) -> tuple[int, ...]:
    """Return the places of the headings that could name the page's subject, without those with the site's name."""
    return tuple(each.place for each in headings(outline, names) if each.rank[0])


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading whose words are in the page's title; the higher its ``rank``, the likelier it names the page."""

    place: int
    text: str
    rank: tuple[int, int]


def _nearer(outline: Outline, names: Names, named: Heading, before: int) -> tuple[str, int] | None:
    """Return the last heading between one that repeats a part of the page's title and a text, if its rank is as high.

    Some software titles each page with the names of the site and of its part: ``Works: Forum``. None if the heading
    links to the page itself, or has the whole title.
    """
    if named.rank[0] > 1 or fold(named.text).casefold() == fold(names.title).casefold():
        return None
    level = outline.tags[named.place]
    for place in range(min(before, len(outline.tags) - 1), named.place, -1):
        if outline.tags[place] not in _HEADINGS or outline.tags[place] > level or outline.is_within(place, OUTSIDE):
            continue
        text = outline.once(place, heading_text)
        if len(text) >= 2 and outline.ends[place] <= before and not _ANNOUNCES.fullmatch(text):
            return text, place
    return None


def heading_text(outline: Outline, place: int) -> str:
    """Return the text of an element as a heading. Call this by ``Outline.once``, so that it is read once."""
    return headline(outline.elements[place], MAX_HEADING_LENGTH)


def headings(outline: Outline, names: Names, outside: Collection[str] = OUTSIDE) -> list[Heading]:
    """Return the headings that repeat the page's title or a part of it, except those in ``outside`` elements."""
    title = bare(names.title)
    parts = frozenset(map(bare, _PARTS.split(names.title)))
    found: list[Heading] = []
    for place, tag in enumerate(outline.tags):
        minor = tag in _MINOR_HEADINGS
        if not (minor or tag in _HEADINGS) or outline.is_within(place, outside):
            continue
        text = outline.once(place, heading_text)
        key = bare(text)
        if len(text) < 2 or not key or key not in (parts if minor else title):
            continue
        target = heading_target(outline, place, names.base)
        front = target is not None and is_front(target) and target not in names.own
        rank = 2 if target in names.own else 0 if front else 1
        found.append(Heading(place, text, (rank, place if rank else -place)))
    return found


def heading_target(outline: Outline, place: int, base: str) -> str | None:
    """Return the URL to which a heading links by most of its text, or by a picture, ignoring a link to edit it."""
    above = outline.parents[place]
    link = outline.elements[above] if above >= 0 and outline.tags[above] == "a" else None
    if link is None and outline.linked(place) >= outline.free(place):
        link = next(outline.elements[place].iter("a"), None)
    href = link.get("href") if link is not None else None
    return resolve(base, href) if href else None
