"""Findings on a knowledge base, in words that its author can act on, and the saved pages that show them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.editor.explanation.explanation_model import narrowed
from aahcrawler.editor.pages.saved_pages import SavedPage
from aahcrawler.editor.text.file_lines import ApplicationFile, FileLines, TextPlace
from aahcrawler.helper.detection import FAILING
from aahcrawler.helper.extraction.field_reader import address_text
from aahcrawler.helper.extraction.runs import run_items
from aahcrawler.helper.links.navigation import Links
from aahcrawler.helper.site_memory import Sites
from aahcrawler.page import Page
from knowledge_base.model import Application, Condition, Extract, KnowledgeBase, LinkSource
from knowledge_base.parsing import attributes
from knowledge_base.parsing.attributes import Notes
from knowledge_base.selectors import Node, Selector

READ_OFF = "unproven: read off"
"""The beginning of the citations of what a program read off a page."""
MAX_ITEMS = 50
"""Objects of a page in which the expressions of fields are tried."""
_MAX_SHOWN_LENGTH = 100


class Severity(StrEnum):
    """Whether a knowledge base can be used in spite of a finding."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake and how to correct it; ``is_guess`` if the mistake is that a guess is unconfirmed."""

    place: TextPlace
    severity: Severity
    message: str
    is_guess: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.message}"

    @property
    def element(self) -> str:
        """The place of the element in its file, ``level[thread]/when[2]``; empty for the file as a whole."""
        return self.place.element

    @property
    def key(self) -> tuple[str, int, str]:
        """The sort key of findings: file, line, words."""
        return self.place.file, self.place.line, self.message


def error(place: TextPlace, message: str) -> Finding:
    """Return a finding that makes the knowledge base unusable."""
    return Finding(place, Severity.ERROR, message)


def warning(place: TextPlace, message: str, *, is_guess: bool = False) -> Finding:
    """Return a warning."""
    return Finding(place, Severity.WARNING, message, is_guess)


@dataclass(frozen=True)
class LevelPages:
    """Saved pages by the level that they are expected to have.

    An inherited level is that of the file that defines it.
    """

    knowledge_base: KnowledgeBase
    places: FileLines
    pages: tuple[SavedPage, ...]

    @cached_property
    def applications(self) -> dict[str, Application]:
        """The applications by their names."""
        return {application.name: application for application in self.knowledge_base.applications}

    def of_level(self, file: ApplicationFile, level: str) -> tuple[SavedPage, ...]:
        """Return the saved pages of a level in a file, including those of applications that inherit the level."""
        return self._by_level.get((file.name, level), ())

    def of_application(self, name: str) -> Iterator[SavedPage]:
        """Yield the saved pages of an application, including those without a level."""
        return (page for page in self.pages if page.expected.application == name)

    @cached_property
    def _by_level(self) -> dict[tuple[str, str], tuple[SavedPage, ...]]:
        found: dict[tuple[str, str], tuple[SavedPage, ...]] = {}
        for page in self.pages:
            application, level = page.expected.application, page.expected.level
            written = self.places.level_element(application, level) if application and level else None
            if written is not None and level is not None:
                key = (written[0].name, level)
                found[key] = (*found.get(key, ()), page)
        return found


def is_read_off(cite: str) -> bool:
    """Return whether a citation says that a program derived something from a page, so a saved page must show it."""
    return cite.strip().lower().startswith(READ_OFF)


def cite_of(element: etree._Element) -> str:
    """Return the citation of an element."""
    return element.get("cite") or ""


@dataclass(frozen=True, slots=True)
class Ground:
    """A page, and the elements in it on which an expression is tried."""

    page: Page
    at: tuple[HtmlElement, ...]


def whole(pages: Iterable[Page]) -> tuple[Ground, ...]:
    """Return pages as grounds for the expressions of a level, which apply to the whole page."""
    return tuple(Ground(page, (page.tree,)) for page in pages)


def items_on(pages: Iterable[Page], action: Extract) -> tuple[Ground, ...]:
    """Return the elements of the objects that an action finds, as grounds, for pages with any."""
    grounds = (Ground(page, tuple(_items(page, action))[:MAX_ITEMS]) for page in pages)
    return tuple(ground for ground in grounds if ground.at)


def finds(selector: Selector, grounds: Iterable[Ground]) -> bool:
    """Return whether an expression finds anything on any ground; one that fails on a page finds nothing there."""
    return any(found(selector, at, ground.page) for ground in grounds for at in ground.at)


def found(selector: Selector, at: HtmlElement, page: Page) -> Sequence[Node]:
    """Return what an expression finds at an element, nothing where it fails."""
    try:
        return selector.found(at, page.elements)
    except FAILING:
        return ()


def urls_found(sources: Iterable[LinkSource], page: Page) -> Iterator[str]:
    """Yield the URLs on the page's own site found by parts of a navigation action, whether or not they are followed."""
    links = Links(page, Sites(most_hosts=0))
    for source in sources:
        for node in found(source.selector, page.tree, page):
            url = links.resolve(reference_of(node, source.selector))
            if url is not None and links.is_here(url):
                yield url


def reference_of(node: Node, selector: Selector) -> str | None:
    """Return the reference in a node found by a navigation action's expression, None if it has none."""
    if isinstance(node, str):
        return node
    return node.get(selector.attribute) if selector.attribute else address_text(node)


def selector_of(element: etree._Element) -> Selector:
    """Return the compiled expression of an element of a valid file."""
    return _compiled(_word(element, "xpath"), _word(element, "css"), _word(element, "attribute"))


def condition_of(element: etree._Element) -> Condition:
    """Return the sign that an element of a valid file is."""
    return attributes.condition(element, Notes(Path()))


def expression_of(element: etree._Element) -> str:
    """Return the expression or pattern of an element, as written."""
    given = ((name, _word(element, name)) for name in ("css", "xpath", "path", "query", "parameters", "absent"))
    words = " ".join(f'{name}="{value}"' for name, value in given if value)
    return words if len(words) <= _MAX_SHOWN_LENGTH else f"{words[:_MAX_SHOWN_LENGTH]}..."


def nearest(element: etree._Element, grounds: Sequence[Ground]) -> str:
    """Return how far an expression matches at best, such as ``div finds 3, div.post nothing``."""
    best: tuple[str, ...] = ()
    for ground in grounds:
        for at in ground.at[:1]:
            steps = narrowed(_word(element, "css"), _word(element, "xpath"), at)
            told = tuple(f"{step.expression} finds {step.count or 'nothing'}" for step in steps)
            best = max(best, told[-2:], key=len)
    return ", ".join(best)


def _items(page: Page, action: Extract) -> list[HtmlElement]:
    for selector in action.items:
        items = [node for node in found(selector, page.tree, page) if isinstance(node, HtmlElement)]
        if items:
            items = items if action.many else items[:1]
            return run_items(items, action.run, page.fetched_at, page.elements) if action.run is not None else items
    return []


@lru_cache(2_048)
def _compiled(xpath: str, css: str, attribute: str) -> Selector:
    element = etree.Element("select", {"xpath": xpath, "css": css, "attribute": attribute})
    return attributes.selector(element, Notes(Path()))


def _word(element: etree._Element, name: str) -> str:
    return attributes.text(element, name)
