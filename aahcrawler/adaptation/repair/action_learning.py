"""Learn ways to do an action from examples, tell implausible values, and keep what each way yields on every page.

Dates that go up and down below one another are not those of posts either, which are listed by them.

What a repair finds by likeness alone may be another thing of the same form. It shows on several objects together: when
somebody joined is the same date on all of that member's posts. Values that memory confirms need no such look.
"""

import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from itertools import pairwise
from zlib import crc32

from aahcrawler.adaptation.detection.failure_detection import Shape, TrackRecord
from aahcrawler.adaptation.learned import Backoff, LearnedAction, LruMapping
from aahcrawler.adaptation.repair.validation import denies, loses_nothing, reproduces
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.detection import FAILING
from aahcrawler.helper.extraction.extraction import Extracted, ExtractionOutcome, Runner
from aahcrawler.helper.site_memory import site_of
from aahcrawler.page import Page
from aahcrawler.page.text import fold
from aahcrawler.page.titles import head_title
from aahcrawler.webobject import Person, Value
from aahcrawler.wrapper_induction.examples import LabelledExample, Method
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.model import Extract

_ANSWER = re.compile(r"^(?:(?:re|aw|sv|vs|ref)(?:\[\d+\])?\s?[:：]\s*)+")
AUTHOR, DATE, TITLE = "author", "date", "title"
FEW_PAGES = 3
"""Pages from which one title on all of them is not theirs; a long thread has the same on two."""
FEW_OBJECTS = 6
"""Objects of several pages from which one author of all of them is not theirs."""
FEW_OF_MEMBERS = 4
"""Objects of authors with several, at least two authors, from which one date for each is the member's."""
FEW_STEPS = 6
"""Pairs of neighbouring posts with different dates from which their order tells anything."""
ASTRAY = 0.25
"""The share of such pairs of a page against the order of the others from which its dates are in none."""
CLOCKS = timedelta(days=1)
"""The most by which a site's clock and zone may be ahead."""

Values = Mapping[str, Value]
"""The values of one object by the names of their fields."""


@dataclass(frozen=True, slots=True)
class PageObjects:
    """The objects that one page tells of, when it was fetched, and the title that it declares.

    ``by_date`` says that pages list such objects by their dates, one below the other: posts, but no answers to vote on.
    """

    objects: Sequence[Values]
    fetched_at: datetime
    title: str = ""
    by_date: bool = False

    @classmethod
    def of(cls, page: Page, objects: Sequence[Values], *, by_date: bool = False) -> "PageObjects":
        """Return what a page tells of objects."""
        return cls(objects, page.fetched_at, head_title(page), by_date)


def misbehaving(pages: Sequence[PageObjects], *, many: bool) -> frozenset[str]:
    """Return the fields of a way of reading pages whose values are not those of the objects.

    ``many`` says that a page may have several such objects, by several people.
    """
    objects = [each for page in pages for each in page.objects]
    checks = {
        DATE: any(map(_is_ahead, pages)) or _is_of_members(objects) or _is_of_months(objects) or _is_astray(pages),
        TITLE: _is_of_site(pages),
        AUTHOR: (many and len(pages) > 1 and _is_of_owner(objects)) or _is_of_threads(pages),
    }
    return frozenset(name for name, found in checks.items() if found)


def _is_ahead(page: PageObjects) -> bool:
    dates = (each[DATE] for each in page.objects if DATE in each)
    return any(isinstance(date, datetime) and date > page.fetched_at + CLOCKS for date in dates)


def _is_of_members(objects: Sequence[Values]) -> bool:
    """Return whether all posts of an author have one date, and authors have several posts."""
    by_author: defaultdict[str, list[Value]] = defaultdict(list)
    for each in objects:
        author = each.get(AUTHOR)
        if isinstance(author, Person) and DATE in each:
            by_author[author.name].append(each[DATE])
    several = [dates for dates in by_author.values() if len(dates) > 1]
    counted = sum(map(len, several)) >= FEW_OF_MEMBERS and len(several) > 1
    return counted and all(len(set(dates)) == 1 for dates in several) and len({dates[0] for dates in several}) > 1


def _is_of_months(objects: Sequence[Values]) -> bool:
    """Return whether all dates are those of months: people join in a month, and write on a day."""
    dates = [date for each in objects if isinstance(date := each.get(DATE), datetime)]
    if len(dates) < FEW_OBJECTS or len(set(dates)) < FEW_PAGES:
        return False
    return all(date.day == 1 and date.time() == time.min for date in dates)


