"""Derives from an expression the texts that a page must contain for the expression to find anything."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

MIN_LITERAL_LENGTH = 3
"""The length of the shortest useful literal: shorter ones are on most pages."""

MAX_REMEMBERED = 65_536
"""Expressions whose literals are kept: as many as the largest knowledge bases have, and several times so."""

_COMMON_WORDS = """
about action active all alt alternate application archive archives area aria article aside attachment author avatar
back background badge bar base block blockquote blog board body border bottom box breadcrumb breadcrumbs btn button
caption card categories category cell center charset checkbox class clear clearfix click close code col color column
com comment comments container content copyright count css current data date default desc description details dir
disabled display div edit email entry error false feed field figure file first font footer for form forum forums full
generator group head header heading height hidden home hover href html http https icon icons image images img index
info inline inner input item items javascript label lang large last latest layout left len level link links list
loading login logo mail main media member menu message messages meta method middle mobile mode module more name nav
navbar navigation new news next none normal note null number one online open option org outer page pager pages
pagination panel password path photo photos php placeholder plugin popup post posted posts prev previous primary
profile published quote read recent rel reply right role row rss script search second section select share show
sidebar site size small social span src start static status sticky strong style styles stylesheet subject submit
summary svg tab table tag tags target template text textarea theme thread threads thumb thumbnail time title toggle
tool tools top topic topics total true two type unread update updated url user username users value version video view
views visible web website widget widgets width wiki window wrap wrapper www xml your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words of HTML, CSS and of the web that stand on pages of any software: elements, attributes, classes, URLs."""

_WORD = re.compile(r"[a-z]+")
_AFTER = b"\"' >/\t\n\r\f"
_QUOTES = (b'"', b"'")
_MAX_NAME_LENGTH = 80
"""Bytes before a value in which its attribute's name stands."""
_MAX_VALUE_LENGTH = 2048
"""Bytes of an attribute's value, up to a word, that are looked through for its start."""

_STRING = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_UNSAFE = re.compile(r"""[&<>"'\s\x00-\x1f]|[^\x00-\x7f]""")
_UNDECIDED = re.compile(
    r"""\bor\b|!=|\b(?:translate|substring-before|substring-after|count|boolean|string-length|false)\s*\(
    |\bconcat\s*\([^()]*'_+[^()]*""",
    re.VERBOSE,
)
"""Matches a predicate whose literals are not required in the page."""

_PATH = re.compile(r"\(*\s*(?:\.|/|@|\*|[\w-]+::|[\w-]+\s*(?:[/\[)]|$))")
_BRACKET = re.compile(r"[\[\]()|]")
_NEGATION = re.compile(r"\bnot\s*\(")


class Place(Enum):
    """Where a text has to occur: anywhere, or in the value of an attribute as its start, as a word, or as all of it."""

    ANYWHERE = auto()
    START = auto()
    WORD = auto()
    WHOLE = auto()


@dataclass(frozen=True, slots=True)
class Need:
    """A text that a page must contain, in lower case, and where it has to occur."""

    text: str
    place: Place = Place.ANYWHERE
    attribute: str = ""

    def stands(self, source: bytes, start: int) -> bool:
        """Return whether the text, found at ``start`` of a source, occurs where it has to.

        Returns True in doubt, but may miss a value that contains nested quotation marks.
        """
        if self.place is Place.ANYWHERE:
            return True
        end = start + len(self.text)
        if self.place is not Place.START and end < len(source) and source[end] not in _AFTER:
            return False
        opening = start
        if self.place is Place.WORD and source[start - 1 : start].isspace() and not _follows_sign(source, start):
            first = max(0, start - _MAX_VALUE_LENGTH)
            opening = max(source.rfind(b'"', first, start), source.rfind(b"'", first, start)) + 1
        return self._begins(source, opening)

    def _begins(self, source: bytes, opening: int) -> bool:
        """Return whether a value of the attribute begins there, with or without quotation marks."""
        if source[max(0, opening - 1) : opening] in _QUOTES:
            opening -= 1
        if not _follows_sign(source, opening):
            return False
        name = source[max(0, opening - _MAX_NAME_LENGTH) : opening].rstrip()[:-1].rstrip()
        return name.lower().endswith(self.attribute.lower().encode())


def _follows_sign(source: bytes, place: int) -> bool:
    return source[max(0, place - _MAX_NAME_LENGTH) : place].rstrip().endswith(b"=")


def safe_literal(text: str) -> str:
    """Return the longest part of a text that is written in markup byte for byte: ASCII that needs no escapes.

    >>> safe_literal("MyBB & friends")
    'friends'
    """
    return max(_UNSAFE.split(text), key=len, default="").lower()


