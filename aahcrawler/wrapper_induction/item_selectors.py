"""Find expressions for the items of an action that match exactly the wanted elements on every page."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.page.markup import name_of
from aahcrawler.wrapper_induction.element_features import Feature, Features
from aahcrawler.wrapper_induction.robust_paths import Expression, Path, RobustStep, leading_to
from knowledge_base.selectors import Selector

MAX_ALTERNATIVES = 3
MAX_ABOVE = 3
"""The most levels between the element of an object and an item above it that contains no other object."""

HIGHER = 1.2
"""The cost of using the parent element as the item."""

NO_DEARER = 1.2
"""The factor by which an alternative may cost more than its expression."""

TELLING = 2.5
"""The highest cost of features for which the content of an item can distinguish it."""

MIN_AGREEING = 0.75
"""The share of pages with objects that an expression must find exactly."""

MAX_JOINED = 5
"""Expressions that find a part of the items each and are joined."""

MIN_FIT = 0.6
"""The smallest fit (harmonic mean of precision and recall) for which an expression is proposed."""

MAX_GROUPS = 4
PATHS_OF_PART = 12
NEAR_MISSES = 12
SAMPLES = 24


@dataclass
class SearchBudget:
    """The remaining work, counted in elements visited by expressions."""

    left: int

    def spend(self, work: int) -> bool:
        """Subtract some work; return whether it was available."""
        self.left -= max(work, 1)
        return self.left >= 0


@dataclass(frozen=True, slots=True)
class ItemPage:
    """A page on which to find items. ``items`` are the wanted elements, in document order."""

    root: HtmlElement
    size: int
    items: tuple[HtmlElement, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """Expressions for items, the best first; ``pages`` have the items found, ``agreeing`` whether each page agrees.

    ``fit`` is the harmonic mean of precision and recall over all pages, 1 if all agree.
    """

    expressions: tuple[Expression, ...]
    pages: tuple[ItemPage, ...]
    agreeing: tuple[bool, ...]
    fit: float = 1.0


@dataclass(frozen=True, slots=True)
class _Tried:
    """The results of an expression: for each page, the missing and the superfluous elements."""

    path: Path
    expression: Expression
    level: int
    """The number of levels above the objects' elements at which items were searched."""
    cost: float
    missed: tuple[frozenset[HtmlElement], ...]
    extra: tuple[tuple[HtmlElement, ...], ...]

    @property
    def exact(self) -> tuple[bool, ...]:
        return tuple(not missed and not extra for missed, extra in zip(self.missed, self.extra, strict=True))


