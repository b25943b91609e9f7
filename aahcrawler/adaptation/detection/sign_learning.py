"""Learn signs of levels and applications on sites whose pages show none any more (ARCOMEM, section 4.1).

Nothing is recorded for a site before one of its pages has turned out to be of a level whose signs it lacks. From then
on the names on its pages are counted by level until a name is found that is on those of one level and on no other.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lxml.etree import XPathError

from aahcrawler.adaptation.detection.sign_relaxation import (
    Mark,
    Similarity,
    Wanted,
    hints_of_level,
    is_telling_name,
    likest,
    marks_on,
    relaxed_signs,
)
from aahcrawler.adaptation.learned import Backoff, LearnedSign, LruMapping, Rejected
from aahcrawler.helper.site_memory import site_of
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Application, KnowledgeBase, PageLevel
from knowledge_base.selectors import Selector

MAX_SITES = 400
MAX_PAGES = 60
"""Pages of a site whose names are counted for one sign that is wanted."""
MAX_EVIDENCE = 8
MAX_SIGNS = 4
"""Signs of one level on one site that are in force."""
MAX_NAMES = 8_000
MAX_VAIN = 4
"""The number of pages in a row with a learned sign but without an object of its level, after which it is given up."""
LIKE = 0.45
"""Similarity from which on a name may have come of that of a sign."""
PROPOSED, AHEAD = 0.6, 0.15
"""The similarity from which a page is assumed to be of a level, and the distance of any other level."""
MIN_PAGES, MIN_OTHERS = 2, 2
"""Pages with a sign that is like one of the file, and pages of other levels without it."""
MIN_UNLIKE, MIN_OTHERS_UNLIKE = 3, 4
"""The numbers of pages for a sign that is similar to none of the file and names the container of the page."""
MIN_OF_PART, MIN_OTHERS_OF_PART = 4, 8
"""The same for one that names any part of the page."""
MIN_OF_APPLICATION = 3
_WHOLE = {"body": 0, "main": 1, "article": 1}
_ONE_IN = 6
"""Of so many pages with a sign one may lack it."""


@dataclass(frozen=True, slots=True)
class SignInForce:
    """A learned sign in force."""

    sign: LearnedSign
    selector: Selector

    def is_on(self, page: Page) -> bool:
        """Return whether a page has it."""
        try:
            return self.selector.shows(page.tree, page.elements)
        except XPathError:
            return False


@dataclass
class _Known:
    """The names on pages known to be of one level; counts are empty for a level of which no page was seen."""

    pages: list[str] = field(default_factory=list)
    count: int = 0
    common: Counter[Mark] = field(default_factory=Counter)
    any: set[Mark] = field(default_factory=set)
    remembered: bool = False
    date: datetime | None = None

    def add(self, page: Page, marks: Iterable[Mark]) -> None:
        found = set(marks)
        self.common.update(found if not self.count else found & self.common.keys())
        self.count += 1
        if len(self.any) < MAX_NAMES:
            self.any |= found
        self.pages = [*(url for url in self.pages if url != page.url), page.url][-MAX_EVIDENCE:]
        self.date = page.fetched_at if self.date is None else max(self.date, page.fetched_at)

    def shared(self) -> Iterator[Mark]:
        least = self.count - self.count // _ONE_IN
        return (mark for mark, count in self.common.items() if count >= least)


@dataclass
class _Watch:
    """One application on one site while a sign is wanted of one of its levels."""

    wanted: set[str] = field(default_factory=set)
    levels: dict[str, _Known] = field(default_factory=dict)
    left: int = 0

    def of(self, level: str) -> _Known:
        return self.levels.setdefault(level, _Known())

    def others(self, level: str) -> list[_Known]:
        return [known for name, known in self.levels.items() if name != level]


class SignLearning:
    """The learned signs of each site, and the evidence for sites where one is wanted.

    ``told`` is called with each new sign that is not ``rejected``. ``knowledge_base`` gives the signs for comparison on
    unknown sites.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        told: Callable[[LearnedSign], None] | None = None,
        rejected: Rejected | None = None,
    ) -> None:
        self._told = told
        self._rejected = rejected or Rejected()
        self._signs: LruMapping[tuple[str, str], list[SignInForce]] = LruMapping(MAX_SITES * 4)
        self._elsewhere: LruMapping[str, list[SignInForce]] = LruMapping(MAX_SITES)
        self._of_sites: LruMapping[str, list[str]] = LruMapping(MAX_SITES)
        self._watches: LruMapping[tuple[str, str], _Watch] = LruMapping(MAX_SITES)
        self._retired: LruMapping[tuple[str, str, str, Expression], bool] = LruMapping(MAX_SITES)
        self._vain: LruMapping[tuple[str, str, str, Expression], list[int]] = LruMapping(MAX_SITES * 4)
        self._backoff: LruMapping[tuple[str, str], Backoff] = LruMapping(MAX_SITES * 4)
        self._hints: dict[PageLevel, Wanted] = {}
        self._of_applications: dict[tuple[str, str], _OfApplication] = {}
        self.similarity = Similarity(knowledge_base)

    def renew(self, knowledge_base: KnowledgeBase) -> None:
        """Compare with another knowledge base from now on; nothing that was learned is lost."""
        self.similarity = Similarity(knowledge_base)
        self._hints.clear()

    def adopt(self, sign: LearnedSign) -> None:
        """Use a sign that was learned elsewhere or before; one that is known already changes nothing.

        Raises ``knowledge_base.selectors.BadExpressionError`` for one that cannot be compiled.
        """
        shown = SignInForce(sign, sign.expression.selector)
        if _key(sign) in self._retired:
            return
        here = self._signs.get((sign.site, sign.application), list)
        if all((each.sign.level, each.sign.expression) != (sign.level, sign.expression) for each in here):
            self._put(shown)

    def _put(self, shown: SignInForce) -> None:
        sign = shown.sign
        here = self._signs.get((sign.site, sign.application), list)
        same = [each for each in here if each.sign.level == sign.level]
        for old in same[MAX_SIGNS - 1 :]:
            here.remove(old)
        here.insert(0, shown)
        names = self._of_sites.get(sign.site, list)
        if not sign.level and sign.application not in names:
            names.append(sign.application)
        elsewhere = self._elsewhere.get(sign.application, list)
        elsewhere[:] = [shown, *elsewhere][: 4 * MAX_SIGNS]

    # Signs on pages

    def level(self, page: Page, application: Application) -> PageLevel | None:
        """Return the level of a sign learned on this site, None without such a sign.

        A sign is given up after some pages in a row that were not confirmed to have objects of the level.
        """
        key = (site_of(page.url), application.name)
        if key not in self._signs:
            return None
        for shown in tuple(self._signs.get(key, list)):
            level = _level(application, shown.sign.level)
            if level is not None and shown.is_on(page):
                vain = self._vain.get(_key(shown.sign), lambda: [0])
                vain[0] += 1
                if vain[0] <= MAX_VAIN:
                    return level
                self.retire(page, application, level)
        return None

    def worked(self, page: Page, application: Application, level: PageLevel) -> None:
        """Record that a page had an object of its level, for the signs that may have identified it."""
        key = (site_of(page.url), application.name)
        for shown in self._signs.get(key, list) if key in self._signs else ():
            if shown.sign.level == level.name:
                self._vain.forget(_key(shown.sign))

    def retire(self, page: Page, application: Application, level: PageLevel) -> None:
        """Give up for good the signs of a level that a page has which is of another one."""
        here = self._signs.get((site_of(page.url), application.name), list)
        wrong = [each for each in here if each.sign.level == level.name and each.is_on(page)]
        for each in wrong:
            here.remove(each)
            self._retired.get(_key(each.sign), bool)

    def proposed(self, page: Page, application: Application) -> PageLevel | None:
        """Return the level whose signs a page's names resemble clearly more than those of any other level.

        A sign of it that was learned on another site is as good. None on most pages of a site on which that has failed
        so far.
        """
        backoff = self._backoff.get((site_of(page.url), application.name), Backoff)
        if not backoff.allows():
            return None
        # Until its objects are found, it counts as a page without any.
        backoff.failed()
        for shown in self._elsewhere.get(application.name, list) if application.name in self._elsewhere else ():
            level = _level(application, shown.sign.level)
            if level is not None and shown.is_on(page):
                return level
        marks = marks_on(page.tree)
        values = {level: self._likeness(level, marks) for level in application.levels}
        ranked = sorted(application.levels, key=lambda level: -values[level])
        second = values[ranked[1]] if len(ranked) > 1 else 0.0
        best = ranked[0] if ranked else None
        return best if best is not None and values[best] >= max(PROPOSED, second + AHEAD) else None

    def was_right(self, page: Page, application: Application) -> None:
        """Record that a page had an object of the level proposed for it."""
        self._backoff.get((site_of(page.url), application.name), Backoff).succeeded()

    def _likeness(self, level: PageLevel, marks: Iterable[Mark]) -> float:
        wanted = self._wanted(level)
        return max((likest(wanted, mark) for mark in marks if mark.tag != "*"), default=0.0) if wanted else 0.0

    def _wanted(self, level: PageLevel) -> Wanted:
        if level not in self._hints:
            self._hints[level] = hints_of_level(level)
        return self._hints[level]

    # Confirmed levels of pages

    def note(self, page: Page, application: Application, level: PageLevel | None) -> None:
        """Count the names of a page certainly of a level, or certainly of none, if its site lacks a sign.

        Costs nothing on other sites.
        """
        key = (site_of(page.url), application.name)
        if key not in self._watches:
            return
        watch = self._watches.get(key, _Watch)
        if not watch.wanted or watch.left <= 0:
            return
        watch.left -= 1
        watch.of(level.name if level is not None else "").add(page, marks_on(page.tree))
        for name in sorted(watch.wanted):
            wanted = _level(application, name)
            if wanted is not None:
                self._learn(page, application, wanted, watch)

    def confirm(self, page: Page, application: Application, level: PageLevel, *, remembered: bool) -> None:
        """Record that a page without a sign had an object of its level; ``remembered`` if a former crawl knew that."""
        key = (site_of(page.url), application.name)
        watch = self._watches.get(key, _Watch)
        if level.name not in watch.wanted:
            # Pages that were met before looked different, or their signs would be on this one as well.
            watch.levels[level.name] = _Known()
            watch.wanted.add(level.name)
            watch.left = MAX_PAGES
        known = watch.of(level.name)
        known.remembered = known.remembered or remembered
        self.note(page, application, level)

    def _learn(self, page: Page, application: Application, level: PageLevel, watch: _Watch) -> None:
        known, others = watch.of(level.name), watch.others(level.name)
        beside = sum(each.count for each in others)
        found = self._best(level, known, others, beside)
        if found is None or known.date is None:
            return
        mark, method = found
        site = site_of(page.url)
        same = [each for each in self._signs.get((site, application.name), list) if each.sign.level == level.name]
        sign = LearnedSign(
            site=site,
            application=application.name,
            level=level.name,
            name=f"learned-sign-{level.name}-{_free(same)}",
            expression=mark.expression,
            method=Method.MEMORY if known.remembered else method,
            pages=tuple(known.pages),
            others=beside,
            confidence=_confidence(known.count + beside),
            date=known.date,
        )
        watch.wanted.discard(level.name)
        self._tell(sign)

    def _best(
        self, level: PageLevel, known: _Known, others: Sequence[_Known], beside: int
    ) -> tuple[Mark, Method] | None:
        """Return the name that pages of a level have and no others: the one most like its signs, else the plainest."""
        if known.count < MIN_PAGES or beside < MIN_OTHERS:
            return None
        telling = [mark for mark in known.shared() if all(mark not in each.any for each in others)]
        wanted = self._wanted(level)
        like = {mark: value for mark in telling if (value := likest(wanted, mark)) >= LIKE}
        if like:
            return min(like, key=lambda mark: (-like[mark], _order(mark))), Method.RELAXED
        plain = min(filter(is_telling_name, telling), key=_order, default=None)
        if plain is None:
            return None
        is_whole = plain.tag in _WHOLE
        least = (MIN_UNLIKE, MIN_OTHERS_UNLIKE) if is_whole else (MIN_OF_PART, MIN_OTHERS_OF_PART)
        return (plain, Method.INDUCED) if known.count >= least[0] and beside >= least[1] else None

    def _tell(self, sign: LearnedSign) -> None:
        if self._rejected.covers(sign):
            return
        self._put(SignInForce(sign, sign.expression.selector))
        if self._told is not None:
            self._told(sign)

    # Applications

    def application(self, page: Page) -> str | None:
        """Return the application of which a page has a sign that was learned on its site."""
        site = site_of(page.url)
        for name in self._of_sites.get(site, list) if site in self._of_sites else ():
            here = self._signs.get((site, name), list)
            if any(not each.sign.level and each.is_on(page) for each in here):
                return name
        return None

    def confirm_application(self, page: Page, application: Application, *, remembered: bool) -> None:
        """Record that a page without a sign of its application had an object of one of its levels.

        A relaxed sign that is on all of several such pages is learned. If there is none, and a former crawl knew them
        (``remembered``), it is a name that all of them have: it serves on their site alone.
        """
        site = site_of(page.url)
        here = self._signs.get((site, application.name), list)
        if any(not each.sign.level and each.is_on(page) for each in here):
            return
        key = (site, application.name)
        seen = self._of_applications.get(key)
        if seen is None:
            if len(self._of_applications) >= MAX_SITES:
                self._of_applications.pop(next(iter(self._of_applications)))
            signs = relaxed_signs(application.patterns)
            seen = self._of_applications[key] = _OfApplication(tuple((each, each.selector) for each in signs))
        seen.add(page)
        if seen.count < MIN_OF_APPLICATION:
            return
        expression = seen.best(remembered=remembered)
        if expression is None:
            if not remembered or seen.count >= MAX_PAGES:
                del self._of_applications[key]
            return
        del self._of_applications[key]
        sign = LearnedSign(
            site=site,
            application=application.name,
            level="",
            name=f"learned-sign-{_free([each for each in here if not each.sign.level])}",
            expression=expression,
            method=Method.MEMORY if remembered else Method.RELAXED,
            pages=tuple(seen.pages),
            others=0,
            confidence=_confidence(seen.count),
            date=page.fetched_at,
        )
        self._tell(sign)


