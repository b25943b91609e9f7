"""A client of the web service (``aah serve``), for programs in Python; it needs nothing but the standard library.

    service = ServiceClient("http://127.0.0.1:8380", token="...")
    for crawl in service.crawls():
        print(crawl.id, crawl.reachable)
    service.post("floods", [{"url": "https://forum.example.org/thread/17", "score": 0.83}])
    service.pause("floods")

What a service answers beyond what is typed here is given as it came: mappings of JSON. docs/service.md says what is in
them.
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
_LARGEST: Final = 256 * 2**20
_LARGEST_PROBLEM: Final = 2**20
_MAX_LINE_LENGTH: Final = 16 * 2**20
_ENDED: Final = frozenset({"done", "failed", "cancelled"})
_JOB_WAIT: Final = 15


class ServiceError(Exception):
    """The service refused, or was not to be reached; the message says why and what to do.

    ``status`` is that of HTTP, 0 where there was no answer. ``kind`` is the last part of the problem's type, such as
    ``no-such-crawl``; ``mistakes`` are those of a definition. ``retry_after`` are seconds, None where it named none.
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
    """A crawl as the service lists it. ``counts`` is None where its frontier cannot be asked, ``detail`` says why."""

    id: str
    title: str
    number: int
    reachable: bool
    detail: str = ""
    counts: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event of a stream: its name, its place in the stream, and what it says."""

    name: str
    id: str
    data: Any


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """Speaks with a service at a URL. Each call is a connection of its own, so threads may share a client.

    ``timeout`` are seconds between two signs of life of the service. A call that is one too many is made again when
    the service says, for up to ``patience`` seconds. An answer has at most ``largest`` bytes, and is there within
    ``longest`` seconds where that is given. Redirects are not followed: they would take the token along.
    """

    url: str
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    patience: float = 60.0
    largest: int = _LARGEST
    longest: float | None = None

    # Reading

    def crawls(self) -> Sequence[CrawlSeen]:
        """Return every crawl that the service knows."""
        return [
            CrawlSeen(
                each["id"], each["title"], each["crawl"], each["reachable"], each.get("detail", ""), each.get("counts")
            )
            for each in self.get("/v1/crawls")
        ]

    def status(self, crawl: str) -> JsonObject:
        """Return what a crawl is doing: state, counts, rates, limits. Raise ``ServiceError`` where there is none."""
        return self._object("GET", _path(crawl))

    def url_state(self, crawl: str, url: str) -> JsonObject:
        """Return the state of a URL, and while it waits its score. Raise ``ServiceError`` for an unknown one."""
        return self._object("GET", _path(crawl, "urls", url=url))

    def pages(self, crawl: str, **wanted: str | int | bool) -> Iterator[JsonObject]:
        """Yield captures of pages, the newest first; ``wanted`` are the parameters of the route, such as ``text``."""
        return self._listed(crawl, "pages", "pages", wanted)

    def objects(self, crawl: str, **wanted: str | int | bool) -> Iterator[JsonObject]:
        """Yield web objects, those found last first; ``wanted`` are the parameters of the route, such as ``type``."""
        return self._listed(crawl, "objects", "objects", wanted)

    def queue(self, crawl: str, **wanted: str | int | float) -> Iterator[JsonObject]:
        """Yield URLs that wait, the best first; ``wanted`` are the parameters of the route, such as ``site``."""
        return self._listed(crawl, "queue", "urls", wanted)

    def search(self, query: str = "", **narrowed: str | int | bool | Sequence[str]) -> JsonObject:
        """Return what all crawls of the service hold: ``results``, ``total``, ``facets``, ``timeline``.

        ``narrowed`` are the parameters of the route, such as ``crawl``, ``kind``, ``since``, ``limit`` and ``offset``;
        one may have several values. A query that cannot be read raises ``ServiceError``, which says where it is wrong.
        """
        asked = {name: str(value).lower() if isinstance(value, bool) else value for name, value in narrowed.items()}
        return self._object("GET", f"/v1/search?{urlencode({'q': query, **asked}, doseq=True)}")

    def sparql(self, crawl: str, query: str) -> JsonObject:
        """Return the results of SELECT or ASK over what was loaded of a crawl, as SPARQL writes them in JSON."""
        return self._object("GET", _path(crawl, "sparql", query=query))

    def steering(self, crawl: str, number: int = 100) -> Sequence[JsonObject]:
        """Return what was done to a crawl, the newest first."""
        return tuple(self._object("GET", _path(crawl, "steering", number=number))["acts"])

    def events(self, crawl: str, last: str = "") -> Generator[ServerEvent, None, None]:
        """Yield what happens in a crawl as it happens, until the service ends; ``last`` is the id to go on after.

        Close the generator to hang up.
        """
        return self.stream(_path(crawl, "events"), last)

    # Scored URLs

    def post(self, crawl: str, items: Iterable[JsonObject], key: str = "") -> Sequence[JsonObject]:
        """Post scored URLs, up to 10,000; return a result for each. With a ``key`` it may be repeated without harm."""
        headers = {"Idempotency-Key": key} if key else {}
        return tuple(self._object("POST", _path(crawl, "urls"), list(items), headers)["results"])

    def rescore(self, crawl: str, url: str, score: float) -> JsonObject:
        """Set the score of a queued page."""
        return self._object("POST", _path(crawl, "rescore"), {"url": url, "score": score})

    def fetch_now(self, crawl: str, url: str) -> JsonObject:
        """Have a URL fetched before everything that is not immediate."""
        return self._object("POST", _path(crawl, "fetch-now"), {"url": url})

    def revisit(self, crawl: str, url: str, seconds: float = 0.0, score: float = 1.0) -> JsonObject:
        """Have a fetched page fetched again, so many seconds from now."""
        return self._object("POST", _path(crawl, "revisit"), {"url": url, "seconds": seconds, "score": score})

    def unblock(self, crawl: str, url: str) -> JsonObject:
        """Let a blocked URL go."""
        return self._object("POST", _path(crawl, "unblock"), {"url": url})

    def admission(self, crawl: str, url: str) -> JsonObject:
        """Return whether the scope lets a URL in, and what would have to be changed."""
        return self._object("GET", _path(crawl, "admission", url=url))

    # The crawl as a whole

    def pause(self, crawl: str, site: str = "") -> JsonObject:
        """Fetch nothing more of a crawl, or of one site in all crawls."""
        return self._paused(crawl, "pause", site)

    def resume(self, crawl: str, site: str = "") -> JsonObject:
        """Have a crawl, or a site, go on."""
        return self._paused(crawl, "resume", site)

    def stop(self, crawl: str) -> JsonObject:
        """Ask a crawl to end in good order."""
        return self._object("POST", _path(crawl, "stop"))

    def start(self, crawl: str, *, accept_changes: bool = False, workers: int | None = None) -> JsonObject:
        """Start a crawl. Raise ``ServiceError`` with what it said in ``lines`` where it did not start."""
        said = {"accept_changes": accept_changes, "workers": workers}
        return self._object("POST", _path(crawl, "start"), said)

    def create(self, definition: str | JsonObject, *, start: bool = False) -> JsonObject:
        """Create a crawl from a definition. Raise ``ServiceError`` with its ``mistakes``."""
        return self._object("POST", "/v1/crawls", {"definition": definition, "start": start})

    def specify(
        self, name: str, definition: Mapping[str, Any], texts: Mapping[str, str] | None = None, *, start: bool = True
    ) -> JsonObject:
        """Hand in a specification; the same one again changes nothing. Raise ``ServiceError`` with its ``mistakes``."""
        said = {"definition": dict(definition), "texts": dict(texts or {}), "start": start}
        return self._object("PUT", _specification(name), said)

    def sample(
        self, name: str, definition: Mapping[str, Any], texts: Mapping[str, str] | None = None, captures: int = 200
    ) -> JsonObject:
        """Take a sample of what a specification asks for, and return what it tells; nothing is kept."""
        said = {"definition": dict(definition), "texts": dict(texts or {})}
        job = self._object("POST", f"{_specification(name, 'sample')}?captures={captures}", said)
        return self._awaited(_specification(name, "jobs"), job)

    def specifications(self) -> Sequence[JsonObject]:
        """Return the collections that were asked for by specifications."""
        return list(self.get("/v1/specifications"))

    def specified(self, name: str) -> JsonObject:
        """Return how far a collection is that was asked for by a specification."""
        return self._object("GET", _specification(name))

    def members(self, name: str) -> Iterator[JsonObject]:
        """Yield the captures that are members of such a collection, the newest first."""
        return self._rows(lambda after: f"{_specification(name, 'members')}?{urlencode({'after': after})}", "pages")

    def packaged(self, name: str, ending: Literal["warc.gz", "wacz"]) -> bytes:
        """Have the members of such a collection written as a file, and return it."""
        path = _specification(name, f"files/{ending}")
        self._awaited(_specification(name, "jobs"), self._object("POST", path))
        with self._answered("GET", path, None, {}) as response:
            return response.read()

    def description(self, crawl: str) -> JsonObject:
        """Return the title and the description of a crawl, in the terms of Dublin Core."""
        return self._object("GET", _path(crawl, "description"))

    def describe(self, crawl: str, title: str, **terms: str | Sequence[str]) -> JsonObject:
        """Write another title and description; a term that is left out is empty then."""
        return self._object("PUT", _path(crawl, "description"), {"title": title, **terms})

    def copy(self, crawl: str, title: str) -> JsonObject:
        """Create a crawl with the same definition under another title; it is not started."""
        return self._object("POST", _path(crawl, "copy"), {"title": title})

    def delete(self, crawl: str, confirm: str) -> JsonObject:
        """Delete a crawl that does not run, with all that it has archived; ``confirm`` is its id once more."""
        return self._object("DELETE", _path(crawl, confirm=confirm))

    def exclude(self, crawl: str, kind: RuleKind, text: str) -> JsonObject:
        """Put a rule in force: what it names is not fetched."""
        return self._object("POST", _path(crawl, "exclusions"), {"rules": [{"kind": kind, "text": text}]})

    def readmit(self, crawl: str, kind: RuleKind, text: str) -> JsonObject:
        """Take a rule back."""
        return self._object("DELETE", _path(crawl, "exclusions", kind=kind, text=text))

    def preview_exclusion(self, crawl: str, kind: RuleKind, text: str) -> JsonObject:
        """Return what a rule would match, once that has been counted."""
        said = {"rules": [{"kind": kind, "text": text}]}
        return self._result(crawl, self._object("POST", _path(crawl, "exclusions/preview"), said))

    def change_limits(self, crawl: str, *, preview: bool = False, **limits: str | int | None) -> JsonObject:
        """Change limits, written as a definition has them; with ``preview`` only say what would change."""
        return self._changed(crawl, "limits", limits, preview=preview)

    def change_weights(self, crawl: str, *, preview: bool = False, **weights: float | None) -> JsonObject:
        """Change the weights of analysers; with ``preview`` return the order of the queue before and after."""
        return self._changed(crawl, "weights", weights, preview=preview)

    def change_scope(self, crawl: str, *, preview: bool = False, **scope: Any) -> JsonObject:
        """Change fields of the scope; with ``preview`` return what would be blocked, and what would come back."""
        return self._changed(crawl, "scope", scope, preview=preview)

    # The schedule

    def schedule(self, text: str = "") -> Iterator[JsonObject]:
        """Yield the scheduled crawls whose names hold a text, the next due first, each with ``due_at`` and ``why``."""
        asked = {"text": text, "limit": 200}
        return self._rows(lambda after: f"/v1/schedule?{urlencode({**asked, 'after': after or 0})}", "crawls")

    def scheduled(self, name: str) -> JsonObject:
        """Return a scheduled crawl. Raise ``ServiceError`` where the schedule has none of this name."""
        return self._object("GET", _scheduled(name))

    def scheduled_visits(self, name: str = "", number: int = 50) -> Sequence[JsonObject]:
        """Return the newest visits, of one scheduled crawl or of all, the newest first."""
        return tuple(self._object("GET", f"{_scheduled(name)}/visits?limit={number}")["visits"])

    def visit_now(self, name: str) -> JsonObject:
        """Have a scheduled crawl visited now, beside its rhythm."""
        return self._object("POST", f"{_scheduled(name)}/now")

    def pause_scheduled(self, name: str = "") -> JsonObject:
        """Begin no visits any more, of one scheduled crawl or of all; what runs goes on."""
        return self._object("POST", f"{_scheduled(name)}/pause")

    def resume_scheduled(self, name: str = "") -> JsonObject:
        """End the pause of a scheduled crawl, or that of all."""
        return self._object("POST", f"{_scheduled(name)}/resume")

    # HTTP

    def get(self, path: str) -> Any:
        """Return the JSON of any path. Raise ``ServiceError``."""
        return self._asked("GET", path)

    def stream(self, path: str, last: str = "") -> Generator[ServerEvent, None, None]:
        """Yield the events of any stream (``text/event-stream``), from after the one with an id if that is given."""
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
        """Return the result of a job once it has ended. Raise ``ServiceError`` where it failed."""
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
        """Yield the rows of a list, asked for part by part at the path behind each cursor."""
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
        """Lend an answer that is none of an error."""
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
    """End a connection that is still used after so many seconds, whatever small signs of life there are."""
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


def _whole(response: HTTPResponse, largest: int = _LARGEST) -> bytes:
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
        problem = json.loads(_whole(response, _LARGEST_PROBLEM))
    except (ValueError, RecursionError):
        problem = None
    found = problem if isinstance(problem, dict) else {}
    detail = str(found.get("detail") or f"the service answered {response.status} {response.reason}")
    return ServiceError(response.status, detail, found, float(given) if given.isdecimal() else None)


def _events(response: HTTPResponse) -> Iterator[ServerEvent]:
    """Yield the events of a stream; comments, by which it says that it is there, are passed over."""
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
    """Return the JSON of an event, or its text where that is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
