"""The explanation of a page as values, and as tables and plain text.

It includes how far failing expressions match, and what behaviours would act on in a browser.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lxml import etree
from lxml.html import HtmlElement
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aahcrawler.helper.detection import FAILING
from aahcrawler.page import Page
from knowledge_base.behaviours import Behaviour, BehaviourStep
from knowledge_base.selectors import BadExpressionError, css_to_xpath

_OPENING, _CLOSING = "([", ")]"
_COMBINATORS = frozenset(" \t\r\n>+~")


@dataclass(frozen=True, slots=True)
class ExplanationStep:
    """A prefix of an expression, and the number of nodes that it finds."""

    expression: str
    count: int

    def __str__(self) -> str:
        return f"{self.expression}  finds {self.count}"


def narrowed(css: str, xpath: str, context: etree._Element) -> tuple[ExplanationStep, ...]:
    """Return prefixes of the alternative that matches farthest, up to the first that finds nothing.

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


_MAX_LEVELS = 3


@dataclass(frozen=True, slots=True)
class ExplanationSection:
    """A title with rows of texts below it."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(explained: Explanation) -> Iterator[ExplanationSection]:
    """Yield the sections of a page's explanation, the most important first."""
    yield ExplanationSection(
        f"{explained.url} answered {explained.status}, {explained.media_type}",
        ("",),
        tuple((f"redirected from {hop}",) for hop in explained.redirects),
    )
    yield from _recognition(explained)
    if explained.failures:
        yield ExplanationSection("Failures", ("failure",), tuple((failure,) for failure in explained.failures))
    yield from map(_action, explained.actions)
    if explained.listings:
        listed = tuple((each,) for each in explained.listings)
        yield ExplanationSection("Complete listings, asked for where the links of the site run out", ("",), listed)
    if explained.behaviours:
        acts = tuple((each.behaviour, each.act, each.written, str(each.found)) for each in explained.behaviours)
        yield ExplanationSection("What is done in a browser", ("behaviour", "act", "on", "on this page"), acts)
    if explained.refused:
        rows = tuple((each.reason, str(each.count), ", ".join(each.samples)) for each in explained.refused)
        yield ExplanationSection("Links that are not followed", ("reason", "links", "for example"), rows)
    if explained.generic is not None:
        yield _generic(explained.generic)
    yield from _near(explained)


def plain_lines(explained: Explanation) -> Iterator[str]:
    """Yield lines of text without colours, each row in a line of its own."""
    for section in sections(explained):
        yield section.title
        for row in section.rows:
            if not any(section.columns):
                yield "  " + ": ".join(cell.replace("\n", ", ") for cell in row)
                continue
            named = zip(section.columns, row, strict=True)
            yield "  " + "; ".join(_cell(column, cell) for column, cell in named if cell)


def _cell(column: str, cell: str) -> str:
    words = cell.replace("\n", ", ")
    return f"{column}: {words}" if column else words


def print_tables(explained: Explanation, console: Console) -> None:
    """Print tables as wide as the terminal."""
    for section in sections(explained):
        console.print(Text(section.title, style="bold"))
        if section.rows:
            table = Table(box=box.SIMPLE, show_header=any(section.columns))
            for column in section.columns:
                table.add_column(column, overflow="fold")
            for row in section.rows:
                table.add_row(*map(Text, row))
            console.print(table)


def _recognition(explained: Explanation) -> Iterator[ExplanationSection]:
    if explained.recognised is None:
        rivals = " and ".join(explained.rivals)
        why = f"{rivals} claim the page with equal strength" if rivals else "no application shows enough of its signs"
        yield ExplanationSection(f"Application: none known; {why}")
        return
    yield _patterns(f"Application: {explained.application}", explained.recognised)
    level = next((level for level in explained.levels if level.name == explained.level), None)
    if level is None:
        success = 200 <= explained.status < 300
        why = "no level's conditions hold" if success else f"answers with status {explained.status} are not read"
        yield ExplanationSection(f"Level: none; {why}")
        return
    variant = f", variant {explained.variant}" if explained.variant else ""
    yield _conditions(f"Level: {level.name} ({level.role}{variant}), {level.place}", level)