@dataclass
class ItemInduction:
    """Induces the items of an action from several pages; ``many`` says that a page may have several items."""

    pages: tuple[ItemPage, ...]
    known: Features
    many: bool
    budget: SearchBudget
    _tried: dict[Expression, _Tried] = field(default_factory=dict)

    def run(self, first: Iterable[Selector] = (), least_fit: float = 1.0) -> Items | None:
        """Return the best expressions; None if none finds exactly the wanted elements.

        An expression that finds anything on a page without items is never used. ``first`` are tried before others. With
        a ``least_fit`` below 1, the expression that fits best is used if none is exact, and all pages count as
        agreeing.
        """
        levels = tuple(self._levels())
        if not levels:
            return None
        best = self._known(levels[0], first) or self._search(levels)
        if best is not None:
            return Items(tuple(each.expression for each in best), levels[best[0].level], best[0].exact)
        nearest = max(self._tried.values(), key=lambda each: (self._fit(each), -each.cost), default=None)
        if least_fit == 1 or nearest is None or self._fit(nearest) < least_fit:
            return None
        pages = levels[nearest.level]
        return Items((nearest.expression,), pages, (True,) * len(pages), self._fit(nearest))

    def _fit(self, tried: _Tried) -> float:
        """Return the harmonic mean of the precision and the recall of an expression."""
        wanted = sum(len(page.items) for page in self.pages)
        missed, extra = sum(map(len, tried.missed)), sum(map(len, tried.extra))
        return 2 * (wanted - missed) / (2 * wanted - missed + extra) if wanted else 0.0

    def _levels(self) -> Iterator[tuple[ItemPage, ...]]:
        """Yield the pages with the items themselves, then with their parents, while each contains one object.

        If these elements are at different levels on different pages, the level that most pages share comes first.
        """
        pages = self.pages
        aligned = self._aligned(pages)
        if aligned != pages:
            yield aligned
        yield pages
        for _ in range(MAX_ABOVE):
            raised = tuple(map(_raised, pages))
            if any(page is None for page in raised):
                return
            pages = tuple(page for page in raised if page is not None)
            yield pages

    def _aligned(self, pages: tuple[ItemPage, ...]) -> tuple[ItemPage, ...]:
        """Return each page with those elements as items that have the features of most pages' items."""
        choices = [tuple(_choices(page)) for page in pages]
        votes: Counter[tuple[str, Feature]] = Counter()
        heights: Counter[tuple[str, Feature]] = Counter()
        costs: dict[tuple[str, Feature], float] = {}
        for choice in choices:
            seen: dict[tuple[str, Feature], int] = {}
            for height, page in enumerate(choice):
                for each in self.known.common(page.items):
                    key = (name_of(page.items[0]), each.feature)
                    seen.setdefault(key, height)
                    costs[key] = each.cost
            votes.update(seen.keys())
            heights.update(seen)
        if not votes:
            return pages
        best = min(votes, key=lambda key: (-votes[key], heights[key], costs[key], key[1].value))
        return tuple(
            next((option for option in choice if self._has(option, best)), page)
            for choice, page in zip(choices, pages, strict=True)
        )

    def _has(self, page: ItemPage, wanted: tuple[str, Feature]) -> bool:
        tag, feature = wanted
        return name_of(page.items[0]) == tag and any(each.feature == feature for each in self.known.common(page.items))

    def _known(self, pages: Sequence[ItemPage], first: Iterable[Selector]) -> tuple[_Tried, ...]:
        for selector in first:
            tried = self._try(Path((), 0.0), Expression.of(selector), 0, pages)
            if tried is not None and all(tried.exact) and any(page.items for page in pages):
                return (tried,)
        return ()

    def _search(self, levels: Sequence[tuple[ItemPage, ...]]) -> tuple[_Tried, ...] | None:
        chosen: list[_Tried] = []
        for path, level in _candidates(levels, self.known):
            cost = path.cost + HIGHER * level
            if chosen and (len(chosen) == MAX_ALTERNATIVES or cost > chosen[0].cost + NO_DEARER):
                break
            if chosen and (level != chosen[0].level or not _differs(path, chosen)):
                continue
            tried = self._try(path, path.written(), level, levels[level])
            if tried is None:
                break
            if all(tried.exact):
                chosen.append(tried)
        return tuple(chosen) or self._mended(levels)

    def _try(self, path: Path, written: Expression, level: int, pages: Sequence[ItemPage]) -> _Tried | None:
        """Return the results of an expression; None if there is no time left for it."""
        known = self._tried.get(written)
        if known is not None and known.level == level:
            return known
        missed: list[frozenset[HtmlElement]] = []
        extra: list[tuple[HtmlElement, ...]] = []
        for page in pages:
            if not self.budget.spend(page.size * (1 + len(path.steps))):
                return None
            found = found_by(written, page.root)
            found = found if self.many else found[:1]
            wanted = frozenset(page.items)
            missed.append(wanted.difference(found))
            extra.append(tuple(element for element in found if element not in wanted))
        tried = _Tried(path, written, level, path.cost + HIGHER * level, tuple(missed), tuple(extra))
        self._tried[written] = tried
        return tried

    def _mended(self, levels: Sequence[tuple[ItemPage, ...]]) -> tuple[_Tried, ...] | None:
        """Exclude superfluous results, combine expressions that find parts or, last, let a few pages disagree."""
        tried = sorted(self._tried.values(), key=lambda each: each.cost)
        whole = [each for each in tried if not any(each.missed) and each.path.steps]
        for each in sorted(whole, key=lambda each: (sum(map(len, each.extra)), each.cost))[:NEAR_MISSES]:
            for path in self._narrowed(each, levels[each.level]):
                narrowed = self._try(path, path.written(), each.level, levels[each.level])
                if narrowed is not None and all(narrowed.exact):
                    return (narrowed,)
        joined = self._joined([each for each in tried if each.level == 0 and not any(each.extra)], levels[0])
        if joined is not None:
            return (joined,)
        return self._mostly(levels)

    def _narrowed(self, tried: _Tried, pages: Sequence[ItemPage]) -> Iterator[Path]:
        """Yield the path with one more condition, which all items meet and no superfluous element does."""
        extra = [element for found in tried.extra for element in found][:SAMPLES]
        items = [item for page in pages for item in page.items]
        *above, last = tried.path.steps
        for feature in self._telling(extra, items):
            further = (*last.further, f"not({feature})")
            yield replace(tried.path, steps=(*above, replace(last, further=further)), cost=tried.cost + 1)
        for held in self._held(items, extra):
            further = (*last.further, held)
            yield replace(tried.path, steps=(*above, replace(last, further=further)), cost=tried.cost + 1)

    def _telling(self, some: Sequence[HtmlElement], others: Sequence[HtmlElement]) -> Iterator[str]:
        for each in self.known.common(some):
            if not any(each in self.known.of(other) for other in others):
                yield each.feature.xpath

    def _held(self, items: Sequence[HtmlElement], extra: Sequence[HtmlElement]) -> Iterator[str]:
        """Yield features that an element within each item has, but no element within superfluous results."""
        sample = items[0]
        counted: Counter[str] = Counter()
        for inner in list(sample.iterdescendants())[:SAMPLES]:
            if not isinstance(inner.tag, str):
                continue
            for each in self.known.of(inner)[:2]:
                if each.cost <= TELLING:
                    counted[RobustStep(name_of(inner), (each.feature,)).test] += 1
        for test in counted:
            selector = Expression(xpath=f"descendant::{test}").selector
            if all(selector.holds(item) for item in items[:SAMPLES]) and not any(map(selector.holds, extra)):
                yield f"descendant::{test}"

    def _joined(self, tried: Sequence[_Tried], pages: Sequence[ItemPage]) -> _Tried | None:
        """Combine the fewest expressions that find only items, preferring those that find most."""
        left = {item for page in pages for item in page.items}
        chosen: list[_Tried] = []
        while left and len(chosen) < MAX_JOINED:
            best = max(tried, key=lambda each: (len(left) - len(left & _all(each.missed)), -each.cost), default=None)
            if best is None or left <= _all(best.missed):
                return None
            chosen.append(best)
            left &= _all(best.missed)
        if left or not chosen:
            return None
        paths = [each.expression.selector.source for each in chosen]
        written = Expression(xpath=" | ".join(paths))
        return self._try(Path((), sum(each.cost for each in chosen)), written, 0, pages)

    def _mostly(self, levels: Sequence[tuple[ItemPage, ...]]) -> tuple[_Tried, ...] | None:
        """Return the expression that most pages agree with, if it finds nothing on pages without items."""
        good: list[tuple[int, float, _Tried]] = []
        for each in self._tried.values():
            pages = levels[each.level]
            full = [exact for exact, page in zip(each.exact, pages, strict=True) if page.items]
            empty = [exact for exact, page in zip(each.exact, pages, strict=True) if not page.items]
            if all(empty) and sum(full) >= max(2, MIN_AGREEING * len(full)):
                good.append((-sum(full), each.cost, each))
        return (min(good, key=lambda one: one[:2])[2],) if good else None


