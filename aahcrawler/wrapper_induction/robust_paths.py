"""Make expressions for elements of a template from their features, the most robust first."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from lxml.html import HtmlElement

from aahcrawler.page.markup import name_of
from aahcrawler.wrapper_induction.element_features import Feature, Features, Weighed, cost_of_tag
from knowledge_base.selectors import Selector, compile_selector

MAX_ABOVE = 9
"""The most ancestors of an element that are searched for a name."""

MAX_OWN = 7
"""How many features of one element are combined."""

MAX_PATHS = 160
"""How many expressions are tried for one purpose."""

STEP = 0.8
TOGETHER = 0.3
CHILD = 0.3


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as written in a knowledge base file: ``css`` or ``xpath``, and the attribute to take."""

    css: str = ""
    xpath: str = ""
    attribute: str = ""

    @property
    def selector(self) -> Selector:
        """The compiled form. Raises `knowledge_base.selectors.BadExpressionError`."""
        return compile_selector(xpath=self.xpath, css=self.css, attribute=self.attribute)

    @classmethod
    def of(cls, selector: Selector) -> "Expression":
        """Return the source of a compiled expression."""
        return cls(selector.css, "" if selector.css else selector.source, selector.attribute)

    def attributes(self) -> dict[str, str]:
        """Return the XML attributes for the expression in a file."""
        given = {"css": self.css, "xpath": self.xpath, "attribute": self.attribute}
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class RobustStep:
    """An element by its tag and features; ``child`` if it must be a child of the previous one."""

    tag: str
    features: tuple[Feature, ...] = ()
    child: bool = False
    further: tuple[str, ...] = ()
    """Predicates that only XPath can express."""

    @property
    def css(self) -> str | None:
        """Return the step in a CSS selector; None if CSS cannot express it."""
        parts = [feature.css for feature in self.features]
        if self.further or not self.tag or any(part is None for part in parts):
            return None
        return self.tag + "".join(part for part in parts if part)

    @property
    def test(self) -> str:
        """The node test of XPath with its predicates."""
        predicates = (*(feature.xpath for feature in self.features), *self.further)
        return self.tag + "".join(f"[{predicate}]" for predicate in predicates)


@dataclass(frozen=True, slots=True)
class Path:
    """Steps down from the current element. ``cost`` is how easily a change of the template would break it."""

    steps: tuple[RobustStep, ...]
    cost: float
    start: str = ""
    """The start of the path in XPath, if it is not the current element: ``following-sibling::tr[1]``."""
    turn: str = ""
    """A further step in XPath from the element at the end of the steps: ``ancestor::tr[1]``."""

    def written(self, attribute: str = "") -> Expression:
        """Return the expression, in CSS if possible, because that is easier for people to read."""
        parts = [step.css for step in self.steps]
        if not self.start and not self.turn and None not in parts and self.steps and not self.steps[0].child:
            css = "".join((" > " if step.child else " ") + str(step.css) for step in self.steps).strip()
            return Expression(css=css, attribute=attribute)
        axes = ("child" if step.child else "descendant" for step in self.steps)
        parts_of_path = [f"{axis}::{step.test}" for axis, step in zip(axes, self.steps, strict=True)]
        whole = "/".join(filter(None, (self.start, *parts_of_path, self.turn)))
        return Expression(xpath=whole or "self::*", attribute=attribute)


def leading_to(
    targets: Sequence[tuple[HtmlElement, HtmlElement]], known: Features, start: str = ""
) -> tuple[Path, ...]:
    """Return paths from roots down to their targets that fit all (root, target) pairs; cheapest first.

    Each path finds the targets, and possibly other elements as well.
    """
    if all(root is target for root, target in targets):
        return (Path((), 0.5, start),)
    if any(root is target for root, target in targets):
        return ()
    own = _own_steps([target for _, target in targets], known)
    held = _holders(targets, known)
    found: list[Path] = []
    for step, cost in own:
        found.append(Path((step,), cost, start))
        found += [Path((holder, step), cost + STEP + 0.6 * above, start) for holder, above in held]
    found += _chains(targets, known, start)
    return tuple(sorted(found, key=lambda path: path.cost)[:MAX_PATHS])


def _own_steps(targets: Sequence[HtmlElement], known: Features) -> list[tuple[RobustStep, float]]:
    tags = {name_of(target) for target in targets}
    tag = tags.pop() if len(tags) == 1 else "*"
    own = known.common(targets)[:MAX_OWN]
    return _steps(tag, own)


def _steps(tag: str, own: Sequence[Weighed]) -> list[tuple[RobustStep, float]]:
    steps = [(RobustStep(tag, (each.feature,)), each.cost) for each in own]
    steps += [
        (RobustStep(tag, (one.feature, two.feature)), one.cost + 0.5 * two.cost + TOGETHER)
        for one, two in combinations(own[:5], 2)
    ]
    if tag != "*":
        steps.append((RobustStep(tag), cost_of_tag(tag)))
    return steps


