"""Learns navigation actions of pages on which links were found by other means than by those of the file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.features import Features
from aahcrawler.wrapper_induction.robust_paths import Expression, Path, leading_to
from knowledge_base.selectors import BadExpressionError

LEAST_PAGES = 2
MOST_TARGETS = 12
"""Links of one page by which expressions are made; all are looked at when these are tried."""
MOST_TRIED = 40
MOST_COST = 6.0
"""The cost of an expression (see `aahcrawler.adaptation.learner.paths.Path`) beyond which it says too little."""

ANY = Expression(css="a[href]")


@dataclass(frozen=True, slots=True, eq=False)
class LabelledLinks:
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


def induce_links(examples: Sequence[LabelledLinks], *, documented: bool) -> tuple[Expression, bool] | None:
    """Return an expression that finds the links of all examples and no others, None where there is none.

    Where ``documented`` addresses tell the level, the last resort is any link of such an address; the second value
    says so.
    """
    if len(examples) < LEAST_PAGES or any(not example.links for example in examples):
        return None
    for written in _candidates(examples):
        if _agrees(written, examples):
            return written, False
    return (ANY, True) if documented else None


def _candidates(examples: Sequence[LabelledLinks]) -> Iterator[Expression]:
    targets = [
        (example.tree, element) for example in examples for element in tuple(example.links.values())[:MOST_TARGETS]
    ]
    known = Features()
    paths = (path for path in leading_to(targets, known) if path.steps and path.cost <= MOST_COST and _is_place(path))
    found = dict.fromkeys(path.written() for path in paths)
    yield from list(found)[:MOST_TRIED]


def _is_place(path: Path) -> bool:
    """Say whether a path tells where links stand; what their addresses are says the knowledge base."""
    return all(feature.attribute != "href" for step in path.steps for feature in step.features)


def _agrees(written: Expression, examples: Sequence[LabelledLinks]) -> bool:
    try:
        selector = written.selector
        return all(example.found(selector.elements(example.tree)) == example.links.keys() for example in examples)
    except (BadExpressionError, XPathError):
        return False
