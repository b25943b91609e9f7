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
"""Two texts are the same if the F1 of their words is at least this."""
FIELDS: Final = ("title", "author", "date")
_AS_GOOD: Final = 0.02
_RARE: Final = 8
_REQUISITE: Final = re.compile(
    r"\.(?:css|js|mjs|map|png|jpe?g|gif|svg|webp|ico|woff2?|ttf|eot|mp4|webm|mp3)(?:[?#]|$)|/robots\.txt$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Described:
    """An object, true or extracted; ``url`` is that of its page. A missing field is None.

    No page shows the ``hidden`` fields of a true object: they need not be found, but must be right if they are.
    ``others`` are further texts that count as its body, such as a mail without its quotations.
    """

    id: str
    url: str
    body: str
    title: str | None = None
    author: str | None = None
    date: str | None = None
    hidden: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @cached_property
    def bag(self) -> Counter[str]:
        """The words of the body with their numbers of occurrences."""
        return Counter(words(self.body))

    @cached_property
    def bags(self) -> tuple[Counter[str], ...]:
        """The words of all texts that count as the body."""
        return (self.bag, *(Counter(words(text)) for text in self.others))

    def agrees(self, other: "Described") -> float:
        """Return the F1 of the words of both bodies; if several texts count as a body, that of the best one."""
        return max(_f1(bag, other.bag) for bag in self.bags)


def _f1(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


@dataclass(frozen=True, slots=True)
class ToldChange:
    """A change that a crawl reports: ``kind`` is edited, deleted or added, ``body`` the new text, or the last one."""

    kind: str
    body: str

    def agrees(self, other: "ToldChange") -> bool:
        """Return whether both are the same change."""
        texts = Described("", "", self.body), Described("", "", other.body)
        return self.kind == other.kind and texts[0].agrees(texts[1]) >= AGREES


@dataclass(frozen=True, slots=True, order=True)
class Fit:
    """How well an extracted object agrees with the true object with a number, in the order of importance.

    Several true objects may have the same text, on different pages or by different authors.
    """

    f1: int
    same_page: bool
    same_author: bool
    same_date: bool
    number: int

    @classmethod
    def of(cls, f1: float, true: Described, extracted: Described, number: int) -> "Fit":
        """Compare two objects whose texts agree."""
        dated = bool(true.date) and verdict("date", true.date or "", extracted.date) == "right"
        same_author = fold(true.author) == fold(extracted.author)
        # Differences as small as these are of the form, not of the text.
        return cls(round(f1 / _AS_GOOD), local(true.url) == local(extracted.url), same_author, dated, number)


class TrueObjects:
    """The objects that a site was filled with, to be matched with extracted objects."""

    def __init__(self, objects: Iterable[Described]) -> None:
        self.objects = tuple(objects)
        self._holders: defaultdict[str, set[int]] = defaultdict(set)
        for number, true in enumerate(self.objects):
            for word in set().union(*true.bags):
                self._holders[word].add(number)

    def fits(self, extracted: Described) -> list["Fit"]:
        """Return the true objects whose texts agree with that of an extracted object."""
        rare = sorted(
            (word for word in extracted.bag if word in self._holders), key=lambda word: len(self._holders[word])
        )
        near: set[int] = set().union(*(self._holders[word] for word in rare[:_RARE]))
        ranked = ((number, self.objects[number].agrees(extracted)) for number in near)
        return [Fit.of(fit, self.objects[number], extracted, number) for number, fit in ranked if fit >= AGREES]


@dataclass(frozen=True, slots=True)
class Matching:
    """The extracted object that each true one, by its number, was found as; and all other extracted objects."""

    true: TrueObjects
    found: Mapping[int, Described]
    copies: Sequence[Described]
    wrong: Sequence[Described]

    @classmethod
    def of(cls, true: TrueObjects, extracted: Iterable[Described]) -> "Matching":
        """Match extracted and true objects one to one, the best fits first; objects without a body are ignored."""
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
        """Return the recall, and for each field the shares of right and of wrong values.

        Right values are a share of the found objects that show the field, wrong ones of all found objects.
        """
        judged = {name: self._judged(name) for name in FIELDS}
        row: dict[str, Cell] = {"recall": _share(len(self.found), len(self.true.objects))}
        row |= {name: _share(verdicts["right"], verdicts.total()) for name, (verdicts, _) in judged.items()}
        return row | {f"{name}_wrong": _share(wrong, len(self.found)) for name, (_, wrong) in judged.items()}

    def shares(self) -> dict[str, Cell]:
        """Return which share of all extracted objects the site has, each once, and which share are second copies."""
        extracted = len(self.found) + len(self.copies) + len(self.wrong)
        return {
            "precision": _share(len(self.found), extracted),
            "duplicate_share": _share(len(self.copies), extracted),
        }

    def false_objects(self, pages: Iterable[str]) -> float | None:
        """Return the share of fetched pages without true objects that yielded an object which agrees with none.

        Pages that only repeat objects of other pages are ignored, as by the scorer of recorded sites.
        """
        needed, repeating = needed_pages(self.true.objects), {local(each.url) for each in self.copies}
        empty = set(map(local, pages)) - needed - repeating
        return _share(len(empty & {local(each.url) for each in self.wrong}), len(empty))

    @property
    def missing(self) -> list[Described]:
        """The true objects that were not found."""
        return [true for number, true in enumerate(self.true.objects) if number not in self.found]

    @property
    def differing(self) -> list[tuple[Described, Described]]:
        """The true objects with a wrong or missing field, each with the object it was found as."""
        pairs = ((self.true.objects[number], each) for number, each in self.found.items())
        return [(true, each) for true, each in pairs if _is_amiss(true, _verdicts(true, each))]

    def _judged(self, name: str) -> tuple[Counter[str], int]:
        """Return the verdicts on a field on pages that show it, and the number of its wrong values on all pages."""
        pairs = [(self.true.objects[number], each) for number, each in self.found.items()]
        verdicts = [(true, _verdicts(true, each).get(name)) for true, each in pairs]
        shown = Counter(said for true, said in verdicts if said is not None and name not in true.hidden)
        return shown, sum(said == "wrong" for _, said in verdicts)


def _is_amiss(true: Described, verdicts: Mapping[str, str]) -> bool:
    return any(said == "wrong" or (said == "absent" and name not in true.hidden) for name, said in verdicts.items())


def _verdicts(true: Described, extracted: Described) -> dict[str, str]:
    """Return the verdict on each field that the true object has."""
    shown = ((name, getattr(true, name), getattr(extracted, name)) for name in FIELDS)
    return {name: verdict(name, value, other) for name, value, other in shown if value}


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


@dataclass(frozen=True, slots=True)
class ComparedChanges:
    """The reported changes that nobody made, and the changes that were not reported."""

    false: Sequence[ToldChange]
    missed: Sequence[ToldChange]

    @classmethod
    def of(cls, made: Iterable[ToldChange], told: Iterable[ToldChange]) -> "ComparedChanges":
        """Compare changes: two are the same if their kinds are equal and their texts agree; each counts once."""
        left = list(made)
        false: list[ToldChange] = []
        for change in told:
            same = next((each for each in left if change.agrees(each)), None)
            if same is None:
                false.append(change)
            else:
                left.remove(same)
        return cls(false, left)


def needed_pages(objects: Iterable[Described]) -> set[str]:
    """Return the URLs of pages that show true objects."""
    return {local(true.url) for true in objects}


def page_requests(asked: Iterable[str]) -> int:
    """Return how many of the requested URLs are pages; page requisites and robots.txt are not."""
    return sum(not _REQUISITE.search(address) for address in asked)


def local(url: str) -> str:
    """Return the path and the query of a URL.

    >>> local("http://127.0.0.1:80/a%20b?c#d")
    '/a b?c'
    """
    parts = urlsplit(url)
    return unquote(parts.path or "/") + (f"?{unquote(parts.query)}" if parts.query else "")


def fold(text: str | None) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text or "").split()).casefold()


def _day(text: str) -> object:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).date()


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
