"""Induce how objects without elements are cut out of their container: their signatures and their headings."""

from collections.abc import Sequence
from dataclasses import replace

from lxml.html import HtmlElement

from aahcrawler.page.text import excerpt, fold
from aahcrawler.wrapper_induction.element_features import Features
from aahcrawler.wrapper_induction.examples import Label, LabelledExample
from aahcrawler.wrapper_induction.item_selectors import Budget, ItemInduction, ItemPage, found_by
from aahcrawler.wrapper_induction.robust_paths import Expression, compiled
from aahcrawler.wrapper_induction.samples import comparable
from knowledge_base.model import Run
from knowledge_base.selectors import Selector

AUTHOR, TITLE = "author", "title"
LONGEST = 300
LEAST_PAGES = 2


def cut(
    run: Run, examples: Sequence[LabelledExample], containers: Sequence[ItemPage], known: Features, budget: Budget
) -> Run:
    """Return how a schema cuts its containers, completed by missing headings and signatures of the examples.

    ``containers`` has, for each example, the one item that was found for it, or None. A part that no expression finds
    exactly stays as it was.
    """
    titled = _parts(examples, containers, TITLE)
    if any(page.items for page in titled):
        # What is around a heading's words are at most tools, which the helper leaves out.
        heading = _finding(titled, known, budget, around=True)
        run = replace(run, headings=(*compiled(heading), *run.headings))
    signed = _parts(examples, containers, AUTHOR)
    if not _all_found(run.signature, signed):
        run = replace(run, signature=(*run.signature, *compiled(_finding(signed, known, budget))))
    return run


def _parts(examples: Sequence[LabelledExample], containers: Sequence[ItemPage], name: str) -> tuple[ItemPage, ...]:
    """Return the elements whose whole text is a value of a field, within the container of each page that has one."""
    found: list[ItemPage] = []
    for example, container in zip(examples, containers, strict=True):
        for root in container.items[:1]:
            within = set(root.iterdescendants())
            labels = (labelled.labels[name] for labelled in example.objects if name in labelled.labels)
            shown = (label.elements[0] for label in labels if _says(label))
            items = dict.fromkeys(each for each in shown if isinstance(each, HtmlElement) and each in within)
            found.append(ItemPage(root, container.size, tuple(items)))
    return tuple(found)


def _says(label: Label) -> bool:
    """Return whether all that the one element of a label shows is its value."""
    return len(label.elements) == 1 and fold(excerpt(label.elements[0], LONGEST)) == comparable(label.value)


def _finding(
    parts: tuple[ItemPage, ...], known: Features, budget: Budget, *, around: bool = False
) -> tuple[Expression, ...]:
    """Return the expressions that find these elements and no others; none if there are no such expressions.

    ``around`` says that an element may be found in place of the one that it holds.
    """
    if sum(bool(page.items) for page in parts) < LEAST_PAGES:
        # The names of one page's headings may contain only their words.
        return ()
    items = ItemInduction(parts, known, True, budget).run()
    if items is None or not all(
        found.items == page.items or (around and _hold(found.items, page.items))
        for found, page in zip(items.pages, parts, strict=True)
    ):
        return ()
    return items.expressions[:1]


def _hold(found: Sequence[HtmlElement], wanted: Sequence[HtmlElement]) -> bool:
    """Return whether each element is, or holds, the wanted one of the same number."""
    pairs = zip(found, wanted, strict=False)
    return len(found) == len(wanted) and all(inner in (outer, *outer.iterdescendants()) for outer, inner in pairs)


def _all_found(selectors: Sequence[Selector], parts: Sequence[ItemPage]) -> bool:
    """Return whether expressions find each of some elements, or an element around or in it."""
    for page in parts:
        found = {each for selector in selectors for each in found_by(Expression.of(selector), page.root)}
        for item in page.items:
            if found.isdisjoint((*item.iter(), *item.iterancestors())):
                return False
    return True
