"""A store behind the SPARQL 1.1 protocol over HTTP: updates in batches, repeated after temporary faults."""

import base64
import http.client
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Self
from urllib.parse import quote, unquote, urlsplit

import pyoxigraph as ox

from aahcrawler.annotations.annotation import annotated_capture, read_annotations, stored_graph
from aahcrawler.objects import nquads
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.writer import capture_of, graph_of
from aahcrawler.segments import Members
from offline.store.loading import LOADED_BYTES, SEGMENT, LoadError

LEDGER = "urn:aahcrawler:loaded"
"""The graph in which an endpoint stores up to where each segment was loaded."""

_BATCH = 512 << 10
"""The size in bytes of statements at which a batch is sent."""
_STATEMENTS = 5_000
"""The most statements of one update; some stores refuse more than 10,000 lines."""
_FORMER_RUNS = f"""DELETE {{{{ GRAPH ?g {{{{ ?s ?p ?o }}}} }}}} WHERE {{{{ GRAPH ?g {{{{
  ?made <{v.RUN}> ?run ; <{v.ATTRIBUTED_TO}> ?by . ?by <{v.NAME}> {{annotator}} . ?s ?p ?o
}}}} FILTER(?run != {{run}}) }}}} ;
"""
_ASK = f"SELECT ?segment ?bytes {{ GRAPH <{LEDGER}> {{ ?segment <{LOADED_BYTES}> ?bytes }} }}"