def found_by(written: Expression, root: HtmlElement) -> list[HtmlElement]:
    """Return the elements that an expression finds; none if it fails on this page."""
    try:
        return written.selector.elements(root)
    except XPathError:
        return []


def _all(parts: Iterable[frozenset[HtmlElement]]) -> frozenset[HtmlElement]:
    return frozenset().union(*parts)


def _candidates(levels: Sequence[tuple[ItemPage, ...]], known: Features) -> list[tuple[Path, int]]:
    """Return paths to the items of each level, by cost, followed by paths to only some of the items."""
    found: list[tuple[Path, int]] = []
    parts: list[tuple[Path, int]] = []
    for level, pages in enumerate(levels):
        targets = [(page.root, item) for page in pages for item in page.items]
        found += [(path, level) for path in leading_to(targets, known)]
        if level == 0:
            parts += [
                (path, 0) for group in _alike(targets, known) for path in leading_to(group, known)[:PATHS_OF_PART]
            ]
    found.sort(key=lambda each: each[0].cost + HIGHER * each[1])
    return found + parts


def _alike(
    targets: Sequence[tuple[HtmlElement, HtmlElement]], known: Features
) -> list[list[tuple[HtmlElement, HtmlElement]]]:
    """Group the items by tag and classes, then by each shared name, the largest groups first."""
    by_name: dict[tuple[str, str], list[tuple[HtmlElement, HtmlElement]]] = {}
    by_feature: dict[tuple[str, Feature], list[tuple[HtmlElement, HtmlElement]]] = {}
    for root, item in targets:
        by_name.setdefault((str(item.tag), item.get("class") or ""), []).append((root, item))
        for each in known.of(item):
            by_feature.setdefault((name_of(item), each.feature), []).append((root, item))
    if len(by_name) < 2:
        return []
    named = sorted(by_name.values(), key=len, reverse=True)[:MAX_GROUPS]
    several = [group for group in by_feature.values() if 1 < len(group) < len(targets)]
    shared = sorted(several, key=len, reverse=True)[: 3 * MAX_GROUPS]
    return [*named, *(group for group in shared if group not in named)]


def _differs(path: Path, chosen: Iterable[_Tried]) -> bool:
    """Return whether an expression needs none of the chosen expressions' features, so that it may work if they fail."""
    own = {feature for step in path.steps for feature in step.features}
    taken = {feature for each in chosen for step in each.path.steps for feature in step.features}
    return bool(own) and own.isdisjoint(taken)


def _choices(page: ItemPage) -> Iterator[ItemPage]:
    """Yield a page with its items, then with the elements around them as items."""
    current: ItemPage | None = page if page.items else None
    for _ in range(MAX_ABOVE + 1):
        if current is None:
            return
        yield current
        current = _raised(current)


def _raised(page: ItemPage) -> ItemPage | None:
    """Return a page with the parents of its items as items; None if a parent contains several, or the whole page."""
    above: list[HtmlElement] = []
    for item in page.items:
        parent = item.getparent()
        if parent is None or parent.tag in ("body", "html"):
            return None
        above.append(parent)
    if len(set(above)) < len(above):
        return None
    items = set(page.items)
    if any(not items.isdisjoint(parent.iterancestors()) for parent in above):
        return None
    return replace(page, items=tuple(above))
