"""Find the one article of a page, if it has one: its place, its author and date, and its text."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

from aahcrawler.induction.headings import Names, headed_places, page_heading
from aahcrawler.induction.outline import Outline
from aahcrawler.induction.record_bodies import Content, FoundBody, RecordPart, bodies
from aahcrawler.induction.record_fields import labelled_date, read_fields
from aahcrawler.induction.record_sets import Byline, Dated, Nature, RecordSet, Region
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.induction.shown_names import is_labelled, labelled_name

_MOSTLY = 0.75
_HALF = 0.5
_NEARLY_ALL = 0.9
_NO_HOLDERS = frozenset({"nav", "aside", "footer", "form", "p", "ul", "ol", "blockquote", "pre"})
_STYLES = frozenset({"b", "big", "em", "font", "i", "small", "span", "strong", "tt", "u"})
"""Elements that may contain the rest of a text because their end tags are missing, but not the whole text."""


@dataclass(frozen=True, slots=True)
class MainPart:
    """The article of a page. ``running`` is the weight of its running text, ``place`` that of its body.

    ``heading`` is the place of the element from which ``title`` was read; None if there is none.
    """

    body: Region
    title: str
    author: Byline | None
    date: Dated | None
    running: int
    place: int
    linked: int
    holder: int
    heading: int | None = None


def main_part(
    outline: Outline,
    shown: Sequence[ShownDate],
    sets: Sequence[RecordSet],
    names: Names,
    labels: Collection[int] = (),
) -> MainPart | None:
    """Return the part of a page that contains most of its running text outside of records; None if there is none.

    ``labels`` are the places of blocks of labels and values, which do not count as text. On a page with a main element,
    a part in an ``aside`` does not count, unless asides contain the content of the page.
    """
    if not outline.elements:
        return None
    taken = _Taken(outline, sets)
    titled = [place for place in headed_places(outline, names) if not taken.covers(place)]
    deepest = _descend(outline, taken, _start(outline, taken), titled)
    if deepest is None:
        return None
    heading = page_heading(outline, names, deepest, taken.roots)
    holder = _holder(outline, deepest, heading, taken)
    part = RecordPart((holder,), frozenset(root for root in taken.roots if outline.contains(holder, root)))
    content = Content(outline, (part,), labels=frozenset(labels))
    own = [each for each in shown if not taken.covers(each.place)]
    fields = read_fields(content, own)
    beside = set(fields.beside(0)) | ({heading[1]} if heading else set())
    found = bodies(content, {0: frozenset(beside)})[0]
    if found is None:
        found = FoundBody((deepest,), tuple(part.holes))
    after = min((root for root in taken.posts if root > found.elements[0]), default=len(outline.elements))
    first, *others = found.elements
    kept = (first, *(place for place in others if outline.ends[place] <= after)) if first < after else ()
    found = FoundBody(kept, found.without)
    if "main" in outline.tags and all(outline.is_within(place, ("aside",)) for place in kept):
        return None
    name = fields.names.get(0) or labelled_name(outline, labels)
    dated = fields.dates.get(0) or labelled_date(outline, labels, own)
    return MainPart(
        region(outline, found),
        heading[0] if heading else "",
        Byline(name.text, outline.elements[name.place], name.href, is_labelled(outline, name)) if name else None,
        Dated(dated.read, outline.elements[dated.place], dated.attribute) if dated and not dated.unread else None,
        sum(taken.running(place) for place in found.elements),
        found.elements[0],
        sum(outline.linked(place) for place in found.elements),
        holder,
        heading[1] if heading else None,
    )


def region(outline: Outline, found: FoundBody) -> Region:
    """Turn places into elements."""
    return Region(
        tuple(outline.elements[place] for place in found.elements),
        tuple(outline.elements[place] for place in found.without),
    )


class _Taken:
    """The content that belongs to records rather than to the article."""

    def __init__(self, outline: Outline, sets: Sequence[RecordSet]) -> None:
        places = (
            outline.places[element]
            for each in sets
            for record in each.records
            for element in record.elements
            if element in outline.places
        )
        self._outline = outline
        self.posts = [
            outline.places[record.element]
            for each in sets
            if each.nature is Nature.POSTS
            for record in each.records
            if record.element in outline.places
        ]
        self.roots: list[int] = []
        for place in sorted(places):
            if not self.roots or place >= outline.ends[self.roots[-1]]:
                self.roots.append(place)
        self._taken = (0, *accumulate(map(outline.running, self.roots)))

    def covers(self, place: int) -> bool:
        """Return whether an element belongs to a record."""
        number = bisect_right(self.roots, place) - 1
        return number >= 0 and self._outline.contains(self.roots[number], place)

    def running(self, place: int) -> int:
        """Return the weight of running text within an element that belongs to no record."""
        if self.covers(place):
            return 0
        first = bisect_right(self.roots, place)
        last = bisect_left(self.roots, self._outline.ends[place])
        return self._outline.running(place) - (self._taken[last] - self._taken[first])


def _start(outline: Outline, taken: _Taken) -> int:
    """Return the element that the page declares to be its main one, if it contains text, else the body."""
    mains = [
        place
        for place, element in enumerate(outline.elements)
        if element.tag == "main" or element.get("role") == "main"
    ]
    if len(mains) == 1 and taken.running(mains[0]) >= 0.4 * taken.running(0):
        return mains[0]
    articles = [place for place, tag in enumerate(outline.tags) if tag == "article" and not taken.covers(place)]
    if len(articles) == 1 and taken.running(articles[0]) >= 0.4 * taken.running(0):
        return articles[0]
    return mains[0] if len(mains) == 1 and taken.running(0) == 0 else 0


def _descend(outline: Outline, taken: _Taken, place: int, titled: Sequence[int]) -> int | None:
    """Descend while one child has most of the running text; half is enough for the child with the heading."""
    if taken.running(place) <= 0:
        return None
    while True:
        inner = [child for child in outline.children(place) if outline.tags[child] not in _NO_HOLDERS]
        whole = taken.running(place)
        best = max(inner, key=taken.running, default=None)
        headed = [child for child in inner if any(outline.contains(child, each) for each in titled)]
        least = _NEARLY_ALL if best is not None and outline.tags[best] in _STYLES else _MOSTLY
        if best is not None and taken.running(best) >= least * whole:
            place = best
        elif len(headed) == 1 and taken.running(headed[0]) >= _HALF * whole:
            place = headed[0]
        else:
            return place


def _holder(outline: Outline, deepest: int, heading: tuple[str, int] | None, taken: _Taken) -> int:
    """Return the element that contains the text with its heading, its date and its author."""
    for above in (deepest, *outline.ancestors(deepest)):
        if outline.tags[above] == "article" and not taken.covers(above):
            return above
    holder = deepest
    if heading is not None:
        common = outline.common(deepest, heading[1])
        if common > 0 and taken.running(common) <= 1.25 * taken.running(deepest) + 200:
            holder = common
    if holder == deepest:
        for above in tuple(outline.ancestors(deepest))[:2]:
            if above > 0 and taken.running(above) <= taken.running(deepest) / _MOSTLY:
                holder = above
    return holder
