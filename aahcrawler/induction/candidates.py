"""Find candidates for records: repeated elements, and elements with a shape known from the site's other records."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise

from lxml.etree import _Element as Element

from aahcrawler.induction.comment_sections import CommentSection, lone_comment
from aahcrawler.induction.outline import Outline, numbered
from aahcrawler.induction.record_sets import Nature, Record, RecordSet
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.page.record_shape import RecordShape, Trail, TrailStep, common_trail

MAX_CANDIDATES = 10
"""How many sets of one page are examined closely, those with most text first."""

MAX_RECORDS = 1_000
HIGHEST = 12
"""The most levels above its date at which a record may begin."""

MESSAGE = "message"
"""The evidence for a record that is the only message of its page."""

OPENED = "opened"
"""The evidence for records of which the first is in another frame than the others."""

_REPEATED = frozenset({"div", "li", "article", "section", "tr", "tbody", "table", "dl", "dd", "blockquote", "details"})
_RECORD_WORD = re.compile(
    r"(?:[a-z]+[-_])?(?:c|p|pid|msg|cmt|comment|post|message|reply|answer|kommentar|commentaire|comentario|commento|"
    r"reactie|antwort|beitrag|entry|note|journal)|[a-z]+(?:comment|reply|answer|(?<!foot)(?<!end)(?<!side)note)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A set of possible records: for each, the places of its adjacent elements.

    ``text`` is the weight of their text without links, ``sign`` the evidence by which they were found.
    """

    records: tuple[tuple[int, ...], ...]
    text: int
    sign: str

    @property
    def roots(self) -> tuple[int, ...]:
        """The place of the first element of each record."""
        return tuple(record[0] for record in self.records)


def candidates(
    outline: Outline,
    shown: Sequence[ShownDate],
    sections: Sequence[CommentSection] = (),
    messages: Sequence[tuple[int, ...]] = (),
) -> tuple[Candidate, ...]:
    """Return the sets worth a closer examination, those with most text first; comments are searched in ``sections``.

    ``messages`` are alone on their page; they are always included, last.
    """
    found: dict[tuple[tuple[int, ...], ...], Candidate] = {}
    clusters = [("date", places) for places in _date_clusters(outline, shown)]
    for section in sections:
        within = [each for each in shown if section.covers(each.place)]
        clusters += [("comments", places) for places in _date_clusters(outline, within)]
    clusters += [("number", places) for places in _numbered_clusters(outline)]
    clusters += [("shape", places) for places in _shape_clusters(outline)]
    for sign, places in clusters:
        for records in _levels(outline, places):
            text = own_text(outline, records)
            if records not in found and text:
                found[records] = Candidate(records, text, sign)
    for record in _single(outline, shown):
        found.setdefault((record,), Candidate((record,), own_text(outline, [record]), "single"))
    for section in sections[:1] if len(sections) == 1 else ():
        place = lone_comment(outline, section, shown)
        if place is not None and (text := own_text(outline, [(place,)])):
            found[((place,),)] = Candidate(((place,),), text, "comments")
    ranked = sorted(found.values(), key=lambda each: (each.sign != "comments", -each.text, each.records))
    alone = (Candidate((record,), own_text(outline, [record]), MESSAGE) for record in messages)
    return (*ranked[:MAX_CANDIDATES], *alone)


def own_text(outline: Outline, records: Sequence[tuple[int, ...]]) -> int:
    """Return the weight of the records' text without links; text that several share counts once."""
    total, reached = 0, -1
    for root in sorted(chain.from_iterable(records)):
        if root >= reached:
            total += outline.free(root)
            reached = outline.ends[root]
    return total


def _date_clusters(outline: Outline, shown: Sequence[ShownDate]) -> Iterator[list[int]]:
    """Group dates in elements of one shape, then those in elements of one name."""
    for by_class in (True, False):
        groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for each in shown:
            groups[_trail(outline, each.place, by_class)].append(each.place)
        yield from (places for places in groups.values() if len(places) >= 2)


