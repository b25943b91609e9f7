"""Query a store in SPARQL 1.1, and explain mistakes in plain words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import pyoxigraph as ox

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.vocabulary import XSD

PREFIXES: Mapping[str, str] = {
    "aah": v.AAH,
    "dcterms": v.DCTERMS,
    "oa": v.OA,
    "prov": v.PROV,
    "rdf": v.RDF,
    "rdfs": v.RDFS,
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
    """Raised when a query cannot be answered; the message gives the reason, and the place in the query."""


@dataclass(frozen=True, slots=True)
class Table:
    """The result of SELECT: names of columns, and rows to be read once; None in an unbound cell."""

    names: tuple[str, ...]
    rows: Iterator[tuple[Term | None, ...]]


@dataclass(frozen=True, slots=True)
class Statements:
    """The result of CONSTRUCT and DESCRIBE, to be read once."""

    triples: Iterator[ox.Triple]


QueryResult = Table | Statements | bool
"""The result of SELECT, of CONSTRUCT or DESCRIBE, of ASK."""


def ask(store: ox.Store, query: str, bound: Bindings | None = None) -> QueryResult:
    """Query a store; the prefixes of ``docs/vocabulary.md`` need no declaration.

    ``bound`` gives values to variables, which the query must select; they are no part of its text. Raises
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
    """Yield items, raising errors on the way, such as those of an unreachable SERVICE, as ``QueryError``."""
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


FOLDER = Path(__file__).parent / "ready"
LIMIT = "limit"

_ARGUMENT = re.compile(r"argument: (?P<name>\w+) xsd:(?P<kind>\w+)(?: = (?P<default>\S+))? -- (?P<meaning>.*)")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a predefined query: ``kind`` is an XSD type's local name; without a default it is required."""

    name: str
    kind: str
    default: str | None
    meaning: str

    def value(self, given: str) -> ox.Literal:
        """Return a value as a literal of the argument's type. Raises ``QueryError`` if it is invalid."""
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
    """A predefined query: its name, the description of its result, its arguments, and its text."""

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    text: str

    def run(self, store: ox.Store, given: Mapping[str, str]) -> Table:
        """Query a store, with arguments given as text. Raises ``QueryError``."""
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
    """Return all predefined queries, by name."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.rq")))


def ready_query(name: str) -> ReadyQuery:
    """Return a predefined query. Raises ``QueryError``."""
    queries = {query.name: query for query in ready_queries()}
    if name not in queries:
        raise QueryError(f"there is no ready-made query {name}; there are {', '.join(queries)}")
    return queries[name]


NAME: Final = "name"
"""The argument of queries about something that an enrichment found."""
_MAX_NAME: Final = 60
_MOST_SPOKEN_OF: Final = """
SELECT ?label (COUNT(DISTINCT ?target) AS ?times) WHERE {
  GRAPH ?found {
    ?each aah:kind ?kind ; rdfs:label ?label ; oa:hasTarget ?target .
    FILTER(?kind IN ("organisation", "place", "topic"))
  }
  FILTER NOT EXISTS { GRAPH ?later { ?again prov:wasRevisionOf ?each } }
} GROUP BY ?label ORDER BY DESC(?times) ?label LIMIT 8
"""


def nothing_found(store: ox.Store, query: ReadyQuery, name: str) -> str:
    """Return what to say where a query about a name found nothing: what it could be asked for."""
    found = ask(store, _MOST_SPOKEN_OF)
    labels = [row[0].value for row in found.rows if isinstance(row[0], ox.Literal)] if isinstance(found, Table) else []
    if not labels:
        return "nothing found: no organisation, place or topic is known; `aah enrich CRAWL` finds them"
    meaning = next(each.meaning for each in query.arguments if each.name == NAME)
    shown = (f'"{_on_one_line(each)}"' for each in labels)
    return (
        f'nothing found for "{_on_one_line(name)}": {NAME} is {meaning.partition(";")[0]}, such as {", ".join(shown)}'
    )


def _on_one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text[:_MAX_NAME])


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


_URL, _TIME, _UNCHANGED = ox.NamedNode(v.URL), ox.NamedNode(v.GENERATED_AT), ox.NamedNode(v.UNCHANGED_SINCE)
_TYPE = ox.NamedNode(v.OBJECT_TYPE)
# Nearly all the time goes into reading terms from disk: those that say nothing new are left out.
_OBJECTS = f"""SELECT ?object ?property ?value {{{{ GRAPH {{capture}} {{{{
  ?object <{v.OBJECT_TYPE}> ?type ; ?property ?value
  FILTER(?property NOT IN (<{v.RDF_TYPE}>, <{v.DERIVED_FROM}>))
}}}} }}}}"""
_ANY_URI = ox.NamedNode(v.XSD_ANY_URI)


@dataclass(frozen=True, slots=True)
class Known:
    """A web object as in one capture: its IRI, and the values of each property, by the property's IRI.

    Its classes and the capture it comes from are left out (``aah:objectType`` gives its type). Values are the text of
    literals and the URLs of IRIs. The name of an author is with the author's IRI, in the same graph.
    """

    iri: str
    values: Mapping[str, tuple[str, ...]]


def captures_of(store: ox.Store, url: str) -> tuple[str, ...]:
    """Return the names of a page's captures, the newest first; none if it was never captured."""
    named = store.quads_for_pattern(None, _URL, ox.Literal(url, datatype=_ANY_URI), None)
    captured = {quad.graph_name for quad in named if quad.subject == quad.graph_name}
    graphs = [graph for graph in captured if isinstance(graph, ox.NamedNode)]
    if len(graphs) > 1:
        graphs.sort(key=lambda graph: (_time(store, graph), graph.value), reverse=True)
    return tuple(graph.value for graph in graphs)


