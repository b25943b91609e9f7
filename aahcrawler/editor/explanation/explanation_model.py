"""The explanation of how the knowledge base reads a page, as plain values that can be written as JSON.

It holds how far expressions get that find nothing, and what behaviours would act on in a browser.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.helper.detection import FAILING
from aahcrawler.page import Page
from knowledge_base.behaviours import Behaviour, BehaviourStep
from knowledge_base.selectors import BadExpressionError, css_to_xpath

_OPENING, _CLOSING = "([", ")]"
_COMBINATORS = frozenset(" \t\r\n>+~")


@dataclass(frozen=True, slots=True)
class ExplanationStep:
    """A beginning of an expression and the number of things it finds."""

    expression: str
    count: int

    def __str__(self) -> str:
        return f"{self.expression}  finds {self.count}"


def narrowed(css: str, xpath: str, context: etree._Element) -> tuple[ExplanationStep, ...]:
    """Return the beginnings of the alternative that gets farthest, up to the first that finds nothing.

    >>> page = etree.fromstring("<body><div class='post'/></body>")
    >>> [(step.expression, step.count) for step in narrowed("div.post a, p", "", page)]
    [('div', 1), ('div.post', 1), ('div.post a', 0)]
    """
    written = css or xpath
    cut = _css_cuts if css else _xpath_cuts
    ways = [
        tuple(_steps(dict.fromkeys(cut(branch)), bool(css), context))
        for branch in _branches(written, "," if css else "|")
    ]
    return max(ways, key=lambda steps: sum(step.count > 0 for step in steps), default=())


def _steps(beginnings: Iterable[str], is_css: bool, context: etree._Element) -> Iterator[ExplanationStep]:
    for beginning in beginnings:
        try:
            found = etree.XPath(css_to_xpath(beginning) if is_css else beginning, regexp=False)(context)
        except (BadExpressionError, etree.XPathError):
            continue
        step = ExplanationStep(beginning, len(found) if isinstance(found, list) else int(bool(found)))
        yield step
        if not step.count:
            return


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """Yield the signs outside of brackets and strings, and the outermost opening brackets."""
    depth, quote = 0, ""
    for index, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            if depth == 0:
                yield index, sign
            depth += (sign in _OPENING) - (sign in _CLOSING)


def _branches(text: str, separator: str) -> list[str]:
    cuts = [index for index, sign in _outside(text) if sign == separator]
    starts = [0, *(cut + 1 for cut in cuts)]
    return [text[start:end].strip() for start, end in zip(starts, [*cuts, len(text)], strict=True)]


def _xpath_cuts(path: str) -> Iterator[str]:
    """Yield the beginnings of a path that end before a step or a predicate."""
    for index, sign in _outside(path):
        before = path[:index].rstrip()
        if sign in "/[" and before.strip("./") and not before.endswith(("/", "::", "@")):
            yield before
    yield path


def _css_cuts(selector: str) -> Iterator[str]:
    """Yield the beginnings of a selector that end before a combinator or another condition on the same element."""
    last = ""
    for index, sign in _outside(selector):
        before = selector[:index].rstrip()
        starts = sign in _COMBINATORS or (sign in ".#[:" and last not in _COMBINATORS and last != ":")
        if starts and before and before[-1] not in _COMBINATORS and before[-1] != ":":
            yield before
        last = sign
    yield selector


@dataclass(frozen=True, slots=True)
class StepTried:
    """A step that names what it acts on: how it is written, and how many such elements are on the page."""

    behaviour: str
    act: str
    written: str
    found: int


def steps_tried(behaviours: tuple[Behaviour, ...], page: Page) -> Iterator[StepTried]:
    """Yield the steps of behaviours with what each finds; those that find their elements by themselves are left out."""
    for behaviour in behaviours:
        for step in behaviour.steps:
            if step.selectors:
                written = " or ".join(each.css or each.source for each in step.selectors)
                yield StepTried(behaviour.name, step.act.value, written, len(acted_on(step, page)))


def counts(behaviours: tuple[Behaviour, ...], page: Page) -> dict[str, int]:
    """Return for each behaviour how many elements its steps find on a page; those that find none are left out."""
    found: dict[str, int] = {}
    for tried in steps_tried(behaviours, page):
        if tried.found:
            found[tried.behaviour] = found.get(tried.behaviour, 0) + tried.found
    return found


def acted_on(step: BehaviourStep, page: Page) -> list[HtmlElement]:
    """Return the elements that a step names on a page; an expression that fails there names none."""
    for selector in step.selectors:
        try:
            elements = selector.elements(page.tree, page.elements)
        except FAILING:
            continue
        said = [each for each in elements if not step.words or _says(each, step.words)]
        if said:
            return said
    return []


def _says(element: HtmlElement, words: tuple[str, ...]) -> bool:
    text = " ".join((element.get("aria-label") or str(element.text_content())).split()).lower()
    return any(word in text for word in words)


@dataclass(frozen=True, slots=True)
class PatternTried:
    """A detection pattern: whether the page shows it; ``seen`` if at least a text that it needs is there.

    ``steps`` are the partial matches of the expression of one that is seen but not held.
    """

    written: str
    strength: str
    held: bool
    seen: bool
    cite: str
    place: str
    steps: tuple[ExplanationStep, ...] = ()


@dataclass(frozen=True, slots=True)
class ApplicationTried:
    """An application and its patterns."""

    name: str
    patterns: tuple[PatternTried, ...]

    @property
    def held(self) -> int:
        """The number of patterns that the page shows."""
        return sum(pattern.held for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class ConditionTried:
    """A ``when`` or ``unless``: whether it held, whether its URL part did, and its partial matches."""

    tag: str
    written: str
    held: bool
    address_fits: bool
    steps: tuple[ExplanationStep, ...]
    place: str


@dataclass(frozen=True, slots=True)
class LevelTried:
    """A level and its conditions; ``fits`` if they hold for the page, unless a level before it fits as well."""

    name: str
    role: str
    fits: bool
    conditions: tuple[ConditionTried, ...]
    place: str


@dataclass(frozen=True, slots=True)
class FieldShown:
    """A field: the number of objects that have it, samples, and the expression that most of them were read by.

    ``steps`` are the partial matches of the expressions if no object has the field.
    """

    name: str
    count: int
    samples: tuple[str, ...]
    by: str
    steps: tuple[ExplanationStep, ...] = ()


@dataclass(frozen=True, slots=True)
class ActionView:
    """An action: the number of results, samples, and ``by`` which expressions.

    ``to`` is the level its links lead to, empty for extraction. ``steps`` are the partial matches of its expressions if
    it found nothing.
    """

    name: str
    sort: str
    count: int
    by: str
    place: str
    to: str = ""
    samples: tuple[str, ...] = ()
    fields: tuple[FieldShown, ...] = ()
    steps: tuple[ExplanationStep, ...] = ()


@dataclass(frozen=True, slots=True)
class GenericReading:
    """The results of generic reading for a page of no known application."""

    title: str
    language: str
    published: str
    content: str
    characters: int
    objects: tuple[str, ...]
    links: int
    no_object: str = ""
    """The reason why there is no object."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """Links that are not followed for one reason."""

    reason: str
    count: int
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The way in which the knowledge base reads a page.

    ``application``, ``level`` and ``variant`` are empty if there is none; ``rivals`` claim the page with equal
    strength. ``listings`` are the URLs of complete listings, on the page that they are relative to. ``behaviours``
    say what would be acted on in a browser, as far as it is on the page already. ``nearest`` are applications that are
    not the page's, the most likely first. ``generic`` is set if no application was recognised.
    """

    url: str
    status: int
    media_type: str
    application: str
    level: str
    variant: str
    rivals: tuple[str, ...]
    recognised: ApplicationTried | None
    levels: tuple[LevelTried, ...]
    actions: tuple[ActionView, ...]
    refused: tuple[Refusals, ...]
    failures: tuple[str, ...]
    nearest: tuple[ApplicationTried, ...]
    generic: GenericReading | None
    listings: tuple[str, ...] = ()
    behaviours: tuple[StepTried, ...] = ()
    redirects: tuple[str, ...] = field(default=())
