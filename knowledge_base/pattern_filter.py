"""Finds the detection patterns that can match a page, at a cost that hardly depends on the number of patterns."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ahocorasick_rs import BytesAhoCorasick, Implementation

from knowledge_base.literals import (
    MIN_LITERAL_LENGTH,
    Need,
    Place,
    rarest,
    required_literals,
    required_together,
    safe_literal,
)
from knowledge_base.model import Application, Pattern, Signal

_DELIMITER = b"\x01"
_OTHER = b"\x02"


def _symbol(byte: int) -> int:
    sign = bytes((byte,))
    if sign.isalpha():
        return sign.lower()[0]
    if sign.isdigit():
        return ord("0")
    if sign in _DELIMITERS:
        return _DELIMITER[0]
    return ord("-") if 32 < byte < 127 else _OTHER[0]


_DELIMITERS = tuple(sign.encode() for sign in "\"'= \t\n\r\f")
_SYMBOLS = bytes(map(_symbol, range(256)))
"""Bytes as the automaton sees them: fewer than 32 symbols, since its tables, and the memory that a page makes it look
at, grow with their number rounded up to a power of two."""

_FRONT = frozenset({Signal.URL, Signal.HEADER, Signal.COOKIE})
_COST = {
    Signal.HOST: 0,
    Signal.URL: 0,
    Signal.HEADER: 0,
    Signal.COOKIE: 0,
    Signal.GENERATOR: 1,
    Signal.SCRIPT: 2,
    Signal.LINK: 2,
    Signal.TEXT: 2,
    Signal.SELECTOR: 3,
}


@dataclass(frozen=True, slots=True, eq=False)
class _Owner:
    """A pattern that can match where its anchor was found, if the page contains its other texts as well."""

    application: Application
    pattern: Pattern
    others: tuple[bytes, ...]


class Candidates:
    """Finds the patterns whose required texts a page contains; immutable after its construction.

    URL and header fields are one source, the body is another; case does not matter.
    """

    def __init__(self, applications: Iterable[Application]) -> None:
        signs = [(application, pattern) for application in applications for pattern in application.patterns]
        self._front = _Anchors(sign for sign in signs if sign[1].signal in _FRONT)
        self._body = _Anchors(sign for sign in signs if sign[1].signal not in _FRONT)

    def on(self, front: bytes, body: bytes) -> Mapping[Application, tuple[Pattern, ...]]:
        """Return the patterns that can match a page, by application, cheap ones first."""
        found: defaultdict[Application, dict[Pattern, None]] = defaultdict(dict)
        for owner in (*self._front.seen(front), *self._body.seen(body)):
            found[owner.application][owner.pattern] = None
        return {application: tuple(sorted(patterns, key=_cost)) for application, patterns in found.items()}


class _Anchors:
    """An index by anchors: the anchor of a pattern is the text, of those it requires together, that is probably rarest.

    One automaton searches for all anchors in one pass; the other texts are searched for where the anchor was found.
    """

    def __init__(self, signs: Iterable[tuple[Application, Pattern]]) -> None:
        owners: defaultdict[Need, list[_Owner]] = defaultdict(list)
        for application, pattern in signs:
            for together in needs(pattern):
                anchor = rarest(together)
                others = dict.fromkeys(
                    need.text.encode().translate(_SYMBOLS) for need in together if need.text not in anchor.text
                )
                owners[anchor].append(_Owner(application, pattern, tuple(others)))
        self._owners = [tuple(found) for found in owners.values()]
        self._anchors = [(anchor, anchor.text.encode()) for anchor in owners]
        texts = [_symbols_of(anchor) for anchor in owners]
        self._automaton = BytesAhoCorasick(texts, implementation=Implementation.DFA) if texts else None

    def seen(self, source: bytes) -> Iterator[_Owner]:
        """Yield the owners of the anchors found in a source together with their other texts."""
        if self._automaton is None:
            return
        held: dict[bytes, bool] = {}
        symbols = source.translate(_SYMBOLS)
        for index in self._standing(source, self._automaton.find_matches_as_indexes(symbols, overlapping=True)):
            for owner in self._owners[index]:
                for text in owner.others:
                    if text not in held:
                        held[text] = text in symbols
                    if not held[text]:
                        break
                else:
                    yield owner

    def _standing(self, source: bytes, matches: Iterable[tuple[int, int, int]]) -> set[int]:
        standing: set[int] = set()
        for index, _, end in matches:
            if index not in standing:
                anchor, text = self._anchors[index]
                start = end - len(text)
                if source[start:end].lower() == text and anchor.stands(source, start):
                    standing.add(index)
        return standing


def _symbols_of(anchor: Need) -> bytes:
    """Return the automaton's symbols for a need: a text at the start of a value or a word follows a delimiter."""
    delimiter = b"" if anchor.place is Place.ANYWHERE else _DELIMITER
    return delimiter + anchor.text.encode().translate(_SYMBOLS)


def needs(pattern: Pattern) -> tuple[tuple[Need, ...], ...]:
    """Return sets of texts: where a pattern matches, the page contains all texts of one set; none for hosts.

    >>> from knowledge_base.model import Strength
    >>> needs(Pattern(Signal.TEXT, Strength.HINT, "", "Runs on Foo", literals=("runs",)))
    ((Need(text='runs', place=<Place.ANYWHERE: 1>, attribute=''),),)
    """
    alone = tuple((Need(literal),) for literal in pattern.literals)
    if pattern.signal is Signal.GENERATOR:
        first = pattern.value.lower().split()[0]
        plain = len(first) >= MIN_LITERAL_LENGTH and safe_literal(first) == first
        return ((Need(first, Place.START, "content"),),) if plain else alone
    source = pattern.selector.source if pattern.selector is not None else ""
    together = required_together(source)
    if not together:
        return alone
    if len(alone) != 1 or pattern.literals == required_literals(source):
        return together
    return tuple((*texts, *alone[0]) for texts in together)


def _cost(pattern: Pattern) -> int:
    source = pattern.selector.source if pattern.selector else ""
    return _COST[pattern.signal] + source.startswith(("descendant::*", "//*")) + source.count(" | ")
