"""Detect actions that fail on a site, by what they find on its pages and by what a former crawl found at the same URLs.

The evidence is the track record of the action on a site, and the results of a former crawl at the same URL. A page
that has no such object, and a former object that is gone, are not failures.

An action that still finds something may find another thing than before: the day's heading in place of the title. A
different value may have been edited as well, so that only a repair strategy which finds the former values on the page
can decide.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from functools import cached_property
from itertools import chain
from zlib import crc32

from lxml.etree import _Element as Element

from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.extraction.extraction import BODY, Extracted, ExtractionOutcome
from aahcrawler.page import Page
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Person, Value, WebObject
from aahcrawler.wrapper_induction.examples import LabelledExample, LabelledObject
from knowledge_base.model import Extract

WATCHED = ("title", "author", "date", BODY)
"""Fields whose absence from a whole page is examined."""
CHANCE = 0.02
"""The greatest probability that so many pages in a row have no object by chance, for it to count as a failure."""
FEW = 3
"""The number of pages from which a record counts."""
SHRUNK = 0.1
"""The share of the usual length of bodies below which they are not whole."""
LONG = 200
"""The length of a body, in characters, below which its length is no evidence."""
LOST = 0.1
"""The share of a page's former objects that may be missed: texts are edited."""
MAX_PROBED = 50
"""The most former objects of one page that are looked for."""
SHARE_TITLES = frozenset({"message"})
"""Types of objects with pages of their own that rightly have the title of their thread, or begin with its list's."""

_PARTED = re.compile(r"\s+[-\u2013\u2014|:\u00b7\u2022\u00ab\u00bb\u2039\u203a]+\s+")
"""The separators between the title of a page and the name of its site."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A failure of an action on a page.

    ``fields`` are the missing ones if objects were found; if empty, the objects themselves are missing. If it is not
    ``certain``, the page may have no such object, and only finding one decides. ``remembered`` fields differ from a
    former crawl's values. ``another`` is True if another thing was found than was looked for: it counts as nothing.
    """

    failure: Failure
    detail: str = ""
    fields: frozenset[str] = frozenset()
    certain: bool = True
    remembered: bool = False
    another: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of an action's result on one page: number of objects, fields present, characters of bodies.

    ``title`` is that of the first object, empty if it has none; if ``headed``, its body begins with the title.
    """

    objects: int
    filled: frozenset[str]
    length: int
    title: str = ""
    headed: bool = False
    ended: bool | None = None
    """Whether all bodies end with the same line, None if they are too few to decide."""
    text: int = 0
    """A hash of the body of the first object, 0 if it has none."""

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last of several parts of the title, both empty if it is one part."""
        parts = _PARTED.split(self.title)
        return (parts[0], parts[-1]) if len(parts) > 1 else ("", "")

    @classmethod
    def of(cls, extracted: Sequence[Extracted]) -> "Shape":
        """Return the shape of a result."""
        filled = frozenset(chain.from_iterable([each.object.properties for each in extracted]))
        bodies = [body_of(each.object) for each in extracted]
        title = extracted[0].object.first("title") if extracted else None
        title = title if isinstance(title, str) else ""
        body = bare(bodies[0]) if bodies else ""
        headed = bool(title) and body.startswith(bare(title))
        length, ended = sum(map(len, bodies)), end_alike(bodies)
        return cls(len(extracted), filled, length, title, headed, ended, crc32(body.encode()))


def end_alike(texts: Sequence[str]) -> bool | None:
    r"""Return whether different texts end with the same line, such as that of a button; None if they are too few.

    >>> end_alike(["One\nReply", "Two\nReply", "Three\nReply"]), end_alike(["One", "Two", "Three\nReply"])
    (True, False)
    """
    lines = [text.rsplit("\n", 1) for text in texts]
    if len(lines) < FEW or len({tuple(each) for each in lines}) < 2:
        return None
    return all(len(each) == 2 for each in lines) and len({each[-1] for each in lines}) == 1


