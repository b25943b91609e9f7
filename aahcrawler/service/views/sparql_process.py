"""Answer SPARQL queries in a process that can be killed, since a query may take any time and any memory.

    python -m aahcrawler.service.views.sparql_process

Each line of the input is a request in JSON: ``store`` (the folder of a store), ``query``, and the limits ``rows`` and
``bytes``. A response is a line of JSON with ``fault`` (a word for the error, or empty) and ``size``, followed by so
many bytes: SPARQL results in JSON, or a message on the error.
"""

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from aahcrawler.jobs import bound_memory
from offline.store.local import StoreError, reading
from offline.store.queries import QueryError, QueryResult, Statements, Table, Term, ask
from offline.store.result_writer import ResultFormat, write

MEMORY: Final = 2 << 30
"""Bytes of address space that a response may take beside what the process has at its beginning."""
_FAULTS: Final = {QueryError: "query", StoreError: "store", MemoryError: "memory", OverflowError: "large"}


@dataclass(frozen=True, slots=True)
class _Request:
    """One query, and the bounds of its response."""

    store: Path
    query: str
    rows: int
    bytes: int


class _Bounded(io.StringIO):
    """A text buffer that raises ``OverflowError`` beyond the size limit of a response."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def write(self, text: str, /) -> int:
        """Take text."""
        self._left -= len(text)
        if self._left < 0:
            raise OverflowError("the answer is too large; add LIMIT, or select fewer variables")
        return super().write(text)


def main() -> None:
    """Answer until the input ends."""
    bound_memory(MEMORY)
    respond_to_all(sys.stdin.buffer, sys.stdout.buffer)


def respond_to_all(requests: BinaryIO, responses: BinaryIO) -> None:
    """Answer one request after another."""
    for line in requests:
        told = json.loads(line)
        fault, text = _response_to(_Request(Path(told["store"]), told["query"], told["rows"], told["bytes"]))
        body = text.encode("utf-8", "replace")
        responses.write(json.dumps({"fault": fault, "size": len(body)}).encode() + b"\n" + body)
        responses.flush()


def _response_to(request: _Request) -> tuple[str, str]:
    """Return a word for the error, empty for none, and the response."""
    try:
        with reading(request.store) as store:
            out = _Bounded(request.bytes)
            write(_bounded(ask(store, request.query), request.rows), ResultFormat.JSON, out)
            return "", out.getvalue()
    except (QueryError, StoreError, MemoryError, OverflowError) as error:
        return _FAULTS[type(error)], str(error) or "the query takes too much memory; ask for less at once"


def _bounded(result: QueryResult, most: int) -> QueryResult:
    match result:
        case Table(names, rows):
            return Table(names, _at_most(rows, most))
        case Statements():
            raise QueryError("only rows and truths are answered here: write SELECT or ASK")
        case _:
            return result


def _at_most(rows: Iterator[tuple[Term | None, ...]], most: int) -> Iterator[tuple[Term | None, ...]]:
    for count, row in enumerate(rows):
        if count == most:
            raise OverflowError(f"the answer has more than {most} rows; add LIMIT {most}, and OFFSET for the others")
        yield row


if __name__ == "__main__":
    main()