def _holders(targets: Sequence[tuple[HtmlElement, HtmlElement]], known: Features) -> list[tuple[RobustStep, float]]:
    """Return steps to elements above all targets and below their roots, each by one of its features."""
    common: dict[tuple[str, Weighed], int] | None = None
    for root, target in targets:
        here: dict[tuple[str, Weighed], int] = {}
        for height, above in enumerate(_above(root, target)):
            for each in known.of(above):
                here.setdefault((name_of(above), each), height)
        common = here if common is None else {key: max(common[key], here[key]) for key in common if key in here}
        if not common:
            return []
    ranked = sorted(
        ((tag, each, height) for (tag, each), height in (common or {}).items()),
        key=lambda found: (found[1].cost + 0.1 * found[2], found[0], found[1].feature.value),
    )
    return [(RobustStep(tag, (each.feature,)), each.cost + 0.1 * height) for tag, each, height in ranked[:12]]


def _chains(targets: Sequence[tuple[HtmlElement, HtmlElement]], known: Features, start: str) -> Iterator[Path]:
    """Yield paths with the tags of all elements between a target and a named element above it, or the root."""
    root = targets[0][0]
    lines = [[target, *_above(root, target)] for root, target in targets]
    shortest = min(map(len, lines))
    tags: list[str] = []
    for height in range(min(shortest, MAX_ABOVE)):
        here = {name_of(line[height]) for line in lines}
        if height:
            named = known.common(line[height] for line in lines)
            chain = tuple(RobustStep(tag, child=True) for tag in reversed(tags))
            tag = next(iter(here)) if len(here) == 1 else "*"
            for each in named[:2]:
                own = RobustStep(tag, (each.feature,))
                yield Path((own, *chain), each.cost + 1.0 + (CHILD + 0.7) * height, start)
            if tag != "*":
                yield Path((RobustStep(tag), *chain), cost_of_tag(tag) + 1.0 + (CHILD + 0.7) * height, start)
        if len(here) > 1:
            return
        tags.append(here.pop())
    if all(len(line) == shortest for line in lines) and shortest <= MAX_ABOVE and tags and root.getparent() is not None:
        steps = tuple(RobustStep(tag, child=True) for tag in reversed(tags))
        yield Path(steps, 2.0 + (CHILD + 1.0) * shortest, start)
        counted = [{_ordinal(line[height]) for line in lines} for height in range(shortest)]
        if all(len(ordinals) == 1 for ordinals in counted):
            places = [str(ordinals.pop()) for ordinals in counted]
            steps = tuple(
                RobustStep(tag, child=True, further=(place,)) for tag, place in zip(tags, places, strict=True)
            )
            yield Path(steps[::-1], 5.0 + (CHILD + 1.0) * shortest, start)


def _ordinal(element: HtmlElement) -> int:
    """Return the position of an element among its siblings of the same tag, counted from one."""
    return 1 + sum(1 for _ in element.itersiblings(name_of(element), preceding=True))


def _above(root: HtmlElement, target: HtmlElement) -> list[HtmlElement]:
    """Return the elements between a target and its root, the nearest first."""
    found: list[HtmlElement] = []
    for above in target.iterancestors():
        if above is root or len(found) == MAX_ABOVE:
            break
        found.append(above)
    return found


def beside(
    items: Sequence[HtmlElement], others: Sequence[HtmlElement], known: Features
) -> tuple[tuple[str, float], ...]:
    """Return XPath steps from items to their siblings ``others``, with their costs; cheapest first.

    A step leads to the nearest sibling with a common feature, or counts siblings if all are equally far away.
    """
    distances = {_distance(item, other) for item, other in zip(items, others, strict=True)}
    if 0 in distances or not distances or len({distance > 0 for distance in distances}) > 1:
        return ()
    axis = "following-sibling" if next(iter(distances)) > 0 else "preceding-sibling"
    ways: list[tuple[str, float]] = []
    for step, cost in _own_steps(others, known):
        ways.append((f"{axis}::{step.test}[1]", cost + STEP))
    if len(distances) == 1:
        ways.append((f"{axis}::*[{abs(distances.pop())}]", 3.0))
    return tuple(sorted(ways, key=lambda way: way[1])[:6])


def _distance(item: HtmlElement, other: HtmlElement) -> int:
    """Return how many siblings another element is after an element (negative: before); 0 if they are not siblings."""
    parent = item.getparent()
    if parent is None or other.getparent() is not parent:
        return 0
    return parent.index(other) - parent.index(item)


def compiled(written: Iterable[Expression]) -> tuple[Selector, ...]:
    """Return the compiled forms."""
    return tuple(each.selector for each in written)
