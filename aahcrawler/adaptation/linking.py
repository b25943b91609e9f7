"""Learns navigation actions of pages on which links were found by other means than by those of the file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lxml import etree
from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.adaptation.learner.features import Features
from aahcrawler.adaptation.learner.paths import Path, Written, leading_to
from aahcrawler.adaptation.lessons import Method
from knowledge_base.model import LinkSource, Navigate
from knowledge_base.selectors import BadExpressionError

LEAST_PAGES = 2
MOST_TARGETS = 12
"""Links of one page by which expressions are made; all are looked at when these are tried."""
MOST_TRIED = 40
MOST_COST = 6.0
"""The cost of an expression (see `aahcrawler.adaptation.learner.paths.Path`) beyond which it says too little."""

ANY = Written(css="a[href]")


@dataclass(frozen=True, slots=True)
class LearnedLinks:
    """A navigation action that was learned on a site, with the evidence for it.

    It takes the place of ``action`` of ``level`` where that finds nothing, and leads to level ``to``. With
    ``documented`` only links to documented addresses of that level count. ``pages`` are the addresses of the pages
    that agree, on which the action of the file found ``before`` and this one ``after`` links. ``date`` is when the
    last of them was fetched.
    """

    site: str
    application: str
    level: str
    action: str
    to: str
    name: str
    written: Written
    documented: bool
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
            f"{self.after} links on {len(self.pages)} pages, {self.before} before; confidence {self.confidence:.2f}"
        )

    def navigate(self) -> Navigate:
        """Compile it. Raises `knowledge_base.selectors.BadExpressionError`."""
        return Navigate(self.action, self.to, (LinkSource(self.written.selector, self.documented),))

    def xml(self) -> etree._Element:
        """Return the ``navigate`` element."""
        element = etree.Element("navigate", {"name": self.action, "to": self.to})
        given = {"css": self.written.css, "xpath": self.written.xpath, "attribute": self.written.attribute}
        given["documented"] = "yes" if self.documented else ""
        etree.SubElement(element, "select", {name: value for name, value in given.items() if value})
        return element


@dataclass(frozen=True, slots=True, eq=False)
class LinkLesson:
    """The links of one page to pages of a level, as they were found; ``counted`` says which of any links count."""

    url: str
    tree: HtmlElement
    fetched_at: datetime
    links: dict[str, HtmlElement]
    counted: Callable[[str, HtmlElement], str | None]
    method: Method
    size: int

    def found(self, elements: Sequence[HtmlElement]) -> frozenset[str]:
        """Return the addresses among links that count."""
        urls = (self.counted(element.get("href") or "", element) for element in elements)
        return frozenset(url for url in urls if url is not None)


def learn(lessons: Sequence[LinkLesson], *, documented: bool) -> tuple[Written, bool] | None:
    """Return an expression that finds the links of all lessons and no others, None where there is none.

    Where ``documented`` addresses tell the level, the last resort is any link of such an address; the second value
    says so.
    """
    if len(lessons) < LEAST_PAGES or any(not lesson.links for lesson in lessons):
        return None
    for written in _candidates(lessons):
        if _agrees(written, lessons):
            return written, False
    return (ANY, True) if documented else None


def _candidates(lessons: Sequence[LinkLesson]) -> Iterator[Written]:
    targets = [(lesson.tree, element) for lesson in lessons for element in tuple(lesson.links.values())[:MOST_TARGETS]]
    known = Features()
    paths = (path for path in leading_to(targets, known) if path.steps and path.cost <= MOST_COST and _is_place(path))
    found = dict.fromkeys(path.written() for path in paths)
    yield from list(found)[:MOST_TRIED]


def _is_place(path: Path) -> bool:
    """Say whether a path tells where links stand; what their addresses are says the knowledge base."""
    return all(feature.attribute != "href" for step in path.steps for feature in step.features)


def _agrees(written: Written, lessons: Sequence[LinkLesson]) -> bool:
    try:
        selector = written.selector
        return all(lesson.found(selector.elements(lesson.tree)) == lesson.links.keys() for lesson in lessons)
    except (BadExpressionError, XPathError):
        return False