@dataclass(slots=True)
class TrackRecord:
    """The results of an action on one site; a few numbers, however many pages there were."""

    pages: int = 0
    found: int = 0
    empty: int = 0
    """Pages in a row, the last ones, without an object."""
    filled: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    """By field: pages in a row, the last ones with objects, that show it nowhere."""
    objects: int = 0
    length: int = 0
    short: int = 0
    """Pages in a row, the last ones with objects, with bodies of no length."""
    title: str = ""
    repeated: int = 0
    """Pages in a row, the last ones with objects, with the title of the last one."""
    headed: int = 0
    """Pages in a row, the last ones with objects, with a body that begins with the title."""
    ended: int = 0
    """Pages in a row, the last ones with several objects, on which all bodies end with the same line."""
    ends: tuple[str, str] = ("", "")
    named: int = 0
    """Pages in a row, the last ones with several titles, that all have a part in common which begins or ends them."""
    text: int = 0
    retold: int = 0
    """Pages in a row, the last ones with objects, with the body of the last one."""

    def note(self, shape: Shape) -> None:
        """Add a page."""
        self.pages += 1
        if not shape.objects:
            self.empty += 1
            return
        self.empty = 0
        self.found += 1
        for name in WATCHED:
            self.missing[name] = 0 if name in shape.filled else self.missing[name] + 1
            self.filled[name] += name in shape.filled
        self.repeated = self.repeated + 1 if shape.title and shape.title == self.title else 1
        self._note_ends(shape)
        self.title = shape.title
        self.retold = self.retold + 1 if shape.text and shape.text == self.text else 1
        self.text = shape.text
        self.headed = self.headed + 1 if shape.headed else 0
        if shape.ended is not None:
            self.ended = self.ended + 1 if shape.ended else 0
        if self.is_short(shape):
            self.short += 1
            return
        self.short = 0
        self.objects += shape.objects
        self.length += shape.length

    def _note_ends(self, shape: Shape) -> None:
        if not shape.title or shape.title == self.title:
            return
        first, last = shape.ends
        common = (first if first == self.ends[0] else "", last if last == self.ends[1] else "")
        self.named = self.named + 1 if any(common) else 1
        self.ends = common if any(common) else (first, last)

    def is_short(self, shape: Shape) -> bool:
        """Return whether bodies are much shorter than they used to be."""
        usual = self.length / self.objects if self.objects and self.found > FEW else 0.0
        return usual >= LONG and shape.objects > 0 and shape.length / shape.objects < SHRUNK * usual

    def is_unusually_empty(self) -> bool:
        """Return whether the last pages without objects are too many in a row to be so by chance."""
        return _is_unlikely(self.found, self.pages - self.empty, self.empty)

    def is_unusually_missing(self, name: str) -> bool:
        """Return whether the last pages with objects that do not show a field are too many in a row."""
        missing = self.missing[name]
        return missing > 1 and _is_unlikely(self.filled[name], self.found - missing, missing)


def _is_unlikely(had: int, pages: int, without: int) -> bool:
    """Return whether so many pages without something in a row are unlikely after ``had`` of ``pages`` that have it."""
    # Nobody has seen enough pages to be sure that each of them has it.
    return had > 0 and without > 0 and (1 - had / (pages + 1)) ** without <= CHANCE


def trouble(action: Extract, outcome: ExtractionOutcome, record: TrackRecord) -> Trouble | None:
    """Return the failure of an outcome by the record of the action, which includes the outcome already."""
    if outcome.failure is not None:
        return _declared(outcome, record)
    if not outcome.extracted:
        if record.is_unusually_empty():
            return Trouble(Failure.STOPPED_WORKING, f"nothing on {record.empty} pages in a row", certain=False)
        return None if record.found else Trouble(Failure.NOTHING_FOUND, "nothing on any page yet", certain=False)
    return _changed(action, outcome, record)


def _declared(outcome: ExtractionOutcome, record: TrackRecord) -> Trouble | None:
    """Return the failure that the action itself reports, if any."""
    if outcome.failure is Failure.NOTHING_FOUND and record.found >= FEW:
        return Trouble(Failure.STOPPED_WORKING, f"it worked on {record.found} pages")
    if outcome.failure in (Failure.NOTHING_FOUND, Failure.INCOMPLETE):
        return Trouble(outcome.failure, outcome.detail)
    return None


def _changed(action: Extract, outcome: ExtractionOutcome, record: TrackRecord) -> Trouble | None:
    known = {wanted.name for wanted in action.fields}
    gone = [name for name in WATCHED if name in known and record.is_unusually_missing(name)]
    never = [name for name in WATCHED if name in known and record.found and not record.filled[name]]
    if gone:
        # Titles are missing wherever a thread goes on, so that only a repair strategy can decide.
        certain = gone != ["title"]
        return Trouble(Failure.CHANGED_SHAPE, f"no {' and no '.join(gone)} any more", frozenset(gone), certain=certain)
    if record.short > 1 and record.is_short(Shape.of(outcome.extracted)):
        return Trouble(Failure.CHANGED_SHAPE, "bodies are much shorter than before", certain=False)
    if not action.many and (taken := _taken_for_another(action, known, record)) is not None:
        return taken
    if record.ended > 1 and Shape.of(outcome.extracted).ended:
        detail = f"bodies end with the same line on {record.ended} pages in a row"
        return Trouble(Failure.CHANGED_SHAPE, detail, frozenset({BODY}), certain=False)
    if never:
        return Trouble(Failure.CHANGED_SHAPE, f"no {' and no '.join(never)}", frozenset(never), certain=False)
    return None


