"""Read a page with a draft, whose guesses nobody has confirmed, no worse than without the draft.

The page is read with the draft's actions and generically. The objects of the draft count unless generic reading finds
more texts of people, or less truncated ones. Links of both readings are followed: a draft adds and names links, and
removes only those that it avoids.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aahcrawler.helper.application.application_reading import FIELDS, GENERIC, WHOLES
from aahcrawler.helper.assistance import READ, Assistance, FailedAction, Failure
from aahcrawler.helper.extraction.extraction import BODY
from aahcrawler.helper.parts.splitting import body_of
from aahcrawler.induction.text_lines import RUNNING
from aahcrawler.page import Page
from aahcrawler.page.generic import main_content
from aahcrawler.page.text import bare
from aahcrawler.webobject import Value, WebObject
from knowledge_base.model import Match
from online_analysis.document import Outlink

HELD: Final = 0.5
"""One text contains another if it has this share of it."""

MAX_HOLDERS: Final = 50
"""The most texts with the same line, such as a word of thanks, that are compared with one another."""

MAX_SEARCHED: Final = 100_000_000
"""The most letters of a page that are searched through; no page that people write needs more."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An object and the object of the other reading that shares most lines with it, with the shared part of each."""

    own: WebObject
    other: WebObject
    of_own: float
    of_other: float

    @property
    def is_same(self) -> bool:
        """Return whether both are the same object."""
        return self.of_own >= HELD and self.of_other >= HELD


class ReadTexts:
    """The texts of a reading's objects.

    ``lines`` are the lines of each text by their letters, ``sizes`` the number of letters of each text, ``holders`` the
    places of the objects that have a line.
    """

    def __init__(self, objects: Iterable[WebObject]) -> None:
        """Take the objects that have a text."""
        self.objects: Sequence[WebObject] = [each for each in objects if bare(body_of(each))]
        self.lines = [lines_of(body_of(each)) for each in self.objects]
        self.sizes = [sum(map(len, lines)) for lines in self.lines]
        self.holders: defaultdict[str, list[int]] = defaultdict(list)
        for place, lines in enumerate(self.lines):
            for line in lines:
                self.holders[line].append(place)
        self._whole = "\n".join("".join(lines) for lines in self.lines)
        self._searched = 0

    def size(self, place: int) -> int:
        """Return the number of letters of an object's text."""
        return self.sizes[place]

    def pair(self, place: int, other: "ReadTexts") -> Pair | None:
        """Return an object with the one of another reading that shares most lines with it; None if none does."""
        shared = self.shared(place, other)
        if not shared:
            return None
        size = self.size(place)
        best = max(shared, key=lambda holder: (shared[holder] / max(size, other.size(holder)), -holder))
        part = shared[best]
        return Pair(self.objects[place], other.objects[best], part / size, part / other.size(best))

    def shared(self, place: int, other: "ReadTexts") -> Mapping[int, int]:
        """Return how many letters of lines an object shares with objects of another reading, by their places."""
        shared: Counter[int] = Counter()
        for line in self.lines[place]:
            for holder in other.holders.get(line, ())[:MAX_HOLDERS]:
                shared[holder] += len(line)
        return shared

    def is_within(self, place: int, whole: WebObject) -> bool:
        """Return whether an object of this reading is ``whole``, or quotes it: all of its lines are in ``whole``."""
        return set(self.lines[place]) <= set(lines_of(body_of(whole)))

    def has(self, lines: Collection[str]) -> bool:
        """Return whether most of the lines of a text are somewhere in this reading, however they are broken there."""
        return self.letters_of(lines) >= HELD * sum(map(len, lines))

    def letters_of(self, lines: Iterable[str]) -> int:
        """Return the number of letters in the lines that this reading has."""
        return sum(len(line) for line in lines if line in self.holders or self._holds(line))

    def _holds(self, line: str) -> bool:
        """Return whether a line is within another one; False where the search would take too long."""
        self._searched += len(self._whole)
        return self._searched <= MAX_SEARCHED and line in self._whole


def lines_of(text: str) -> tuple[str, ...]:
    """Return the different lines of a text by their letters."""
    return tuple(dict.fromkeys(filter(None, map(bare, text.split("\n")))))


WHOLE: Final = 0.8
"""A text is truncated if it has less than this share of the other reading's."""

MUCH: Final = 40
"""A text is truncated only if it lacks at least this many letters: a line of running text."""

_MISSING, _JOINED, _CUT, _SWOLLEN = "missing", "with others in it", "cut", "with more than their text"
_NO_FAULT = ("", 0, 0)


