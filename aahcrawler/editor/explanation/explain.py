"""``aah kb explain``: the results of the knowledge base for a page, the lines that decided, and near misses."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.editor.explanation.explanation_model import (
    ActionView,
    ApplicationTried,
    ConditionTried,
    Explanation,
    ExplanationStep,
    FieldShown,
    GenericReading,
    LevelTried,
    PatternTried,
    Refusals,
    StepTried,
    narrowed,
    steps_tried,
)
from aahcrawler.editor.text.file_lines import FileLines
from aahcrawler.helper import ApplicationAwareHelper, Assistance, FailedAction
from aahcrawler.page import Page
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person, Reference, Value, WebObject
from knowledge_base.behaviours import of_level
from knowledge_base.matching import Detector, Sight
from knowledge_base.model import (
    Action,
    Application,
    Condition,
    Extract,
    Field,
    KnowledgeBase,
    Navigate,
    PageLevel,
    Pattern,
    Signal,
)
from knowledge_base.selectors import Selector
from knowledge_base.url_rules import ParsedUrl

NEAREST = 4
"""Applications named that a page almost is of."""
SAMPLES = 3
SHOWN = 100
"""Characters of a sample."""
_MAX_ITEMS = 50


def explain(page: Page, knowledge_base: KnowledgeBase, places: FileLines) -> Explanation:
    """Explain the results of the knowledge base for a page. Never raises, whatever the page contains."""
    return explained(ApplicationAwareHelper(knowledge_base).assist(page), page, knowledge_base, places)


def explained(assistance: Assistance, page: Page, knowledge_base: KnowledgeBase, places: FileLines) -> Explanation:
    """Explain what the helper read of a page with this knowledge base. Never raises, as `explain`."""
    match = assistance.match
    application = match.application if match else None
    level = match.level if match else None
    tried = _Tried(page, places)
    reading = _Reading(page, places, application, level, match.variant if match else "") if application else None
    return Explanation(
        url=page.url,
        status=page.status,
        media_type=page.media_type,
        application=application.name if application else "",
        level=level.name if level else "",
        variant=match.variant if match else "",
        rivals=Detector(knowledge_base).detect(page).rivals if application is None else (),
        recognised=tried.application(application) if application else None,
        levels=tuple(tried.level(application, each) for each in application.levels) if application else (),
        actions=reading.actions() if reading else (),
        refused=_refused(assistance),
        failures=tuple(_failure(failed) for failed in assistance.failed_actions),
        nearest=tried.nearest(each for each in knowledge_base.applications if each is not application),
        generic=_generic(assistance) if application is None else None,
        listings=_listings(page, application, level),
        behaviours=_behaviours(page, application, level),
    )


def _listings(page: Page, application: Application | None, level: PageLevel | None) -> tuple[str, ...]:
    """Return where an application lists all that it holds, where the page is its front page."""
    if application is None or not application.begins_at(ParsedUrl.parse(page.url), level.name if level else None):
        return ()
    urls = ((each.kind, resolve(page.url, each.reference(1))) for each in application.listings)
    return tuple(f"{kind} {url}" for kind, url in urls if url is not None)


def _behaviours(page: Page, application: Application | None, level: PageLevel | None) -> tuple[StepTried, ...]:
    if application is None:
        return ()
    return tuple(steps_tried(of_level(level.name if level else None, application.behaviours), page))


@dataclass(frozen=True)
class _Tried:
    """The results of signs and conditions on one page."""

    page: Page
    places: FileLines

    @cached_property
    def sight(self) -> Sight:
        return Sight(self.page)

    def application(self, application: Application) -> ApplicationTried:
        patterns = (self._pattern(application, *numbered) for numbered in enumerate(application.patterns))
        return ApplicationTried(application.name, tuple(patterns))

    def nearest(self, applications: Iterable[Application]) -> tuple[ApplicationTried, ...]:
        tried = [(self.application(each), each) for each in applications if self._is_likely(each)]
        tried.sort(key=lambda pair: (-_weight(pair[0]), -sum(p.seen for p in pair[0].patterns), pair[0].name))
        return tuple(pair[0] for pair in tried[:NEAREST])

    def level(self, application: Application, level: PageLevel) -> LevelTried:
        conditions = [
            self._condition(application, level, tag, index, condition)
            for tag, given in (("when", level.when), ("unless", level.unless))
            for index, condition in enumerate(given)
        ]
        held = {(condition.tag, condition.held) for condition in conditions}
        fits = ("when", True) in held and ("unless", True) not in held
        return LevelTried(
            level.name, level.role, fits, tuple(conditions), str(self.places.level(application.name, level.name))
        )

    def _pattern(self, application: Application, index: int, pattern: Pattern) -> PatternTried:
        place, words = self.places.pattern(application.name, index)
        seen = self._is_seen(pattern)
        held = seen and self.sight.shows(pattern)
        steps: tuple[ExplanationStep, ...] = ()
        if seen and not held and pattern.selector is not None:
            steps = _steps(self.places, application, pattern.selector, ("", ""), self.page.tree)
        strength = pattern.strength.name.lower()
        return PatternTried(words or str(pattern.signal), strength, held, seen, pattern.cite, str(place), steps)

    def _is_seen(self, pattern: Pattern) -> bool:
        if not pattern.literals:
            return pattern.signal is Signal.HOST
        return any(literal.encode() in self.sight.source for literal in pattern.literals)

    def _is_likely(self, application: Application) -> bool:
        if application.hosts:
            return any(self.sight.shows(pattern) for pattern in application.patterns)
        return any(map(self._is_seen, application.patterns))

    def _condition(
        self, application: Application, level: PageLevel, tag: str, index: int, condition: Condition
    ) -> ConditionTried:
        place, words = self.places.condition(application.name, level.name, tag, index)
        fits = condition.rule is None or condition.rule.matches(self.sight.parsed_url)
        found = condition.selector is None or _finds(condition.selector, self.page.tree)
        steps: tuple[ExplanationStep, ...] = ()
        if tag == "when" and not found and condition.selector is not None:
            steps = _steps(self.places, application, condition.selector, (level.name, ""), self.page.tree)
        return ConditionTried(tag, words, fits and found, fits, steps, str(place))


@dataclass(frozen=True)
class _Reading:
    """The actions of a page's level, each run by itself."""

    page: Page
    places: FileLines
    application: Application
    level: PageLevel | None
    variant: str

    def actions(self) -> tuple[ActionView, ...]:
        if self.level is None:
            return ()
        variants = (variant.actions for variant in self.level.variants if variant.name == self.variant)
        return tuple(map(self._shown, next(variants, self.level.actions)))

    def _shown(self, action: Action) -> ActionView:
        alone = self._alone(action)
        return self._navigation(action, alone) if isinstance(action, Navigate) else self._extraction(action, alone)

    def _alone(self, action: Action) -> Assistance:
        """Read the page with a copy of the knowledge base whose level has only this action."""
        levels = tuple(
            replace(level, actions=(action,), variants=()) if level is self.level else level
            for level in self.application.levels
        )
        application = replace(self.application, levels=levels)
        return ApplicationAwareHelper(KnowledgeBase((application,))).assist(self.page)

    def _navigation(self, action: Navigate, alone: Assistance) -> ActionView:
        links = [link for link in alone.document.outlinks if link.action == action.name]
        selectors = [source.selector for source in action.sources]
        by = "the paging of the level" if action.pages else self._counted(selectors, action)
        if action.requests or action.forms:
            by = "; ".join([*filter(None, [by]), f"{len(action.requests)} requests, {len(action.forms)} forms"])
        return ActionView(
            action.name,
            "pages" if action.pages else "navigate",
            len(links),
            by,
            self._place(action),
            to=action.to,
            samples=tuple(
                _short(f"{link.url} ({link.anchor})" if link.anchor else link.url) for link in links[:SAMPLES]
            ),
            steps=() if links else self._farthest(selectors, action, self.page.tree),
        )

    def _extraction(self, action: Extract, alone: Assistance) -> ActionView:
        items = self._items(action)
        shown = tuple(self._field(wanted, action, alone.objects, items) for wanted in _by_name(action.fields))
        samples = tuple(_short(f"{item.type} {item.iri}") for item in alone.objects[:SAMPLES])
        steps = () if alone.objects else self._farthest(action.items, action, self.page.tree)
        if not steps and not alone.objects and action.identity is not None and items:
            steps = self._farthest(action.identity.selectors, action, items[0])
        count = len(alone.objects)
        by = self._counted(action.items, action)
        return ActionView(action.name, "extract", count, by, self._place(action), "", samples, shown, steps)

    def _field(
        self, same: tuple[Field, ...], action: Extract, objects: tuple[WebObject, ...], items: list[HtmlElement]
    ) -> FieldShown:
        name = same[0].name
        values = [value for item in objects for value in item.properties.get(name, ())[:1]]
        contexts = items if action.run is None else []
        by: Counter[str] = Counter()
        for item in contexts:
            context = (self.page.tree if wanted.page else item for wanted in same)
            pairs = (
                (selector, where) for wanted, where in zip(same, context, strict=True) for selector in wanted.selectors
            )
            won = next((selector for selector, where in pairs if _finds(selector, where)), None)
            if won is not None:
                by[self._written(won, action)] += 1
        steps: tuple[ExplanationStep, ...] = ()
        if not values and contexts:
            context_of = self.page.tree if same[0].page else contexts[0]
            steps = self._farthest([selector for wanted in same for selector in wanted.selectors], action, context_of)
        words = ", ".join(f"{written} ({count})" if len(by) > 1 else written for written, count in by.most_common())
        return FieldShown(name, len(values), tuple(map(_value, values[:SAMPLES])), words, steps)

    def _items(self, action: Extract) -> list[HtmlElement]:
        for selector in action.items:
            if _finds(selector, self.page.tree):
                return selector.elements(self.page.tree)[: _MAX_ITEMS if action.many else 1]
        return []

    def _counted(self, selectors: Iterable[Selector], action: Action) -> str:
        """Return the expressions that find something, with the number of results of each."""
        counts = ((self._written(selector, action), _count(selector, self.page.tree)) for selector in selectors)
        return ", ".join(f"{written} ({count})" for written, count in counts if count)

    def _farthest(
        self, selectors: Iterable[Selector], action: Action, context: HtmlElement
    ) -> tuple[ExplanationStep, ...]:
        scope = (self.level.name if self.level else "", action.name)
        ways = (_steps(self.places, self.application, selector, scope, context) for selector in selectors)
        return max(ways, key=len, default=())

    def _written(self, selector: Selector, action: Action) -> str:
        level = self.level.name if self.level else ""
        entry = self.places.entry(self.application.name, selector.source, level, action.name)
        return f"{_short(entry.written)} [line {entry.place.line}]" if entry else _short(selector.source)

    def _place(self, action: Action) -> str:
        return str(self.places.action(self.application.name, self.level.name if self.level else "", action.name))


