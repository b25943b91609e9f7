"""Detect actions that no longer work (ARCOMEM, section 4.1: structural changes are detected first).

The evidence is the track record of the action on a site, and the results of a former crawl at the same URL. A page
that has no such object, and a former object that is gone, are not failures.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from zlib import crc32

from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.extraction.extraction import BODY, Extracted, ExtractionOutcome
from aahcrawler.page import Page
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import Person, WebObject
from aahcrawler.wrapper_induction.examples import LabelledObject
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
        filled = frozenset(name for each in extracted for name in each.object.properties)
        length = sum(len(body_of(each.object)) for each in extracted)
        title = extracted[0].object.first("title") if extracted else None
        title = title if isinstance(title, str) else ""
        body = bare(body_of(extracted[0].object)) if extracted else ""
        headed = bool(title) and body.startswith(bare(title))
        ended = end_alike([body_of(each.object) for each in extracted])
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
