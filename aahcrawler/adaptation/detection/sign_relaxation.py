"""Find names similar to the signs of the knowledge base, as a redesign may have changed these (ARCOMEM, 4.1).

A *mark* is a name of elements on a page: a class, an id, a role. A sign is relaxed by attribute, value (whole, word,
stem), tag and place: an element anywhere on the page with a similar name matches.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from lxml.html import HtmlElement

from aahcrawler.adaptation.detection.name_hints import NAMING, Hint, hints_of, named, similarity
from aahcrawler.page.xml_names import name_of
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.literals import SHORTEST_LITERAL, rarity, safe_literal
from knowledge_base.model import Extract, Navigate, PageLevel, Pattern, Signal

MOST_ELEMENTS = 6_000
MOST_WORDS = 12
LONGEST = 60
OF_ITEMS, OF_LINKS = 0.85, 0.7
"""The weight of a name for objects or links of a level, relative to a name for the level."""
RARE = 4
"""Letters beyond common words that a text must have to be the name of a software."""

_PLAIN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
_NUMBERED = re.compile(r"([A-Za-z][A-Za-z_-]*[_-]?)\d+")
_PART = re.compile(r"contains\(\s*@([\w-]+)\s*,\s*(?:'([^']*)'|\"([^\"]*)\")\s*\)|\[?@(href|src)\s*=\s*'([^']*)'")
_SOURCES = {Signal.SCRIPT: ("script", "src"), Signal.LINK: ("link", "href"), Signal.GENERATOR: ("meta", "content")}


class Mark(NamedTuple):
    """A name of an element; ``tag`` is ``*`` for any. With ``begins`` a number follows, another one for each object."""

    tag: str
    attribute: str
    token: str
    begins: bool = False

    @property
    def expression(self) -> Expression:
        """The expression that finds elements of that name."""
        tag = "" if self.tag == "*" else self.tag
        if self.begins:
            return Expression(css=f'{tag}[{self.attribute}^="{self.token}"]')
        if self.attribute in ("class", "id") and _PLAIN.fullmatch(self.token):
            return Expression(css=f"{tag}{'.' if self.attribute == 'class' else '#'}{self.token}")
        return Expression(css=f'{tag}[{self.attribute}~="{self.token}"]')


def marks_on(tree: HtmlElement) -> frozenset[Mark]:
    """Return the names of a page's elements, each with its tag and with any."""
    found: set[Mark] = set()
    for number, element in enumerate(tree.iter("*")):
        if number > MOST_ELEMENTS:
            break
        if element is tree or not isinstance(element.tag, str):
            continue
        for attribute in NAMING:
            value = element.get(attribute)
            if value and len(value) < 400:
                for mark in _marks(name_of(element), attribute, value):
                    found.add(mark)
                    found.add(mark._replace(tag="*"))
    return frozenset(found)


def _marks(tag: str, attribute: str, value: str) -> Iterator[Mark]:
    for token in value.split()[:MOST_WORDS]:
        if len(token) > LONGEST or '"' in token or "\\" in token:
            continue
        numbered = _NUMBERED.fullmatch(token)
        if numbered is None:
            yield Mark(tag, attribute, token)
        elif attribute == "id":
            yield Mark(tag, attribute, numbered[1], begins=True)


Wanted = tuple[tuple[Hint, float], ...]


def hints_of_level(level: PageLevel) -> Wanted:
    """Return the names that identify a level's pages, with their weights: its signs, then its objects."""
    whens = (*level.when, *(each for variant in level.variants for each in variant.when))
    signs = [each.selector for each in whens if each.selector is not None]
    actions = (*level.actions, *(action for variant in level.variants for action in variant.actions))
    items = [item for action in actions if isinstance(action, Extract) for item in action.items]
    links = [each.selector for action in actions if isinstance(action, Navigate) for each in action.sources]
    found: dict[Hint, float] = {}
    for selectors, share in ((signs, 1.0), (items, OF_ITEMS), (links, OF_LINKS)):
        for hint in hints_of(selectors):
            found.setdefault(hint, share)
    return tuple(found.items())


def likest(wanted: Wanted, mark: Mark) -> float:
    """Return the similarity of a mark to the wanted names, in [0, 1]."""
    name = named(mark.attribute, mark.token)
    if name is None:
        return 0.0
    return max((share * similarity(hint, mark.tag, name) for hint, share in wanted), default=0.0)


def is_telling_name(mark: Mark) -> bool:
    """Return whether a mark contains a meaningful word."""
    return not mark.begins and named(mark.attribute, mark.token) is not None


# Signs of applications


@lru_cache(maxsize=10_000)
def relaxed(pattern: Pattern) -> tuple[Expression, ...]:
    """Return the forms of an application's sign with attribute, tag, or all but one of its conditions changed.

    Only names that hardly any other software has are kept, and none for signs outside of the page.
    """
    found: dict[Expression, None] = {}
    if pattern.selector is not None:
        for hint in hints_of((pattern.selector,)):
            if _is_rare(hint.name.token) and _PLAIN.fullmatch(hint.name.token):
                for attribute in ("class", "id"):
                    found[Mark("*", attribute, hint.name.token).expression] = None
        for match in _PART.finditer(pattern.selector.source):
            attribute, text = match[1] or match[4], match[2] or match[3] or match[5] or ""
            if attribute in ("href", "src", "content"):
                found.update(dict.fromkeys(_holding("", attribute, [text])))
    if pattern.signal in _SOURCES:
        tag, attribute = _SOURCES[pattern.signal]
        found.update(dict.fromkeys(_holding(tag, attribute, re.split(r"[/?=&\s]", pattern.value))))
    return tuple(found)


def _holding(tag: str, attribute: str, texts: Iterable[str]) -> Iterator[Expression]:
    for text in texts:
        if _is_rare(text) and safe_literal(text) == text.lower() and "\\" not in text:
            yield Expression(css=f'{tag}[{attribute}*="{text}"]')


def _is_rare(text: str) -> bool:
    return len(text) >= SHORTEST_LITERAL and rarity(text.lower())[0] >= RARE


def relaxed_signs(patterns: Sequence[Pattern]) -> tuple[Expression, ...]:
    """Return the relaxed forms of all signs of an application."""
    return tuple(dict.fromkeys(each for pattern in patterns for each in relaxed(pattern)))