def _trail(outline: Outline, place: int, by_class: bool) -> tuple[object, ...]:
    trail: list[object] = []
    for level, above in enumerate((place, *outline.ancestors(place))):
        if level == 3:
            break
        trail.append((outline.tags[above], outline.tokens[above]) if by_class and level < 2 else outline.tags[above])
    return tuple(trail)


def _numbered_clusters(outline: Outline) -> Iterator[list[int]]:
    """Group elements whose identifiers differ only in their numbers."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, element in enumerate(outline.elements):
        if (outline.tags[place] in _REPEATED) and (parts := numbered(element.get("id"))):
            groups[outline.tags[place], parts[0]].append(place)
    yield from (places for places in groups.values() if len(places) >= 2)


def _single(outline: Outline, shown: Sequence[ShownDate]) -> Iterator[tuple[int, ...]]:
    """Yield elements with a date that are the page's only ones with identifiers of a numbered post or comment."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, element in enumerate(outline.elements):
        if outline.tags[place] in _REPEATED and (prefix := called_record(element)):
            groups[prefix].append(place)
    for places in groups.values():
        dated = sum(outline.contains(places[0], each.place) for each in shown)
        if len(places) == 1 and 1 <= dated <= 3:
            yield (places[0],)


def called_record(element: Element) -> str:
    """Return the part before the number in an identifier of a post or a comment; "" for other elements."""
    parts = numbered(element.get("id"))
    return parts[0] if parts and _RECORD_WORD.fullmatch(parts[0].rstrip("-_")) else ""


def _shape_clusters(outline: Outline) -> Iterator[list[int]]:
    """Group adjacent elements with text that have the same tag: those of one class, and those with equal children.

    If rows have two alternating colours, their classes differ.
    """
    classes: dict[tuple[object, ...], list[int]] = defaultdict(list)
    builds: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place in range(len(outline.elements)):
        if outline.tags[place] in _REPEATED and outline.tokens[place] and outline.ends[place] - place > 3:
            classes[outline.parents[place], outline.tags[place], outline.tokens[place]].append(place)
            if build := _build(outline, place):
                builds[outline.parents[place], outline.tags[place], build].append(place)
    for groups in (classes, builds):
        yield from (places for places in groups.values() if len(places) >= 3)


