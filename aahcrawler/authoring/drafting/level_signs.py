"""Finds the sign of a level: what is on its pages and on no other page that was given."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.authoring.drafting.address_groups import ROLES
from aahcrawler.authoring.drafting.level_plans import LevelPlan
from aahcrawler.authoring.drafting.pattern_drafting import Sign, is_template_name
from aahcrawler.authoring.drafting.software_names import SHORTEST_NAME, bare
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.element_features import cost_of_word
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.matching import Sight
from knowledge_base.model import Condition
from knowledge_base.selectors import BadExpressionError
from knowledge_base.url_rules import ParsedUrl, UrlRule

MOST_NAMES = 60
"""Classes and ids of a page that are tried as the sign of its level."""
MOST_ELEMENTS = 20_000

_SORT_OF_PAGE = re.compile(
    r"topic|thread|single|article|question|entry|story|photo|video|album|track|forum|categor|archive|list|view",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LevelSign:
    """A sign in the form of a file, and whether it holds on pages of the level alone, as far as any were given."""

    attributes: Mapping[str, str]
    distinct: bool = True


@dataclass(frozen=True)
class LevelSigns:
    """Finds the signs of levels. ``pages`` are all that were given, ``signs`` those of the software or of the site."""

    pages: Sequence[Page]
    signs: Sequence[Sign]
    of_site: bool

    def of(self, level: LevelPlan, item: Expression | None, *, bare_item: bool) -> tuple[LevelSign, ...]:
        """Return the signs that hold on all pages of the level and on no other page that was given, the best first.

        ``item`` finds the main objects of the level; with ``bare_item`` it may be a sign without a URL. Where no
        sign is of these pages alone, the last one is the shape of the level's URLs with whatever is on its pages.
        """
        others = [Sight(page) for page in self.pages if page not in level.pages]
        own = [Sight(page) for page in level.pages]
        found: list[LevelSign] = []
        for attributes, condition in self._conditions(level, item, bare_item=bare_item):
            all_of = (condition, *_beyond(condition, level))
            if all(_meets(sight, all_of) for sight in own) and not any(_meets(sight, all_of) for sight in others):
                found.append(LevelSign(attributes))
        if found or not level.pages:
            return tuple({tuple(sorted(each.attributes.items())): each for each in found}.values())
        return (LevelSign(level.shape.attributes(), distinct=False),)

    def _conditions(
        self, level: LevelPlan, item: Expression | None, *, bare_item: bool
    ) -> Iterator[tuple[dict[str, str], Condition]]:
        path, rule = level.shape.attributes(), level.shape.rule
        if level.pages:
            for word in _body_words(level.pages):
                yield from _both(Expression(css=word), {}, None)
        if item is not None and not item.css.startswith("body"):
            if bare_item:
                yield from _both(item, {}, None)
            yield from _both(item, path, rule)
        for sign in self.signs:
            if sign.expression is not None:
                yield from _both(sign.expression, path, rule)
        if self.of_site or level.pages or not any(sign.expression for sign in self.signs):
            yield path, Condition(None, rule)
        for name in self._names(level):
            yield from _both(Expression(css=name), path, rule)

    def _names(self, level: LevelPlan) -> Iterator[str]:
        """Yield the classes and ids that all pages of a level have and no other page, the likeliest to stay first."""
        if not level.pages:
            return
        names = set.intersection(*(_names_of(page) for page in level.pages))
        shared = {name for name in names if not any(_is_about(name, page) for page in level.pages)}
        foreign = set[str]().union(*(_names_of(page) for page in self.pages if page not in level.pages))
        yield from sorted(shared - foreign, key=lambda each: (cost_of_word(each[1:]), each))[:MOST_NAMES]


def _beyond(condition: Condition, level: LevelPlan) -> Iterator[Condition]:
    """Yield a condition for each further shape of a level's URLs."""
    if condition.rule is not None:
        yield from (replace(condition, rule=shape.rule) for shape in level.beyond)


def _meets(sight: Sight, conditions: Iterable[Condition]) -> bool:
    return any(map(sight.meets, conditions))


def _both(
    expression: Expression, path: Mapping[str, str], rule: UrlRule | None
) -> Iterator[tuple[dict[str, str], Condition]]:
    """Yield the condition of an expression and a URL; nothing where the expression cannot be used."""
    try:
        yield {**expression.attributes(), **path}, Condition(expression.selector, rule)
    except (BadExpressionError, XPathError):
        return


def _names_of(page: Page) -> set[str]:
    found: set[str] = set()
    for number, element in enumerate(page.tree.iter()):
        if number == MOST_ELEMENTS:
            break
        if isinstance(element, HtmlElement) and isinstance(element.tag, str) and element.tag != "html":
            words = ((".", word) for word in (element.get("class") or "").split())
            names = [*words, ("#", element.get("id") or "")]
            found.update(f"{mark}{name}" for mark, name in names if is_template_name(name))
    return found


def _body_words(pages: Sequence[Page]) -> Iterable[str]:
    """Return the classes of body that name a sort of page, and not what one of the pages is about."""
    body = next(iter(pages[0].tree.iter("body")), None)
    words: Sequence[str] = (body.get("class") or "").split() if body is not None else ()
    telling = [word for word in words if is_template_name(word) and _SORT_OF_PAGE.search(word)]
    return [f"body.{word}" for word in sorted(telling, key=len) if not any(_is_about(word, page) for page in pages)]


def _is_about(name: str, page: Page) -> bool:
    """Return whether a name holds what stands at the end of a page's URL, which is what the page is about."""
    segments = [part for part in ParsedUrl.parse(page.url).segments if part]
    subject = bare(segments[-1].partition(".")[0]) if segments else ""
    return len(subject) >= SHORTEST_NAME and subject not in ROLES and subject in bare(name)
