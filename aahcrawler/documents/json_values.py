"""Reads JSON and JSON Lines in the reader's child process: text and links of the values, and values to be compared."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from aahcrawler.documents.content import About, CutError, Piece, SentFile, TextMark, sheets
from aahcrawler.documents.formats import JSON
from aahcrawler.page.transcript import Sheet

MAX_LINE: Final = 10_000_000
"""Characters of one document of a file of lines, and of a document of its own."""
_HEAD: Final = 8
_WRITTEN_OUT: Final = 20
"""Digits up to which numbers are written without an exponent, as in RFC 8785."""

Json = object


class _Number(str):
    """A number as canonical text."""

    __slots__ = ()


def contents(file: SentFile) -> tuple[About, Iterator[Sheet]]:
    """Return how many values a file of lines has, and sheets with their texts, each value a line.

    Raise ``SyntaxError`` for a line that is no JSON, which it names.
    """
    is_single = file.media_type == JSON
    entries = None if is_single else sum(1 for _ in _documents(file))
    return About(entries=entries), sheets(_pieces(_documents(file)))


def parts(file: SentFile) -> Iterator[str]:
    """Yield the values of a file as canonical JSON, in which the order of members and the spelling of numbers are one.

    A line is a part, and so is each object of an array of objects: they are rows, whose order says nothing. Of an
    object each member is one, as the array of its name and its value. All other arrays are values with an order. Raise
    ``SyntaxError`` for what is no JSON.
    """
    is_single = file.media_type == JSON
    for document in _documents(file):
        if is_single and isinstance(document, dict):
            for name, value in document.items():
                yield from (canonical([name, each]) for each in _rows(value))
        else:
            yield from map(canonical, _rows(document) if is_single else (document,))


def canonical(value: Json) -> str:
    """Return a value of JSON as text that equal values share (after RFC 8785), with numbers as exact as they came.

    >>> canonical(parsed('{"b": 1.50, "a": [1e2, "x"]}'))
    '{"a": [100, "x"], "b": 1.5}'
    """
    match value:
        case dict():
            members = (f"{json.dumps(name, ensure_ascii=False)}: {canonical(value[name])}" for name in sorted(value))
            return "{" + ", ".join(members) + "}"
        case list():
            return "[" + ", ".join(map(canonical, value)) + "]"
        case _Number():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def parsed(text: str) -> Json:
    """Return a value of JSON; of equal names the last counts. Raise ``ValueError`` for what is no JSON."""
    return json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_refused)


def _rows(value: Json) -> Iterable[Json]:
    """Return the objects of an array of objects, else the value itself."""
    return value if isinstance(value, list) and value and all(isinstance(each, dict) for each in value) else (value,)


def _documents(file: SentFile) -> Iterator[Json]:
    """Yield the values of a file in their order; text sequences begin each with a record separator."""
    text = io.TextIOWrapper(io.BytesIO(file.body), file.encoding, errors="replace", newline="\n")
    lines: Iterable[str] = text
    if file.media_type == JSON:
        lines = [text.read()]
    elif b"\x1e" in file.body[:_HEAD]:
        lines = text.read().split("\x1e")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            message = f"a value of more than {MAX_LINE:,} characters"
            raise CutError(message)
        if not line.strip():
            continue
        try:
            yield parsed(line.removeprefix("\ufeff"))
        except ValueError as error:
            message = f"value {number} is no JSON: {error}"
            raise SyntaxError(message) from error


def _pieces(documents: Iterable[Json]) -> Iterator[Piece]:
    """Yield the texts of each value, a line for it."""
    for document in documents:
        yield " \N{MIDDLE DOT} ".join(_texts(document))
        yield TextMark.PARAGRAPH_END


def _texts(value: Json) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case _Number():
                pass
            case str() as text if text.strip():
                yield text.strip()
            case Mapping() as members:
                waiting += reversed(list(members.values()))
            case list() as values:
                waiting += reversed(values)


def _number(written: str) -> _Number:
    """Return a number in the one form that it has: 1.50 is 1.5, 1e2 is 100, and -0 is 0."""
    try:
        sign, digits, exponent = Decimal(written).as_tuple()
    except InvalidOperation:  # Its exponent has more than 18 digits.
        return _Number(written)
    text = "".join(map(str, digits)).lstrip("0")
    if not text or not isinstance(exponent, int):
        return _Number("0")
    exact = text.rstrip("0")
    exponent += len(text) - len(exact)
    minus, point = "-" if sign else "", len(exact) + exponent
    if exponent >= 0 and point <= _WRITTEN_OUT + 1:
        return _Number(minus + exact + "0" * exponent)
    if 0 < point <= len(exact):
        return _Number(f"{minus}{exact[:point]}.{exact[point:]}")
    if -_WRITTEN_OUT < point <= 0:
        return _Number(f"{minus}0.{'0' * -point}{exact}")
    return _Number(f"{minus}{exact}e{exponent}")


def _refused(constant: str) -> Json:
    message = f"{constant} is no number of JSON"
    raise ValueError(message)