def _steps(
    places: FileLines, application: Application, selector: Selector, scope: tuple[str, str], context: HtmlElement
) -> tuple[ExplanationStep, ...]:
    entry = places.entry(application.name, selector.source, *scope)
    return narrowed(entry.css if entry else "", entry.xpath if entry else selector.source, context)


def _finds(selector: Selector, context: HtmlElement) -> bool:
    return _count(selector, context) > 0


def _count(selector: Selector, context: HtmlElement) -> int:
    try:
        return len([node for node in selector.nodes(context) if not isinstance(node, str) or node])
    except etree.XPathError:
        return 0


def _by_name(fields: Iterable[Field]) -> Iterable[tuple[Field, ...]]:
    """Put the fields of one name together: they are alternatives."""
    named: defaultdict[str, list[Field]] = defaultdict(list)
    for wanted in fields:
        named[wanted.name].append(wanted)
    return map(tuple, named.values())


def _weight(tried: ApplicationTried) -> int:
    return sum({"proof": 100, "strong": 10, "hint": 1}[pattern.strength] for pattern in tried.patterns if pattern.held)


def _failure(failed: FailedAction) -> str:
    where = " / ".join(filter(None, (failed.application, failed.level, failed.action)))
    return f"{where}: {failed.failure} {failed.detail}".rstrip()


def _refused(assistance: Assistance) -> tuple[Refusals, ...]:
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for refused in assistance.refused:
        by_reason[refused.reason.value].append(refused.url)
    return tuple(
        Refusals(reason, len(urls), tuple(urls[:SAMPLES]))
        for reason, urls in sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    )


def _generic(assistance: Assistance) -> GenericReading:
    document = assistance.document
    content = "\n".join(part.text for part in document.parts)
    return GenericReading(
        document.title,
        document.language or "",
        document.published.isoformat() if document.published else "",
        _short(content),
        len(content),
        tuple(_short(_object(item)) for item in assistance.objects[: 4 * SAMPLES]),
        len(document.outlinks),
        assistance.no_object or "",
    )


def _object(item: WebObject) -> str:
    body = item.first("title") or item.first("body")
    return f"{item.type} {item.iri}{f': {_value(body)}' if body is not None else ''}"


def _value(value: Value) -> str:
    match value:
        case Person():
            return _short(f"{value.name} <{value.url}>" if value.url else value.name)
        case Reference():
            return _short(value.url)
        case datetime():
            return value.isoformat()
    return _short(str(value))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
