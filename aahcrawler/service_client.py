"""A client of the web service (``aah serve``) for Python programs; it needs only the standard library.

    service = ServiceClient("http://127.0.0.1:8380", token="...")
    for crawl in service.crawls():
        print(crawl.id, crawl.reachable)
    service.post("floods", [{"url": "https://forum.example.org/thread/17", "score": 0.83}])
    service.pause("floods")

Responses without a type of their own are returned as parsed JSON; docs/service.md describes their fields. Every call
raises ``ServiceError`` if the service refuses it or cannot be reached.
"""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode, urlsplit

JsonObject = Mapping[str, Any]
RuleKind = Literal["url", "prefix", "host", "pattern"]

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_MAX_BYTES: Final = 256 * 2**20
_MAX_PROBLEM_BYTES: Final = 2**20
_MAX_LINE_LENGTH: Final = 16 * 2**20
_ENDED: Final = frozenset({"done", "failed", "cancelled"})
_JOB_WAIT: Final = 15


class ServiceError(Exception):
    """The service refused the call or could not be reached; the message says why and what to do.

    ``status`` is the HTTP status, 0 without a response. ``kind`` is the last part of the problem's type, such as
    ``no-such-crawl``; ``mistakes`` are those of a definition; ``retry_after`` is in seconds, None if the service named
    no time.
    """

    def __init__(self, status: int, detail: str, problem: JsonObject | None = None, retry_after: float | None = None):
        super().__init__(detail)
        found = problem or {}
        self.status = status
        self.kind = str(found.get("type", "")).rpartition(":")[2]
        self.mistakes: Sequence[JsonObject] = found.get("mistakes", ())
        self.lines: Sequence[str] = found.get("lines", ())
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class CrawlSeen:
    """A crawl as the service lists it. ``counts`` is None if its frontier cannot be asked; ``detail`` says why."""

    id: str
    title: str
    number: int
    reachable: bool
    detail: str = ""
    counts: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event of a stream: its name, its id in the stream, and its data, parsed if it is JSON."""

    name: str
    id: str
    data: Any


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """A client of the service at a URL. Each call opens its own connection, so threads may share a client.

    ``timeout`` is how many seconds the service may stay silent. A call that exceeds the caller's rate is repeated when
    the service says, for up to ``patience`` seconds. A response may have ``largest`` bytes, and take ``longest``
    seconds in total if that is given. Redirects are not followed, since the token would be sent along.
    """

    url: str
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    patience: float = 60.0
    largest: int = _MAX_BYTES
    longest: float | None = None

    # Reading

    def crawls(self) -> Sequence[CrawlSeen]:
        """Return all crawls that the service knows."""
        return [
            CrawlSeen(
                each["id"], each["title"], each["crawl"], each["reachable"], each.get("detail", ""), each.get("counts")
            )
            for each in self.get("/v1/crawls")
        ]

    def status(self, crawl: str) -> JsonObject:
        """Return a crawl's state, counts, rates and limits."""
        return self._object("GET", _path(crawl))

    def url_state(self, crawl: str, url: str) -> JsonObject:
        """Return the state of a URL, with its score if it is queued.

        A URL that the frontier does not know is an error.
        """
        return self._object("GET", _path(crawl, "urls", url=url))

    def pages(self, crawl: str, **wanted: str | int | bool) -> Iterator[JsonObject]:
        """Yield captures of pages, the newest first; ``wanted`` are parameters of the route, such as ``text``."""
        return self._listed(crawl, "pages", "pages", wanted)

    def objects(self, crawl: str, **wanted: str | int | bool) -> Iterator[JsonObject]:
        """Yield web objects, those found last first; ``wanted`` are parameters of the route, such as ``type``."""
        return self._listed(crawl, "objects", "objects", wanted)

    def queue(self, crawl: str, **wanted: str | int | float) -> Iterator[JsonObject]:
        """Yield queued URLs, the highest score first; ``wanted`` are parameters of the route, such as ``site``."""
        return self._listed(crawl, "queue", "urls", wanted)

    def search(self, query: str = "", **narrowed: str | int | bool | Sequence[str]) -> JsonObject:
        """Search all crawls of the service; return ``results``, ``total``, ``facets`` and ``timeline``.

        ``narrowed`` are parameters of the route, such as ``crawl``, ``kind``, ``since``, ``limit`` and ``offset``; one
        may have several values. If the query has a syntax error, ``ServiceError`` says where.
        """
        asked = {name: str(value).lower() if isinstance(value, bool) else value for name, value in narrowed.items()}
        return self._object("GET", f"/v1/search?{urlencode({'q': query, **asked}, doseq=True)}")

    def sparql(self, crawl: str, query: str) -> JsonObject:
        """Return the results of a SELECT or ASK query over a crawl's loaded triples, in the SPARQL JSON format."""
        return self._object("GET", _path(crawl, "sparql", query=query))

    def steering(self, crawl: str, number: int = 100) -> Sequence[JsonObject]:
        """Return what people and programs did to a crawl, the newest first."""
        return tuple(self._object("GET", _path(crawl, "steering", number=number))["acts"])

    def events(self, crawl: str, last: str = "") -> Generator[ServerEvent, None, None]:
        """Yield the events of a crawl as they happen, after the one with the id ``last``, until the service ends.

        Close the generator to disconnect.
        """
        return self.stream(_path(crawl, "events"), last)

    # Scored URLs

    def post(self, crawl: str, items: Iterable[JsonObject], key: str = "") -> Sequence[JsonObject]:
        """Post up to 10,000 scored URLs; return a result for each.

        With a ``key``, repeating the call has no further effect.
        """
        headers = {"Idempotency-Key": key} if key else {}
        return tuple(self._object("POST", _path(crawl, "urls"), list(items), headers)["results"])

    def rescore(self, crawl: str, url: str, score: float) -> JsonObject:
        """Set the score of a queued page."""
        return self._object("POST", _path(crawl, "rescore"), {"url": url, "score": score})

    def fetch_now(self, crawl: str, url: str) -> JsonObject:
        """Have a URL fetched before all queued URLs except others that were requested in this way."""
        return self._object("POST", _path(crawl, "fetch-now"), {"url": url})

    def revisit(self, crawl: str, url: str, seconds: float = 0.0, score: float = 1.0) -> JsonObject:
        """Have a fetched page fetched again after ``seconds``."""
        return self._object("POST", _path(crawl, "revisit"), {"url": url, "seconds": seconds, "score": score})

    def unblock(self, crawl: str, url: str) -> JsonObject:
        """Queue a blocked URL again."""
        return self._object("POST", _path(crawl, "unblock"), {"url": url})

    def admission(self, crawl: str, url: str) -> JsonObject:
        """Return whether the scope admits a URL, and if not, what would have to be changed."""
        return self._object("GET", _path(crawl, "admission", url=url))

    # The crawl as a whole

    def pause(self, crawl: str, site: str = "") -> JsonObject:
        """Stop fetching for a crawl; with ``site``, stop fetching from that site in all crawls."""
        return self._paused(crawl, "pause", site)

    def resume(self, crawl: str, site: str = "") -> JsonObject:
        """End the pause of a crawl, or of one site."""
        return self._paused(crawl, "resume", site)

    def stop(self, crawl: str) -> JsonObject:
        """Ask a crawl to finish what it is fetching and end."""
        return self._object("POST", _path(crawl, "stop"))

    def start(self, crawl: str, *, accept_changes: bool = False, workers: int | None = None) -> JsonObject:
        """Start a crawl. If it does not start, the ``ServiceError`` has its output in ``lines``."""
        said = {"accept_changes": accept_changes, "workers": workers}
        return self._object("POST", _path(crawl, "start"), said)

    def create(self, definition: str | JsonObject, *, start: bool = False) -> JsonObject:
        """Create a crawl from a definition. If that is invalid, the ``ServiceError`` has its ``mistakes``."""
        return self._object("POST", "/v1/crawls", {"definition": definition, "start": start})

    def specify(
        self, name: str, definition: Mapping[str, Any], texts: Mapping[str, str] | None = None, *, start: bool = True
    ) -> JsonObject:
        """Have a collection made from a specification. Sending an equal one again changes nothing.

        If it is invalid, the ``ServiceError`` has its ``mistakes``.
        """
        said = {"definition": dict(definition), "texts": dict(texts or {}), "start": start}
        return self._object("PUT", _specification(name), said)

    def sample(
        self, name: str, definition: Mapping[str, Any], texts: Mapping[str, str] | None = None, captures: int = 200
    ) -> JsonObject:
        """Try a specification on a sample of ``captures`` captures; return the result. Nothing is stored."""
        said = {"definition": dict(definition), "texts": dict(texts or {})}
        job = self._object("POST", f"{_specification(name, 'sample')}?captures={captures}", said)
        return self._awaited(_specification(name, "jobs"), job)

    def specifications(self) -> Sequence[JsonObject]:
        """Return the collections that are made from specifications."""
        return list(self.get("/v1/specifications"))

    def specified(self, name: str) -> JsonObject:
        """Return the progress of a collection that is made from a specification."""
        return self._object("GET", _specification(name))

    def members(self, name: str) -> Iterator[JsonObject]:
        """Yield the captures that are members of a specified collection, the newest first."""
        return self._rows(lambda after: f"{_specification(name, 'members')}?{urlencode({'after': after})}", "pages")

    def packaged(self, name: str, ending: Literal["warc.gz", "wacz"]) -> bytes:
        """Have the members of a specified collection written to a file of this format; return its bytes."""
        path = _specification(name, f"files/{ending}")
        self._awaited(_specification(name, "jobs"), self._object("POST", path))
        with self._answered("GET", path, None, {}) as response:
            return response.read()

    def description(self, crawl: str) -> JsonObject:
        """Return a crawl's title and description, in terms of Dublin Core."""
        return self._object("GET", _path(crawl, "description"))

    def describe(self, crawl: str, title: str, **terms: str | Sequence[str]) -> JsonObject:
        """Replace a crawl's title and description; terms that are left out become empty."""
        return self._object("PUT", _path(crawl, "description"), {"title": title, **terms})

    def copy(self, crawl: str, title: str) -> JsonObject:
        """Create a crawl with the same definition under another title; it is not started."""
        return self._object("POST", _path(crawl, "copy"), {"title": title})

    def delete(self, crawl: str, confirm: str) -> JsonObject:
        """Delete a crawl that does not run, with all that it has archived; ``confirm`` is its id once more."""
        return self._object("DELETE", _path(crawl, confirm=confirm))

    def exclude(self, crawl: str, kind: RuleKind, text: str) -> JsonObject:
        """Exclude URLs from a crawl by a rule: those that it matches are not fetched."""
        return self._object("POST", _path(crawl, "exclusions"), {"rules": [{"kind": kind, "text": text}]})

    def readmit(self, crawl: str, kind: RuleKind, text: str) -> JsonObject:
        """Remove a rule that ``exclude`` has added."""
        return self._object("DELETE", _path(crawl, "exclusions", kind=kind, text=text))

    def preview_exclusion(self, crawl: str, kind: RuleKind, text: str) -> JsonObject:
        """Wait until the service has counted what a rule would match; return the counts."""
        said = {"rules": [{"kind": kind, "text": text}]}
        return self._result(crawl, self._object("POST", _path(crawl, "exclusions/preview"), said))

    def change_limits(self, crawl: str, *, preview: bool = False, **limits: str | int | None) -> JsonObject:
        """Change limits, written as in a definition; with ``preview``, only return what would change."""
        return self._changed(crawl, "limits", limits, preview=preview)

    def change_weights(self, crawl: str, *, preview: bool = False, **weights: float | None) -> JsonObject:
        """Change the weights of analysers; with ``preview``, only return the order of the queue before and after."""
        return self._changed(crawl, "weights", weights, preview=preview)

    def change_scope(self, crawl: str, *, preview: bool = False, **scope: Any) -> JsonObject:
        """Change fields of the scope; with ``preview``, only return which URLs would be blocked or queued again."""
        return self._changed(crawl, "scope", scope, preview=preview)

    # The schedule

    def schedule(self, text: str = "") -> Iterator[JsonObject]:
        """Yield the scheduled crawls whose names contain ``text``, the next due first, with ``due_at`` and ``why``."""
        asked = {"text": text, "limit": 200}
        return self._rows(lambda after: f"/v1/schedule?{urlencode({**asked, 'after': after or 0})}", "crawls")

    def scheduled(self, name: str) -> JsonObject:
        """Return a scheduled crawl. A name that the schedule does not have is an error."""
        return self._object("GET", _scheduled(name))

    def scheduled_visits(self, name: str = "", number: int = 50) -> Sequence[JsonObject]:
        """Return the newest visits of a scheduled crawl, or of all, the newest first."""
        return tuple(self._object("GET", f"{_scheduled(name)}/visits?limit={number}")["visits"])

    def visit_now(self, name: str) -> JsonObject:
        """Have a scheduled crawl visited now, in addition to its due visits."""
        return self._object("POST", f"{_scheduled(name)}/now")

    def pause_scheduled(self, name: str = "") -> JsonObject:
        """Begin no more visits of a scheduled crawl, or of any; visits that run are finished."""
        return self._object("POST", f"{_scheduled(name)}/pause")

    def resume_scheduled(self, name: str = "") -> JsonObject:
        """End the pause of a scheduled crawl, or the pause of all."""
        return self._object("POST", f"{_scheduled(name)}/resume")

    # HTTP

    def get(self, path: str) -> Any:
        """Return the parsed JSON at any path of the service."""
        return self._asked("GET", path)

    def stream(self, path: str, last: str = "") -> Generator[ServerEvent, None, None]:
        """Yield the events of any stream (``text/event-stream``), after the one with the id ``last`` if given."""
        headers = {"Accept": _EVENTS, **({"Last-Event-ID": last} if last else {})}
        with self._answered("GET", path, None, headers) as response:
            yield from _events(response)

    def _paused(self, crawl: str, act: str, site: str) -> JsonObject:
        if site:
            return self._object("POST", _path(crawl, f"sites/{act}"), {"site": site})
        return self._object("POST", _path(crawl, act))

    def _changed(self, crawl: str, section: str, fields: JsonObject, *, preview: bool) -> JsonObject:
        path = _path(crawl, section, **({"preview": "true"} if preview else {}))
        answer = self._object("PUT", path, fields)
        return self._result(crawl, answer) if "state" in answer else answer

    def _result(self, crawl: str, job: JsonObject) -> JsonObject:
        return self._awaited(_path(crawl, "jobs"), job)

    def _awaited(self, jobs: str, job: JsonObject) -> JsonObject:
        """Wait until a job has ended; return its result. Raise ``ServiceError`` if it failed."""
        while job["state"] not in _ENDED:
            job = self._object("GET", f"{jobs}/{job['id']}?wait={_JOB_WAIT}")
        result = job.get("result")
        if not isinstance(result, dict):
            raise ServiceError(0, str(job.get("detail") or f"the job was {job['state']}"))
        return result

    def _listed(
        self, crawl: str, route: str, field_name: str, wanted: Mapping[str, str | int | float | bool]
    ) -> Iterator[JsonObject]:
        return self._rows(lambda after: _path(crawl, route, **{"limit": 200, **wanted, "after": after}), field_name)

    def _rows(self, path: Callable[[str], str], field_name: str) -> Iterator[JsonObject]:
        """Yield the rows of a list, requesting one part after another.

        ``path`` returns the path of the part that follows a cursor, which is empty at first.
        """
        after = ""
        while True:
            answer = self._object("GET", path(after))
            yield from answer[field_name]
            after = answer.get("next") or ""
            if not after:
                return

    def _object(
        self, method: str, path: str, said: object = None, headers: Mapping[str, str] | None = None
    ) -> JsonObject:
        answer = self._asked(method, path, said, headers)
        if not isinstance(answer, dict):
            raise ServiceError(0, f"{path}: the answer is no JSON object")
        return answer

    def _asked(self, method: str, path: str, said: object = None, headers: Mapping[str, str] | None = None) -> Any:
        deadline = time.monotonic() + self.patience
        body = None if said is None else json.dumps(said).encode()
        while True:
            try:
                with self._answered(method, path, body, headers or {}) as response:
                    return _parsed(_whole(response, self.largest))
            except ServiceError as error:
                wait = error.retry_after or 1.0
                if error.status != 429 or time.monotonic() + wait > deadline:
                    raise
                time.sleep(wait)

    @contextmanager
    def _answered(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Iterator[HTTPResponse]:
        """Lend the response to a request. Raise ``ServiceError`` for a status of 300 or more."""
        sent = {"Accept": _JSON, **({"Content-Type": _JSON} if body is not None else {}), **headers}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        with closing(self._connection()) as connection, _ended_after(self.longest, connection):
            try:
                connection.request(method, urlsplit(self.url).path.rstrip("/") + path, body, sent)
                response = connection.getresponse()
                if response.status >= 300:
                    raise _refusal(response)
                yield response
            except (OSError, HTTPException) as error:
                raise ServiceError(0, f"{self.url} cannot be reached: {error or type(error).__name__}") from error

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServiceError(0, f"{self.url!r} is no URL of a service; write http://127.0.0.1:8380")
        if parts.scheme == "https":
            return HTTPSConnection(
                parts.hostname, parts.port, timeout=self.timeout, context=ssl.create_default_context()
            )
        return HTTPConnection(parts.hostname, parts.port, timeout=self.timeout)


@contextmanager
def _ended_after(seconds: float | None, connection: HTTPConnection) -> Iterator[None]:
    """Close a connection if it is still in use after so many seconds, even while data arrives; None sets no limit."""
    if seconds is None:
        yield
        return

    def end() -> None:
        with suppress(OSError, AttributeError):  # It may not be connected yet; then its own time limit ends it.
            connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _specification(name: str, what: str = "") -> str:
    return f"/v1/specifications/{quote(name, safe='')}{what and f'/{what}'}"


def _scheduled(name: str) -> str:
    return f"/v1/schedule/crawls/{quote(name, safe='')}" if name else "/v1/schedule"


def _path(crawl: str, what: str = "", **query: str | int | float | bool) -> str:
    given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
    asked = urlencode({name: value for name, value in given.items() if value != ""})
    return f"/v1/crawls/{quote(crawl, safe='')}{'/' if what else ''}{what}{'?' if asked else ''}{asked}"


def _whole(response: HTTPResponse, largest: int = _MAX_BYTES) -> bytes:
    body = response.read(largest + 1)
    if len(body) > largest:
        raise ServiceError(response.status, f"the answer has more than {largest:,} bytes")
    return body


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ServiceError(0, "the answer is no JSON; is this the URL of a service?") from None


def _refusal(response: HTTPResponse) -> ServiceError:
    given = response.getheader("Retry-After") or ""
    try:
        problem = json.loads(_whole(response, _MAX_PROBLEM_BYTES))
    except (ValueError, RecursionError):
        problem = None
    found = problem if isinstance(problem, dict) else {}
    detail = str(found.get("detail") or f"the service answered {response.status} {response.reason}")
    return ServiceError(response.status, detail, found, float(given) if given.isdecimal() else None)


def _events(response: HTTPResponse) -> Iterator[ServerEvent]:
    """Yield the events of a stream, skipping the comments that keep it alive."""
    name, last, data = "message", "", list[str]()
    while line := response.readline(_MAX_LINE_LENGTH):
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        label, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if not text:
            if data:
                yield ServerEvent(name, last, _said("\n".join(data)))
            name, data = "message", []
        elif label == "event":
            name = value
        elif label == "id":
            last = value
        elif label == "data":
            data.append(value)


def _said(text: str) -> Any:
    """Return the data of an event parsed as JSON, or as it is if it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text
