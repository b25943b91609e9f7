"""Find parts of levels that find nothing on their saved pages, or less than generic reading does.

Signs of applications that occur on pages of other software are reported as well.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.editor.checks.check_findings import (
    Finding,
    Ground,
    LevelPages,
    cite_of,
    condition_of,
    expression_of,
    finds,
    found,
    is_read_off,
    items_on,
    nearest,
    selector_of,
    urls_found,
    warning,
    whole,
)
from aahcrawler.editor.drafting.web_commonplaces import commonplace_in
from aahcrawler.editor.pages.saved_pages import SavedPage
from aahcrawler.editor.text.file_lines import ApplicationFile, FileLines, is_doubtful
from aahcrawler.helper import Failure
from aahcrawler.helper.detection import FAILING
from aahcrawler.helper.extraction.extraction import BODY, Extracted, Runner
from aahcrawler.induction import generic_objects
from aahcrawler.induction.record_sets import Region
from aahcrawler.page import Page, generic
from aahcrawler.page.text import plain_text
from knowledge_base.behaviours import Act
from knowledge_base.matching import Candidates, Detector, Sight
from knowledge_base.model import Action, Application, Extract, KnowledgeBase, LinkSource, PageLevel, Pattern, Strength
from knowledge_base.parsing.attributes import has_expression, words
from knowledge_base.selectors import BadExpressionError, compile_selector
from knowledge_base.url_rules import ParsedUrl

_SEVERAL = 2
"""Pages or objects on none of which something is found that must not be on each."""


def idle_behaviours(file: ApplicationFile, pages: LevelPages) -> Iterator[Finding]:
    """Yield the steps of behaviours that find nothing on the saved pages of their levels.

    Documented steps may be absent from a few pages. Behaviours without saved pages are skipped.
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
                    f"{expression_of(step)}{f'; {near}' if near else ''}; write what finds it there, save a page that "
                    "shows it, or cite where it is documented",
                )


def _pages_of(behaviour: etree._Element, file: ApplicationFile, pages: LevelPages) -> tuple[SavedPage, ...]:
    levels = words(behaviour, "level")
    if not levels:
        return tuple(page for page in pages.of_application(file.name) if page.expected.level is not None)
    return tuple(page for level in levels for page in pages.of_level(file, level))


def fruitless_parts(file: ApplicationFile, pages: LevelPages) -> Iterator[Finding]:
    """Yield the signs, actions, fields and expressions of a file that find nothing on the saved pages of their level.

    Documented parts may be absent from a few pages, as may one of several alternatives written by a person; but what a
    program derived from a page must occur on one. Levels without saved pages are skipped.
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
    """A level or variant as its file defines it.

    Its parts are looked for on the pages ``shown``. If ``needed`` is empty, nothing is reported of it.
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
        """Return whether expressions that found nothing on so many pages, or in so many objects, are unjustified."""
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
        """Return whether an action is one of several ways to a level, or requests URLs that are on no page."""
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
            f"{said} {self._where}: {expression_of(expression)}{f'; {near}' if near else ''}; "
            "write what finds it there, take this out, or save a page that shows it"
        )
        return warning(self.file.place(expression if place is None else place), message)


def _needs_browser(page: SavedPage) -> bool:
    """Return whether a saved page is expected to hold nothing before a browser has run its scripts."""
    return Failure.NEEDS_BROWSER.value in page.expected.failed.values()


_MAX_NAMED = 3


@dataclass(frozen=True)
class _Shown:
    """The signs of an application that occur on a page of other software."""

    page: SavedPage
    signs: tuple[Pattern, ...]

    @property
    def is_strong(self) -> bool:
        """Whether one of them alone makes the page recognised as that application."""
        return any(sign.strength > Strength.HINT for sign in self.signs)

    @property
    def claims(self) -> bool:
        """Whether they are enough to take the page for one of the application."""
        return len(self.signs) > 1 or self.is_strong