def _patterns(title: str, tried: ApplicationTried) -> ExplanationSection:
    rows = tuple(_pattern(pattern) for pattern in tried.patterns)
    held = f"{tried.held} of {len(tried.patterns)} signs are on the page"
    return ExplanationSection(f"{title}; {held}", ("", "strength", "sign", "cite", "line"), rows)


def _pattern(pattern: PatternTried) -> tuple[str, ...]:
    state = "holds" if pattern.held else "does not hold, though its text is there" if pattern.seen else "does not hold"
    state = "\n".join((state, *map(str, pattern.steps)))
    return state, pattern.strength, pattern.written, pattern.cite or "no cite", pattern.place


def _conditions(title: str, level: LevelTried) -> ExplanationSection:
    return ExplanationSection(title, ("", "condition", "how far", "line"), tuple(map(_condition, level.conditions)))


def _condition(condition: ConditionTried) -> tuple[str, ...]:
    state = "holds" if condition.held else "does not hold"
    if condition.tag == "unless" and condition.held:
        state = "holds, so the page is not of this level"
    far = [] if condition.address_fits or condition.tag == "unless" else ["the URL does not fit"]
    far += map(str, condition.steps)
    return f"{condition.tag} {state}", condition.written, "\n".join(far), condition.place


def _action(action: ActionView) -> ExplanationSection:
    noun = "object" if action.sort == "extract" else "link"
    to = f" to level {action.to}" if action.to else ""
    rows = [
        *(("by", action.by) for _ in [0] if action.by),
        *(("for example", sample) for sample in action.samples),
        *(row for each in action.fields for row in _field(each)),
        *_step_rows(action.steps),
    ]
    return ExplanationSection(
        f"Action {action.name}: {action.count} {noun}{'' if action.count == 1 else 's'}{to}, {action.place}",
        ("", ""),
        tuple(rows),
    )


def _field(shown: FieldShown) -> Iterator[tuple[str, str]]:
    by = f" by {shown.by}" if shown.by else ""
    yield f"field {shown.name}", f"{shown.count}{by}: {' | '.join(shown.samples)}" if shown.count else "nothing"
    yield from _step_rows(shown.steps)


def _step_rows(steps: Iterable[ExplanationStep]) -> Iterator[tuple[str, str]]:
    return (("how far", str(step)) for step in steps)


def _generic(generic: GenericReading) -> ExplanationSection:
    rows = [
        ("title", generic.title),
        ("language", generic.language),
        ("published", generic.published),
        ("content", f"{generic.characters} characters: {generic.content}" if generic.content else "none"),
        ("links", str(generic.links)),
        *(("object", written) for written in generic.objects),
        *([("object", f"none: {generic.no_object}")] if generic.no_object else []),
    ]
    return ExplanationSection("Read as a page of no known application", ("", ""), tuple(row for row in rows if row[1]))


def _near(explained: Explanation) -> Iterator[ExplanationSection]:
    others = [level for level in explained.levels if level.name != explained.level]
    if not explained.level:
        for level in sorted(others, key=_promise, reverse=True)[:_MAX_LEVELS]:
            yield _conditions(f"Almost level {level.name}{_why(level)}, {level.place}", level)
    elif others:
        also = ", ".join(level.name for level in others if level.fits)
        yield ExplanationSection(
            f"Other levels that would fit, but come later: {also}" if also else "No other level fits"
        )
    if explained.application:
        rows = tuple(
            (each.name, f"{each.held} of {len(each.patterns)} signs") for each in explained.nearest if each.held
        )
        if rows:
            yield ExplanationSection("Other applications with signs on the page", ("application", "signs"), rows)
    else:
        for each in explained.nearest:
            yield _patterns(f"Almost {each.name}", each)


def _why(level: LevelTried) -> str:
    met = any(condition.held for condition in level.conditions if condition.tag == "when")
    return "; an unless keeps the page out" if met else "; no when holds"


def _promise(level: LevelTried) -> tuple[bool, bool, int]:
    """Return a sort key of levels by how many of their conditions hold."""
    wanted = [condition for condition in level.conditions if condition.tag == "when"]
    addresses = any(condition.address_fits for condition in wanted)
    return any(condition.held for condition in wanted), addresses, max((len(each.steps) for each in wanted), default=0)