def _is_astray(pages: Sequence[PageObjects]) -> bool:
    """Return whether on most pages the dates of posts are in no order, or in another than on the others."""
    steps = [_steps(page) for page in pages if page.by_date]
    steps = [(rising, falling) for rising, falling in steps if rising + falling > 1]
    if sum(map(sum, steps)) < FEW_STEPS:
        return False
    oldest_first = sum(falling <= ASTRAY * (rising + falling) for rising, falling in steps)
    newest_first = sum(rising <= ASTRAY * (rising + falling) for rising, falling in steps)
    return 2 * max(oldest_first, newest_first) < len(steps)


def _steps(page: PageObjects) -> tuple[int, int]:
    """Return how often a date is later, and how often it is earlier, than that of the post before."""
    dates = [date for each in page.objects if isinstance(date := each.get(DATE), datetime)]
    return sum(a < b for a, b in pairwise(dates)), sum(a > b for a, b in pairwise(dates))


def _is_of_site(pages: Sequence[PageObjects]) -> bool:
    titles = [titled[0] for page in pages if (titled := [str(each[TITLE]) for each in page.objects if TITLE in each])]
    return len(titles) >= FEW_PAGES and len({fold(title).casefold() for title in titles}) == 1


def _is_of_threads(pages: Sequence[PageObjects]) -> bool:
    """Return whether the authors of a page are all one, and called like the page: they are the subjects of answers.

    A page with one author alone says nothing: people name their sites after themselves.
    """
    named = [(page, names) for page in pages if (names := _names(page))]
    alike = all(len(set(names)) == 1 and names[0] in fold(page.title).casefold() for page, names in named)
    return alike and any(len(names) > 1 for _, names in named)


def _names(page: PageObjects) -> list[str]:
    """Return the names of a page's authors without the mark of an answer."""
    authors = (author.name for each in page.objects if isinstance(author := each.get(AUTHOR), Person))
    return [_ANSWER.sub("", fold(name).casefold()) for name in authors]


def _is_of_owner(objects: Sequence[Values]) -> bool:
    names = [author.name for each in objects if isinstance(author := each.get(AUTHOR), Person)]
    return len(names) >= FEW_OBJECTS and len(set(names)) == 1


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


Learner = Callable[[Sequence[LabelledExample], Extract], Wrapper | None]
"""Makes an action of examples in place of one that failed; None if they have nothing in common."""

MIN_PAGES = 2
"""Pages that must agree before an action is in force."""

LISTED_BY_DATE = frozenset({"web-forum", "blog"})
"""The kinds of applications whose posts and comments stand below one another by date."""

MAX_LEFT_OUT = 2
"""The most examples that are left aside, one at a time, if no action fits all of them."""


@dataclass(frozen=True, slots=True)
class Attempted:
    """A learned action, and its outcomes on the pages of the examples that it agrees with."""

    wrapper: Wrapper
    agreeing: tuple[tuple[KeptExample, ExtractionOutcome], ...]

    def outcome(self, kept: KeptExample) -> ExtractionOutcome | None:
        """Return its outcome on a page, None if it does not agree with the page's example."""
        return next((outcome for each, outcome in self.agreeing if each is kept), None)