def objects_of(store: ox.Store, capture: str) -> tuple[Known, ...]:
    """Return the web objects of a capture, by IRI; those of an unchanged page are those of its original."""
    by_iri: dict[str, dict[str, tuple[str, ...]]] = {}
    found = store.query(_OBJECTS.format(capture=_stating(store, ox.NamedNode(capture))))
    for subject, predicate, value in found if isinstance(found, ox.QuerySolutions) else ():
        # What is asked of a term costs as much as reading it, so each is asked once.
        iri, name = subject.value, predicate.value
        values = by_iri.get(iri)
        if values is None:
            values = by_iri[iri] = {}
        known = values.get(name)
        values[name] = (value.value,) if known is None else (*known, value.value)
    return tuple(Known(iri, by_iri[iri]) for iri in sorted(by_iri))


def page_objects(store: ox.Store, url: str) -> tuple[Known, ...]:
    """Return the web objects of a page as in its newest capture; none if it was never captured."""
    captures = captures_of(store, url)
    return objects_of(store, captures[0]) if captures else ()


def _stating(store: ox.Store, capture: ox.NamedNode) -> ox.NamedNode:
    """Return the capture that states the objects of a capture, which may be the same one.

    For an unchanged page, that is the last capture at which the page was read.
    """
    for _, _, former, _ in store.quads_for_pattern(capture, _UNCHANGED, None, capture):
        alike = {quad.graph_name for quad in store.quads_for_pattern(None, _UNCHANGED, former, None)}
        graphs = [graph for graph in (former, *alike) if isinstance(graph, ox.NamedNode)]
        last = _time(store, capture)
        stating = [graph for graph in graphs if _states(store, graph) and _time(store, graph) <= last]
        return max(stating, key=lambda graph: _time(store, graph), default=capture)
    return capture


def _states(store: ox.Store, graph: ox.NamedNode) -> bool:
    return next(store.quads_for_pattern(None, _TYPE, None, graph), None) is not None


def _time(store: ox.Store, graph: ox.NamedNode) -> str:
    times = store.quads_for_pattern(graph, _TIME, None, graph)
    return max((quad.object.value for quad in times if isinstance(quad.object, ox.Literal)), default="")