def better(page: Page, found: Assistance, generic: Assistance) -> Assistance:
    """Return the better reading of an HTML page, the draft's or the generic one, with what the other one adds.

    ``found`` is the result of the draft's actions. Its links to lists count as links that no action chose, so that they
    are given up where such pages lead to no content. If the generic reading is returned although the draft knows the
    level of the page, the result has a failed action. A list that turns out to hold texts is of no level.
    """
    match = found.match
    level = match.level if match is not None else None
    read = generic.objects
    lacks = lacking(page, found.objects, read) if level is not None else ""
    refused = {each.url: each for each in (*found.refused, *generic.refused)}
    outlinks = tuple(map(_unnamed, _chosen(found.document.outlinks, generic.document.outlinks)))
    document = replace(found.document, outlinks=outlinks)
    found = replace(found, refused=tuple(refused.values()), requisites=generic.requisites, document=document)
    if match is None or level is None:
        return _generic(found, generic, completed(read, found.objects, {}))
    if not lacks:
        outlinks = _joined(found.document.outlinks, (replace(each, part=None) for each in generic.document.outlinks))
        objects = completed(found.objects, read, dict.fromkeys(FIELDS, GENERIC))
        return replace(found, objects=objects, document=replace(found.document, outlinks=outlinks))
    failed = FailedAction(match.application.name, level.name, READ, Failure.READS_LESS, lacks, len(read))
    known = level if level.role == "terminal" else None
    objects = completed(tuple(map(_marked, read)), found.objects, {})
    return replace(
        _generic(found, generic, objects),
        match=Match(match.application, known, match.variant if known is not None else ""),
        failed_actions=(*found.failed_actions, failed),
        containers=(),
        learned="",
    )


def lacking(page: Page, own: Sequence[WebObject], generic: Sequence[WebObject]) -> str:
    """Return in words what a draft's objects lack that generic reading has; "" where the draft's reading is as good.

    A text is missing if none of the draft's objects has it; an unsigned text counts only if it is the text of the page,
    or the draft found no text. Texts are joined if one object of the draft, which is none of them, contains several. A
    text is truncated if it lacks a fifth of its letters, and swollen if a fifth of its letters come from its
    surroundings. All of that must exceed what generic reading lacks itself.
    """
    mine, other = ReadTexts(own), ReadTexts(generic)
    faults = [_fault(page, each, other.pair(place, mine), mine) for place, each in enumerate(other.objects)]
    faults += [_excess(page, place, mine, other) for place in range(len(mine.objects))]
    found = Counter(fault for fault, _, _ in faults)
    gained = sum(letters for _, letters, _ in faults)
    lost = sum(size - other.letters_of(lines) for size, lines in zip(mine.sizes, mine.lines, strict=True))
    if gained <= lost - sum(more for _, _, more in faults) or (set(found) <= {"", _SWOLLEN} and gained < MUCH):
        return ""
    told = ", ".join(f"{found[fault]} {fault}" for fault in (_MISSING, _JOINED, _CUT, _SWOLLEN) if found[fault])
    return f"texts of this page: {told}"


def _fault(page: Page, generic: WebObject, pair: Pair | None, mine: ReadTexts) -> tuple[str, int, int]:
    """Return what is wrong with the draft's reading of an object, and how many letters that concerns.

    The object is ``generic``, as generic reading found it; ``pair`` is the draft's reading of it.
    """
    lines = lines_of(body_of(generic))
    size = sum(map(len, lines))
    if pair is None or (pair.of_own < HELD and pair.of_other < HELD):
        counts = _is_signed(generic) or generic.type in WHOLES or not mine.objects
        return (_MISSING, size, 0) if counts and not mine.has(lines) else _NO_FAULT
    if pair.of_own >= WHOLE:
        return _NO_FAULT
    more = [line for line in lines if not mine.letters_of((line,))]
    if generic.type in WHOLES:
        third = frozenset(lines_of(page.once(main_content)))
        more = [line for line in more if line in third]
    lost = sum(map(len, more))
    return (_CUT, lost, 0) if lost >= max(MUCH, size * (1 - WHOLE)) else _NO_FAULT