@dataclass(frozen=True, slots=True)
class Learning:
    """Makes ways of examples."""

    learner: Learner

    def attempt(
        self, question: Question, examples: Sequence[KeptExample], proof: Sequence[KeptExample]
    ) -> Attempted | None:
        """Learn an action from some examples, and find the pages of ``proof`` on which it agrees.

        None if nothing can be learned, or the action finds something else on any of those pages.
        """
        try:
            wrapper = self.learner([kept.example for kept in examples], question.action)
        except FAILING as error:
            question.page.failed.add("learning of an action", error)
            return None
        if wrapper is None:
            return None
        wrapper = _plausible(question, wrapper, proof)
        agreeing: list[tuple[KeptExample, ExtractionOutcome]] = []
        for kept in proof:
            outcome = run(kept.runner, wrapper.action)
            if outcome.extracted and reproduces(outcome.extracted, kept.example):
                if not loses_nothing(kept.before.extracted, outcome.extracted) or denies(
                    outcome.extracted, kept.example
                ):
                    return None
                agreeing.append((kept, outcome))
            elif outcome.extracted:
                return None
        return Attempted(wrapper, tuple(agreeing))

    def best(self, question: Question, examples: Sequence[KeptExample]) -> Attempted | None:
        """Return the action learned from the last example and those that agree with it; None if it is not reliable.

        Pages of another shape do not contradict it as long as it finds nothing there.
        """
        latest = examples[-1]
        group: Sequence[KeptExample] = examples
        attempted = self.attempt(question, examples, examples)
        if attempted is None or attempted.outcome(latest) is None:
            alone = self.attempt(question, (latest,), (latest,))
            if alone is None:
                return None
            group = [kept for kept in examples if _agrees(kept, alone.wrapper.action)]
            attempted = self._together(question, group, examples) if len(group) > 1 else alone
        return attempted if attempted is not None and attempted.outcome(latest) is not None else None

    def _together(
        self, question: Question, group: Sequence[KeptExample], proof: Sequence[KeptExample]
    ) -> Attempted | None:
        """Learn from all examples of a group, else from all but one: one wrong value spoils what others agree on."""
        attempted = self.attempt(question, group, proof)
        if attempted is None and len(group) > MIN_PAGES:
            for doubtful in sorted(group[:-1], key=lambda kept: kept.example.confidence)[:MAX_LEFT_OUT]:
                attempted = self.attempt(question, [kept for kept in group if kept is not doubtful], proof)
                if attempted is not None:
                    break
        return attempted


def _plausible(question: Question, wrapper: Wrapper, proof: Sequence[KeptExample]) -> Wrapper:
    """Return a way without the fields whose values are not those of the objects, unless memory confirms some of them.

    What cannot be shown to be right stays absent.
    """
    if any(kept.example.method is Method.MEMORY for kept in proof):
        return wrapper
    pages = [_told(question, kept, run(kept.runner, wrapper.action).extracted) for kept in proof]
    wrong = misbehaving(pages, many=wrapper.action.many)
    fields = tuple(field for field in wrapper.action.fields if field.name not in wrong)
    if len(fields) == len(wrapper.action.fields):
        return wrapper
    notes = tuple(f"{name}: its values are not those of the objects" for name in sorted(wrong))
    return replace(wrapper, action=replace(wrapper.action, fields=fields), notes=(*wrapper.notes, *notes))


def _told(question: Question, kept: KeptExample, extracted: Sequence[Extracted]) -> PageObjects:
    by_date = question.application.kind in LISTED_BY_DATE and not _is_nested(extracted)
    return PageObjects.of(
        kept.example.page,
        [{name: values[0] for name, values in each.object.properties.items() if values} for each in extracted],
        by_date=by_date,
    )


def _is_nested(extracted: Sequence[Extracted]) -> bool:
    """Return whether objects lie at different depths: answers are listed below what they answer, at any date."""
    return len({sum(1 for _ in each.body[0].iterancestors()) for each in extracted if each.body}) > 1


def _agrees(kept: KeptExample, extract: Extract) -> bool:
    outcome = run(kept.runner, extract)
    return bool(outcome.extracted) and reproduces(outcome.extracted, kept.example)


def run(runner: Runner, extract: Extract) -> ExtractionOutcome:
    """Run an action on a page without cached values; nothing is found if an expression fails."""
    try:
        return runner.again().run(extract)
    except FAILING:
        return ExtractionOutcome()


def way_of(question: Question, attempted: Attempted, failure: str, number: int) -> Way:
    """Put a learned action in words, with its evidence; its record begins with the pages it was learned of."""
    kept = [each for each, _ in attempted.agreeing]
    event = LearnedAction(
        site=site_of(question.page.url),
        application=question.application.name,
        level=question.level.name,
        action=question.action.name,
        name=learned_name(question, number),
        wrapper=attempted.wrapper,
        method=kept[-1].example.method,
        failure=failure,
        pages=tuple(each.example.page.url for each in kept),
        before=sum(len(each.before.extracted) for each in kept),
        after=sum(len(outcome.extracted) for _, outcome in attempted.agreeing),
        confidence=min(each.example.confidence for each in kept),
        date=max(each.example.page.fetched_at for each in kept),
    )
    way = Way(attempted.wrapper.action, event)
    for _, outcome in attempted.agreeing:
        way.record.note(Shape.of(outcome.extracted))
    return way


def learned_name(question: Question, number: int) -> str:
    """Name a learned action after the one that failed."""
    return f"learned-{question.action.name}-{number}"
