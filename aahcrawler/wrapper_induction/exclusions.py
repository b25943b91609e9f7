"""Find expressions for the parts of a value's element that do not belong to the value: notes, signatures, buttons."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from lxml.html import HtmlElement

from aahcrawler.page.text import plain_text
from aahcrawler.page.xml_names import name_of
from aahcrawler.wrapper_induction.element_features import TELLING_TAGS, Features, cost_of_tag, is_beside
from aahcrawler.wrapper_induction.item_selectors import found_by
from aahcrawler.wrapper_induction.robust_paths import Expression, Path, Step, leading_to
from aahcrawler.wrapper_induction.samples import Sample

MOST_WITHOUT = 6
MOST_UNLIKE = 0.34
"""The share of bodies that may contain parts which are left out of the others."""

MOST_CONDITIONS = 6
MOST_NARROWED = 12
MOST_INNER = 40
TELLING = 2.0
"""The cost of names up to which the content of a part serves to distinguish it."""

FEWEST = 3
"""The number of objects from which a part of only one of them is no evidence for the template."""

_ENDS = ("following-sibling", "preceding-sibling")
_TEXTUAL = frozenset(
    {"p", "ul", "ol", "li", "dl", "pre", "code", "table", "figure", "blockquote", "h2", "h3", "h4", "h5", "h6", "em"}
    | {"strong", "b", "i", "u", "a", "img", "br", "*"}
)


def left_out(
    samples: Sequence[Sample], targets: Sequence[HtmlElement], earlier: tuple[Expression, ...], known: Features
) -> tuple[Expression, ...]:
    """Return expressions for the parts of the values' elements, the ``targets``, that do not belong to the values.

    ``earlier`` are the expressions of the schema; they are kept. Nothing is returned if all parts belong to the values.
    """
    unwanted = [_unwanted(sample, target) for sample, target in zip(samples, targets, strict=True)]
    if not any(unwanted):
        return ()
    found: list[Expression] = []
    by_name: dict[tuple[str, str], list[tuple[HtmlElement, HtmlElement]]] = {}
    for target, parts in zip(targets, unwanted, strict=True):
        for part in parts:
            by_name.setdefault((str(part.tag), part.get("class") or ""), []).append((target, part))
    allowed = [frozenset(inner for part in parts for inner in part.iter()) for parts in unwanted]
    for pairs in sorted(by_name.values(), key=len, reverse=True)[:MOST_WITHOUT]:
        if any(all(part in found_by(each, target) for target, part in pairs) for each in (*earlier, *found)):
            continue
        if not _is_typical(pairs, targets):
            continue
        best = _only(pairs, targets, allowed, known)
        if best is not None and best not in found:
            found.append(best)
    return (*found, *earlier)


def _only(
    pairs: Sequence[tuple[HtmlElement, HtmlElement]],
    targets: Sequence[HtmlElement],
    allowed: Sequence[frozenset[HtmlElement]],
    known: Features,
) -> Expression | None:
    """Return the first expression that finds only parts that may be left out, else the best with few exceptions."""
    paths = leading_to(pairs, known)
    best: tuple[int, Expression] | None = None
    named = [path for path in paths if _is_apart(path) and any(step.features for step in path.steps)]
    bare = [path for path in paths if _is_apart(path) and path not in named]
    for path in chain(named, _narrowed(paths, [part for _, part in pairs], known), bare):
        written = path.written()
        found = [found_by(written, target) for target in targets]
        wrong = sum(
            any(element not in may and plain_text(element) for element in here)
            for here, may in zip(found, allowed, strict=True)
        )
        if not wrong:
            return written
        if wrong <= MOST_UNLIKE * len(targets) and (best is None or wrong < best[0]):
            best = wrong, written
    return best[1] if best is not None else None


def _narrowed(paths: Sequence[Path], parts: Sequence[HtmlElement], known: Features) -> Iterator[Path]:
    """Yield paths with one more condition: a feature that all parts contain, or that they are first or last."""
    conditions = [f"descendant::{test}" for test in _held(parts, known)]
    conditions += [
        f"not({axis}::*)" for axis in _ENDS if not any(map(Expression(xpath=f"{axis}::*").selector.holds, parts))
    ]
    for condition in conditions[:MOST_CONDITIONS]:
        for path in paths[:MOST_NARROWED]:
            if path.steps:
                *above, last = path.steps
                yield replace(path, steps=(*above, replace(last, further=(*last.further, condition))))


def _held(parts: Sequence[HtmlElement], known: Features) -> Iterator[str]:
    """Yield the tests that something within each part meets, those of telling names and tags first."""
    found: dict[str, float] = {}
    for inner in list(parts[0].iterdescendants())[:MOST_INNER]:
        if isinstance(inner.tag, str):
            if inner.tag in TELLING_TAGS:
                found.setdefault(inner.tag, cost_of_tag(inner.tag))
            for each in known.of(inner)[:2]:
                found.setdefault(Step(name_of(inner), (each.feature,)).test, each.cost)
    for test in sorted(found, key=lambda each: found[each]):
        if found[test] <= TELLING and all(map(Expression(xpath=f"descendant::{test}").selector.holds, parts)):
            yield test


def _unwanted(sample: Sample, target: HtmlElement) -> tuple[HtmlElement, ...]:
    """Return the parts of a value's element that do not belong to the value."""
    label = sample.label
    if label is None:
        return ()
    parts = [part for part in label.without if isinstance(part, HtmlElement)]
    if target not in label.elements:
        own = frozenset(label.elements)
        parts += [child for child in target if child not in own and isinstance(child.tag, str) and plain_text(child)]
    return tuple(parts)


def _is_apart(path: Path) -> bool:
    """Return whether a path identifies parts by more than the position of a paragraph."""
    last = path.steps[-1] if path.steps else None
    if last is None or any(step.further for step in path.steps):
        return False
    return bool(last.features) or last.tag not in _TEXTUAL


def _is_typical(pairs: Sequence[tuple[HtmlElement, HtmlElement]], targets: Sequence[HtmlElement]) -> bool:
    """Return whether the parts belong to the template: several objects have them, or their names suggest it."""
    several = len({target for target, _ in pairs}) > 1 or len(targets) < FEWEST
    return several or all(is_beside(part) or not any(map(str.isalpha, plain_text(part))) for _, part in pairs)