def _taken_for_another(action: Extract, known: Collection[str], record: TrackRecord) -> Trouble | None:
    """Return whether values of the one object of a page are those of something else, which page after page shows."""
    told_by_title = "title" in known and action.type not in SHARE_TITLES
    if BODY in known and record.text and record.retold >= FEW:
        detail = f"the same text on {record.retold} pages in a row"
        return Trouble(Failure.CHANGED_SHAPE, detail, certain=False, another=True)
    if told_by_title and record.title and record.repeated >= FEW:
        detail = f"the same title on {record.repeated} pages in a row"
        return Trouble(Failure.CHANGED_SHAPE, detail, frozenset({"title"}), certain=False)
    if told_by_title and any(record.ends) and record.named >= FEW:
        detail = f"titles with the same part on {record.named} pages in a row"
        return Trouble(Failure.CHANGED_SHAPE, detail, frozenset({"title"}), certain=False)
    if BODY in known and record.headed >= FEW:
        detail = f"bodies begin with their titles on {record.headed} pages in a row"
        return Trouble(Failure.CHANGED_SHAPE, detail, frozenset({BODY}), certain=False)
    return None


def since(action: Extract, outcome: ExtractionOutcome, page: Page, former: Sequence[WebObject]) -> Trouble | None:
    """Return the failure of an outcome by comparison with the former objects of the same URL.

    Former objects whose text is on the page but in none of the objects found are lost; others were deleted.
    """
    known = of_action(action, former)
    if not known:
        return None
    now = [bare(body_of(each.object)) for each in outcome.extracted]
    same = frozenset(now)
    texts = ((each, bare(body_of(each))) for each in known)
    left_out = [each for each, text in texts if text not in same and not any(_holds(body, text) for body in now)]
    if left_out:
        sight = PageText(page)
        lost = sum(sight.shows(body_of(each)) for each in left_out)
        if lost and lost >= LOST * len(known):
            found = len(known) - len(left_out)
            failure = Failure.CHANGED_SHAPE if found else Failure.STOPPED_WORKING
            return Trouble(failure, f"{lost} of {len(known)} former objects are on the page and not found")
    return _fields_since(outcome, page, known) if outcome.extracted else None


def _fields_since(outcome: ExtractionOutcome, page: Page, known: Sequence[WebObject]) -> Trouble | None:
    shown = Shape.of(outcome.extracted).filled
    gone = [name for name in ("author", "date") if name not in shown and all(each.first(name) for each in known)]
    if not gone:
        return None
    names = {author.name for each in known if isinstance(author := each.first("author"), Person)}
    sight = PageText(page)
    certain = "author" in gone and any(bare(name) in sight.text for name in names if name)
    return Trouble(Failure.CHANGED_SHAPE, f"no {' and no '.join(gone)} any more", frozenset(gone), certain=certain)


def of_action(action: Extract, former: Iterable[WebObject]) -> tuple[WebObject, ...]:
    """Return those former objects that an action would yield and that have a text, at most ``MAX_PROBED``."""
    types = {action.type, action.first_type or action.type, *(name for name, _ in action.instead)}
    known = [each for each in former if each.type in types and body_of(each).strip()]
    return tuple(known[:MAX_PROBED])


def _holds(now: str, before: str) -> bool:
    """Return whether a text found now is the former one, whole or nearly so."""
    if before in now:
        return len(now) <= 2 * len(before) + PROBE
    short, long = sorted((now, before), key=len)
    return len(short) >= 0.8 * len(long) and (short[:PROBE] == long[:PROBE] or short[-PROBE:] == long[-PROBE:])


PROBE = 40
"""The length, in characters, of each sample of a text."""


def bare(text: str) -> str:
    r"""Return a text without white space, as texts are compared.

    >>> bare("One\n two ")
    'Onetwo'
    """
    return "".join(text.split())


def body_of(web_object: WebObject) -> str:
    """Return the body of an object, empty if it has none."""
    body = web_object.first(BODY)
    return body if isinstance(body, str) else ""


def body_text(labelled: LabelledObject) -> str:
    """Return the text of an object's body without white space, empty if it has none."""
    label = labelled.labels.get(BODY)
    return bare(label.value) if label is not None and isinstance(label.value, str) else ""


