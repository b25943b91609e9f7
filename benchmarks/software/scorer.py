"""Compares the objects of a crawl with what a site was filled with, field by field and change by change.

Recall, fields, needed pages and false objects are what the scorer of recorded sites means by them: an object is found
where the words of its body agree with those of a true one (F1 of at least 0.9), fields are compared on found objects,
dates by their day in UTC. Three things differ. A value that differs is counted apart from one that is absent. A second
object for the same content is false, since the site has it once. And the changes that a second crawl tells are
compared with those that were made.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final
from urllib.parse import unquote, urlsplit

from benchmarks.results import Cell
from benchmarks.truth import words

AGREES: Final = 0.9
"""The least F1 of words at which two texts are the same."""
FIELDS: Final = ("title", "author", "date")
_AS_GOOD: Final = 0.02
_RARE: Final = 8
_REQUISITE: Final = re.compile(
    r"\.(?:css|js|mjs|map|png|jpe?g|gif|svg|webp|ico|woff2?|ttf|eot|mp4|webm|mp3)(?:[?#]|$)|/robots\.txt$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Described:
    """An object, true or extracted. A field that is None is not shown, or was not found; ``url`` is a path."""

    id: str
    url: str
    body: str
    title: str | None = None
    author: str | None = None
    date: str | None = None

    @cached_property
    def bag(self) -> Counter[str]:
        """The words of the body, as often as they occur."""
        return Counter(words(self.body))

    def agrees(self, other: "Described") -> float:
        """Return the F1 of the words of both bodies."""
        total = self.bag.total() + other.bag.total()
        return 2 * (self.bag & other.bag).total() / total if total else 0.0


@dataclass(frozen=True, slots=True)
class ToldChange:
    """A change that a crawl tells: ``kind`` is edited, deleted or added, ``body`` the new text, or the last one."""

    kind: str
    body: str


@dataclass(frozen=True, slots=True, order=True)
class Fit:
    """How well an extracted object agrees with the true object of a number, in the order of importance.

    Several true objects may have the same text, on different pages or of different authors.
    """

    f1: int
    same_page: bool
    same_author: bool
    same_date: bool
    number: int

    @classmethod
    def of(cls, f1: float, true: Described, extracted: Described, number: int) -> "Fit":
        """Compare what else is known of two objects whose texts agree."""
        dated = bool(true.date) and verdict("date", true.date or "", extracted.date) == "right"
        same_author = fold(true.author) == fold(extracted.author)
        # Differences as small as these are of the form, not of the text.
        return cls(round(f1 / _AS_GOOD), local(true.url) == local(extracted.url), same_author, dated, number)


class TrueObjects:
    """What a site was filled with; finds the true object that an extracted one is."""

    def __init__(self, objects: Iterable[Described]) -> None:
        self.objects = tuple(objects)
        self._holders: defaultdict[str, set[int]] = defaultdict(set)
        for number, true in enumerate(self.objects):
            for word in true.bag:
                self._holders[word].add(number)

    def fits(self, extracted: Described) -> list["Fit"]:
        """Return the true objects that a text agrees with."""
        rare = sorted(
            (word for word in extracted.bag if word in self._holders), key=lambda word: len(self._holders[word])
        )
        near: set[int] = set().union(*(self._holders[word] for word in rare[:_RARE]))
        ranked = ((number, self.objects[number].agrees(extracted)) for number in near)
        return [Fit.of(fit, self.objects[number], extracted, number) for number, fit in ranked if fit >= AGREES]


@dataclass(frozen=True, slots=True)
class Matching:
    """Which extracted object each true one was found as, by the numbers of the latter; what else was extracted."""

    true: TrueObjects
    found: Mapping[int, Described]
    copies: Sequence[Described]
    wrong: Sequence[Described]

    @classmethod
    def of(cls, true: TrueObjects, extracted: Iterable[Described]) -> "Matching":
        """Match extracted objects with true ones one to one, the best first; those without a body do not count."""
        fits = [(each, true.fits(each)) for each in extracted if each.bag]
        pairs = sorted(((fit, place) for place, (_, found) in enumerate(fits) for fit in found), reverse=True)
        matched: dict[int, int] = {}
        used: set[int] = set()
        for fit, place in pairs:
            if fit.number not in matched and place not in used:
                matched[fit.number] = place
                used.add(place)
        found = {number: fits[place][0] for number, place in matched.items()}
        copies = [each for place, (each, agreeing) in enumerate(fits) if agreeing and place not in used]
        wrong = [each for each, agreeing in fits if not agreeing]
        return cls(true, found, copies, wrong)

    def scores(self) -> dict[str, Cell]:
        """Return recall, precision, and for each field the shares that are right and wrong of those shown."""
        extracted = len(self.found) + len(self.copies) + len(self.wrong)
        row: dict[str, Cell] = {
            "recall": _share(len(self.found), len(self.true.objects)),
            "precision": _share(len(self.found), extracted),
            "duplicate_share": _share(len(self.copies), extracted),
        }
        judged = {name: self._judged(name) for name in FIELDS}
        row |= {name: _share(verdicts["right"], verdicts.total()) for name, verdicts in judged.items()}
        return row | {f"{name}_wrong": _share(verdicts["wrong"], verdicts.total()) for name, verdicts in judged.items()}

    def false_objects(self, pages: Iterable[str]) -> float | None:
        """Return the share of fetched pages without true objects that gave an object which agrees with nothing.

        Pages that only repeat objects of others are left out, as the scorer of recorded sites leaves them out.
        """
        needed, repeating = needed_pages(self.true.objects), {local(each.url) for each in self.copies}
        empty = set(map(local, pages)) - needed - repeating
        return _share(len(empty & {local(each.url) for each in self.wrong}), len(empty))

    def _judged(self, name: str) -> Counter[str]:
        pairs = ((self.true.objects[number], each) for number, each in self.found.items())
        shown = [(getattr(true, name), getattr(each, name)) for true, each in pairs if getattr(true, name)]
        return Counter(verdict(name, true, extracted) for true, extracted in shown)


def verdict(name: str, true: str, extracted: str | None) -> str:
    """Return whether a value is ``right``, ``wrong`` or ``absent``: white space and case do not count.

    >>> verdict("date", "2024-02-01T23:30+00:00", "2024-02-02T00:30:00+01:00")
    'right'
    """
    if not extracted:
        return "absent"
    if name == "date":
        return "right" if _day(true) == _day(extracted) else "wrong"
    return "right" if fold(true) == fold(extracted) else "wrong"


def compared_changes(planted: Sequence[ToldChange], told: Sequence[ToldChange]) -> dict[str, Cell]:
    """Return how many changes were told that nobody made, and how many were made and not told.

    A change is the same where its kind is, and its text agrees; each that was made is told once.
    """
    open_ = [(change.kind, Described("", "", change.body)) for change in planted]
    false = 0
    for change in told:
        said = Described("", "", change.body)
        same = next((each for each in open_ if each[0] == change.kind and each[1].agrees(said) >= AGREES), None)
        if same is None:
            false += 1
        else:
            open_.remove(same)
    return {"false_changes": false, "missed_changes": len(open_)}


def needed_pages(objects: Iterable[Described]) -> set[str]:
    """Return the pages that show true objects."""
    return {local(true.url) for true in objects}


def page_requests(asked: Iterable[str]) -> int:
    """Return how many of some requested addresses are pages; what pages need to be shown and robots.txt are apart."""
    return sum(not _REQUISITE.search(address) for address in asked)


def local(url: str) -> str:
    """Return the path and the query of an address.

    >>> local("http://127.0.0.1:80/a%20b?c#d")
    '/a b?c'
    """
    parts = urlsplit(url)
    return unquote(parts.path or "/") + (f"?{unquote(parts.query)}" if parts.query else "")


def fold(text: str | None) -> str:
    """Return a text without differences of white space and case."""
    return " ".join(unicodedata.normalize("NFKC", text or "").split()).casefold()


def _day(text: str) -> object:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).date()


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