def _excess(page: Page, place: int, mine: ReadTexts, other: ReadTexts) -> tuple[str, int, int]:
    """Return what is superfluous in an object of a draft, with the letters of it, and those that no other text has.

    The object may contain several texts and be none of them, or one text with its surroundings: lines that neither
    reading nor a third one has in a text. For a post, only short lines count as surroundings, as running text may be
    the post's.
    """
    pair = mine.pair(place, other)
    if pair is None or (pair.is_same and pair.of_own >= WHOLE):
        return _NO_FAULT
    more = [line for line in mine.lines[place] if not other.letters_of((line,))]
    if pair.own.type in WHOLES:
        third = frozenset(lines_of(page.once(main_content)))
        more = [line for line in more if line not in third]
    else:
        more = [line for line in more if len(line) < RUNNING]
    letters = sum(map(len, more))
    others = [each for each in _held(place, mine, other) if not other.is_within(each, pair.other)]
    if others:
        return _JOINED, letters + sum(map(other.size, others)), letters
    is_swollen = pair.of_other >= WHOLE and letters >= (1 - WHOLE) * mine.size(place)
    return (_SWOLLEN, letters, letters) if is_swollen else _NO_FAULT


def _held(place: int, mine: ReadTexts, other: ReadTexts) -> Iterator[int]:
    """Yield the places of signed texts that generic reading found and an object of a draft contains as a whole."""
    for each, part in mine.shared(place, other).items():
        is_of_somebody = _is_signed(other.objects[each]) or other.objects[each].type in WHOLES
        if is_of_somebody and part >= WHOLE * other.size(each):
            yield each


def completed(
    objects: Sequence[WebObject], others: Sequence[WebObject], sources: Mapping[str, str]
) -> tuple[WebObject, ...]:
    """Return objects with the title, author and date that they lack and that another reading has for the same text.

    ``sources`` gives, by field, what such a value was inferred from.
    """
    mine, other = ReadTexts(objects), ReadTexts(others)
    added: dict[str, WebObject] = {}
    for place, each in enumerate(mine.objects):
        pair = mine.pair(place, other) if any(name not in each.properties for name in FIELDS) else None
        if pair is not None and pair.is_same:
            added[each.iri] = _with_fields(each, pair.other, sources)
    return tuple(added.get(each.iri, each) for each in objects)


def _generic(found: Assistance, generic: Assistance, objects: tuple[WebObject, ...]) -> Assistance:
    """Return the result of generic reading as one of the draft's application, with the links of both."""
    known = found.document
    named: Mapping[str, Outlink] = {each.url: each for each in known.outlinks}
    read = (_named(each, named.get(each.url)) for each in generic.document.outlinks)
    outlinks = _joined(read, (replace(each, part=None) for each in known.outlinks))
    document = replace(generic.document, outlinks=outlinks, application=known.application, kind=known.kind)
    return replace(found, document=document, objects=objects, no_object=generic.no_object)


def _joined(first: Iterable[Outlink], second: Iterable[Outlink]) -> tuple[Outlink, ...]:
    joined: dict[str, Outlink] = {}
    for each in (*first, *second):
        joined.setdefault(each.url, each)
    return tuple(joined.values())


def _chosen(outlinks: Iterable[Outlink], generic: Iterable[Outlink]) -> Iterator[Outlink]:
    """Yield the links of a draft that an action chose, or that generic reading follows as well; the others are junk."""
    followed = {each.url for each in generic}
    return (each for each in outlinks if each.action is not None or each.url in followed)


def _unnamed(link: Outlink) -> Outlink:
    return replace(link, action=None, leads_to=None) if link.leads_to == "intermediate" else link


def _named(link: Outlink, chosen: Outlink | None) -> Outlink:
    """Return a link with the draft's action that chose it, if any."""
    return link if chosen is None else replace(link, action=chosen.action, leads_to=chosen.leads_to)


def _is_signed(web_object: WebObject) -> bool:
    return "author" in web_object.properties or "date" in web_object.properties


def _with_fields(web_object: WebObject, other: WebObject, sources: Mapping[str, str]) -> WebObject:
    missing: dict[str, tuple[Value, ...]] = {
        name: other.properties[name]
        for name in FIELDS
        if name in other.properties and name not in web_object.properties
    }
    if not missing:
        return web_object
    inferred = {name: sources[name] for name in missing if name in sources}
    return replace(
        web_object,
        properties={**web_object.properties, **missing},
        inferred={**web_object.inferred, **inferred},
    )


def _marked(web_object: WebObject) -> WebObject:
    """Return an object of generic reading with all its values marked as inferred."""
    found = dict.fromkeys((name for name in (*FIELDS, BODY) if name in web_object.properties), GENERIC)
    return replace(web_object, inferred={**web_object.inferred, **found})
