"""Reads what a segment states of one capture, fast: its description and its objects.

The lines are those of ``aahcrawler.objects.writer``, with one space between their terms: to take them apart so costs a
third of parsing them.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast
from urllib.parse import unquote

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.reader import ObjectRow, PageRow, number_of
from aahcrawler.objects.readings import Method, capture_of, graph_of

_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_MEANT: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_Statements = dict[str, dict[str, list[str]]]


@dataclass(frozen=True, slots=True)
class CaptureStatements:
    """What is stated of a capture: the capture itself, its objects, and the IRIs of those found edited and gone.

    ``former`` is the capture that its objects were compared with, ``read_at`` when it was read again, ISO 8601, empty
    for a first reading. ``row.url`` is empty where nothing is stated.
    """

    row: PageRow
    is_requisite: bool
    objects: tuple[ObjectRow, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    former: str | None = None
    read_at: str = ""


def read_statements(text: bytes) -> CaptureStatements:
    """Return what the statements of one reading of a capture say. Raise ``ValueError`` where a value is none."""
    capture, statements = capture_of(graph_of(text)), _grouped(text.decode("utf-8", "replace"))
    own = statements.get(capture, {})
    later = next((values for subject, values in statements.items() if subject.startswith(v.READING)), None)
    method, read_at = _first(later or {}, v.METHOD), _first(later or {}, v.GENERATED_AT)
    return CaptureStatements(
        row=_page(capture, own, method or Method.FIRST),
        is_requisite=v.REQUISITE in own.get(v.RDF_TYPE, ()),
        objects=tuple(_objects(own, statements)),
        edited=tuple(own.get(v.EDITED, ())),
        deleted=tuple(own.get(v.DELETED, ())),
        former=_first(own, v.REVISION_OF),
        read_at=read_at or "",
    )


def _page(capture: str, own: Mapping[str, list[str]], method: str) -> PageRow:
    score, priority = _first(own, v.SCORE), _first(own, v.PRIORITY)
    relevant, depth = _first(own, v.RELEVANT), _first(own, v.DEPTH)
    return PageRow(
        url=_first(own, v.URL) or "",
        status=int(_first(own, v.STATUS) or 0),
        application=_first(own, v.APPLICATION),
        level=cast('Literal["intermediate", "terminal"] | None', _first(own, v.ROLE)),
        score=None if score is None else float(score),
        fetched_at=_first(own, v.GENERATED_AT) or "",
        relevant=None if relevant is None else relevant == "true",
        level_name=_first(own, v.LEVEL),
        media_type=_first(own, v.FORMAT),
        priority=None if priority is None else float(priority),
        depth=None if depth is None else int(depth),
        via=_first(own, v.VIA),
        capture=capture,
        crawl=number_of(_first(own, v.GENERATED_BY)),
        unchanged=_first(own, v.UNCHANGED_SINCE),
        trap=_first(own, v.TRAP),
        reader=_first(own, v.READER),
        method=method,
        title=_first(own, v.TITLE),
    )


def _objects(own: Mapping[str, list[str]], statements: _Statements) -> Iterator[ObjectRow]:
    for subject, stated in statements.items():
        if v.DERIVED_FROM not in stated or subject.startswith(v.VERSION):
            continue
        author = _first(stated, v.AUTHOR)
        yield ObjectRow(
            url=_first(stated, v.URL) or _first(own, v.URL) or subject,
            type=_first(stated, v.OBJECT_TYPE) or "",
            title=_first(stated, v.TITLE),
            author=None if author is None else _first(statements.get(author, {}), v.NAME) or author,
            date=_first(stated, v.DATE),
            body=_first(stated, v.BODY),
            part_of=_first(stated, v.PART_OF),
            iri=subject,
            inferred=_inferred(stated),
        )


def _inferred(stated: Mapping[str, list[str]]) -> str | None:
    found = sorted(
        f"{unquote(name.removeprefix(v.INFERRED))} ({_value(values[0])})"
        for name, values in stated.items()
        if name.startswith(v.INFERRED)
    )
    return ", ".join(found) or None


def _grouped(text: str) -> _Statements:
    """Return the statements by subject and predicate, their values as they are written but for IRIs."""
    found: _Statements = {}
    for line in text.split("\n"):
        parts = line.split("> ", 2)
        if len(parts) == 3:
            subject, predicate, value = parts
            if value.startswith("<"):
                value = value[1 : value.find(">")]
            values = found.get(subject[1:])
            if values is None:
                values = found[subject[1:]] = {}
            values.setdefault(predicate[1:], []).append(value)
    return found


def _first(values: Mapping[str, list[str]], predicate: str) -> str | None:
    found = values.get(predicate)
    return _value(found[0]) if found else None


def _value(written: str) -> str:
    """Return an IRI as it stands, and the text of a literal; no graph's name has a quotation mark."""
    if not written.startswith('"'):
        return written
    text = written[1 : written.rfind('"')]
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if not code:
        return _MEANT.get(found[3], found[3])
    point = int(code, 16)
    return chr(point) if point <= sys.maxunicode and not 0xD800 <= point < 0xE000 else "\ufffd"
