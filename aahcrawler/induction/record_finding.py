"""Find the records of a page and decide what kind they are."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, takewhile

from lxml.etree import _Element as Element

from aahcrawler.induction.candidates import (
    MESSAGE,
    OPENED,
    SURE,
    Candidate,
    called_record,
    candidates,
    follow,
    known_shapes,
    matches,
    own_text,
    shape_of,
)
from aahcrawler.induction.field_labels import FieldLabel
from aahcrawler.induction.headings import is_front, own_address
from aahcrawler.induction.main_part import region
from aahcrawler.induction.messages import are_embedded, message, preformatted_messages
from aahcrawler.induction.outline import Extents, Outline
from aahcrawler.induction.prepared_page import SIDE, SURELY_SIDE, PreparedPage
from aahcrawler.induction.record_bodies import Content, FoundBody, RecordPart, Slot, bodies
from aahcrawler.induction.record_fields import Fields, read_unsigned, sign
from aahcrawler.induction.record_identity import RecordIdentity, Template, addresses
from aahcrawler.induction.record_sets import Byline, Dated, Nature, Record, RecordSet, Region
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.induction.shown_names import ShownName, name_at
from aahcrawler.induction.signed_contributions import signed_records
from aahcrawler.induction.teaser_detection import TeaserLinks
from aahcrawler.page import Page
from aahcrawler.page.record_shape import RecordShape, Trail, TrailStep
from aahcrawler.urls import resolve

MIN_CONFIDENCE = 0.5
KNOWN = 0.95
"""The confidence of records with a shape known from other pages of the site."""

COMMENTS = 0.9
"""The least confidence of records in a section of comments."""

MAX_DATES = 2.5
"""If records have more dates on average, each is several records."""

MESSAGES = 0.93
"""The confidence of a message alone on its page with labels for sender and date."""

MIN_BODIED = 0.7
"""The smallest share of records that must have a text."""

MOSTLY, AS_DATED = 0.8, 0.6
"""The share of records without dates that have an author and are called posts, and what that is worth in dates."""

SURELY = 0.9
"""If this share of records named posts have a date and an author, their texts may have any length."""

MOSTLY_LINKED = 0.6
"""From this ratio of text in links to other text on, records are entries that lead to other pages."""

MOSTLY_TITLES = 0.6
"""From this share of one-line records without a sentence on, records are rows of a list."""

_MAX_TITLE_LENGTH = 120
_ENDS = tuple(".!…。！'\"")
_MIN_LINKED = 2
_OUTSIDE = ("nav", "aside", "footer", "header")
_CUT = re.compile(r"(?:\.\.\.|…|\[…\]|\[\.\.\.\])\W*$")


def records(page: Page) -> tuple[RecordSet, ...]:
    """Return the sets of records of an HTML page, in document order; only comments may be within other records.

    A set is several elements, or runs of elements, of one shape with a date or an author each. Deterministic; the time
    is linear in the size of the page, and the close examination is bounded.
    """
    return find_records(page.once(PreparedPage.of))


def find_records(prepared: PreparedPage) -> tuple[RecordSet, ...]:
    """Return the sets of records of a prepared page, as `records` does."""
    outline = prepared.outline
    signed = preformatted_messages(outline, prepared.dates, prepared.names)
    signed = signed or signed_records(outline, prepared.shown, prepared.names.base)
    judged = [_Judged(each, tuple(_places(outline, each)), signed=True) for each in signed]
    told = {each.place for each in prepared.texts}
    for candidate in candidates(outline, prepared.shown, prepared.sections, _messages(prepared)):
        if _holds_own_comments(prepared, candidate) or are_embedded(outline, candidate.roots):
            continue
        if (
            candidate.sign == MESSAGE
            and candidate.roots[0] not in told
            and any(each.set.nature is Nature.POSTS for each in judged)
        ):
            continue
        if candidate.sign == "single" and any(outline.contains(candidate.roots[0], place) for place in prepared.headed):
            continue
        found = _Reading(prepared, candidate).judge()
        if found is not None and found.confidence >= MIN_CONFIDENCE:
            judged.append(_Judged(found, tuple(_places(outline, found))))
    most = max((each.text(outline) for each in judged), default=0) or 1
    judged += _known(prepared, [each for each in judged if each.set.nature is Nature.POSTS])
    judged.sort(
        key=lambda each: (
            -each.set.confidence * (0.7 + 0.3 * each.text(outline) / most) - each.signed,
            each.is_nested(outline),
            each.places,
        )
    )
    accepted: list[_Judged] = []
    for each in judged:
        if not any(each.overlaps(other, outline) for other in accepted):
            accepted.append(each)
    below = next((each for each in judged if any(each.comments_on(other, outline) for other in accepted)), None)
    accepted += [below] if below is not None else []
    accepted = [_opened(prepared, each, accepted) for each in accepted]
    accepted.sort(key=lambda each: each.places)
    return tuple(each.set for each in accepted)


def _opened(prepared: PreparedPage, each: "_Judged", accepted: Sequence["_Judged"]) -> "_Judged":
    """Return the posts of a thread together with the first one, if that is before them in a different frame."""
    outline = prepared.outline
    if each.set.nature is not Nature.POSTS or each.set.confidence < SURE or each.set.alone or each.set.aside:
        return each
    roots = with_opening(outline, each.set, prepared.shown)
    if not roots:
        return each
    records = tuple((root,) for root in roots)
    read = _Reading(prepared, Candidate(records, own_text(outline, records), OPENED)).judge()
    if read is None or read.nature is not Nature.POSTS or read.records[0].body is None:
        return each
    judged = _Judged(read, tuple(_places(outline, read)), each.signed)
    others = (other for other in accepted if other is not each)
    return each if any(judged.overlaps(other, outline) for other in others) else judged


def _messages(prepared: PreparedPage) -> Sequence[tuple[int, ...]]:
    """Return the one message of a page whose sender and date are in a block of labels; none if there are several."""
    own = prepared.names
    found = [each for block in prepared.labels if (each := message(prepared.outline, block, own.base, own.own))]
    found += [(each.place,) for each in prepared.texts if each.told.issuperset((FieldLabel.AUTHOR, FieldLabel.DATE))]
    return found if len(found) == 1 else ()


def _holds_own_comments(prepared: PreparedPage, candidate: Candidate) -> bool:
    """Return whether one of several records contains the section of comments that others are in, as its own."""
    outline = prepared.outline
    held = [each for each in prepared.sections for root in candidate.roots if outline.contains(root, each.first)]
    return any(sum(each.covers(root) for root in candidate.roots) for each in held)


def _known(prepared: PreparedPage, found: Sequence["_Judged"]) -> Iterator["_Judged"]:
    """Yield records with shapes known from other pages of the site, if no posts were found by other means."""
    outline = prepared.outline
    for shape in known_shapes(prepared.shapes):
        roots = matches(outline, shape)
        if not roots:
            continue
        read = _Reading(prepared, Candidate(roots, own_text(outline, roots), "known")).of_shape(shape)
        judged = _Judged(read, tuple(_places(outline, read))) if read is not None else None
        if judged is not None and not any(judged.overlaps(other, outline) for other in found):
            yield judged
            return


@dataclass(frozen=True, slots=True)
class _Judged:
    set: RecordSet
    places: tuple[int, ...]
    signed: bool = False

    def text(self, outline: Outline) -> int:
        return own_text(outline, [(place,) for place in self.places])

    def is_nested(self, outline: Outline) -> bool:
        """Return whether a record lies within another one, as answers may lie within what they answer."""
        return any(after < outline.ends[before] for before, after in pairwise(self.places))

    def comments_on(self, other: "_Judged", outline: Outline) -> bool:
        """Return whether these are comments in records of another set, beside the texts, dates and authors of those."""
        if Nature.TEASERS in (self.set.nature, other.set.nature) or self.set.confidence < SURE:
            return False
        ends = outline.ends
        inside = Extents((at + 1, ends[at]) for at in other.places)
        shown = [outline.places[each] for record in other.set.records for each in record.shown]
        texts, own = (Extents((at, ends[at]) for at in places) for places in (shown, self.places))
        beside = not any(map(texts.cover, self.places)) and not any(map(own.cover, shown))
        return beside and all(map(inside.cover, self.places))

    def overlaps(self, other: "_Judged", outline: Outline) -> bool:
        marked = sorted(
            (place, outline.ends[place], number) for number, each in enumerate((self, other)) for place in each.places
        )
        reach, owner = -1, -1
        for start, end, number in marked:
            if start < reach and number != owner:
                return True
            if end > reach:
                reach, owner = end, number
        return False


def _bodies(content: Content, fields: Fields) -> list[FoundBody | None]:
    return bodies(content, {number: fields.beside(number) for number in range(len(content.parts))})


def _bodied(found: Sequence[FoundBody | None]) -> float:
    return sum(each is not None for each in found) / len(found)


def _places(outline: Outline, found: RecordSet) -> list[int]:
    return sorted(outline.places[element] for record in found.records for element in record.elements)


@dataclass
class _Reading:
    """One candidate being read."""

    prepared: PreparedPage
    candidate: Candidate
    regions: dict[FoundBody, Region] = field(default_factory=dict)
    """The regions of bodies, so that the text of each is read once."""

    @cached_property
    def _dated(self) -> frozenset[int]:
        return frozenset(each.place for each in self.prepared.shown)

    @cached_property
    def _are_comments(self) -> bool:
        """Whether all of the records are in one section of comments."""
        roots = (self.prepared.outline.elements[place] for place in self.candidate.roots)
        return self.prepared.section_of(roots) is not None

    def judge(self) -> RecordSet | None:
        outline = self.prepared.outline
        roots = sorted(root for record in self.candidate.records for root in record)
        parts = [RecordPart(record, _holes(outline, record, roots)) for record in self.candidate.records]
        shared = 1.0 if self.candidate.sign == OPENED else MOSTLY
        content = Content(outline, parts, self._dated, frozenset(self.prepared.labels), shared)
        fields = read_unsigned(content, self.prepared.shown, self.prepared.names.title)
        found = _bodies(content, fields)
        if _bodied(found) < MIN_BODIED:
            return None
        sign(fields, content, self.prepared.shown)
        found = _bodies(content, fields) if fields.names else found
        confidence = self._confidence(content, fields, found)
        if confidence < MIN_CONFIDENCE:
            return None
        records = self._records(parts, fields, found)
        targets = TeaserLinks(content, fields, found, self.prepared.names, self._dated).targets()
        if self.candidate.sign != MESSAGE and self._is_list(records, len(targets) / len(parts), parts):
            listed = (replace(record, target=targets.get(number)) for number, record in enumerate(records))
            aside = self._is_aside(parts)
            return RecordSet(_container(outline, parts), tuple(listed), Nature.TEASERS, confidence, aside)
        alone = self.candidate.sign == MESSAGE
        return RecordSet(_container(outline, parts), records, Nature.POSTS, confidence, alone=alone)

    def of_shape(self, shape: RecordShape) -> RecordSet | None:
        """Return the records of a known shape that have a text and a date or an author; None if there are none.

        Records of a shape that may occur anywhere must have both.
        """
        outline = self.prepared.outline
        roots = sorted(root for record in self.candidate.records for root in record)
        parts = [RecordPart(record, _holes(outline, record, roots)) for record in self.candidate.records]
        content = Content(outline, parts, self._dated, frozenset(self.prepared.labels))
        fields = read_unsigned(content, self.prepared.shown, self.prepared.names.title)
        sign(fields, content, self.prepared.shown)
        self._place_fields(fields, parts, shape)
        found = _bodies(content, fields)
        fewest = 1 if shape.around else 2
        kept = [
            number
            for number, body in enumerate(found)
            if body is not None and (number in fields.dates) + (number in fields.names) >= fewest
        ]
        if not kept or (shape.date is not None and not any(number in fields.dates for number in kept)):
            return None
        records = self._records(parts, fields, found, shape.permalink)
        if self._are_of_one_author(records):
            return None
        chosen = _with_parents(outline, [parts[n] for n in kept], [records[n] for n in kept])
        return RecordSet(_container(outline, parts), chosen, Nature.POSTS, KNOWN)

    def _place_fields(self, fields: Fields, parts: Sequence[RecordPart], shape: RecordShape) -> None:
        """Read dates and authors at the places where records of the shape had them before."""
        outline, at = self.prepared.outline, {each.place: each for each in self.prepared.shown}
        for number, part in enumerate(parts):
            if shape.date is not None:
                fields.dates.pop(number, None)
                dated = next((place for place in follow(outline, part.roots, shape.date) if place in at), None)
                if dated is not None:
                    fields.dates[number] = at[dated]
            if shape.author is not None and shape.author != shape.date:
                fields.names.pop(number, None)
                places = follow(outline, part.roots, shape.author)
                named = (name for place in places if place not in at and (name := name_at(outline, place, number)))
                if (name := next(named, None)) is not None:
                    fields.names[number] = name

    def _records(
        self,
        parts: Sequence[RecordPart],
        fields: Fields,
        found: Sequence[FoundBody | None],
        known: Template | None = None,
    ) -> tuple[Record, ...]:
        outline, names = self.prepared.outline, self.prepared.names
        given = addresses(outline, parts, names.base, names.own, known)
        made = [self._record(n, part, fields, found[n], given[n]) for n, part in enumerate(parts)]
        if self.candidate.sign == MESSAGE:
            made = [replace(each, permalink=own_address(names), key=None) for each in made]
        return _with_parents(outline, parts, made)

    def _is_list(self, records: Sequence[Record], led: float, parts: Sequence[RecordPart]) -> bool:
        cut = sum(bool(record.body and _CUT.search(record.body.plain()[-30:])) for record in records) / len(parts)
        return (
            led >= 0.6
            or (cut >= 0.6 and len(parts) > 2)
            or (cut == 1 and len(parts) > 1)
            or (self._is_aside(parts) and not self._stand_here(records))
            or self._are_of_one_author(records)
            or self._are_titles(records)
            or self._are_links(parts, records)
        )

    def _are_titles(self, records: Sequence[Record]) -> bool:
        """Return whether most records are short lines without a sentence, with a page of their own: rows of a list."""
        if len(records) < _MIN_LINKED:
            return False
        texts = (each.body.plain() for each in records if each.body is not None and self._stands_elsewhere(each))
        return sum(map(_is_of_titles, texts)) >= MOSTLY_TITLES * len(records)

    def _stands_elsewhere(self, record: Record) -> bool:
        return record.permalink is not None and record.permalink.partition("#")[0] not in self.prepared.names.own

    def _are_links(self, parts: Sequence[RecordPart], records: Sequence[Record]) -> bool:
        """Return whether the variable text of records is as much in links as not: entries of a time line.

        Links that show only an author or a date do not count.
        """
        if len(parts) < _MIN_LINKED or self._are_comments:
            return False
        outline = self.prepared.outline
        pieces = [[each for root in part.roots for each in outline.pieces_of(root)] for part in parts]
        shown = Counter(text for each in pieces for text in {piece.text for piece in each})
        signed = {outline.places[each.author.element] for each in records if each.author is not None} | self._dated
        own = [piece for each in pieces for piece in each if 2 * shown[piece.text] <= len(parts)]
        own = [piece for piece in own if piece.owner not in signed or not self._fills_link(piece.owner)]
        linked = sum(piece.weight for piece in own if piece.linked)
        free = sum(piece.weight for piece in own if not piece.linked and piece.owner not in self._dated)
        return linked >= MOSTLY_LINKED * free

    def _fills_link(self, place: int) -> bool:
        """Return whether the text of an element is the whole text of the link that it is or lies in."""
        outline = self.prepared.outline
        link = next((each for each in (place, *outline.ancestors(place)) if outline.tags[each] == "a"), place)
        return outline.linked(link) == outline.linked(place)

    def _are_of_one_author(self, records: Sequence[Record]) -> bool:
        """Return whether this is the page of the author of most records, so that it lists posts of other pages."""
        own = {url for each in self.prepared.names.own for url in (each, each.partition("?")[0]) if not is_front(url)}
        return sum(each.author is not None and each.author.href in own for each in records) >= 0.6 * len(records)

    def _confidence(self, content: Content, fields: Fields, found: Sequence[FoundBody | None]) -> float:
        """Return the confidence that people wrote these records, based on dates, authors and texts of their own."""
        outline, parts = self.prepared.outline, content.parts
        size = len(parts)
        bodied = _bodied(found)
        dated, named = len(fields.dates) / size, len(fields.names) / size
        if not dated and named >= MOSTLY and self._called_records() >= MOSTLY:
            dated = AS_DATED
        if bodied < MIN_BODIED or max(dated, named) < 0.6:
            return 0.0
        names = self.prepared.names
        keyed = (
            sum(bool(each.key or each.permalink) for each in addresses(outline, parts, names.base, names.own)) / size
        )
        held = sum(content.weight(place) for each in found if each for place in each.elements)
        whole = sum(content.weight(root) for part in parts for root in part.roots) or 1.0
        mean = held / size
        texts = [self._region(each).plain()[:500] if each else "" for each in found]
        many = self._dates_apiece(content, fields)
        score = 0.3 * dated + 0.25 * named + 0.1 * keyed + 0.2 * bodied + 0.15 * min(1.0, held / whole)
        if self._are_comments:
            told = size > 1 or min(dated, named) == 1
            score *= 1.0 if self._dated_within(parts) <= MAX_DATES * size else 0.4
            return round(COMMENTS + (1 - COMMENTS) * min(1.0, score), 4) if told and score >= MIN_CONFIDENCE else 0.0
        if self.candidate.sign == MESSAGE:
            return MESSAGES if min(dated, named) == 1 else 0.0
        if min(dated, named) < SURELY or self._called_records() < MOSTLY:
            score *= 1.0 if mean >= 25 else 0.4 + 0.6 * mean / 25
            score *= 1.0 if self._telling(found) >= 0.3 else 0.4
        score *= 1.0 if many <= MAX_DATES else 0.4
        score *= 1.0 if len({each for each in texts if each}) > 0.5 * bodied * size or size == 1 else 0.4
        return round(min(1.0, score), 4)

    def _region(self, found: FoundBody) -> Region:
        if found not in self.regions:
            self.regions[found] = region(self.prepared.outline, found)
        return self.regions[found]

    def _called_records(self) -> float:
        """Return the share of records whose identifiers name them posts or comments, with a different number each."""
        elements = [self.prepared.outline.elements[place] for place in self.candidate.roots]
        return len({each.get("id") for each in elements if called_record(each)}) / len(elements)

    def _dated_within(self, parts: Sequence[RecordPart]) -> int:
        """Return how many days records show; a day that is written in several ways counts once in each record."""
        outline, days = self.prepared.outline, self._days
        return sum(len({days[place] for place in part.places(outline) if place in days}) for part in parts)

    @cached_property
    def _days(self) -> Mapping[int, tuple[int, int]]:
        """The month and the day of each date that the page shows, by its place."""
        return {each.place: (each.moment.month, each.moment.day) for each in self.prepared.shown}

    def _telling(self, found: Sequence[FoundBody | None]) -> float:
        """Return the share of records whose body has a piece of text as long as a sentence."""
        outline = self.prepared.outline
        telling = sum(
            any(
                piece.weight >= 25 and not piece.linked and piece.text.count(" ") + piece.weight // 40 >= 3
                for place in each.elements
                for piece in outline.pieces_of(place)
            )
            for each in found
            if each
        )
        return telling / len(found)

    def _dates_apiece(self, content: Content, fields: Fields) -> float:
        """Return the mean number of date places in a record: more than one if records are too large."""
        slots = {content.slots.get(each.place) for each in fields.dates.values()}
        at = {each.place for each in self.prepared.shown}
        counted: Counter[Slot | None] = Counter()
        for number in fields.dates:
            places = content.parts[number].places(self.prepared.outline)
            counted.update(slot for place in places if place in at and (slot := content.slots.get(place)) in slots)
        return max(counted.values(), default=0) / (len(fields.dates) or 1)

    def _record(
        self, number: int, part: RecordPart, fields: Fields, found: FoundBody | None, address: RecordIdentity
    ) -> Record:
        outline, base = self.prepared.outline, self.prepared.names.base
        name, dated = fields.names.get(number), fields.dates.get(number)
        href = resolve(base, name.href) if name is not None and name.href else None
        titled = fields.titles.get(number)
        title = self._title(titled, name, found)
        return Record(
            elements=tuple(outline.elements[root] for root in part.roots),
            body=self._region(found) if found else None,
            author=Byline(name.text, outline.elements[name.place], href) if name is not None else None,
            date=Dated(dated.read, outline.elements[dated.place], dated.attribute) if dated else None,
            title=title,
            permalink=address.permalink,
            key=address.key,
            template=address.template,
            heading=outline.elements[titled[1]] if titled and title else None,
        )

    def _title(self, title: tuple[str, int] | None, name: ShownName | None, found: FoundBody | None) -> str:
        """Return the title in a heading of the record; "" if it is in the body or contains the author's name."""
        outline = self.prepared.outline
        if title is None or found is None or any(outline.contains(place, title[1]) for place in found.elements):
            return ""
        text, place = title
        if name is not None:
            around = name.text in text and len(text) < len(name.text) + 25
            if around or outline.contains(place, name.place):
                return ""
        return text

    def _stand_here(self, records: Sequence[Record]) -> bool:
        """Return whether records have URLs within this page, and are not in an element named a sidebar."""
        outline = self.prepared.outline
        above = self._around(outline.places[records[0].element])
        if any(outline.tags[place] == "nav" or self._is_named(place, SURELY_SIDE) for place in above):
            return False
        own = self.prepared.names.own
        here = sum(
            bool(each.permalink and each.permalink.partition("#")[0] in own) or self._refers_to_itself(each)
            for each in records
        )
        return here >= 0.6 * len(records)

    def _refers_to_itself(self, record: Record) -> bool:
        """Return whether a record has a link to a place on this page: its own, or the form to answer it."""
        links = (link.get("href") or "" for element in record.elements for link in element.iter("a"))
        base, own = self.prepared.names.base, self.prepared.names.own
        return any(len(href) > 1 and (href[0] == "#" or ("#" in href and _page(base, href) in own)) for href in links)

    def _is_aside(self, parts: Sequence[RecordPart]) -> bool:
        tags = self.prepared.outline.tags
        around = self._around(parts[0].roots[0])
        return any(tags[above] in _OUTSIDE or self._is_named(above, SIDE) for above in around)

    def _around(self, place: int) -> Sequence[int]:
        """Return the places of the elements around this one, up to the page's main element or its body."""
        outline = self.prepared.outline
        return list(takewhile(lambda above: above > 0 and outline.tags[above] != "main", outline.ancestors(place)))

    def _is_named(self, place: int, names: re.Pattern[str]) -> bool:
        return any(names.search(word) for word in self.prepared.outline.tokens[place])


