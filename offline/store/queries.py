"""Asks a store in SPARQL 1.1, and explains mistakes in plain words."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyoxigraph as ox

from aahcrawler.objects import vocabulary as v

PREFIXES: Mapping[str, str] = {
    "aah": v.AAH,
    "dcterms": v.DCTERMS,
    "prov": v.PROV,
    "rdf": v.RDF,
    "schema": v.SCHEMA,
    "sioc": v.SIOC,
    "xsd": v.XSD,
}
"""The prefixes that a query may use without declaring them."""

Term = ox.NamedNode | ox.Literal | ox.BlankNode | ox.Triple
Bindings = Mapping[str, ox.NamedNode | ox.Literal]

_Item = TypeVar("_Item")

_POSITION = re.compile(r"error at (\d+):(\d+): (?:expected (?:one of )?)?(.*)", re.DOTALL)
_CHARACTERS = re.compile(r"\[[^\]]*'[^\]]*\]|\['\]'\]|\[_\]")
_CHANGES = re.compile(
    r"(?:\s|#[^\n]*(?:\n|$)|PREFIX\s+\S*\s*<[^>]*>|BASE\s*<[^>]*>)*"
    r"(INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY|WITH)\b",
    re.IGNORECASE,
)
_REASONS = (
    ("Prefix not found", "a prefix is used that is not declared"),
    ("variable that is unbound", "a variable is selected that is neither grouped by nor found"),
    ("IRI parsing failed", "an IRI has to be absolute and well-formed"),
)


class QueryError(Exception):
    """A query cannot be answered; the message says why, and where in the query."""


@dataclass(frozen=True, slots=True)
class Table:
    """The answer to SELECT: names of columns, and rows to be read once; None where a cell is unbound."""

    names: tuple[str, ...]
    rows: Iterator[tuple[Term | None, ...]]


@dataclass(frozen=True, slots=True)
class Statements:
    """The answer to CONSTRUCT and DESCRIBE, to be read once."""

    triples: Iterator[ox.Triple]


Answer = Table | Statements | bool
"""The answer to SELECT, to CONSTRUCT or DESCRIBE, to ASK."""


def ask(store: ox.Store, query: str, bound: Bindings | None = None) -> Answer:
    """Ask a store; the prefixes of ``docs/vocabulary.md`` need no declaration.

    ``bound`` gives values to variables, which the query has to select; they are no part of its text. Raises
    ``QueryError``, also while rows or triples are read.
    """
    try:
        found = store.query(
            query,
            prefixes=dict(PREFIXES),
            substitutions={ox.Variable(name): value for name, value in (bound or {}).items()},
        )
    except SyntaxError as error:
        raise QueryError(_explained(str(error), query)) from error
    except (OSError, RuntimeError, ValueError) as error:
        raise QueryError(f"the query cannot be answered: {error}") from error
    match found:
        case ox.QueryBoolean():
            return bool(found)
        case ox.QueryTriples():
            return Statements(_told(found))
        case _:
            names = tuple(variable.value for variable in found.variables)
            return Table(names, (tuple(row) for row in _told(found)))


def _told(items: Iterator[_Item]) -> Iterator[_Item]:
    """Yield items; errors on the way, such as those of a SERVICE that does not answer, are raised as ``QueryError``."""
    try:
        yield from items
    except (OSError, RuntimeError, ValueError) as error:
        raise QueryError(f"the query cannot be answered: {error}") from error


def _explained(message: str, query: str) -> str:
    """Return a message with the place of the error in a query, and the tokens that the parser expected there."""
    if _CHANGES.match(query):
        return "only questions can be asked (SELECT, ASK, CONSTRUCT, DESCRIBE); a crawl's statements never change"
    match = _POSITION.match(message)
    if match is None:
        return f"the query is not SPARQL: {message}"
    lines = query.split("\n")
    number = min(int(match[1]), len(lines))
    line = lines[number - 1]
    column = min(int(match[2]), len(line) + 1)
    indent = re.sub(r"[^\t]", " ", line[: column - 1])
    return f"the query is not SPARQL: line {number}, column {column}: {_reason(match[3])}\n  {line}\n  {indent}^"


def _reason(expected: str) -> str:
    for sign, reason in _REASONS:
        if sign in expected:
            return reason
    words = re.findall(r'"(?:[^"\\]|\\.)+"|[A-Z]{2,}(?: [A-Z]{2,})*', _CHARACTERS.sub("", expected))
    wanted = list(dict.fromkeys(word.replace('\\"', '"') for word in words))
    if not wanted:
        return "this cannot stand here"
    return f"this cannot stand here; possible would be {', '.join(wanted[:12])}{' ...' if len(wanted) > 12 else ''}"
