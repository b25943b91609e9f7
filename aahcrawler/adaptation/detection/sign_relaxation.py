"""Find names similar to the signs of the knowledge base, as a redesign may have changed these (ARCOMEM, 4.1).

A *mark* is a name of elements on a page: a class, an id, a role. A sign is relaxed by attribute, value (whole, word,
stem), tag and place: an element anywhere on the page with a similar name matches.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from lxml.html import HtmlElement
from Stemmer import Stemmer

from aahcrawler.induction.outline import Outline
from aahcrawler.page import Page
from aahcrawler.page.markup import name_of
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.literals import MIN_LITERAL_LENGTH, rarity, safe_literal
from knowledge_base.matching import Detector
from knowledge_base.model import Application, Extract, KnowledgeBase, Navigate, PageLevel, Pattern, Signal, Strength
from knowledge_base.selectors import Selector, compile_selector, required_literals

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


MAX_ELEMENTS = 6_000
MAX_WORDS = 12
MAX_SIGN_LENGTH = 60
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
        if number > MAX_ELEMENTS:
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
    for token in value.split()[:MAX_WORDS]:
        if len(token) > MAX_SIGN_LENGTH or '"' in token or "\\" in token:
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
    return len(text) >= MIN_LITERAL_LENGTH and rarity(text.lower())[0] >= RARE


def relaxed_signs(patterns: Sequence[Pattern]) -> tuple[Expression, ...]:
    """Return the relaxed forms of all signs of an application."""
    return tuple(dict.fromkeys(each for pattern in patterns for each in relaxed(pattern)))


@dataclass
class Similarity:
    """Compares the signs of a page with those of all applications, at a cost that does not grow with their number.

    Signs that two applications have in common are left out. Nothing is prepared before the first call.
    """

    knowledge_base: KnowledgeBase

    @cached_property
    def _detector(self) -> Detector:
        named = {application: relaxed_signs(application.patterns) for application in self.knowledge_base.applications}
        counts = Counter(written for found in named.values() for written in found)
        applications = tuple(
            Application(each.name, each.kind, tuple(_hints_of(each.patterns, counts)), ()) for each in named
        )
        return Detector(KnowledgeBase(applications))

    def application(self, page: Page) -> Application | None:
        """Return the only application two signs of which a page resembles, more than those of any other."""
        found = self._detector.detect(page).application
        return self._whole.get(found.name) if found is not None else None

    @cached_property
    def _whole(self) -> Mapping[str, Application]:
        return {application.name: application for application in self.knowledge_base.applications}


def _hints_of(patterns: Sequence[Pattern], counts: Counter[Expression]) -> Iterator[Pattern]:
    """Yield each sign relaxed; equal results count once."""
    told: set[Expression] = set()
    for pattern in patterns:
        own = [written for written in relaxed(pattern) if counts[written] == 1 and written not in told]
        told.update(own)
        if own:
            selector = compile_selector(css=", ".join(written.css for written in own))
            literals = required_literals(selector.source)
            if literals:
                yield Pattern(Signal.SELECTOR, Strength.HINT, "", selector=selector, literals=literals)