@dataclass(frozen=True)
class PageText:
    """All text of a page, without white space."""

    page: Page

    @cached_property
    def text(self) -> str:
        """The text as `bare` makes it."""
        return bare(plain_text(self.page.tree))

    def shows(self, body: str) -> bool:
        """Return whether most of a text is present: more than half of the sampled places."""
        written = bare(body)
        if len(written) <= PROBE:
            return bool(written) and written in self.text
        steps = (len(written) - PROBE) // 4
        probes = {written[step * steps : step * steps + PROBE] for step in range(5)}
        return sum(probe in self.text for probe in probes) > len(probes) / 2


COMPARED = ("title", "author", "date", BODY)
MISSED = 0.1
"""The share of a page's objects that may miss a value they had."""
DIFFERENT = 0.5
"""The share of a page's objects that must have another value than they had: people edit one text or another."""
LONGER, FEW_SIGNS = 0.03, 12
"""The most by which the length of a text may differ from the former one, as a share of it or in characters."""
MAX_LINE_LENGTH, MAX_WORDS_OF_LABEL = 120, 6
"""The most characters of a line about author and date, and the most words of a label of the template."""
SURE = 3
"""The number of objects of one page with former values beside other ones from which an edit is ruled out."""


def compared(action: Extract, found: Sequence[Extracted], former: Sequence[WebObject]) -> Trouble | None:
    """Return the fields of a page's objects that differ from the former values; None if hardly any does."""
    known = of_action(action, former)
    pairs = [(now, before) for now, before in matched(found, known) if before is not None]
    fields = [wanted.name for wanted in action.fields if wanted.name in COMPARED]
    other = frozenset(name for name in fields if pairs and _is_other(name, pairs))
    if not other:
        return None
    detail = f"{' and '.join(sorted(other))} not as before"
    return Trouble(Failure.CHANGED_SHAPE, detail, other, certain=False, remembered=True)


def _is_other(name: str, pairs: Sequence[tuple[Extracted, WebObject]]) -> bool:
    """Return whether so many objects miss a value, or have another one, that it is worth a look."""
    both = [(now.object.first(name), before.first(name)) for now, before in pairs]
    had = [(now, before) for now, before in both if before is not None]
    missing = sum(now is None for now, _ in had)
    different = sum(now is not None and not _is_same(name, now, before) for now, before in had)
    return missing > MISSED * len(had) or different + missing >= max(1, DIFFERENT * len(had))


def matched(found: Sequence[Extracted], former: Sequence[WebObject]) -> tuple[tuple[Extracted, WebObject | None], ...]:
    """Return for each object that was found the one that it was before: of the same text, else of the same URL."""
    by_text: dict[str, list[WebObject]] = {}
    for each in former:
        by_text.setdefault(bare(body_of(each)), []).append(each)
    by_address = {each.iri: each for each in former}
    return tuple((each, _before(each.object, by_text, by_address)) for each in found)


def _before(
    now: WebObject, by_text: Mapping[str, Sequence[WebObject]], by_address: Mapping[str, WebObject]
) -> WebObject | None:
    alike = by_text.get(bare(body_of(now)), ())
    if len(alike) == 1:
        return alike[0]
    return by_address.get(now.iri)