def _build(outline: Outline, place: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the tags and classes of an element's children; none if none of them has a class."""
    children = tuple((outline.tags[child], outline.tokens[child]) for child in outline.children(place))
    return children if any(tokens for _, tokens in children) else ()


def _levels(outline: Outline, anchors: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield sets of elements above the anchors, one element for each anchor, as long as these differ.

    Of the levels with the same text the lowest is yielded, and so is the highest level of all. Content between the
    elements of one level joins them if it has much text.
    """
    current = list(dict.fromkeys(anchors))[:MAX_RECORDS]
    wanted = max(2, (7 * len(current) + 9) // 10)
    best = -1
    last: list[int] = []
    highest: list[int] = []
    for _ in range(HIGHEST):
        members = _alike(outline, current)
        if len(members) < wanted:
            break
        text = own_text(outline, [(place,) for place in members])
        if text > best * 1.02:
            best, last = text, members
            yield tuple((place,) for place in members)
        highest = members
        current = [outline.parents[place] for place in current if outline.parents[place] > 0]
    if last:
        if highest != last:
            yield tuple((place,) for place in highest)
            yield from _runs(outline, highest)
        yield from _runs(outline, last)


def _alike(outline: Outline, places: Iterable[int]) -> list[int]:
    """Return those of the places that occur once and have the most frequent tag, in document order."""
    counted = Counter(places)
    names = Counter([outline.tags[place] for place in counted])
    if not names:
        return []
    name = names.most_common(1)[0][0]
    return sorted([place for place, times in counted.items() if times == 1 and outline.tags[place] == name])


def _runs(outline: Outline, members: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield records of several elements each, if the members are only one of several elements that repeat."""
    holder = outline.parents[members[0]]
    if holder < 0 or any(outline.parents[place] != holder for place in members):
        return
    children = list(outline.children(holder))
    number_of = {child: number for number, child in enumerate(children)}
    at = [number_of[place] for place in members]
    between = [children[first + 1 : second] for first, second in pairwise(at)]
    texts = [sum(map(outline.free, gap)) for gap in between]
    if not at or sum(text > 0 for text in texts) < 0.8 * len(texts):
        return
    if sum(texts) < 0.3 * sum(map(outline.free, members)):
        return
    builds = {build for place in members if (build := _build(outline, place))}
    if all(any(_build(outline, place) in builds for place in gap) for gap in between):
        return  # What stands between are records like these, in another colour.
    period = [outline.tags[place] for place in min(between, key=len)]
    lead = 0
    while lead < len(period) and at[0] > lead and outline.tags[children[at[0] - lead - 1]] == period[-1 - lead]:
        lead += 1
    if not _leads(outline, children, at, lead, period):
        lead = 0
    starts = [place - lead for place in at]
    length = max(second - first for first, second in pairwise(starts))
    ends = [*starts[1:], min(starts[-1] + length, len(children))]
    yield tuple(tuple(children[start:end]) for start, end in zip(starts, ends, strict=True))


def _leads(outline: Outline, children: Sequence[int], at: Sequence[int], lead: int, period: Sequence[str]) -> bool:
    """Return whether the elements before the first member belong to it: as many are missing after the last member."""
    behind = [outline.tags[place] for place in children[at[-1] + 1 :]]
    return lead > 0 and behind[: len(period)] != list(period)


SURE = 0.82
"""The confidence from which the shape of records is learned."""
MAX_SHAPES = 4
"""The most shapes of records on one page, such as rows of two colours, or a different first one."""
MAX_COMPARED = 200
_AROUND = 2
_SHARE = 0.6


def shapes_of(outline: Outline, sets: Sequence[RecordSet]) -> tuple[RecordShape, ...]:
    """Return the shapes of a page's posts, those of most records first; none if records stand alone."""
    return tuple(shape for each in sets if _is_proven(each) for shape in _shapes(outline, each) if shape.is_telling)


def listed_shapes(outline: Outline, sets: Sequence[RecordSet]) -> tuple[RecordShape, ...]:
    """Return the shapes of a page's list entries that lead to pages of their own."""
    listed = (each for each in sets if each.nature is Nature.TEASERS and len(each.records) > 1 and not each.aside)
    return tuple(shape for each in listed for shape in _shapes(outline, each) if shape.is_telling)


def matches(outline: Outline, shape: RecordShape) -> tuple[tuple[int, ...], ...]:
    """Return the places of the elements of each record with a shape, in document order."""
    found: list[tuple[int, ...]] = []
    for place, tag in enumerate(outline.tags):
        if shape.roots[0].fits(tag, outline.tokens[place]) and _stands_in(outline, place, shape.around):
            roots = _roots(outline, place, shape.roots)
            if roots:
                found.append(roots)
        if len(found) == MAX_COMPARED:
            break
    return tuple(found)


def is_of(outline: Outline, found: RecordSet, shapes: Sequence[RecordShape]) -> bool:
    """Return whether all records of a set have one of the shapes."""
    roots = {tuple(outline.places[element] for element in record.elements) for record in found.records}
    return any(roots.issubset(matches(outline, shape)) for shape in known_shapes(shapes))


def known_shapes(shapes: Sequence[RecordShape]) -> Iterator[RecordShape]:
    """Yield the shapes, then the shapes of recognisable records without regard to their surroundings."""
    yield from shapes
    yield from (each.anywhere for each in shapes if each.is_signed)


def follow(outline: Outline, roots: Sequence[int], field: tuple[int, Trail]) -> Sequence[int]:
    """Return the places at the end of a trail that begins at one of a record's elements; none if it breaks off."""
    number, trail = field
    places = [roots[number]] if number < len(roots) else []
    for step in trail:
        children = (child for place in places for child in outline.children(place))
        places = [child for child in children if step.fits(outline.tags[child], outline.tokens[child])]
    return places


def _is_proven(each: RecordSet) -> bool:
    apart = len({record.element for record in each.records}) == len(each.records)
    return (
        each.nature is Nature.POSTS and len(each.records) >= 2 and each.confidence >= SURE and not each.aside and apart
    )


def _shapes(outline: Outline, each: RecordSet) -> Iterator[RecordShape]:
    """Yield the shapes of a set's records, by the tags of their elements and the classes of the first one."""
    by_name: dict[tuple[object, ...], list[Record]] = {}
    for record in each.records:
        places = [outline.places[element] for element in record.elements]
        name = (outline.tokens[places[0]], *(outline.tags[place] for place in places))
        by_name.setdefault(name, []).append(record)
    ranked = sorted(by_name.values(), key=len, reverse=True)
    for alike in ranked[:MAX_SHAPES]:
        yield shape_of(outline, alike)


def shape_of(outline: Outline, records: Sequence[Record]) -> RecordShape:
    """Return the shape of records with the same number of elements."""
    least = max(1, round(_SHARE * len(records)))
    roots = [tuple(_step(outline, outline.places[element]) for element in record.elements) for record in records]
    around = [
        tuple(_step(outline, above) for above in islice(outline.ancestors(outline.places[record.element]), _AROUND))
        for record in records
    ]
    dates = [_field_trail(outline, record, record.date.element) for record in records if record.date]
    authors = [_field_trail(outline, record, record.author.element) for record in records if record.author]
    templates = Counter(record.template for record in records if record.template)
    return RecordShape(
        _shared(roots),
        _shared(around),
        common_trail([each for each in dates if each], least),
        common_trail([each for each in authors if each], least),
        next((name for name, _ in templates.most_common(1)), None),
    )


def _shared(trails: Sequence[Trail]) -> Trail:
    """Return the steps that trails have in common, as far as their tags are equal."""
    shared: list[TrailStep] = []
    for steps in zip(*trails, strict=False):
        if len({step.tag for step in steps}) > 1:
            break
        shared.append(TrailStep(steps[0].tag, frozenset.intersection(*(step.words for step in steps))))
    return tuple(shared)


def _step(outline: Outline, place: int) -> TrailStep:
    return TrailStep(outline.tags[place], frozenset(outline.tokens[place]))


def _field_trail(outline: Outline, record: Record, element: Element) -> tuple[int, Trail] | None:
    """Return the trail from a record to one of its fields."""
    roots = [outline.places[each] for each in record.elements]
    place = outline.places.get(element)
    trail: list[TrailStep] = []
    while place is not None and place >= 0:
        if place in roots:
            return roots.index(place), tuple(reversed(trail))
        trail.append(_step(outline, place))
        place = outline.parents[place]
    return None


def _stands_in(outline: Outline, place: int, around: Trail) -> bool:
    above = list(outline.ancestors(place))[: len(around)]
    if len(above) < len(around):
        return False
    return all(step.fits(outline.tags[at], outline.tokens[at]) for step, at in zip(around, above, strict=True))


def _roots(outline: Outline, place: int, roots: Trail) -> tuple[int, ...]:
    """Return the places of the elements of a record that begins at a place; none if other elements follow."""
    found = [place]
    for step in roots[1:]:
        following = outline.ends[found[-1]]
        if following >= len(outline.tags) or outline.parents[following] != outline.parents[place]:
            return ()
        if not step.fits(outline.tags[following], outline.tokens[following]):
            return ()
        found.append(following)
    return tuple(found)
