"""Recognise the application and the level of a page."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import thread_time
from typing import Final, TypeVar

from lxml import etree
from lxml.etree import XPath, iterwalk
from lxml.html import HtmlElement

from aahcrawler.helper.adaptation_protocol import Taken
from aahcrawler.helper.assistance import FailedAction, Failure
from aahcrawler.helper.extraction.field_reader import literals_on
from aahcrawler.helper.site_memory import Sites
from aahcrawler.page import Page
from aahcrawler.page.page import PageGivenUpError, describe_error, is_of_machine
from knowledge_base.matching import Detection, Detector, Sight, still_holds
from knowledge_base.model import Action, Application, Condition, KnowledgeBase, PageLevel, Variant
from knowledge_base.selectors import SourceLiterals
from knowledge_base.xpath_limits import TooCostlyError

T = TypeVar("T")

FAILING: Final = (
    *(etree.LxmlError, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError),
    *(TypeError, ValueError),
)
"""The exceptions of expressions and values that fail on a page."""

PAGE_SECONDS = 300.0
"""Processor time after which a page is given up. The work of each part is bounded, so no page should take as long."""


class Watchdog:
    """Gives up a page that takes far too long in spite of all limits.

    Learning and switching actions off never depend on it, as they would differ between machines. ``clock`` gives the
    processor time of the calling thread in seconds.
    """

    def __init__(self, clock: Callable[[], float] = thread_time, seconds: float = PAGE_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._end = clock() + seconds

    def begin(self) -> None:
        """Start the time of a page."""
        self._end = self._clock() + self._seconds

    def check(self) -> None:
        """Raise ``PageGivenUpError`` where the page has taken too long."""
        if self._clock() > self._end:
            raise PageGivenUpError(f"it took more than {self._seconds:g} seconds of processor time")


@dataclass
class Attempts:
    """Runs parts of one application on one page, and collects their ``failures``."""

    page: Page
    application: str
    watchdog: Watchdog
    failures: list[FailedAction] = field(default_factory=list)

    def attempt(self, work: Callable[[], T], *, level: str = "", action: str) -> T | None:
        """Return the result of a part's work; None if it fails on this page, or would take more work than it may.

        ``level`` and ``action`` are the names under which a failure is reported. Raises ``PageGivenUpError``.
        """
        self.watchdog.check()
        try:
            return work()
        except TooCostlyError as error:
            self.fail(level, action, Failure.SLOW, str(error))
        except Exception as error:
            if is_of_machine(error):
                raise
            self.fail(level, action, Failure.ERROR, describe_error(error))
        return None

    def fail(
        self, level: str, action: str, failure: Failure, detail: str = "", objects: int = 0, *, spared: bool = False
    ) -> None:
        """Record that an action failed on this page, and how many objects it yields nevertheless.

        With ``spared``, repair or learning was skipped.
        """
        self.failures.append(FailedAction(self.application, level, action, failure, detail, objects, spared))


@dataclass(frozen=True, slots=True)
class Place:
    """A level that fits a page, and the variant of it whose actions read the page, None for the level's own actions.

    ``shown`` is False if the page shows no sign of the level and the level is only assumed. ``otherwise`` is then the
    level whose signs the page shows, which is used if the page has no object of the assumed one.
    """

    level: PageLevel
    variant: Variant | None = None
    shown: bool = True
    otherwise: "Place | None" = None

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions for the page."""
        return self.variant.actions if self.variant is not None else self.level.actions


@dataclass(frozen=True, slots=True)
class Recognised:
    """The result of recognising a page.

    Without ``application``, the page is of no known one, or of several in ``rivals``. ``failures`` are the conditions
    that could not be evaluated or would have taken too much work.
    """

    application: Application | None = None
    place: Place | None = None
    failures: tuple[FailedAction, ...] = ()
    rivals: tuple[str, ...] = ()


