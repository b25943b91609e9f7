"""Find features of a template's elements, ordered by the probability that each will last: names, not numbers or states.

The costs order features by how much a template would have to change to lose them, following the robustness of Dalvi,
Bohannon and Sha ("Robust web extraction", SIGMOD 2009): names of content outlive names of layout, those outlive bare
tags, and features that differ from page to page or from row to row do not count at all.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

WORD_OF_CONTENT: Final = 1.0
WORD: Final = 1.6
WORD_OF_LAYOUT: Final = 4.0
BARE_TAG: Final = 3.5
TELLING_TAG: Final = 1.6
NAMED_BY_DATA: Final = 0.4
OPAQUE: Final = 3.2
"""The cost of a meaningless name as made by programs, which may differ after the next change."""

MAX_WORDS = 16
"""The most class names of one element that are used."""

MAX_REMEMBERED = 4_096
"""How many words' meanings are cached."""

MAX_VALUE_LENGTH = 2_000
"""A longer attribute is no name."""

_NAME = re.compile(r"[A-Za-z][A-Za-z_-]{1,39}")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_NUMBERED = re.compile(r"([A-Za-z](?:[A-Za-z0-9_-]*?[A-Za-z_-])?)(\d{1,19})")
_HASHED = re.compile(r"([A-Za-z][A-Za-z-]*(?:_[A-Za-z-]+)*(?:__|--|-|_))(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{4,12}")
_OPAQUE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{2,39}")
_PARTICULAR = re.compile(
    r"(?:^|[-_])(?:category|cat|tag|term|tax|author|user|by|group|rank|forum|topic|depth|level|format|status)[-_]",
    re.IGNORECASE,
)
"""Beginnings of names that mostly describe one object rather than all objects of a template."""

_TURNS = re.compile(r"(?:odd|even|alt)(?:box|row|line|item|post|comment|bg)?", re.IGNORECASE)
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_DATA = re.compile(r"data-[a-z]+(?:-[a-z]+)*")
_SAID = re.compile(r"author|user|name|title|lang|tag|categor|status|state|time|date|value|url|href|src")
"""Names of data attributes that describe one object."""

_HREF_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z][A-Za-z_-]{2,}[/=.?]")
_PROGRAMS = frozenset({"php", "html", "htm", "asp", "aspx", "jsp", "cgi", "index", "www"})
"""Words that occur in URLs of all kinds."""

_ADDRESS_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z][A-Za-z_-]{2,}")
_ABBREVIATION = 4
_FEW_ALIKE = 4

_STATE_WORDS = """
odd even first last alt alternate active current selected open opened closed new unread read hot sticky highlight
highlighted hidden visible loaded collapsed expanded online offline js no-js noscript locked checked disabled
enabled own self unreads announce global bypostauthor solved unsolved best featured pinned
"""
_STATES = frozenset(_STATE_WORDS.split())
_LAYOUT_WORDS = """
row rows col cols column columns container wrapper wrap inner outer clear clearfix left right center middle top
bottom pull float bg box block panel card grid flex inline small large big tiny text-muted muted btn button cell
section region item items main page site layout full half third width auto align padding margin border shadow
rounded bold white dark light media fluid hover group list table tbody tr td span div d sm md lg xl xs px py mx my
mt mb ml mr pt pb pl pr
"""
_LAYOUT = frozenset(_LAYOUT_WORDS.split())
_CONTENT_WORDS = """
post posts comment comments reply replies message messages msg answer answers question topic thread article entry
story body content text prose author user username poster name member by byline nick profile date time datetime
published posted created timestamp stamp title subject heading headline permalink signature sig quote summary
description bio
"""
_CONTENT = frozenset(_CONTENT_WORDS.split())
_BESIDE_WORDS = """
footer header meta share sharing related author bio comment comments nav sidebar tags widget signature sig newsletter
subscribe ad ads licence license copyright edit edited editor lastedit modified toolbar buttons controls actions report
"""
_BESIDE = frozenset(_BESIDE_WORDS.split())
TELLING_TAGS = frozenset({"time", "article", "h1", "h2", "h3", "main", "cite", "address", "blockquote", "dl", "header"})


