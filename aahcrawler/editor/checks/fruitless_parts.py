"""Find parts of levels, and steps of behaviours, that find nothing on the saved pages of their level.

Signs of applications that pages of other software show are found as well.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lxml import etree

from aahcrawler.editor.checks.check_findings import (
    Finding,
    Ground,
    LevelPages,
    cite_of,
    condition_of,
    finds,
    is_read_off,
    items_on,
    nearest,
    selector_of,
    urls_found,
    warning,
    whole,
    written,
)
from aahcrawler.editor.drafting.web_commonplaces import commonplace_in
from aahcrawler.editor.pages.saved_pages import SavedPage
from aahcrawler.editor.text.file_lines import ApplicationFile, FileLines, is_doubtful
from aahcrawler.helper import Failure
from aahcrawler.helper.extraction.extraction import BODY
from knowledge_base.behaviours import Act
from knowledge_base.matching import Detector, Sight
from knowledge_base.model import Action, Application, Extract, KnowledgeBase, LinkSource, PageLevel, Pattern, Strength
from knowledge_base.parsing.attributes import has_expression, words
from knowledge_base.pattern_filter import Candidates
from knowledge_base.url_rules import ParsedUrl

_SEVERAL = 2
"""Pages or objects on none of which something is found that must not be on each."""


def idle_behaviours(file: ApplicationFile, pages: LevelPages) -> Iterator[Finding]:
    """Yield the steps of a file that find nothing on the saved pages of the levels that their behaviour is for.

    What is documented may well be on none of a few pages. Behaviours without saved pages are passed over.
    """
    for behaviour in file.root.iterchildren("behaviour"):
        shown = _pages_of(behaviour, file, pages)
        grounds = whole(page.page for page in shown)
        for step in behaviour.iterchildren(*Act):
            doubtful = is_doubtful(cite_of(step) or cite_of(behaviour))
            if shown and doubtful and has_expression(step) and not finds(selector_of(step), grounds):
                near = nearest(step, grounds)
                levels = " or ".join(words(behaviour, "level"))
                where = f"saved pages of level {levels}" if levels else f"saved pages of {file.name}"
                yield warning(
                    file.place(step),
                    f"the behaviour {behaviour.get('name')} would {step.tag!s} nothing on any of {len(shown)} {where}: "
                    f"{written(step)}{f'; {near}' if near else ''}; write what finds it there, save a page that shows "
                    "it, or cite where it is documented",
                )


def _pages_of(behaviour: etree._Element, file: ApplicationFile, pages: LevelPages) -> tuple[SavedPage, ...]:
    levels = words(behaviour, "level")
    if not levels:
        return tuple(page for page in pages.of_application(file.name) if page.expected.level is not None)
    return tuple(page for level in levels for page in pages.of_level(file, level))


def fruitless_parts(file: ApplicationFile, pages: LevelPages) -> Iterator[Finding]:
    """Yield the signs, actions, fields and expressions of a file that find nothing on the saved pages of their level.

    What is documented may well be on none of a few pages, and so may one of several alternatives that somebody has
    written; what a program read off a page must be on one. Levels without saved pages are passed over.
    """
    application = pages.applications.get(file.name)
    for element in file.root.iterchildren("level"):
        name = element.get("name") or ""
        shown = tuple(page for page in pages.of_level(file, name) if not _needs_browser(page))
        if application is None or not shown:
            continue
        level = application.level(name)
        variants = [Sight(page.page).variant(level) for page in shown]
        base = tuple(page for page, variant in zip(shown, variants, strict=True) if variant is None)
        yield from _Part(file, element, level, level.actions, shown, base, application).findings()
        for variant in level.variants:
            own = tuple(page for page, its in zip(shown, variants, strict=True) if its is variant)
            written_as = next(each for each in element.iterchildren("variant") if each.get("name") == variant.name)
            yield from _Part(file, written_as, level, variant.actions, own, own, application).findings()


@dataclass(frozen=True)
class _Part:
    """A level, or a variant of it, as its file writes it.

    ``shown`` are the pages on which its parts may be, ``needed`` those without which nothing can be told.
    """

    file: ApplicationFile
    element: etree._Element
    level: PageLevel
    actions: tuple[Action, ...]
    shown: tuple[SavedPage, ...]
    needed: tuple[SavedPage, ...]
    application: Application

    def findings(self) -> Iterator[Finding]:
        if not self.needed:
            return
        yield from self._signs()
        for written_as in self.element.iterchildren("extract"):
            action = next(each for each in self.actions if each.name == written_as.get("name"))
            if isinstance(action, Extract):
                yield from self._extract(written_as, action)
        for written_as in self.element.iterchildren("navigate"):
            yield from self._navigate(written_as)

    @cached_property
    def _pages(self) -> tuple[Ground, ...]:
        return whole(page.page for page in self.shown)

    @property
    def _where(self) -> str:
        number = len(self.shown)
        return f"the saved page of level {self.level.name}" if number == 1 else f"{number} saved pages of its level"

    def _must_show(self, element: etree._Element) -> bool:
        return is_read_off(cite_of(element)) or (self.application.draft and is_doubtful(cite_of(element)))

    def _is_baseless(self, expressions: list[etree._Element], tried: int, *, known: bool = False) -> bool:
        """Return whether nothing speaks for expressions that find nothing on so many pages, or in so many objects."""
        must_show = any(map(self._must_show, expressions))
        return must_show or (tried >= _SEVERAL and (known or all(is_doubtful(cite_of(each)) for each in expressions)))

    def _signs(self) -> Iterator[Finding]:
        sights = [Sight(page.page) for page in self.shown]
        for sign in self.element.iterchildren("when"):
            condition = condition_of(sign)
            if self._must_show(sign) and not any(sight.meets(condition) for sight in sights):
                yield self._nothing(sign, "this sign is not on", self._pages)

    def _extract(self, element: etree._Element, action: Extract) -> Iterator[Finding]:
        items = items_on((page.page for page in self.shown), action)
        own = list(element.iterchildren("item"))
        if not items:
            only = sum(isinstance(each, Extract) for each in self.actions) == 1
            if own and (action.always or only or self._is_baseless(own, len(self.shown))):
                yield self._nothing(own[0], f"the action {action.name} finds no object on", self._pages, element)
            return
        yield from self._alternatives(own, self._pages)
        for part in element.iterchildren("identity", "parent", "field"):
            yield from self._part_of_object(part, items)

    def _part_of_object(self, part: etree._Element, items: tuple[Ground, ...]) -> Iterator[Finding]:
        selects = list(part.iterchildren("select"))
        grounds = self._pages if part.get("page") == "yes" else items
        number = sum(len(ground.at) for ground in items)
        if not selects or any(finds(selector_of(each), grounds) for each in selects):
            yield from self._alternatives(selects, grounds)
        elif part.get("declared") or part.get("fields"):
            return
        elif part.tag == "field" and self._is_baseless(selects, number, known=part.get("name") == BODY):
            yield self._nothing(selects[0], f"the field {part.get('name')} is found in no object on", grounds, part)
        elif part.tag == "identity":
            said = "the number of no object is found, so that none is read, on"
            yield self._nothing(selects[0], said, grounds, part)
        else:
            yield from self._alternatives(selects, grounds)

    def _navigate(self, element: etree._Element) -> Iterator[Finding]:
        selects = list(element.iterchildren("select"))
        if any(finds(selector_of(each), self._pages) for each in selects):
            yield from self._alternatives(selects, self._pages)
            if any(map(self._must_show, selects)) and not self._leads(element, selects):
                to = element.get("to") or ""
                yield warning(
                    self.file.place(element),
                    f"the action {element.get('name')} finds links, but none that an <address> of level {to} fits, on "
                    f"{self._where}; widen the address of {to}, or correct the select",
                )
        elif any(map(self._must_show, selects)) or (
            selects and self._is_baseless(selects, len(self.shown)) and not self._is_spare(element)
        ):
            yield self._nothing(selects[0], f"the action {element.get('name')} finds no link on", self._pages, element)

    def _leads(self, element: etree._Element, selects: list[etree._Element]) -> bool:
        """Return whether any link is of the level that an action leads to, where it keeps documented links alone."""
        if any(each.get("documented") != "yes" for each in selects):
            return True
        source = tuple(LinkSource(selector_of(each)) for each in selects)
        return any(
            self.application.level_of(self.application.canonical(ParsedUrl.parse(url))) is target
            for target in self.application.levels
            if target.name == element.get("to")
            for page in self.shown
            for url in urls_found(source, page.page)
        )

    def _is_spare(self, element: etree._Element) -> bool:
        """Return whether an action is but one of several ways to a level, or asks for URLs that are on no page."""
        if element.get("when-none") or element.find("request") is not None or element.find("form") is not None:
            return True
        others = (each for each in self.element.iterchildren("navigate") if each.get("to") == element.get("to"))
        return any(
            finds(selector_of(select), self._pages)
            for each in others
            if each is not element
            for select in each.iterchildren("select")
        )

    def _alternatives(self, selects: list[etree._Element], grounds: tuple[Ground, ...]) -> Iterator[Finding]:
        for each in selects:
            if self._must_show(each) and not finds(selector_of(each), grounds):
                yield self._nothing(each, "this finds nothing on", grounds)

    def _nothing(
        self, expression: etree._Element, said: str, grounds: tuple[Ground, ...], place: etree._Element | None = None
    ) -> Finding:
        near = nearest(expression, grounds)
        message = (
            f"{said} {self._where}: {written(expression)}{f'; {near}' if near else ''}; "
            "write what finds it there, take this out, or save a page that shows it"
        )
        return warning(self.file.place(expression if place is None else place), message)


def _needs_browser(page: SavedPage) -> bool:
    """Return whether a saved page is expected to hold nothing before a browser has run its scripts."""
    return Failure.NEEDS_BROWSER.value in page.expected.failed.values()


_MAX_NAMED = 3


@dataclass(frozen=True)
class _Shown:
    """The signs of an application that a page of another software shows."""

    page: SavedPage
    signs: tuple[Pattern, ...]

    @property
    def is_strong(self) -> bool:
        """Whether one of them alone is enough to take the page for one of the application."""
        return any(sign.strength > Strength.HINT for sign in self.signs)

    @property
    def claims(self) -> bool:
        """Whether they are enough to take the page for one of the application."""
        return len(self.signs) > 1 or self.is_strong


def shared_signs(knowledge_base: KnowledgeBase, places: FileLines, pages: Iterable[SavedPage]) -> Iterator[Finding]:
    """Yield the signs that are on saved pages of other applications, or of none, and would claim such a page.

    One hint that others share decides nothing, and neither do several that one other application has as well: software
    descends from software. Applications that extend one another share their signs. Rivals for a page are passed over:
    what they claim as strongly as one another is told elsewhere.
    """
    chosen = knowledge_base.applications
    candidates, detector = Candidates(chosen), Detector(knowledge_base)
    related = {each.name: _related(each.name, places) for each in chosen}
    shown: dict[Application, list[_Shown]] = {}
    for page in pages:
        sight = Sight(page.page)
        for application, signs in candidates.on(sight.front, sight.body).items():
            if page.expected.application in related[application.name] or _is_in_folder_of(page, application, places):
                continue
            seen = _Shown(page, tuple(sign for sign in signs if sight.shows(sign)))
            if seen.claims and application.name not in detector.detect(page.page).rivals:
                shown.setdefault(application, []).append(seen)
    for application, seen_on in shown.items():
        others = {each.page.expected.application for each in seen_on}
        if None in others or len(others) > 1 or any(each.is_strong for each in seen_on):
            yield from _findings(application, places, seen_on)


def common_signs(application: Application, places: FileLines) -> Iterator[Finding]:
    """Yield the signs of an application that all sorts of software have, such as a favicon.

    Where somebody says where the software writes a sign, the name may well be a common one.
    """
    for number, sign in enumerate(application.patterns):
        reason = commonplace_in(sign) if not sign.cite or is_read_off(sign.cite) else ""
        if reason:
            place, words = places.pattern(application.name, number)
            yield warning(
                place, f"{reason} ({words}); take it out, or write what only {application.name} has, such as its name"
            )


def _findings(application: Application, places: FileLines, shown: Iterable[_Shown]) -> Iterator[Finding]:
    numbers = {sign: number for number, sign in enumerate(application.patterns)}
    by_sign: dict[Pattern, list[SavedPage]] = {}
    for each in shown:
        for sign in each.signs:
            by_sign.setdefault(sign, []).append(each.page)
    for sign in sorted(by_sign, key=numbers.__getitem__):
        place, words = places.pattern(application.name, numbers[sign])
        yield warning(
            place,
            f"other software shows this sign as well ({words}): {_named(by_sign[sign])}; write what only "
            f"{application.name} has, such as its generator or a part of the name of its own files"
            + ("" if sign.strength is Strength.HINT else ', or make it a hint: strength="hint"'),
        )


def _related(name: str, places: FileLines) -> frozenset[str]:
    """Return the applications whose pages may show the signs of one: those that it extends, or that extend it."""
    own = {file.name for file in places.chain(name)}
    extending = {file.name for file in places.files if name in {each.name for each in places.chain(file.name)}}
    return frozenset({name, *own, *extending})


def _is_in_folder_of(page: SavedPage, application: Application, places: FileLines) -> bool:
    """Return whether a page is saved with an application, though it is expected to be recognised as none."""
    return page.file.parent.name == Path(places.application(application.name).file).stem


def _named(pages: Iterable[SavedPage]) -> str:
    by_application: dict[str, SavedPage] = {}
    for each in pages:
        by_application.setdefault(each.expected.application or "none", each)
    named = [
        f"the saved page {page.name} of {'no application' if name == 'none' else name}"
        for name, page in by_application.items()
    ]
    more = f" and pages of {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    return ", ".join(named[:_MAX_NAMED]) + more