def _is_of_titles(text: str) -> bool:
    """Return whether all lines of a text are short and none is a sentence: a title, the cells of a row."""
    return all(len(line) <= _MAX_TITLE_LENGTH and line.rstrip()[-1:] not in _ENDS for line in text.split("\n"))


def _page(base: str, href: str) -> str:
    """Return the URL of the page that a reference leads to."""
    return (resolve(base, href) or "").partition("#")[0]


def _container(outline: Outline, parts: Sequence[RecordPart]) -> Element:
    first = container = parts[0].roots[0]
    for part in parts[1:]:
        container = outline.common(container, part.roots[0])
    container = outline.parents[container] if container == first else container
    return outline.elements[max(container, 0)]


def _holes(outline: Outline, record: tuple[int, ...], roots: Sequence[int]) -> frozenset[int]:
    """Return those of the sorted roots that are within a record and are not its own."""
    inside: list[int] = []
    for own in record:
        inside += roots[bisect_right(roots, own) : bisect_left(roots, outline.ends[own])]
    return frozenset(inside).difference(record)


def _with_parents(outline: Outline, parts: Sequence[RecordPart], records: Sequence[Record]) -> tuple[Record, ...]:
    """Set the parent of each record that is below an earlier one in a tree of replies."""
    found: list[Record] = []
    above: list[int] = []
    for number, record in enumerate(records):
        place = parts[number].roots[0]
        while above and not _is_below(outline, parts[above[-1]].roots[0], place):
            above.pop()
        parent = above[-1] if above else None
        above.append(number)
        found.append(replace(record, parent=parent))
    return tuple(found)


