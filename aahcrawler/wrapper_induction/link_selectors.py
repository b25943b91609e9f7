"""Learn navigation actions from pages whose links were found in another way than by the actions of the file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.wrapper_induction.element_features import Features
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.item_selectors import MIN_FIT, found_by
from aahcrawler.wrapper_induction.robust_paths import Expression, Path, leading_to
from knowledge_base.selectors import BadExpressionError

MIN_PAGES = 2
MAX_TARGETS = 12
"""From how many links of one page expressions are made; they are tried on all links."""
MAX_TRIED = 40
MAX_COST = 6.0
"""An expression with a higher cost (`aahcrawler.wrapper_induction.robust_paths.Path`) is too vague."""

ANY = Expression(css="a[href]")


@dataclass(frozen=True, slots=True, eq=False)
class LabelledLinks:
    """The wanted links of one page to pages of a level; ``counted`` returns the URL of a link if it counts."""

    url: str
    tree: HtmlElement
    fetched_at: datetime
    links: dict[str, HtmlElement]
    counted: Callable[[str, HtmlElement], str | None]
    method: Method
    size: int

    def found(self, elements: Sequence[HtmlElement]) -> frozenset[str]:
        """Return the URLs among links that count."""
        urls = (self.counted(element.get("href") or "", element) for element in elements)
        return frozenset(url for url in urls if url is not None)


def induce_links(examples: Sequence[LabelledLinks], *, documented: bool) -> tuple[Expression, bool] | None:
    """Return an expression that finds the links of all examples and no others; None if there is none.

    If ``documented`` URLs identify the level, the last resort is any link with such a URL; the second value is True
    then.
    """
    if len(examples) < MIN_PAGES or any(not example.links for example in examples):
        return None
    targets = [(each.tree, link) for each in examples for link in tuple(each.links.values())[:MAX_TARGETS]]
    for written in _candidates(targets):
        if _agrees(written, examples):
            return written, False
    return (ANY, True) if documented else None


def find_links(links: Sequence[HtmlElement], tree: HtmlElement) -> tuple[Expression, float] | None:
    """Return the expression that best finds the given links of a page, and its fit; None if none finds most of them.

    The fit is the harmonic mean of precision and recall, at least `MIN_FIT`; among expressions with the same fit, the
    one that will probably last longest is returned.
    """
    wanted = frozenset(links)
    best: tuple[Expression, float] | None = None
    for expression in _candidates([(tree, link) for link in links[:MAX_TARGETS]]):
        found = frozenset(found_by(expression, tree))
        fit = 2 * len(found & wanted) / (len(found) + len(wanted))
        if fit > (best[1] if best is not None else 0):
            best = expression, fit
    return best if best is not None and best[1] >= MIN_FIT else None


def _candidates(targets: Sequence[tuple[HtmlElement, HtmlElement]]) -> Iterator[Expression]:
    """Yield expressions that find all targets in their trees, those that will probably last longest first."""
    known = Features()
    paths = (path for path in leading_to(targets, known) if path.steps and path.cost <= MAX_COST and _is_place(path))
    found = dict.fromkeys(path.written() for path in paths)
    yield from list(found)[:MAX_TRIED]


def _is_place(path: Path) -> bool:
    """Return whether a path describes the place of links, not their URLs.

    The knowledge base itself describes URLs.
    """
    return all(feature.attribute != "href" for step in path.steps for feature in step.features)


def _agrees(written: Expression, examples: Sequence[LabelledLinks]) -> bool:
    try:
        selector = written.selector
        return all(example.found(selector.elements(example.tree)) == example.links.keys() for example in examples)
    except (BadExpressionError, XPathError):
        return False