class Recogniser:
    """Recognises pages, and remembers the application of each site.

    An application that describes the page's host comes first if one of its levels fits; then the one remembered for the
    site, if the page still shows a sign of it; then any that the page shows signs of; last, on a page without any sign,
    the one remembered for the site, if that has whole hosts and one of its levels fits.
    """

    def __init__(self, knowledge_base: KnowledgeBase, sites: Sites, watchdog: Watchdog) -> None:
        self._detector = Detector(knowledge_base)
        self._hosts = sites.hosts
        self._sites = sites
        self._watchdog = watchdog

    def application(self, page: Page) -> Application | None:
        """Return the application of a page that is not read any further, such as an error page."""
        return self._detect(page).application

    def recognise(self, page: Page) -> Recognised:
        """Find the application and the level of a page of HTML or JSON. Never raises, whatever the page contains."""
        look = _Look(page, self._watchdog)
        if page.is_json:
            return self._recognise_answer(page, look)
        for application in self._hosts.of(page.url):
            place = look.place(application)
            if place is not None:
                return look.as_page_of(application, place)
        detection = self._detect(page)
        if detection.application is not None:
            return look.as_page_of(detection.application, look.place(detection.application))
        known = self._sites.recall(page.url)
        if known is not None and known[0].whole_host and not detection.rivals:
            place = look.place(known[0])
            if place is not None:
                return look.as_page_of(known[0], place)
        return Recognised(failures=tuple(look.failures), rivals=detection.rivals)

    def as_page_of(self, application: Application, page: Page) -> Recognised:
        """Return the level of a page whose application is already known."""
        look = _Look(page, self._watchdog)
        return look.as_page_of(application, look.place(application))

    def assumed(self, page: Page, application: Application, taken: Taken, otherwise: Place | None = None) -> Place:
        """Return a level that a page is assumed to be of, in the variant that the page shows signs of."""
        attempts = Attempts(page, application.name, self._watchdog)
        variant = _Look(page, self._watchdog).variant(taken.level, attempts)
        return Place(taken.level, variant, shown=taken.shown, otherwise=otherwise)

    def _recognise_answer(self, page: Page, look: "_Look") -> Recognised:
        """Find the application of a JSON response, whose texts are not searched for signs.

        Candidates are the applications that describe the host, that the URL or a header shows, or that is remembered
        for the site. The first of them with a level that fits is taken.
        """
        shown = self._detector.detect(replace(page, body=b"")).application
        for application in (*self._hosts.of(page.url), shown, self._sites.application(page.url)):
            place = look.place(application) if application is not None else None
            if application is not None and place is not None:
                return look.as_page_of(application, place)
        return Recognised(failures=tuple(look.failures))

    def _detect(self, page: Page) -> Detection:
        known = self._sites.recall(page.url)
        if known is not None and still_holds(page, known[1]):
            return Detection(*known)
        detection = self._detector.detect(page)
        if detection.application is not None:
            self._sites.remember(page.url, detection.application, detection.evidence)
        return detection


@dataclass
class _Look:
    """One page in the process of recognition."""

    page: Page
    watchdog: Watchdog
    failures: list[FailedAction] = field(default_factory=list)

    @cached_property
    def sight(self) -> Sight:
        return Sight(self.page)

    @cached_property
    def literals(self) -> SourceLiterals:
        return literals_on(self.page)

    @cached_property
    def is_too_deep(self) -> bool:
        return is_too_deep(self.page.tree)

    def place(self, application: Application) -> Place | None:
        """Return the first level, in the order of the file, whose conditions hold, with its first such variant."""
        attempts = Attempts(self.page, application.name, self.watchdog, self.failures)
        if self.is_too_deep:
            attempts.fail("", "level", Failure.TOO_MUCH, "elements lie too deep within one another")
            return None
        for level in application.levels:
            if attempts.attempt(partial(self._fits, level), level=level.name, action="level"):
                return Place(level, self.variant(level, attempts))
        return None

    def _fits(self, level: PageLevel) -> bool:
        return any(map(self._meets, level.when)) and not any(map(self._meets, level.unless))

    def _meets(self, condition: Condition) -> bool:
        """Return whether all parts of a sign hold; expressions whose texts are not on the page are not evaluated."""
        if condition.rule is not None and not condition.rule.matches(self.sight.parsed_url):
            return False
        if condition.selector is None:
            return True
        selector = self.literals.narrow(condition.selector, self.page.elements)
        return selector is not None and selector.shows(self.page.tree, self.page.elements)

    def variant(self, level: PageLevel, attempts: Attempts) -> Variant | None:
        """Return the first variant of a level whose conditions hold, None if its own actions are to run."""
        for variant in level.variants:
            holds = partial(any, map(self._meets, variant.when))
            if attempts.attempt(holds, level=level.name, action=f"variant {variant.name}"):
                return variant
        return None

    def as_page_of(self, application: Application, place: Place | None) -> Recognised:
        return Recognised(application, place, tuple(self.failures))


FEW_ELEMENTS = 5_000
MAX_MEAN_DEPTH = 300

_count = XPath("count(//*)")


def is_too_deep(tree: HtmlElement) -> bool:
    """Return whether elements are nested so deeply that expressions would take seconds.

    Expressions that visit the ancestors or the descendants of many elements cost the sum of the elements' depths. Real
    pages have mean depths below 50; pages of few elements are read whatever their depth.
    """
    elements = int(_count(tree))
    if elements <= FEW_ELEMENTS:
        return False
    depth = steps = 0
    for event, _ in iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        steps += depth
        if steps > 2 * MAX_MEAN_DEPTH * elements:
            return True
    return False
