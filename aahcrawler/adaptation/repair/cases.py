"""Keep the ways to do one action on one site, their results, and examples about it."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from aahcrawler.adaptation.detection.failure_detection import Shape, TrackRecord
from aahcrawler.adaptation.learned import Backoff, LearnedAction, LruMapping
from aahcrawler.helper.extraction.extraction import ExtractionOutcome, Runner
from aahcrawler.wrapper_induction.examples import LabelledExample
from knowledge_base.model import Extract

MAX_WAYS = 4
"""Ways that are kept for one action on one site; a template has few page shapes of one level."""
MAX_EXAMPLES = 6
MAX_KEPT_PAGE = 1_000_000
"""Bytes of a page beyond which no example about it is kept."""
MAX_KEPT = 4_000_000
"""Bytes of all pages that examples are kept about; parsed they take ten times as much."""
MAX_TOLD = 500
"""Texts of examples about one action on one site that are remembered."""
MAX_BETWEEN = 256
"""Pages between two looks at a learned action that works."""

Name = tuple[str, str, str]
"""Application, level and action."""


@dataclass
class Way:
    """A way to do an action: that of the file, or a learned one with its evidence, and its record."""

    extract: Extract
    learned: LearnedAction | None = None
    record: TrackRecord = field(default_factory=TrackRecord)
    worked: int = 0
    _next_look: int = 1

    @property
    def name(self) -> str:
        """The name of a learned way, empty for that of the file."""
        return self.learned.name if self.learned is not None else ""

    def note(self, outcome: ExtractionOutcome) -> None:
        """Add its outcome on a page to its record."""
        self.record.note(Shape.of(outcome.extracted))

    def is_due(self) -> bool:
        """Return whether the way is to be compared with an example: on its first pages, then ever more rarely.

        A learned way has shown on several pages that it leaves nothing out; that of the file was written for another
        template, maybe.
        """
        self.worked += 1
        if self.worked < self._next_look:
            return False
        pause = max(1, self.worked // 2) if self.learned is None else 5 * self.worked
        self._next_look = self.worked + min(pause, MAX_BETWEEN)
        return True

    def look_again(self) -> None:
        """Compare the way with an example on the next page as well."""
        self._next_look = self.worked + 1


@dataclass(frozen=True, slots=True, eq=False)
class KeptExample:
    """A valid example, and the action's earlier outcome on its page."""

    example: LabelledExample
    runner: Runner
    before: ExtractionOutcome

    @property
    def size(self) -> int:
        """Bytes of the page."""
        return len(self.example.page.body)


@dataclass
class Case:
    """One action of a file on one site. The first of ``ways`` is in force, the others were or may be again.

    ``backoff`` is for repair, ``learning`` for learning of the examples that repair finds, and ``corrections`` for
    single values that differ from the former ones. ``teaches_alone`` says whether the last example for which learning
    was tried in vain taught an action for its own page at least.
    """

    ways: list[Way]
    backoff: Backoff = field(default_factory=Backoff)
    learning: Backoff = field(default_factory=Backoff)
    corrections: Backoff = field(default_factory=Backoff)
    teaches_alone: bool = False
    is_vetoed: bool = False
    """Whether what the examples taught last had been rejected by people."""
    examples: list[KeptExample] = field(default_factory=list)
    _told: LruMapping[int, str] = field(default_factory=lambda: LruMapping(MAX_TOLD))

    @property
    def current(self) -> Way:
        """The way that is tried first."""
        return self.ways[0]

    def put_in_force(self, way: Way) -> None:
        """Try a way first from now on; the least recently used one is forgotten, that of the file never."""
        self.ways = [way, *(each for each in self.ways if each is not way)]
        if len(self.ways) > MAX_WAYS:
            last = max(place for place, each in enumerate(self.ways) if each.learned is not None)
            del self.ways[last]

    def retells(self, page: str, texts: Sequence[str]) -> bool:
        """Return whether other pages had all texts of an example about this one: they belong to the template then."""
        first = [self._told.get(crc32(text.encode()), lambda: page) for text in texts]
        return bool(first) and page not in first

    def forget(self, page: str) -> None:
        """Drop the example about a page."""
        self.examples = [kept for kept in self.examples if kept.example.page.url != page]


class Cases:
    """The cases of all sites, the least recently used forgotten first, and a bounded number of pages in all."""

    def __init__(self, most: int = 4_000) -> None:
        self._most = most
        self._cases: OrderedDict[tuple[str, Extract], Case] = OrderedDict()
        self._kept: OrderedDict[KeptExample, Case] = OrderedDict()

    def of(self, site: str, action: Extract, make: Callable[[], Case]) -> Case:
        """Return the case of an action on a site, made if there is none."""
        key = (site, action)
        case = self._cases.get(key)
        if case is None:
            case = self._cases[key] = make()
            while len(self._cases) > self._most:
                _, gone = self._cases.popitem(last=False)
                self.drop(gone, gone.examples)
        else:
            self._cases.move_to_end(key)
        return case

    def keep(self, case: Case, kept: KeptExample) -> bool:
        """Keep an example with its page; False if the page is too large."""
        if kept.size > MAX_KEPT_PAGE:
            return False
        self.drop(case, [each for each in case.examples if each.example.page.url == kept.example.page.url])
        self.drop(case, case.examples[: max(0, len(case.examples) + 1 - MAX_EXAMPLES)])
        case.examples.append(kept)
        self._kept[kept] = case
        while sum(each.size for each in self._kept) > MAX_KEPT:
            oldest, owner = next(iter(self._kept.items()))
            self.drop(owner, [oldest])
        return True

    def drop(self, case: Case, examples: Sequence[KeptExample]) -> None:
        """Let go of examples."""
        for kept in tuple(examples):
            self._kept.pop(kept, None)
            if kept in case.examples:
                case.examples.remove(kept)