def shared_signs(knowledge_base: KnowledgeBase, places: FileLines, pages: Iterable[SavedPage]) -> Iterator[Finding]:
    """Yield the signs on saved pages of other applications, or of none, that would make such a page recognised.

    A single shared hint decides nothing; nor do several that one other application has as well, since software descends
    from software. Applications that extend one another share their signs. Equally strong claims are reported by
    ``rivalries``.
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
    """Yield the signs of an application that any software may have, such as a favicon.

    A sign whose place is documented is accepted even if its name is common.
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
            f"other software shows this sign as well ({words}): {_page_names(by_sign[sign])}; write what only "
            f"{application.name} has, such as its generator or a part of the name of its own files"
            + ("" if sign.strength is Strength.HINT else ', or make it a hint: strength="hint"'),
        )


def _related(name: str, places: FileLines) -> frozenset[str]:
    """Return the applications whose pages may show the signs of one: those that it extends, or that extend it."""
    own = {file.name for file in places.chain(name)}
    extending = {file.name for file in places.files if name in {each.name for each in places.chain(file.name)}}
    return frozenset({name, *own, *extending})


def _is_in_folder_of(page: SavedPage, application: Application, places: FileLines) -> bool:
    """Return whether a page is saved in an application's folder although it is expected to be recognised as none."""
    return page.file.parent.name == Path(places.application(application.name).file).stem


def _page_names(pages: Iterable[SavedPage]) -> str:
    by_application: dict[str, SavedPage] = {}
    for each in pages:
        by_application.setdefault(each.expected.application or "none", each)
    named = [
        f"the saved page {page.name} of {'no application' if name == 'none' else name}"
        for name, page in by_application.items()
    ]
    more = f" and pages of {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
    return ", ".join(named[:_MAX_NAMED]) + more