class Match(StrEnum):
    """The ways of comparing the value of an attribute."""

    WORD = "~="
    EQUAL = "="
    PART = "*="
    END = "$="
    PRESENT = ""
    NUMBERED = "#"
    """The value is a text followed by a whole number."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of an element: a condition on an attribute."""

    attribute: str
    match: Match
    value: str = ""

    def __hash__(self) -> int:
        # The hash of an enum's member is a call of its own, which would be half of the cost of induction.
        return hash((self.attribute, self.value))

    @property
    def css(self) -> str | None:
        """Return the feature as a CSS selector; None if CSS cannot express it."""
        if self.match is Match.NUMBERED:
            return None
        if self.match is Match.WORD and self.attribute == "class":
            return f".{self.value}"
        if self.match is Match.EQUAL and self.attribute == "id":
            return f"#{self.value}"
        return f'[{self.attribute}{self.match}"{self.value}"]' if self.match else f"[{self.attribute}]"

    @property
    def xpath(self) -> str:
        """The predicate, without its brackets."""
        at, value = f"@{self.attribute}", f"'{self.value}'"
        match self.match:
            case Match.WORD:
                return f"contains(concat(' ', normalize-space({at}), ' '), ' {self.value} ')"
            case Match.EQUAL:
                return f"{at} = {value}"
            case Match.PART:
                return f"contains({at}, {value})"
            case Match.END:
                length = len(self.value) - 1
                return f"substring({at}, string-length({at}) - {length}) = {value}"
            case Match.NUMBERED:
                rest = f"substring({at}, {len(self.value) + 1})"
                return f"starts-with({at}, {value}) and number({rest}) = number({rest})"
            case Match.PRESENT:
                return at


@dataclass(frozen=True, slots=True)
class Weighed:
    """A feature and its cost: the lower the cost, the longer the feature will probably last."""

    feature: Feature
    cost: float

    def __hash__(self) -> int:
        return hash(self.feature)


def features(element: HtmlElement, foreign: Collection[str] = ()) -> tuple[Weighed, ...]:
    """Return the features of an element, the cheapest first; words in ``foreign`` belong to the page, not the template.

    >>> from lxml.html import fromstring
    >>> [each.feature.css or each.feature.xpath for each in features(fromstring('<div class="row odd post x9f2ab">'))]
    ['.post', '.x9f2ab', '.row']
    """
    found: dict[Feature, float] = {}
    for feature, cost in _all(element, foreign):
        found[feature] = min(cost, found.get(feature, cost))
    ranked = sorted(found.items(), key=lambda each: (each[1], each[0].attribute, each[0].value))
    return tuple(Weighed(feature, cost) for feature, cost in ranked)


def _all(element: HtmlElement, foreign: Collection[str]) -> Iterator[tuple[Feature, float]]:
    for name, written in element.attrib.items():
        if isinstance(name, str) and isinstance(written, str) and len(written) <= MAX_VALUE_LENGTH:
            yield from _of_attribute(name, written, foreign)


def _of_attribute(name: str, written: str, foreign: Collection[str]) -> Iterator[tuple[Feature, float]]:
    if name == "class":
        yield from _classes(written.split()[:MAX_WORDS], foreign)
    elif name == "id":
        yield from _identifier(written, foreign)
    elif name == "href":
        yield from _reference(written, foreign)
    elif name in _LISTS_OF_WORDS:
        words = (word for word in written.split()[:4] if _PROPERTY.fullmatch(word) and word not in _RELATIONS)
        yield from ((Feature(name, Match.WORD, word), _LISTS_OF_WORDS[name]) for word in words)
    elif name == "itemtype" and _NAME.fullmatch(kind := written.rstrip("/").rpartition("/")[2]):
        yield Feature(name, Match.END, f"/{kind}"), WORD_OF_CONTENT
    elif _DATA.fullmatch(name):
        yield from _data(name, written, foreign)
    elif name in _PRESENT:
        yield Feature(name, Match.PRESENT), _PRESENT[name]