def _is_below(outline: Outline, first: int, second: int) -> bool:
    """Return whether the second element answers the first: it is within it, or in a sibling of it in its list item."""
    if outline.contains(first, second):
        return True
    common = outline.common(first, second)
    one, other = _branch(outline, common, first), _branch(outline, common, second)
    if outline.tags[one] == outline.tags[other]:
        same = set(outline.tokens[one]) & set(outline.tokens[other])
        if same or not (outline.tokens[one] or outline.tokens[other]):
            return False
    return one == first and other != second


def _branch(outline: Outline, common: int, place: int) -> int:
    while outline.parents[place] != common and outline.parents[place] >= 0:
        place = outline.parents[place]
    return place


def with_opening(outline: Outline, found: RecordSet, shown: Sequence[ShownDate]) -> tuple[int, ...]:
    """Return the place of an element before some records, and theirs; none unless exactly one is like them.

    It shows a date and an author at the same trails as the records, which have classes. The records are narrowed to the
    innermost elements with all of their text, because replies have more elements around them.
    """
    if any(len(record.elements) > 1 for record in found.records):
        return ()
    places = [_narrowed(outline, outline.places[record.element]) for record in found.records]
    alike = [
        replace(record, elements=(outline.elements[place],))
        for record, place in zip(found.records, places, strict=True)
    ]
    shape = shape_of(outline, alike)
    if shape.date is None or shape.author is None or not any(step.words for step in shape.date[1] + shape.author[1]):
        return ()
    first = min(places)
    author = (shape.author[0], _loosened(shape.author[1]))
    date = _loosened(shape.date[1])
    before = {root for each in shown if each.place < first for root in _roots(outline, each.place, date)}
    opening = [root for root in before if outline.ends[root] <= first and follow(outline, (root,), author)]
    return (opening[0], *places) if len(opening) == 1 else ()


def _loosened(trail: Trail) -> Trail:
    """Return a trail whose first element may have any class, unless it is the last: ``question``, ``answer``."""
    return (TrailStep(trail[0].tag), *trail[1:]) if len(trail) > 1 else trail


def _roots(outline: Outline, dated: int, trail: Trail) -> Iterator[int]:
    """Yield the element from which a trail leads to a date."""
    root = dated
    for step in reversed(trail):
        if root < 0 or not step.fits(outline.tags[root], outline.tokens[root]):
            return
        root = outline.parents[root]
    if root > 0:
        yield root


def _narrowed(outline: Outline, place: int) -> int:
    """Return the innermost element with all of an element's text, including links."""
    while True:
        whole = outline.free(place) + outline.linked(place)
        inner = [child for child in outline.children(place) if outline.free(child) + outline.linked(child) == whole]
        if len(inner) != 1:
            return place
        place = inner[0]
