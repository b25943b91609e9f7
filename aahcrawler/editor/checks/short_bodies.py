"""Find bodies that an action reads shorter than they are, by what is read of the same objects without any file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.editor.checks.check_findings import Finding, LevelPages, found, warning
from aahcrawler.editor.pages.saved_pages import SavedPage
from aahcrawler.editor.text.file_lines import ApplicationFile
from aahcrawler.helper.detection import FAILING
from aahcrawler.helper.extraction.extraction import BODY, Extracted, Runner
from aahcrawler.induction import generic_objects
from aahcrawler.induction.record_sets import Region
from aahcrawler.page import Page, generic
from aahcrawler.page.text import plain_text
from knowledge_base.matching import Sight
from knowledge_base.model import Application, Extract, PageLevel
from knowledge_base.selectors import BadExpressionError, compile_selector

RUNNING = 40
"""The letters of a line of running text; captions and the names of tools have fewer."""
SHORT = 0.8
"""The share of an object's text below which a body is short."""
_PROSE = 100
_DATED = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b")
_NAME = re.compile(r"[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True)
class _Short:
    """A body that is read short: the letters read, those there are, and the element that holds them all."""

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
    """Return by how much a body is short; None where nothing is left out but what is no running text of it."""
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
    """Return the innermost element that holds all of some, None where there are none."""
    if not elements:
        return None
    above = [elements[0], *elements[0].iterancestors()]
    for other in elements[1:]:
        path = {other, *other.iterancestors()}
        above = [element for element in above if element in path]
    return above[0] if above else None


def _holding(short: _Short) -> str:
    """Say which element holds the whole body, as a selector where one of its classes or its id tells it."""
    element = short.element
    if element is None:
        return "write the element that holds all of it"
    css = _named(element)
    if css and _finds_it(css, element):
        return f'the element {css} holds the whole: write css="{css}"'
    return (
        f"the element <{element.tag!s}> around it, {css or 'without a class'}, holds the whole: write a selector for it"
    )


def _named(element: etree._Element) -> str:
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