class Endpoint:
    """A store at ``update_url``, queried at ``query_url``, which may be the same; use it in a ``with`` statement.

    A batch and the note of how far it reaches are one update: a store that updates atomically has both or neither, and
    any other has at least the statements, which come first. Updates are repeated if the connection breaks or the store
    is busy; this is harmless, because they add to a set.
    """

    def __init__(self, update_url: str, query_url: str = "", sleep: Callable[[float], None] = time.sleep) -> None:
        self._updates = HttpService(update_url, sleep)
        self._queries = HttpService(query_url or update_url, sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._updates.close()
        self._queries.close()

    def loaded(self) -> Mapping[str, int]:
        """Return up to which byte each segment was loaded, by its identity. Raises ``LoadError``."""
        try:
            body = self._queries.post(
                f"query={quote(_ASK)}".encode(),
                "application/x-www-form-urlencoded",
                "application/sparql-results+json",
            )
            return _ledger(body)
        except HttpError as error:
            raise LoadError(f"{error} (asked what has been loaded before)") from error
        except (SyntaxError, ValueError) as error:
            what = "did not answer a query with SPARQL results in JSON"
            raise LoadError(f"{self._queries.name}: {what}; name the URL of its queries") from error

    def add(self, segment: str, members: Members) -> None:
        """Add a batch and record it, as specified by ``Destination``. Raises ``LoadError``."""
        with members.stream(_BATCH) as stream:
            text = stream.read()
        self._update([*_insertions(text, _STATEMENTS)], _note(segment, members.end))

    def replace(self, segment: str, members: Members) -> None:
        """Replace the statements of a capture by a later reading, as specified by ``Destination``.

        Raises ``LoadError``.
        """
        text = members.member()
        self.put(segment, text, members.end)

    def put(self, segment: str, text: bytes, mark: int) -> None:
        """Replace the content of a graph by statements, as specified by ``Destination``."""
        self._update([*replacements(text, _STATEMENTS)], _note(segment, mark))

    def _update(self, updates: list[str], note: str) -> None:
        """Send updates, the last one with a note."""
        for update in [*updates[:-1], "".join(updates[-1:]) + note]:
            try:
                self._updates.post(update.encode(), "application/sparql-update", "*/*")
            except HttpError as error:
                raise LoadError(f"{error} (sent an update)") from error


def _ledger(body: bytes) -> Mapping[str, int]:
    known: dict[str, int] = {}
    for subject, value in _solutions(body):
        name = subject.removeprefix(SEGMENT)
        known[name] = max(int(value), known.get(name, 0))
    return known


def _solutions(body: bytes) -> Iterator[tuple[str, str]]:
    found = ox.parse_query_results(body, ox.QueryResultsFormat.JSON)
    if not isinstance(found, ox.QuerySolutions):
        raise ValueError("no rows")
    for solution in found:
        segment, value = solution["segment"], solution["bytes"]
        if isinstance(segment, ox.NamedNode) and isinstance(value, ox.Literal):
            yield segment.value, value.value


def replacements(text: bytes, most: int) -> Iterator[str]:
    """Yield updates that replace what the store has of a capture by a later reading or annotations, in N-Quads.

    The first update removes the old statements, and each inserts at most ``most``. The end of a run of annotations
    removes those of earlier runs.
    """
    written = graph_of(text)
    stored = stored_graph(written) if written.startswith(v.ANNOTATIONS) else capture_of(written)
    removal = f"DROP SILENT GRAPH <{stored}> ;\n" if text else ""
    if written.startswith(v.ANNOTATIONS) and not annotated_capture(written):
        ended = read_annotations(text)
        removal += _FORMER_RUNS.format(annotator=nquads.text(ended.annotator), run=nquads.text(ended.run))
    own, kept = f" <{written}> .\n".encode(), f" <{stored}> .\n".encode()
    for insertion in _insertions(text.replace(own, kept), most):
        yield removal + insertion
        removal = ""


def _insertions(text: bytes, most: int) -> Iterator[str]:
    quads = list(ox.parse(text, ox.RdfFormat.N_QUADS))
    return (_insertion(quads[begin : begin + most]) for begin in range(0, len(quads), most))


def _insertion(quads: list[ox.Quad]) -> str:
    parts = []
    for graph, group in groupby(quads, attrgetter("graph_name")):
        triples = "\n".join(f"{quad.subject} {quad.predicate} {_sparql(str(quad.object))} ." for quad in group)
        parts.append(triples if isinstance(graph, ox.DefaultGraph) else f"GRAPH {graph} {{\n{triples}\n}}")
    return "INSERT DATA {\n" + "\n".join(parts) + "\n} ;\n"


def _note(segment: str, end: int) -> str:
    subject = f"<{SEGMENT}{segment}>"
    return (
        f"DELETE WHERE {{ GRAPH <{LEDGER}> {{ {subject} <{LOADED_BYTES}> ?earlier }} }} ;\n"
        f"INSERT DATA {{ GRAPH <{LEDGER}> {{ {subject} <{LOADED_BYTES}> {end} }} }}"
    )


def _sparql(term: str) -> str:
    r"""Return a term of N-Quads in a form that SPARQL reads as the same term.

    SPARQL replaces ``\u`` escapes before it parses strings, so a backslash followed by a u would be changed.

    >>> print(_sparql(r'"C:\\users"'))
    "C:\\\u0075sers"
    """
    return re.sub(r"\\(?:\\([uU])|.)", lambda found: rf"\\\u{ord(found[1]):04x}" if found[1] else found[0], term)


ATTEMPTS = 6
"""How often a request is sent before giving up."""

_TIMEOUT = 300.0
_MAX_WAIT = 30.0
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_SAID = 300
_ADVICE = {
    400: "it does not understand the request",
    401: "it wants a user and a password: write them into the URL, http://user:password@...",
    403: "this user may not do that there",
    404: "there is nothing at this URL: stores often have one for updates and another for queries",
    405: "this URL does not take that: stores often have one for updates and another for queries",
    413: "it does not take as much at once: raise its limit for the size of a request",
    415: "this URL does not take that: stores often have one for updates and another for queries",
}


class HttpError(Exception):
    """Raised when a store rejects a request; the message has its response and the remedy."""


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes
    retry_after: float


class HttpService:
    """One URL of a store, with a persistent connection. ``name`` is the URL without user and password.

    Raises ``HttpError`` for a URL that is not HTTP.
    """

    def __init__(self, url: str, sleep: Callable[[float], None]) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or parts.scheme not in {"http", "https"}:
            raise HttpError(f"{url}: is no URL of a store; write one such as http://localhost:7878/update")
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{self._path}"
        self._connection = (
            http.client.HTTPSConnection(host, port, timeout=_TIMEOUT, context=ssl.create_default_context())
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=_TIMEOUT)
        )
        self._authorization = _authorization(parts.username, parts.password)
        self._sleep = sleep

    def post(self, body: bytes, content_type: str, accept: str) -> bytes:
        """Send a request, repeating it with growing pauses until it succeeds; return the response.

        A request is repeated after faults that may be temporary: a broken connection, a busy store. Raises
        ``HttpError``.
        """
        headers = {"Content-Type": content_type, "Accept": accept, "User-Agent": "AAHCrawler", **self._authorization}
        trouble, pause = "", 0.0
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(min(_MAX_WAIT, pause or 2.0 ** (attempt - 2)))
            try:
                reply = self._once(body, headers)
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                trouble, pause = f"cannot be reached ({error or type(error).__name__}); is it running?", 0.0
                continue
            if 200 <= reply.status < 300:
                return reply.body
            trouble, pause = _told(reply), reply.retry_after
            if reply.status not in _BUSY:
                raise HttpError(f"{self.name}: {trouble}")
        raise HttpError(f"{self.name}: {trouble}; given up after {ATTEMPTS} attempts. Load again to go on from here")

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        self._connection.close()

    def _once(self, body: bytes, headers: dict[str, str]) -> _Reply:
        self._connection.request("POST", self._path, body, headers)
        response = self._connection.getresponse()
        asked = response.getheader("Retry-After", "")
        return _Reply(response.status, response.read(), float(asked) if asked.isdecimal() else 0.0)


def _authorization(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    words = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(words).decode('ascii')}"}


def _told(reply: _Reply) -> str:
    if 300 <= reply.status < 400:
        return f"answered {reply.status}, a redirect; name the URL that it leads to"
    message = " ".join(reply.body.decode("utf-8", "replace").split())[:_SAID]
    advice = _ADVICE.get(reply.status, "")
    return (
        f"answered {reply.status}" + (f", {advice}" if advice else "") + (f'. It says: "{message}"' if message else "")
    )
