"""The language of queries: words, phrases, fields and ranges, joined by AND, OR, NOT and parentheses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

MAX_QUERY_LENGTH: Final = 2_000
"""The most characters of a query."""
MAX_TERMS: Final = 64
"""The most words, phrases and ranges of a query."""
_MAX_DEPTH: Final = 20
WORDS: Final = ("text", "title", "author", "person", "organisation", "place", "topic")
WHOLE: Final = ("site", "application", "kind", "type", "language", "media_type", "keyword", "entity", "url")
MOMENTS: Final = ("published", "captured")
NUMBERS: Final = ("score", "status", "crawl")
_OTHER_NAMES: Final = {
    "date": "published",
    "lang": "language",
    "media": "media_type",
    "host": "site",
    "app": "application",
}
FIELDS: Final = (*WORDS, *WHOLE, *MOMENTS, *NUMBERS)
_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<open>\() | (?P<close>\)) | (?P<minus>-(?=[^\s\-]))
      | (?P<field>[A-Za-z_]+):(?!//)(?=\S)
      | "(?P<phrase>[^"]*)"(?:~(?P<slop>\d))?
      | (?P<torn>")
      | \[\s*(?P<from>[^\s\]"]+)\s+TO\s+(?P<to>[^\s\]"]+)\s*\]
      | (?P<word>[^\s()"]+)
    )""",
    re.VERBOSE,
)
_FUZZY: Final = re.compile(r"~([12]?)$")
_RANGE: Final = re.compile(r"(?:(?P<sign><=|>=|<|>)(?P<bound>.+)|(?P<low>[^.].*?|\d*\.\d+|)\.\.(?P<high>.*))$")
_MOMENT: Final = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$")


_MAX_NUMBER: Final = 1 << 60


