"""What adaptation keeps of one action on one site: the ways to do it, how they fared, and lessons about it."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from zlib import crc32

from aahcrawler.adaptation.learner.learned import Learned
from aahcrawler.adaptation.lessons import Lesson, Method
from aahcrawler.adaptation.noticing import Shape, TrackRecord
from aahcrawler.adaptation.recent import Recent
from aahcrawler.helper.outcome import Outcome, Runner
from knowledge_base.model import Extract

MOST_WAYS = 4
"""Ways that are kept for one action on one site; a template has few page shapes of one level."""
MOST_LESSONS = 6
LARGEST_KEPT = 1_000_000
"""Bytes of a page beyond which no lesson about it is kept."""
MOST_KEPT = 4_000_000
"""Bytes of all pages that lessons are kept about; parsed they take ten times as much."""
FREE = 3
"""Failures in a row before the first page is spared."""
MOST_PAUSE = 64
MOST_TOLD = 500
"""Texts of lessons about one action on one site that are remembered."""
MOST_BETWEEN = 256
"""Pages between two looks at a learned action that works."""

Name = tuple[str, str, str]
"""Application, level and action."""


@dataclass(frozen=True, slots=True)
class LearnedAction:
    """An action that was learned on a site, with the evidence for it.

    ``pages`` are the addresses of the pages that agree, ``method`` is how their objects were found. ``before`` and
    ``after`` are how many objects the action of the file and the learned one find on these pages, ``failure`` says why
    the former was given up. ``date`` is when the last of the pages was fetched.
    """

    site: str
    application: str
    level: str
    action: str
    name: str
    learned: Learned
    method: Method
    failure: str
    pages: tuple[str, ...]
    before: int
    after: int
    confidence: float
    date: datetime

    def __str__(self) -> str:
        return (
            f"{self.application}: {self.level}: {self.action} learned on {self.site} ({self.method}, {self.failure}): "
            f"{self.after} objects on {len(self.pages)} pages, {self.before} before; confidence {self.confidence:.2f}"
        )


@dataclass
class Way:
    """A way to do an action: the one of the file, or a learned one with its evidence, and how it has fared."""

    extract: Extract
    learned: LearnedAction | None = None
    record: TrackRecord = field(default_factory=TrackRecord)
    worked: int = 0
    _next_look: int = 1

    @property
    def name(self) -> str:
        """The name of a learned way, empty for that of the file."""
        return self.learned.name if self.learned is not None else ""

    def note(self, outcome: Outcome) -> None:
        """Add what it found on a page to its record."""
        self.record.note(Shape.of(outcome.extracted))

    def is_due(self) -> bool:
        """Say whether a learned way is to be compared with a lesson: on its first pages, then ever more rarely."""
        if self.learned is None:
            return False
        self.worked += 1
        if self.worked < self._next_look:
            return False
        self._next_look = self.worked + min(5 * self.worked, MOST_BETWEEN)
        return True


@dataclass(slots=True)
class Patience:
    """Spares pages on which asking would be in vain: after some failures ever more of them, up to ``MOST_PAUSE``."""

    left: int = 0
    pause: int = 0
    failures: int = 0

    def allows(self) -> bool:
        """Say whether to ask on this page."""
        if self.left:
            self.left -= 1
            return False
        return True

    def failed(self) -> None:
        """Ask less often."""
        self.failures += 1
        if self.failures > FREE:
            self.pause = min(MOST_PAUSE, max(1, 2 * self.pause))
        self.left = self.pause

    def succeeded(self) -> None:
        """Ask on the next page again."""
        self.left = self.pause = self.failures = 0


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A lesson that is believed, and what the action found on its page before."""

    lesson: Lesson
    runner: Runner
    before: Outcome

    @property
    def size(self) -> int:
        """Bytes of the page."""
        return len(self.lesson.page.body)


@dataclass
class Case:
    """One action of a file on one site. The first of ``ways`` is in force, the others were or may be again.

    ``corrections`` is the patience with single values that are not what they were.
    """

    ways: list[Way]
    patience: Patience = field(default_factory=Patience)
    corrections: Patience = field(default_factory=Patience)
    lessons: list[Kept] = field(default_factory=list)
    _told: Recent[int, str] = field(default_factory=lambda: Recent(MOST_TOLD))

    @property
    def current(self) -> Way:
        """The way that is tried first."""
        return self.ways[0]

    def put_in_force(self, way: Way) -> None:
        """Try a way first from now on; what is done least recently is forgotten, the file's own never."""
        self.ways = [way, *(each for each in self.ways if each is not way)]
        if len(self.ways) > MOST_WAYS:
            last = max(place for place, each in enumerate(self.ways) if each.learned is not None)
            del self.ways[last]

    def retells(self, page: str, texts: Sequence[str]) -> bool:
        """Say whether other pages had all texts of a lesson about this one: what a template says, nobody wrote."""
        first = [self._told.get(crc32(text.encode()), lambda: page) for text in texts]
        return bool(first) and page not in first

    def forget(self, page: str) -> None:
        """Drop the lesson about a page."""
        self.lessons = [kept for kept in self.lessons if kept.lesson.page.url != page]


class Cases:
    """The cases of all sites, the least recently met forgotten first, and a bounded number of pages in all."""

    def __init__(self, most: int = 4_000) -> None:
        self._most = most
        self._cases: OrderedDict[tuple[str, Extract], Case] = OrderedDict()
        self._kept: OrderedDict[Kept, Case] = OrderedDict()

    def of(self, site: str, action: Extract, make: Callable[[], Case]) -> Case:
        """Return the case of an action on a site, made where there is none."""
        key = (site, action)
        case = self._cases.get(key)
        if case is None:
            case = self._cases[key] = make()
            while len(self._cases) > self._most:
                _, gone = self._cases.popitem(last=False)
                self.drop(gone, gone.lessons)
        else:
            self._cases.move_to_end(key)
        return case

    def keep(self, case: Case, kept: Kept) -> bool:
        """Keep a lesson with its page; False where the page is too large."""
        if kept.size > LARGEST_KEPT:
            return False
        self.drop(case, [each for each in case.lessons if each.lesson.page.url == kept.lesson.page.url])
        self.drop(case, case.lessons[: max(0, len(case.lessons) + 1 - MOST_LESSONS)])
        case.lessons.append(kept)
        self._kept[kept] = case
        while sum(each.size for each in self._kept) > MOST_KEPT:
            oldest, owner = next(iter(self._kept.items()))
            self.drop(owner, [oldest])
        return True

    def drop(self, case: Case, lessons: Sequence[Kept]) -> None:
        """Let go of lessons."""
        for kept in tuple(lessons):
            self._kept.pop(kept, None)
            if kept in case.lessons:
                case.lessons.remove(kept)