@dataclass
class _OfApplication:
    """Relaxed signs of an application that were on all pages of a site so far."""

    left: tuple[tuple[Expression, Selector], ...]
    pages: list[str] = field(default_factory=list)
    count: int = 0
    common: set[Mark] = field(default_factory=set)
    """The names that all pages so far had."""

    def add(self, page: Page) -> None:
        marks = set(marks_on(page.tree))
        self.common = self.common & marks if self.count else marks
        self.count += 1
        self.pages = [*self.pages, page.url][-MAX_EVIDENCE:]
        self.left = tuple((written, selector) for written, selector in self.left if _holds(selector, page))

    def best(self, *, remembered: bool) -> Expression | None:
        """Return the sign to learn, None without one; one that is like none of the file takes some more pages."""
        if self.left:
            return self.left[0][0]
        if not remembered or self.count < MIN_OF_PART:
            return None
        plain = min(filter(is_telling_name, self.common), key=_order, default=None)
        return plain.expression if plain is not None else None


def _holds(selector: Selector, page: Page) -> bool:
    try:
        return selector.shows(page.tree, page.elements)
    except XPathError:
        return False


def _key(sign: LearnedSign) -> tuple[str, str, str, Expression]:
    return sign.site, sign.application, sign.level, sign.expression


def _level(application: Application, name: str) -> PageLevel | None:
    return next((level for level in application.levels if level.name == name), None) if name else None


def _free(same: Sequence[SignInForce]) -> int:
    taken = {each.sign.name.rpartition("-")[2] for each in same}
    return next(number for number in range(1, len(taken) + 2) if str(number) not in taken)


def _confidence(pages: int) -> float:
    """Return the probability that the next page agrees as well, after so many that did."""
    return round((pages + 1) / (pages + 2), 4)


def _order(mark: Mark) -> tuple[int, bool, bool, int, str, str]:
    """Return a sort key that puts the names of whole pages first, then those with their tag, then short ones."""
    is_main = mark.attribute in ("class", "id")
    place = _WHOLE.get(mark.tag, 2)
    return (place, mark.tag == "*", not is_main, len(mark.token), mark.token, mark.tag)