RUNNING = 40
"""The letters of a line of running text; captions and the names of tools have fewer."""
SHORT = 0.8
"""The share of an object's text below which a body is short."""
_PROSE = 100
_DATED = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b")
_NAME = re.compile(r"[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True)
class _Short:
    """A body that is read incompletely: letters read, letters present, and the element that contains all of them."""

    page: SavedPage
    iri: str
    letters: int
    of: int
    element: etree._Element | None


def short_bodies(file: ApplicationFile, pages: LevelPages) -> Iterator[Finding]:
    """Yield the body fields of a file's actions that leave out running text of objects on the saved pages."""
    application = pages.applications.get(file.name)
    for element in file.root.iterchildren("level"):
        name = element.get("name") or ""
        shown = pages.of_level(file, name)
        if application is not None and shown and application.level(name).role == "terminal":
            yield from _of_level(file, element, application, shown)


def _of_level(
    file: ApplicationFile, element: etree._Element, application: Application, shown: Sequence[SavedPage]
) -> Iterator[Finding]:
    level = application.level(element.get("name") or "")
    worst: dict[tuple[str, str], list[_Short]] = {}
    for page in shown:
        if not page.page.is_html:
            continue
        variant = Sight(page.page).variant(level)
        for action in variant.actions if variant is not None else level.actions:
            if isinstance(action, Extract):
                key = (variant.name if variant is not None else "", action.name)
                worst.setdefault(key, []).extend(_short_on(page, application, level, action))
    for (variant_name, action_name), short in worst.items():
        if short:
            yield _finding(file, element, variant_name, action_name, short)


def _finding(
    file: ApplicationFile, level: etree._Element, variant: str, action: str, short: Sequence[_Short]
) -> Finding:
    first = max(short, key=lambda each: each.of - each.letters)
    place = _body_place(level, variant, action)
    holds = _holding(first)
    times = "" if len(short) == 1 else f", and {len(short) - 1} more are short"
    return warning(
        file.place(place),
        f"the body is cut short: of {first.iri} on {first.page.name} it reads {first.letters:,} of {first.of:,} "
        f"letters{times}; {holds}",
    )


def _short_on(saved: SavedPage, application: Application, level: PageLevel, action: Extract) -> Iterator[_Short]:
    page = saved.page
    if not any(each.name == BODY for each in action.fields):
        return
    try:
        extracted = Runner.of(page, application, level).run(action).extracted
    except FAILING:
        return
    reading = page.once(generic_objects.read_objects)
    regions = [region for region in reading.bodies.values() if region.text is None]
    owned = {element: each for each in extracted for element in each.body}
    for region in regions:
        owners = _owners(region, owned)
        if len(owners) == 1:
            short = _compared(saved, owners[0], region, action)
            if short is not None:
                yield short


def _owners(region: Region, owned: dict[HtmlElement, Extracted]) -> list[Extracted]:
    """Return the objects whose bodies are within a region."""
    inside = set(region.elements)
    found_in: list[Extracted] = []
    for element, each in owned.items():
        if (element in inside or not inside.isdisjoint(element.iterancestors())) and each not in found_in:
            found_in.append(each)
    return found_in


def _compared(saved: SavedPage, extracted: Extracted, region: Region, action: Extract) -> _Short | None:
    """Return by how much a body is read incompletely.

    None if nothing is missing but text that does not belong to it.
    """
    body = extracted.object.first(BODY)
    own = body if isinstance(body, str) else ""
    without = (*region.without, *extracted.without, *_left_out(saved.page, action, region))
    known = set(own.split("\n"))
    lines = [line for each in region.elements for line in plain_text(each, without).split("\n")]
    missing = [line for line in lines if line not in known and line not in own and _is_running(line)]
    if extracted.object.part_of is None:
        # A whole article's surroundings are taken for a part of it more easily than those of a post.
        agreed = saved.page.once(generic.main_content)
        missing = [line for line in missing if line in agreed]
    letters, lost = _letters(own), sum(map(_letters, missing))
    if not missing or letters >= SHORT * (letters + lost):
        return None
    return _Short(saved, extracted.object.iri, letters, letters + lost, _common(region.elements))


def _left_out(page: Page, action: Extract, region: Region) -> Iterator[HtmlElement]:
    """Yield the parts of a region that the action leaves out of bodies on purpose."""
    for each in action.fields:
        for selector in each.without if each.name == BODY else ():
            for element in region.elements:
                nodes = found(selector, element, page) if isinstance(element, HtmlElement) else ()
                yield from (node for node in nodes if isinstance(node, HtmlElement))


def _is_running(line: str) -> bool:
    letters = _letters(line)
    return letters >= _PROSE or (letters >= RUNNING and not _DATED.search(line))


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _common(elements: Sequence[etree._Element]) -> etree._Element | None:
    """Return the innermost element that contains all elements, None if there are none."""
    if not elements:
        return None
    above = [elements[0], *elements[0].iterancestors()]
    for other in elements[1:]:
        path = {other, *other.iterancestors()}
        above = [element for element in above if element in path]
    return above[0] if above else None


def _holding(short: _Short) -> str:
    """Describe the element that contains the whole body, as a selector if a class or its id identifies it."""
    element = short.element
    if element is None:
        return "write the element that holds all of it"
    css = _element_name(element)
    if css and _finds_it(css, element):
        return f'the element {css} holds the whole: write css="{css}"'
    return (
        f"the element <{element.tag!s}> around it, {css or 'without a class'}, holds the whole: write a selector for it"
    )


def _element_name(element: etree._Element) -> str:
    """Return an element's name with its classes, or its id, that have no number in them."""
    classes = [name for name in (element.get("class") or "").split() if _is_template_word(name)]
    if classes:
        return f"{element.tag!s}.{'.'.join(classes[:2])}"
    own_id = element.get("id") or ""
    return f"#{own_id}" if _is_template_word(own_id) else ""


def _is_template_word(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and not any(map(str.isdigit, name))


def _finds_it(css: str, element: etree._Element) -> bool:
    """Return whether a selector finds an element first, seen from the innermost block around it."""
    above = element.getparent()
    try:
        return isinstance(above, HtmlElement) and compile_selector(css=css).elements(above)[:1] == [element]
    except BadExpressionError:
        return False


def _body_place(level: etree._Element, variant: str, action: str) -> etree._Element:
    """Return the element of the body's first expression, or the nearest one around it that the file has itself."""
    holders = [each for each in level.iterchildren("variant") if each.get("name") == variant]
    for holder in (*holders, level):
        for written_as in holder.iterchildren("extract"):
            fields = (each for each in written_as.iterchildren("field") if each.get("name") == BODY)
            body = next(fields, None) if written_as.get("name") == action else None
            if body is not None:
                return next(body.iterchildren("select"), body)
    return level