def same(one: Value, other: Value) -> bool:
    """Return whether two values mean the same, dates as exactly as both are written.

    >>> same(Person("Ann  Boyd"), Person("Ann Boyd", "http://a.test/")), same("One", "Two")
    (True, False)
    """
    if isinstance(one, Person) and isinstance(other, Person):
        return fold(one.name).casefold() == fold(other.name).casefold()
    if isinstance(one, datetime) and isinstance(other, datetime):
        return _is_same_moment(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return fold(one).casefold() == fold(other).casefold()
    return one == other


def _is_same(name: str, one: Value, other: Value) -> bool:
    """Return whether two values of a field are the same; texts may differ by a little."""
    if name != BODY or not isinstance(one, str) or not isinstance(other, str):
        return same(one, other)
    short, long = sorted((len(bare(one)), len(bare(other))))
    return long - short <= max(FEW_SIGNS, LONGER * long)


def _is_same_moment(one: datetime, other: datetime) -> bool:
    if time.min in (one.time(), other.time()):
        return one.date() == other.date()
    return one.replace(second=0, microsecond=0) == other.replace(second=0, microsecond=0)


def contradicts(found: Sequence[Extracted], example: LabelledExample, fields: frozenset[str]) -> bool:
    """Return whether an example has another value of a field than was found, or one if none was found."""
    return any(missing for _, missing in _missing(found, example, fields))


def evident(
    found: Sequence[Extracted], example: LabelledExample, fields: frozenset[str]
) -> tuple[Extracted, ...] | None:
    """Return the objects found, with the values of an example; None if that changes nothing.

    A value is replaced only if so many of the page's objects have another one that an edit is ruled out. A text is
    never replaced: an addition may belong to it.
    """
    pairs = _missing(found, example, fields - {BODY})
    changed = sum(any(each.object.first(name) is not None for name in missing) for each, missing in pairs)
    replacing = changed >= max(SURE, DIFFERENT * len(pairs))
    told = [
        (each, {name: value for name, value in missing.items() if replacing or each.object.first(name) is None})
        for each, missing in pairs
    ]
    return tuple(_with(each, missing) for each, missing in told) if any(missing for _, missing in told) else None


def differs(found: Sequence[Extracted], former: Sequence[WebObject]) -> bool:
    """Return whether any of a page's objects says other than it did before, by as little as a word."""
    return any(
        not _is_told_again(name, now.object.first(name), value)
        for now, before in matched(found, former)
        if before is not None
        for name in COMPARED
        if (value := before.first(name)) is not None
    )


def _is_told_again(name: str, now: Value | None, before: Value) -> bool:
    if name == BODY and isinstance(now, str) and isinstance(before, str):
        return bare(now) == bare(before)
    return now is not None and same(now, before)


def settled(
    found: Sequence[Extracted], former: Sequence[WebObject], example: LabelledExample
) -> tuple[Extracted, ...] | None:
    """Return the objects that a learned action found, as memory found them again; None if that changes nothing.

    ``example`` is from memory. Where the page still shows the whole text of an object, and around it nothing but what
    its template says, the text is that one, and the values are those that stood beside it and stand there still. A
    value that the page does not show any more was edited, and stays as it was found.
    """
    labelled = {text: each for each in example.objects if (text := _own_text(each))}
    told = [
        (now, _told_again(now.object, labelled.get(bare(body_of(before))) if before is not None else None))
        for now, before in matched(found, former)
    ]
    return tuple(_with(now, missing) for now, missing in told) if any(missing for _, missing in told) else None


def _told_again(now: WebObject, labelled: LabelledObject | None) -> Mapping[str, Value]:
    if labelled is None:
        return {}
    return {
        name: label.value
        for name, label in labelled.labels.items()
        if name in COMPARED and not _is_told_again(name, now.first(name), label.value)
    }


def _own_text(labelled: LabelledObject) -> str:
    """Return the text of an object without what the template says in it, empty if the object has more text.

    What its example leaves out may be a paragraph that its author added.
    """
    label = labelled.labels.get(BODY)
    if label is None:
        return ""
    author = labelled.labels.get("author")
    name = bare(author.value.name) if author is not None and isinstance(author.value, Person) else ""
    return body_text(labelled) if all(_is_of_template(part, name) for part in label.without) else ""


def _is_of_template(element: Element, author: str) -> bool:
    """Return whether an element is a label, such as that of a button, or a line with the name of the author."""
    missing = plain_text(element)
    if author and author in bare(missing) and len(missing) <= MAX_LINE_LENGTH:
        return True
    return len(missing.split()) <= MAX_WORDS_OF_LABEL and any(each.attrib for each in element.iter())


def _missing(
    found: Sequence[Extracted], example: LabelledExample, fields: frozenset[str]
) -> list[tuple[Extracted, Mapping[str, Value]]]:
    """Return for each object the values in an example that were not found."""
    by_text = {text: labelled for labelled in example.objects if (text := body_text(labelled))}
    aligned: Sequence[LabelledObject | None] = [None] * len(found)
    if len(example.objects) == len(found):
        aligned = example.objects
    pairs = [(each, by_text.get(bare(body_of(each.object)), other)) for each, other in zip(found, aligned, strict=True)]
    return [(each, _unlike(each.object, labelled, fields) if labelled is not None else {}) for each, labelled in pairs]


def _unlike(web_object: WebObject, labelled: LabelledObject, fields: frozenset[str]) -> Mapping[str, Value]:
    told = {name: labelled.labels[name].value for name in sorted(fields) if name in labelled.labels}
    return {
        name: value for name, value in told.items() if (now := web_object.first(name)) is None or not same(now, value)
    }


def _with(extracted: Extracted, missing: Mapping[str, Value]) -> Extracted:
    properties = {**extracted.object.properties, **{name: (value,) for name, value in missing.items()}}
    return replace(extracted, object=replace(extracted.object, properties=properties)) if missing else extracted