_LISTS_OF_WORDS = {
    "itemprop": WORD_OF_CONTENT,
    "rel": WORD_OF_CONTENT,
    "property": WORD_OF_CONTENT,
    "typeof": WORD_OF_CONTENT,
    "role": WORD,
}
_PRESENT = {"datetime": WORD, "title": WORD_OF_LAYOUT, "name": WORD_OF_LAYOUT, "content": WORD_OF_LAYOUT}
_PROPERTY = re.compile(r"[A-Za-z][A-Za-z:-]{1,39}")
_RELATIONS = frozenset({"nofollow", "noopener", "noreferrer", "external", "ugc", "sponsored"})


def _classes(words: Sequence[str], foreign: Collection[str]) -> Iterator[tuple[Feature, float]]:
    if len(words) == 1 and (stem := numbered_stem(words[0])):
        yield Feature("class", Match.NUMBERED, stem), 1.0 + cost_of_word(stem.strip("-_"))
    for word in words:
        if _is_foreign(word, foreign):
            continue
        if is_name(word):
            yield Feature("class", Match.WORD, word), cost_of_word(word)
            continue
        hashed = _HASHED.fullmatch(word)
        numbered = _NUMBERED.fullmatch(word)
        stem = hashed[1] if hashed else numbered[1] if numbered else ""
        if len(stem) > 2 and is_name(stem.strip("-_")):
            yield Feature("class", Match.PART, stem), 1.0 + cost_of_word(stem.strip("-_"))
        elif _is_opaque(word):
            yield Feature("class", Match.WORD, word), OPAQUE


def _data(name: str, written: str, foreign: Collection[str]) -> Iterator[tuple[Feature, float]]:
    """Yield the features of a data attribute: words in its value, then its presence or value, which say less."""
    words = [] if _SAID.search(name) else [word for word in written.split()[:MAX_WORDS] if is_name(word)]
    named = [word for word in words if not _is_foreign(word, foreign)]
    yield from ((Feature(name, Match.WORD, word), NAMED_BY_DATA + cost_of_word(word)) for word in named)
    yield Feature(name, Match.PRESENT), WORD + (1.0 if named else 0.0)


def _is_opaque(word: str) -> bool:
    """Return whether a class of letters and digits may be a name, rather than a state or a measure of a grid."""
    if not _OPAQUE_NAME.fullmatch(word) or word.casefold() in _STATES:
        return False
    spoken = {piece.lower() for piece in pieces_of(word)}
    return not spoken <= _LAYOUT and not word[-1:].isdigit()


def _identifier(written: str, foreign: Collection[str]) -> Iterator[tuple[Feature, float]]:
    if is_name(written) and not _is_foreign(written, foreign):
        yield Feature("id", Match.EQUAL, written), cost_of_word(written)
    elif _is_opaque(written):
        yield Feature("id", Match.EQUAL, written), OPAQUE + 1.0
    stem = numbered_stem(written)
    if stem:
        yield Feature("id", Match.NUMBERED, stem), 0.4 + cost_of_word(stem.strip("-_"))


def _reference(written: str, foreign: Collection[str]) -> Iterator[tuple[Feature, float]]:
    path = re.sub(r"^[a-z]+:|//[^/?]*", "", written[:500], flags=re.IGNORECASE).partition("#")[0]
    for word in _HREF_WORD.findall(path)[:4]:
        if _is_foreign(word[:-1], foreign):
            continue
        programs = word[:-1].lower() in _PROGRAMS
        yield Feature("href", Match.PART, word), 1.0 + (WORD_OF_LAYOUT if programs else cost_of_word(word[:-1]))
    yield Feature("href", Match.PRESENT), WORD_OF_LAYOUT


@lru_cache(MAX_REMEMBERED)
def is_name(word: str) -> bool:
    """Return whether a class or id is a name given by a template, rather than a number, a state or a hash.

    >>> [is_name(word) for word in ("post-body", "odd", "post-12", "css-1x9k", "bdVaJa", "threadItem", "hQyTzWk")]
    [True, False, False, False, False, True, False]
    """
    if not _NAME.fullmatch(word) or word.casefold() in _STATES:
        return False
    pieces = pieces_of(word)
    if any(map(_TURNS.fullmatch, pieces)):
        return False
    spoken = len(word) <= _ABBREVIATION or any(_VOWEL.search(piece) for piece in pieces)
    changes = len(re.findall(r"[a-z][A-Z]", word))
    mixed = changes > 1 and len(word) < _FEW_ALIKE * (changes + 1)
    short = sum(len(piece) < 3 for piece in pieces)
    return spoken and not mixed and (short <= len(pieces) / 2 or len(word) <= _ABBREVIATION)