def rarity(literal: str) -> tuple[int, int]:
    """Return a sort key for how rare a literal probably is: by its letters beyond common words, then by its length.

    >>> rarity("phpbb") > rarity("post-content")
    True
    """
    common = sum(len(word) for word in _WORD.findall(literal) if word in _COMMON or word.removesuffix("s") in _COMMON)
    return len(literal) - common, len(literal)


def rarest(needs: tuple[Need, ...]) -> Need:
    """Return the need that the fewest pages are likely to meet."""
    return max(needs, key=lambda need: (rarity(need.text), need.place.value))


@lru_cache(MAX_REMEMBERED)
def required_literals(expression: str) -> tuple[str, ...]:
    """Return literals of which every matching page contains at least one; none where that cannot be derived.

    Only literals that every match needs count: predicates with alternatives, negations or computed texts give none.

    >>> required_literals("//body[@id='phpbb'] | //a[contains(@href,'viewtopic.php')]")
    ('phpbb', 'viewtopic.php')
    >>> required_literals("//a[@id='one' or @class='two']")
    ()
    >>> required_literals("//a[@rel='author'][not(ancestor::div[@id='comments'])]")
    ('author',)
    """
    return tuple(rarest(needs).text for needs in required_together(expression))


def required_together(expression: str) -> tuple[tuple[Need, ...], ...]:
    """Return, for each branch of a union, all texts that a page contains where that branch finds something.

    Empty where that cannot be derived for one of its branches.

    >>> required_together("//b[@id='foo']")
    ((Need(text='foo', place=<Place.WHOLE: 4>, attribute='id'),),)
    """
    together = []
    for branch in branches(expression):
        needs = dict.fromkeys(need for predicate in _decided(branch) for need in _needs(predicate))
        together.append(tuple(need for need in needs if len(need.text) >= MIN_LITERAL_LENGTH))
    return tuple(together) if all(together) else ()


_NEEDED = re.compile(
    r"""(?:@(?P<whole>[\w-]+)\s*=\s*|starts-with\(\s*@(?P<start>[\w-]+)\s*,\s*
    |contains\(\s*concat\('\ ',\s*normalize-space\(@(?P<word>[\w-]+)\),\s*'\ '\),\s*)?
    (?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")""",
    re.VERBOSE,
)


def _needs(predicate: str) -> Iterator[Need]:
    """Yield the needs in the strings of a predicate."""
    for found in _NEEDED.finditer(predicate):
        text = found["single"] or found["double"] or ""
        literal = safe_literal(text)
        place, attribute = Place.ANYWHERE, ""
        for name, asked in (("whole", Place.WHOLE), ("start", Place.START), ("word", Place.WORD)):
            if found[name] and literal == (text.strip() if name == "word" else text).lower():
                place, attribute = asked, found[name]
        yield Need(literal, place, attribute)


def branches(expression: str) -> list[str]:
    """Split a union into its branches; a ``|`` within a string or a predicate does not count.

    >>> branches("//a | //b[c | d]")
    ['//a ', ' //b[c | d]']
    """
    if "|" not in expression:
        return [expression]
    depth, start, found = 0, 0, []
    for sign in _BRACKET.finditer(masked(expression)):
        if sign[0] != "|":
            depth += 1 if sign[0] in "([" else -1
        elif depth == 0:
            found.append(expression[start : sign.start()])
            start = sign.end()
    return [*found, expression[start:]]


def _decided(branch: str) -> Iterator[str]:
    """Yield the predicates of a path that every result satisfies, with their negations removed."""
    hidden = masked(branch)
    if not _PATH.match(hidden.strip()):
        return
    for start, end in predicates(hidden):
        inner, shown = without_negations(hidden[start:end], branch[start:end])
        if not _UNDECIDED.search(inner):
            yield shown


def masked(text: str) -> str:
    """Replace the characters within strings, so that they are not taken for syntax; blanks are kept."""
    return _STRING.sub(lambda match: "'" + re.sub(r"\S", "_", match.group()[1:-1]) + "'", text)


def predicates(hidden: str) -> list[tuple[int, int]]:
    """Return the extents of the outermost predicates of a masked path, without their brackets."""
    depth, start, found = 0, 0, []
    for sign in re.finditer(r"[\[\]]", hidden):
        if sign[0] == "[":
            depth += 1
            start = sign.end() if depth == 1 else start
        else:
            depth -= 1
            if depth == 0:
                found.append((start, sign.start()))
    return found


def without_negations(hidden: str, text: str) -> tuple[str, str]:
    """Remove every ``not(...)`` from a predicate and from its masked form, which has the same length."""
    while (negation := _NEGATION.search(hidden)) is not None:
        depth, end = 1, negation.end()
        while end < len(hidden) and depth:
            depth += (hidden[end] == "(") - (hidden[end] == ")")
            end += 1
        start = negation.start()
        hidden, text = hidden[:start] + hidden[end:], text[:start] + text[end:]
    return hidden, text
