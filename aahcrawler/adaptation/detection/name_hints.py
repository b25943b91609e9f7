"""Extract from expressions the names and words they look for, which remain useful when the expressions fail.

An expression that finds nothing may still show that posts are called posts: its attribute, its value, a token or the
stem of a word of it, and the name of the tag can each change by itself (ARCOMEM, section 4.1).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from Stemmer import Stemmer

from aahcrawler.induction.outline import Outline
from knowledge_base.selectors import Selector

NAMING = ("class", "id", "itemprop", "itemtype", "role", "rel", "name", "property", "data-role", "data-type")
"""Attributes whose values name the purpose of an element."""

OTHER_TAG, OTHER_ATTRIBUTE, OTHER_TOKEN, STEM = 0.05, 0.1, 0.2, 0.35
"""The loss of a name's similarity if the tag, the attribute, some of the words, or their endings differ."""

_LITERAL = re.compile(r"@([\w-]+)|'([^']*)'|\"([^\"]*)\"")
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
_TEST = re.compile(r"(?:[\w-]+::)?([\w*-]+|\.|@[\w-]+)")
_LAYOUT_WORDS = """
    row col column container wrap wrapper inner outer clear clearfix left right center middle top bottom float box
    block xs sm md lg xl bg panel card grid flex small large text odd even first last item list table main page site
    layout section div span
"""
_LAYOUT = frozenset(_LAYOUT_WORDS.split())


@dataclass(frozen=True, slots=True)
class Name:
    """A name that an element has: the attribute, its token without digits, and the stems of the words in it."""

    attribute: str
    token: str
    stems: frozenset[str]


@dataclass(frozen=True, slots=True)
class Hint:
    """A name that an expression looks for, and the tag; ``*`` for any tag."""

    tag: str
    name: Name


@lru_cache(maxsize=20_000)
def named(attribute: str, token: str) -> Name | None:
    """Return the name in a token of an attribute, None if it contains no meaningful word.

    >>> named("class", "postBody").stems == frozenset({"post", "bodi"}), named("class", "col-md-8")
    (True, None)
    """
    words = [word.lower() for word in _WORD.findall(token)]
    stems = frozenset(_stemmer().stemWord(word) for word in words if word not in _LAYOUT)
    return Name(attribute, token.strip("-_0123456789"), stems) if stems else None


@lru_cache(maxsize=4_000)
def hints(source: str) -> tuple[Hint, ...]:
    """Return the names that an XPath expression looks for, in the last step of each of its branches.

    >>> [(hint.tag, hint.name.token) for hint in hints("//div[@id='x']/p[starts-with(@id, 'post_')] | //li")]
    [('p', 'post')]
    """
    found: dict[Hint, None] = {}
    for branch in _split(source, "|"):
        steps = [step for step in _split(branch, "/") if step.strip()]
        for step in reversed(steps):
            test = _TEST.match(step.strip())
            if test and not test[1].startswith(("@", ".")) and not step.strip().startswith("text("):
                found.update(dict.fromkeys(_of_step(test[1], step)))
                break
    return tuple(found)


def hints_of(selectors: Iterable[Selector]) -> tuple[Hint, ...]:
    """Return the names that several expressions look for."""
    return tuple(dict.fromkeys(hint for selector in selectors for hint in hints(selector.source)))


def similarity(hint: Hint, tag: str, name: Name) -> float:
    """Return the similarity of an element's name to the wanted one, in [0, 1]; 0 without a common word."""
    wanted = hint.name
    shared = wanted.stems & name.stems
    if not shared:
        return 0.0
    lost = 0.0 if hint.tag in ("*", tag) else OTHER_TAG
    lost += 0.0 if wanted.attribute == name.attribute else OTHER_ATTRIBUTE
    if wanted.token == name.token:
        return 1.0 - lost
    if wanted.stems <= name.stems or name.stems <= wanted.stems:
        whole = len(wanted.stems | name.stems)
        return max(0.0, 1.0 - lost - OTHER_TOKEN * (1 + (whole - len(shared)) / whole))
    return max(0.0, 1.0 - lost - OTHER_TOKEN - STEM)


class NameTable:
    """The names of a page's elements: the places of each, by tag."""

    def __init__(self, outline: Outline) -> None:
        self.places: Mapping[tuple[str, Name], list[int]] = defaultdict(list)
        by_stem: dict[str, dict[tuple[str, Name], None]] = defaultdict(dict)
        for place in range(1, len(outline.elements)):
            for name in dict.fromkeys(_names(outline, place)):
                key = (outline.tags[place], name)
                self.places[key].append(place)
                for stem in name.stems:
                    by_stem[stem][key] = None
        self._by_stem = by_stem

    def like(self, hints: Iterable[Hint]) -> Mapping[tuple[str, Name], float]:
        """Return the names of the page similar to a wanted one, and the similarity."""
        found: dict[tuple[str, Name], float] = {}
        for hint in hints:
            for stem in sorted(hint.name.stems):  # A set has another order in each process.
                for tag, name in self._by_stem.get(stem, ()):
                    found[tag, name] = max(found.get((tag, name), 0.0), similarity(hint, tag, name))
        return {key: value for key, value in found.items() if value > 0}


def _names(outline: Outline, place: int) -> Iterator[Name]:
    element = outline.elements[place]
    for attribute in NAMING:
        value = element.get(attribute)
        if not value or len(value) > 400:
            continue
        for token in value.split()[:12]:
            name = named(attribute, token.rpartition("/")[2] if attribute == "itemtype" else token)
            if name is not None:
                yield name


def _of_step(tag: str, step: str) -> Iterator[Hint]:
    attribute = ""
    for match in _LITERAL.finditer(step):
        if match[1]:
            attribute = match[1]
            continue
        for token in (match[2] or match[3] or "").split():
            name = named(attribute, token) if attribute in NAMING else None
            if name is not None:
                yield Hint(tag, name)


def _split(source: str, mark: str) -> list[str]:
    """Split an expression at a mark outside of brackets and quotes."""
    parts, depth, quote, begin = [], 0, "", 0
    for at, sign in enumerate(source):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif sign == mark and not depth:
            parts.append(source[begin:at])
            begin = at + 1
    return [*parts, source[begin:]]


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer:
    return Stemmer("english")
