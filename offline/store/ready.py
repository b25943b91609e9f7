"""Queries that ship with the crawler, each a file ``ready/NAME.rq`` whose head declares its arguments.

The first lines of such a file, comments of SPARQL, describe its answer; then each argument has a line ``# argument:
NAME DATATYPE [= DEFAULT] -- what it means``. A query gets its arguments as values of variables, which it has to select;
the columns are left out of its answer. The argument ``limit`` is the number of rows, and no variable.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pyoxigraph as ox

from aahcrawler.objects.vocabulary import XSD
from offline.store.queries import QueryError, Table, ask

FOLDER = Path(__file__).parent / "ready"
LIMIT = "limit"

_ARGUMENT = re.compile(r"argument: (?P<name>\w+) xsd:(?P<kind>\w+)(?: = (?P<default>\S+))? -- (?P<meaning>.*)")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a ready-made query: ``kind`` is an XSD type's local name; without a default it is required."""

    name: str
    kind: str
    default: str | None
    meaning: str

    def value(self, given: str) -> ox.Literal:
        """Return a value as it is bound. Raises ``QueryError`` where it is not of the kind."""
        try:
            match self.kind:
                case "integer":
                    return self._literal(str(int(given)))
                case "dateTime":
                    return self._literal(_moment(given))
                case _:
                    return ox.Literal(given)
        except ValueError:
            example = "10" if self.kind == "integer" else "2026-01-31 or 2026-01-31T18:00:00Z"
            raise QueryError(f"{self.name}={given}: write a value such as {example}") from None

    def _literal(self, lexical: str) -> ox.Literal:
        return ox.Literal(lexical, datatype=ox.NamedNode(XSD + self.kind))


@dataclass(frozen=True, slots=True)
class ReadyQuery:
    """A query that ships: its name, the description of its answer, its arguments, and its text."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    text: str

    def answer(self, store: ox.Store, given: Mapping[str, str]) -> Table:
        """Ask a store with some of the arguments given as text. Raises ``QueryError``."""
        values = self._values(given)
        limit = int(values.pop(LIMIT).value)
        if limit < 0:
            raise QueryError(f"{LIMIT}={limit}: write 0 or more")
        found = ask(store, self.text, values)
        if not isinstance(found, Table):
            raise QueryError(f"{self.name}: is no SELECT query")
        shown = [place for place, name in enumerate(found.names) if name not in values]
        rows = (tuple(row[place] for place in shown) for row in islice(found.rows, limit))
        return Table(tuple(found.names[place] for place in shown), rows)

    def _values(self, given: Mapping[str, str]) -> dict[str, ox.Literal]:
        known = ", ".join(argument.name for argument in self.arguments)
        if unknown := sorted(given.keys() - {argument.name for argument in self.arguments}):
            raise QueryError(f"{self.name} has no argument {unknown[0]}; it has {known}")
        values = {}
        for argument in self.arguments:
            text = given.get(argument.name, argument.default)
            if text is None:
                raise QueryError(f"{self.name} needs --arg {argument.name}=... ({argument.meaning})")
            values[argument.name] = argument.value(text)
        return values


def ready_queries() -> tuple[ReadyQuery, ...]:
    """Return all queries that ship, by name."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.rq")))


def ready_query(name: str) -> ReadyQuery:
    """Return a query that ships. Raises ``QueryError``."""
    queries = {query.name: query for query in ready_queries()}
    if name not in queries:
        raise QueryError(f"there is no ready-made query {name}; there are {', '.join(queries)}")
    return queries[name]


def arguments(given: Sequence[str]) -> dict[str, str]:
    """Return ``name=value`` pairs as a mapping. Raises ``QueryError``.

    >>> arguments(["word=flood = water"])
    {'word': 'flood = water'}
    """
    pairs = {}
    for pair in given:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise QueryError(f"--arg {pair}: write name=value")
        pairs[name.strip()] = value
    return pairs


def _read(path: Path) -> ReadyQuery:
    text = path.read_text("utf-8")
    head = [line.removeprefix("#").strip() for line in text.split("\n\n", 1)[0].splitlines()]
    found = tuple(Argument(**match.groupdict()) for line in head if (match := _ARGUMENT.fullmatch(line)))
    summary = " ".join(line for line in head if line and not _ARGUMENT.fullmatch(line))
    return ReadyQuery(path.stem, summary, found, text)


def _moment(given: str) -> str:
    moment = datetime.fromisoformat(given.strip())
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")
