"""Write the result of a query: a table for people, JSON and CSV for programs, Turtle for statements."""

import csv
import json
from collections.abc import Iterator
from enum import StrEnum
from typing import TextIO

import pyoxigraph as ox
from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from aahcrawler.objects.vocabulary import XSD
from offline.store.queries import PREFIXES, QueryError, QueryResult, Statements, Table, Term


class ResultFormat(StrEnum):
    """The formats of query results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TTL = "ttl"


_PARTS = ("subject", "predicate", "object")
_TEXTS = frozenset({f"{XSD}string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"})
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CONTROLS = {code: " " if chr(code).isspace() else "�" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


def write(result: QueryResult, output_format: ResultFormat, out: TextIO) -> int:
    """Write a result and return its number of rows or triples, 1 for ASK.

    JSON is SPARQL 1.1's for rows and for ASK, and JSON-LD for statements. In CSV, text that a spreadsheet would read as
    a formula gets an apostrophe in front. A table shows control characters of pages as spaces or U+FFFD, so that they
    do not reach a terminal. Raises ``QueryError`` if the format does not suit the result.
    """
    match result, output_format:
        case Statements(triples), ResultFormat.TTL | ResultFormat.JSON:
            return _write_statements(triples, output_format, out)
        case Statements(triples), _:
            return _write_rows(Table(_PARTS, (tuple(triple) for triple in triples)), output_format, out)
        case _, ResultFormat.TTL:
            raise QueryError("ttl is for CONSTRUCT and DESCRIBE; write --format table, json or csv")
        case Table(), _:
            return _write_rows(result, output_format, out)
        case _:
            yes = bool(result)
            truth = json.dumps({"head": {}, "boolean": yes}) if output_format is ResultFormat.JSON else str(yes).lower()
            out.write(truth + "\n")
            return 1


def _write_rows(table: Table, output_format: ResultFormat, out: TextIO) -> int:
    match output_format:
        case ResultFormat.JSON:
            return _write_json(table, out)
        case ResultFormat.CSV:
            return _write_csv(table, out)
        case _:
            return _write_table(table, out)


def _write_json(table: Table, out: TextIO) -> int:
    out.write(f'{{"head": {json.dumps({"vars": table.names})}, "results": {{"bindings": [')
    count = 0
    for count, row in enumerate(table.rows, 1):
        cells = {name: _json(term) for name, term in zip(table.names, row, strict=True) if term is not None}
        out.write(("" if count == 1 else ",") + "\n" + json.dumps(cells, ensure_ascii=False))
    out.write("\n]}}\n")
    return count


def _write_csv(table: Table, out: TextIO) -> int:
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(table.names)
    return sum(bool(writer.writerow([_cell(term) for term in row])) for row in table.rows)


def _write_table(table: Table, out: TextIO) -> int:
    shown = RichTable(*(Column(Text(name), overflow="fold") for name in table.names))
    for row in table.rows:
        shown.add_row(*(Text(_text(term).translate(_CONTROLS)) for term in row))
    Console(file=out).print(shown)
    return shown.row_count


def _write_statements(triples: Iterator[ox.Triple], output_format: ResultFormat, out: TextIO) -> int:
    kept = list(dict.fromkeys(triples))
    rdf = ox.RdfFormat.TURTLE if output_format is ResultFormat.TTL else ox.RdfFormat.JSON_LD
    serialized = ox.serialize(kept, format=rdf, prefixes=dict(PREFIXES)) or b""
    out.write(serialized.decode().rstrip("\n") + "\n")
    return len(kept)


def _json(term: Term) -> dict[str, str]:
    match term:
        case ox.NamedNode():
            return {"type": "uri", "value": term.value}
        case ox.Literal():
            fields = {"type": "literal", "value": term.value}
            if term.language:
                return fields | {"xml:lang": term.language}
            return fields if term.datatype.value in _TEXTS else fields | {"datatype": term.datatype.value}
        case ox.BlankNode():
            return {"type": "bnode", "value": term.value}
        case _:
            raise QueryError("statements about statements have no place in an answer; select their parts")


def _cell(term: Term | None) -> str:
    text = _text(term)
    is_text = isinstance(term, ox.Literal) and term.datatype.value in _TEXTS
    return f"'{text}" if is_text and text.startswith(_FORMULA) else text


def _text(term: Term | None) -> str:
    if term is None:
        return ""
    return term.value if isinstance(term, ox.NamedNode | ox.Literal) else str(term)