def _is_foreign(word: str, foreign: Collection[str]) -> bool:
    """Return whether a name is a foreign word, or contains a foreign word of several parts, such as a page's title."""
    lowered = word.casefold()
    return lowered in foreign or any("-" in each and each in lowered for each in foreign)


def words_of_pages(urls: Collection[str]) -> frozenset[str]:
    """Return the words that the URLs of pages do not share, because these name the subjects of pages.

    >>> sorted(words_of_pages(["http://a.test/post/ice.html", "http://a.test/post/ferry.html"]))
    ['ferry', 'ice']
    """
    words = [{word.casefold() for word in _ADDRESS_WORD.findall(url.partition("//")[2])} for url in urls]
    if len(words) < 2:
        return frozenset(word for found in words for word in found if "-" in word)
    return frozenset(set.union(*words) - set.intersection(*words))


def pieces_of(word: str) -> tuple[str, ...]:
    """Return the words of which a name is made.

    >>> pieces_of("post-bodyText")
    ('post', 'body', 'Text')
    """
    return tuple(piece for part in re.split(r"[-_]+", word) for piece in _PIECES.findall(part))


@lru_cache(MAX_REMEMBERED)
def cost_of_word(word: str) -> float:
    """Return the cost of a name: names of content are the cheapest, names of layout the most expensive.

    >>> cost_of_word("post-body"), cost_of_word("shoutbox"), cost_of_word("panel-inner")
    (1.0, 1.6, 4.0)
    """
    pieces = [piece.lower() for piece in pieces_of(word)]
    if pieces and _LAYOUT.issuperset(pieces):
        return WORD_OF_LAYOUT
    cost = WORD if _CONTENT.isdisjoint(pieces) else WORD_OF_CONTENT
    return cost + (WORD_OF_CONTENT if _PARTICULAR.search(word) else 0.0)


def is_beside(element: Element) -> bool:
    """Return whether an element's own name marks it as an addition to a text rather than the text."""
    names = (*(element.get("class") or "").split(), element.get("id") or "")
    return any(piece.lower() in _BESIDE for name in names for piece in pieces_of(name))


def numbered_stem(written: str) -> str:
    """Return the text before the number at the end of an identifier; empty if it has no number there.

    >>> numbered_stem("post_12"), numbered_stem("p7"), numbered_stem("post"), numbered_stem("12")
    ('post_', 'p', '', '')
    """
    found = _NUMBERED.fullmatch(written) if len(written) <= 80 else None
    return found[1] if found else ""


def cost_of_tag(tag: str) -> float:
    """Return the cost of a step that has only a tag name."""
    return TELLING_TAG if tag in TELLING_TAGS else BARE_TAG


class Features:
    """Caches the features of elements while one action is induced."""

    def __init__(self, foreign: Collection[str] = ()) -> None:
        self._foreign = foreign
        self._known: dict[HtmlElement, tuple[Weighed, ...]] = {}
        self._same: dict[tuple[Weighed, ...], tuple[Weighed, ...]] = {}

    def of(self, element: HtmlElement) -> tuple[Weighed, ...]:
        """Return the features of an element, the cheapest first."""
        known = self._known.get(element)
        if known is None:
            known = features(element, self._foreign)
            known = self._known[element] = self._same.setdefault(known, known)
        return known

    def common(self, elements: Iterable[HtmlElement]) -> tuple[Weighed, ...]:
        """Return the features that all of the elements have, the cheapest first."""
        kept: tuple[Weighed, ...] | None = None
        for element in elements:
            here = self.of(element)
            if kept is None:
                kept = here
            elif kept and here is not kept and here != kept:
                kept = tuple(each for each in kept if each in here)
            if not kept:
                break
        return kept or ()