class QueryError(ValueError):
    """Raised for an invalid query: ``place`` is the position of the first wrong character, counted from 0."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(f"{reason} (at character {place + 1} of the query)")
        self.reason, self.place = reason, place


@dataclass(frozen=True, slots=True)
class Words:
    """A word, or words in sequence, in a field; an empty field means all texts.

    ``distance`` is how many letters may differ; None allows misspelling only if no text has the word. ``slop`` is how
    many words may be between those of a phrase.
    """

    text: str
    field: str = ""
    is_phrase: bool = False
    is_prefix: bool = False
    distance: int | None = None
    slop: int = 0


@dataclass(frozen=True, slots=True)
class Value:
    """A whole value of a field, or its beginning."""

    field: str
    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """Values of a field from ``low`` to below ``high``, moments in seconds since 1970; None means no bound."""

    field: str
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Not:
    """Whatever does not match a query."""

    node: "Node"


@dataclass(frozen=True, slots=True)
class All:
    """Whatever matches each of several queries."""

    nodes: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Some:
    """Whatever matches at least one of several queries."""

    nodes: "tuple[Node, ...]"


Node = Words | Value | Range | Not | All | Some


def parse(query: str) -> Node | None:
    """Parse a query; return None for an empty one, which matches everything. Raises ``QueryError``.

    >>> parse('dike "high water"~2 author:jo')
    All(nodes=(Words(text='dike', field='', is_phrase=False, is_prefix=False, distance=None, slop=0), \
Words(text='high water', field='', is_phrase=True, is_prefix=False, distance=None, slop=2), \
Words(text='jo', field='author', is_phrase=False, is_prefix=False, distance=None, slop=0)))
    """
    if len(query) > MAX_QUERY_LENGTH:
        raise QueryError(f"the query is longer than {MAX_QUERY_LENGTH} characters", MAX_QUERY_LENGTH)
    if not query.strip():
        return None
    node = _Parser(query).whole()
    asked = [*leaves(node)]
    if asked and all(isinstance(each, Words) and not any(map(str.isalnum, each.text)) for each in asked):
        raise QueryError("nothing in it can be looked for; write a word", 0)
    return node


def leaves(node: Node | None) -> Iterator[Words | Value | Range]:
    """Yield the words, values and ranges of a query, without those that must not match."""
    match node:
        case All() | Some():
            for each in node.nodes:
                yield from leaves(each)
        case Words() | Value() | Range():
            yield node
        case _:
            return


def moment(text: str, place: int = 0) -> tuple[int, int]:
    """Return the first second of a year, month or day and the first second after it. Raises ``QueryError``.

    >>> moment("1970-01")
    (0, 2678400)
    """
    found = _MOMENT.match(text)
    try:
        if found is not None:
            year, month, day = (None if part is None else int(part) for part in found.groups())
            begin = datetime(year or 0, month or 1, day or 1, tzinfo=UTC)
            if day is not None:
                end = begin + timedelta(days=1)
            elif month is not None:
                end = (begin + timedelta(days=32)).replace(day=1)
            else:
                end = begin.replace(year=begin.year + 1)
            return int(begin.timestamp()), int(end.timestamp())
        read = datetime.fromisoformat(text)
        begin = read if read.tzinfo else read.replace(tzinfo=UTC)
        return int(begin.timestamp()), int(begin.timestamp()) + 1
    except (ValueError, OverflowError):
        raise QueryError(f"{text!r} is no date; write 2026, 2026-01 or 2026-01-31", place) from None


class _Token(NamedTuple):
    kind: str
    text: str
    place: int
    more: str = ""


class _Parser:
    def __init__(self, query: str) -> None:
        self._tokens = [*_tokens(query)]
        self._at = 0
        self._end = len(query)
        self._terms = 0

    def whole(self) -> Node | None:
        """Parse the whole query."""
        node = self._some("", 0)
        if (token := self._next) is not None:
            raise QueryError(
                "a parenthesis is closed that was not opened; leave it out or put it in quotes", token.place
            )
        return node

    @property
    def _next(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is_next(self, *kinds: str) -> bool:
        return self._next is not None and self._next.kind in kinds

    def _some(self, field: str, depth: int) -> Node:
        nodes = [self._all(field, depth)]
        while self._is_next("OR"):
            self._at += 1
            nodes.append(self._all(field, depth))
        return nodes[0] if len(nodes) == 1 else Some(tuple(nodes))

    def _all(self, field: str, depth: int) -> Node:
        nodes = [self._one(field, depth)]
        while self._next is not None and not self._is_next("OR", "close"):
            if self._is_next("AND"):
                self._at += 1
            nodes.append(self._one(field, depth))
        return nodes[0] if len(nodes) == 1 else All(tuple(nodes))

    def _one(self, field: str, depth: int) -> Node:
        token = self._next
        if token is None or token.kind in ("AND", "OR", "close"):
            place = self._end if token is None else token.place
            raise QueryError("a word is missing here; AND, OR and NOT stand before one", place)
        self._at += 1
        if token.kind in ("minus", "NOT"):
            if depth >= _MAX_DEPTH:
                raise QueryError(f"it is nested more than {_MAX_DEPTH} deep", token.place)
            return Not(self._one(field, depth + 1))
        if token.kind == "open":
            return self._parenthesis(field, depth, token.place)
        if token.kind == "field":
            return self._fielded(token, field, depth)
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise QueryError(f"it has more than {MAX_TERMS} words", token.place)
        return _leaf(field, token)

    def _parenthesis(self, field: str, depth: int, place: int) -> Node:
        if depth >= _MAX_DEPTH:
            raise QueryError(f"it is nested more than {_MAX_DEPTH} deep", place)
        node = self._some(field, depth + 1)
        if not self._is_next("close"):
            raise QueryError("a parenthesis is not closed", place)
        self._at += 1
        return node

    def _fielded(self, token: _Token, within: str, depth: int) -> Node:
        name = token.text.lower()
        name = _OTHER_NAMES.get(name, name)
        if name not in FIELDS:
            known = ", ".join(FIELDS)
            raise QueryError(
                f"{token.text!r} is no field; there are {known}. Put it in quotes to look for it", token.place
            )
        if within:
            raise QueryError(f"{name} stands within {within}", token.place)
        if self._next is None or self._next.kind in ("field", "close", "minus"):
            raise QueryError(f"a value of {name} is missing here", token.place + len(token.text) + 1)
        return self._one(name, depth)


def _tokens(query: str) -> Iterator[_Token]:
    place, query = 0, query.rstrip()
    while place < len(query):
        found = _TOKEN.match(query, place)
        assert found is not None and found.lastgroup is not None  # noqa: S101, PT018 - each sign begins some token
        kind = "range" if found["from"] is not None else "phrase" if found["phrase"] is not None else found.lastgroup
        begin = found.start("from" if kind == "range" else kind)
        if kind == "torn":
            raise QueryError("a quotation mark is not closed", begin)
        if kind == "range":
            yield _Token("range", found["from"], begin, found["to"])
        elif kind == "word" and found["word"] in ("AND", "OR", "NOT"):
            yield _Token(found["word"], "", begin)
        else:
            yield _Token(kind, found[kind], begin, found["slop"] or "")
        place = found.end()


def _leaf(field: str, token: _Token) -> Node:
    if token.kind == "range":
        low, high = (None if bound == "*" else bound for bound in (token.text, token.more))
        return _ranged(field, low, high, token.place)
    if field in MOMENTS or field in NUMBERS:
        return _number(field, token)
    text, is_phrase = token.text, token.kind == "phrase"
    if not is_phrase:
        _refuse_torn(text, token.place)
    is_prefix = not is_phrase and len(text) > 1 and text.endswith("*")
    if field in WHOLE:
        if field == "url" and is_prefix:
            raise QueryError("url takes a whole address; site takes a domain or a host", token.place)
        return Value(field, text.removesuffix("*") if is_prefix else text, is_prefix)
    if not field and not is_phrase and re.match(r"https?://\S", text):
        return Value("url", text)
    fuzzy = None if is_phrase or is_prefix else _FUZZY.search(text)
    if fuzzy is not None:
        return Words(text[: fuzzy.start()], field, distance=int(fuzzy[1] or 1))
    return Words(text.removesuffix("*") if is_prefix else text, field, is_phrase, is_prefix, None, int(token.more or 0))


def _refuse_torn(word: str, place: int) -> None:
    """Raise ``QueryError`` for a word that was meant as part of a field, or of an operator after a word."""
    name = word.removesuffix(":").lower()
    if word.endswith(":") and _OTHER_NAMES.get(name, name) in FIELDS:
        raise QueryError(f"a value of {name} is missing here; no blank may stand before it", place + len(word))
    if word.startswith("~"):
        raise QueryError("behind a phrase, ~ stands with a number from 0 to 9", place)
    if re.fullmatch(r"\w+~\d+", word) and not _FUZZY.search(word):
        raise QueryError("behind a word, ~ stands alone, or with 1 or 2", place)


def _number(field: str, token: _Token) -> Range:
    """Return the range of a value: one value, two with dots between, or a comparison."""
    found = _RANGE.match(token.text)
    if found is None:
        return _ranged(field, token.text, token.text, token.place)
    if found["sign"] is None:
        return _ranged(field, found["low"] or None, found["high"] or None, token.place)
    low, high = _bounds(field, found["bound"], token.place)
    match found["sign"]:
        case "<":
            return Range(field, None, low)
        case "<=":
            return Range(field, None, high)
        case ">":
            return Range(field, high, None)
        case _:
            return Range(field, low, None)


def _ranged(field: str, low: str | None, high: str | None, place: int) -> Range:
    if field not in MOMENTS and field not in NUMBERS:
        names = ", ".join((*MOMENTS, *NUMBERS))
        raise QueryError(f"a range is of one of the fields {names}", place)
    begin = None if low is None else _bounds(field, low, place)[0]
    end = None if high is None else _bounds(field, high, place)[1]
    if begin is not None and end is not None and begin >= end:
        raise QueryError(f"{low} is not before {high}", place)
    return Range(field, begin, end)


def _bounds(field: str, text: str, place: int) -> tuple[float, float]:
    """Return the least value that a text stands for, and the least value above all of them."""
    if field in MOMENTS:
        return moment(text, place)
    try:
        number = float(text) if field == "score" else int(text)
    except ValueError:
        raise QueryError(f"{text!r} is no number", place) from None
    if not -_MAX_NUMBER <= number <= _MAX_NUMBER:
        raise QueryError(f"{text!r} is out of range", place)
    return number, number + (1e-9 if field == "score" else 1)
