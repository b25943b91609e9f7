"""The replay as an ASGI application.

The replay has a host name of its own, so that archived pages share nothing with the cockpit, not even its cookie. A
user who is signed in to the cockpit gets a ticket, which a form posts to the replay's ``/enter``; the replay responds
with a cookie of its own.
"""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from typing import Final, Protocol
from urllib.parse import parse_qs, unquote

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aahcrawler.replay import own_pages
from aahcrawler.replay.addresses import Address
from aahcrawler.replay.capture_lookup import NoIndexError, date_of, moment_of
from aahcrawler.replay.link_format import http_date
from aahcrawler.replay.memento_responses import MementoRequest, MementoResponses
from aahcrawler.replay.own_pages import MEMENTO_DATETIME, policy
from aahcrawler.replay.page_marks import PLACE, FindWords, MarkedPages, marked_markup, no_words
from aahcrawler.replay.recorded_responses import asked_range
from aahcrawler.replay.replayed_captures import Annotate, ReplayedCaptures, Shown, no_annotations

TICKET_SECONDS: Final = 60.0
SESSION_SECONDS: Final = 12 * 3600.0
MAX_TICKETS: Final = 1_000
MAX_SESSIONS: Final = 1_000
COOKIE: Final = "aah-replay"
_BYTES: Final = 32
_MAX_PATH_LENGTH: Final = 1 << 14

Clock = Callable[[], float]


class Secrets:
    """Random values that are valid for some time, each with a text. Only their digests are kept, in memory.

    Beyond ``most`` values the oldest is dropped. Thread-safe. ``clock`` gives monotonic seconds.
    """

    def __init__(self, most: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._known: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._lock = Lock()

    def issue(self, text: str = "") -> str:
        """Return a new value for a text."""
        value = secrets.token_urlsafe(_BYTES)
        with self._lock:
            self._known[_digest(value)] = (self._clock() + self._seconds, text)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return value

    def text(self, value: str, *, once: bool = False) -> str | None:
        """Return the text of a value, None where it is unknown or expired. With ``once`` the value is then invalid."""
        wanted = _digest(value)
        with self._lock:
            found: bytes | None = None
            # All are compared, and each in constant time.
            for digest in self._known:
                if hmac.compare_digest(digest, wanted):
                    found = digest
            if found is None:
                return None
            until, text = self._known.pop(found) if once else self._known[found]
            return text if self._clock() < until else None


class Tickets:
    """Tickets to paths of the replay: each is valid for a minute, and once."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._secrets = Secrets(MAX_TICKETS, TICKET_SECONDS, clock)

    def issue(self, path: str, holder: str = "") -> str:
        """Return a ticket to a path of the replay for a session of the cockpit, whose key ``holder`` is a single word.

        Raises ``ValueError`` where the path is not one of the replay.
        """
        is_path = path.startswith("/") and not path.startswith(("//", "/\\")) and len(path) <= _MAX_PATH_LENGTH
        if not is_path or not path.isascii() or not path.isprintable():
            raise ValueError(f"{path[:80]!r} is no path of the replay")
        return self._secrets.issue(f"{holder} {path}")

    def take(self, ticket: str) -> tuple[str, str] | None:
        """Return the path and the holder of a ticket; None where it is invalid, used or expired."""
        text = self._secrets.text(ticket, once=True)
        if text is None:
            return None
        holder, _, path = text.partition(" ")
        return path, holder


@dataclass(frozen=True, slots=True)
class ReplayAccess:
    """The access control of a replay.

    ``cockpit`` is the origin whose pages may frame it, such as ``http://127.0.0.1:8380``.

    ``is_open`` tells, by the key of a cockpit session, whether it is still open: who has signed out there is no longer
    admitted.
    """

    tickets: Tickets
    sessions: Secrets
    cockpit: str = ""
    is_open: Callable[[str], bool] = field(default=lambda _: True)

    @classmethod
    def new(
        cls, cockpit: str, clock: Clock = time.monotonic, is_open: Callable[[str], bool] = lambda _: True
    ) -> "ReplayAccess":
        """Return an access control without any session."""
        return cls(Tickets(clock), Secrets(MAX_SESSIONS, SESSION_SECONDS, clock), cockpit, is_open)

    def enter(self, ticket: str) -> tuple[str, str] | None:
        """Return a ticket's path and a ``Set-Cookie`` value for a new session; None for an invalid ticket."""
        taken = self.tickets.take(ticket)
        if taken is None or not self.is_open(taken[1]):
            return None
        path, holder = taken
        # Within the cockpit's page it is a cookie of a third party.
        attributes = f"HttpOnly; Secure; SameSite=None; Partitioned; Path=/; Max-Age={SESSION_SECONDS:.0f}"
        return path, f"{COOKIE}={self.sessions.issue(holder)}; {attributes}"

    def admits(self, cookies: str) -> bool:
        """Return whether a ``Cookie`` field names a valid session."""
        try:
            found = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            return False
        holder = self.sessions.text(found.value) if found is not None else None
        return holder is not None and self.is_open(holder)


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "replace")).digest()


ENTER: Final = "/enter"
_AT_ONCE: Final = 3
"""The most responses that are made at the same time, which bounds the memory."""
_LISTED: Final = 100
_MAX_FORM_LENGTH: Final = 4_096
_MAX_ADDRESS_LENGTH: Final = 20_000
_HTML: Final = {"Content-Type": "text/html; charset=utf-8"}
_READING: Final = frozenset({"GET", "HEAD"})
_RUN: Final = frozenset({"script", "worker", "sharedworker", "serviceworker", "audioworklet", "paintworklet"})


class Folders(Protocol):
    """Finds the folders of crawls that may be shown."""

    def folder_of(self, name: str) -> Path | None:
        """Return the folder of the crawl with an id, None where there is none."""
        ...

    def names(self) -> Collection[str]:
        """Return the ids of all crawls."""
        ...


class FixedFolders:
    """Folders of a fixed set of crawls."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = dict(folders)

    def folder_of(self, name: str) -> Path | None:
        """Return the folder of the crawl with an id, None where there is none."""
        return self._folders.get(name)

    def names(self) -> Collection[str]:
        """Return the ids of all crawls, sorted."""
        return sorted(self._folders)


def replay_app(
    folders: Folders,
    hosts: Collection[str],
    *,
    door: ReplayAccess | None = None,
    annotate: Annotate = no_annotations,
    find_words: FindWords = no_words,
    marked: MarkedPages | None = None,
) -> ASGIApp:
    """Return the application that shows the captures of these crawls under these host names (without port).

    Without a ``door``, whoever can connect is let in, and no marked pages are shown. ``annotate`` and ``find_words``
    are called in threads.
    """
    shown = partial(ReplayedCaptures, annotate=annotate, find_words=find_words)
    return _ReplayApp(folders, frozenset(host.lower() for host in hosts), door, shown, marked or MarkedPages())


class _ReplayApp:
    def __init__(
        self,
        folders: Folders,
        hosts: frozenset[str],
        door: ReplayAccess | None,
        shown: Callable[[Path], ReplayedCaptures],
        marked: MarkedPages,
    ) -> None:
        self._folders, self._hosts, self._door, self._captures = folders, hosts, door, shown
        self._marked = marked
        self._policy = partial(policy, "" if door is None else door.cockpit)
        self._limiter = CapacityLimiter(_AT_ONCE)
        self._known: dict[Path, ReplayedCaptures] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to an HTTP request; other protocols, such as WebSockets, are not served."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        response = await self._respond(request)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        path = _path(request.scope)
        if _host(request.headers) not in self._hosts:
            return self._message(421, "Misdirected", f"Ask for {min(self._hosts)}: the replay has that name alone.")
        if path == ENTER and self._door is not None:
            if request.method != "POST":
                return self._message(405, "Not allowed", "A ticket is posted.", {"Allow": "POST"})
            return await self._enter(request, self._door)
        if request.method not in _READING:
            return self._message(405, "Not allowed", "What is archived can only be read.", {"Allow": "GET, HEAD"})
        if self._door is not None and not self._door.admits(request.headers.get("cookie", "")):
            return self._message(403, "Not signed in", "Open this page from the cockpit, which lets you in.")
        if request.headers.get("sec-fetch-dest", "") in _RUN:
            return self._message(403, "Not shown", "Scripts of the archive are not run.")
        return await to_thread.run_sync(self._read, path, request, limiter=self._limiter)

    async def _enter(self, request: Request, door: ReplayAccess) -> Response:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > _MAX_FORM_LENGTH:
                return self._message(413, "Too large", "A ticket is shorter.")
        ticket = parse_qs(body.decode("ascii", "replace"), max_num_fields=8).get("ticket", [""])[0]
        entered = door.enter(ticket)
        if entered is None:
            return self._message(403, "Not let in", "The ticket was used, or is too old. Open the page anew.")
        return self._response(303, {"Location": entered[0], "Set-Cookie": entered[1]}, b"")

    def _read(self, path: str, request: Request) -> Response:
        query = request.scope["query_string"].decode("latin-1")
        if path == "/":
            return self._own(own_pages.list_of_crawls(self._folders.names()))
        if (
            self._door is not None
            and path.startswith(PLACE)
            and (marked := self._marked_page(path, self._door.cockpit))
        ):
            return marked
        name, _, rest = path[1:].partition("/")
        folder = self._folders.folder_of(unquote(name))
        is_short = len(path) + len(query) <= _MAX_ADDRESS_LENGTH
        address = Address.parse(path, query) if is_short else None
        asked = MementoRequest.parse(path, query) if is_short and address is None else None
        if folder is None or (rest and address is None and asked is None):
            return self._message(404, "Not found", "There is no such crawl, or this is no address of a capture.")
        captures = self._known.get(folder)
        if captures is None:
            captures = self._known[folder] = self._captures(folder)
        # The host was found to be a name of the replay.
        root = f"{request.url.scheme}://{request.headers.get('host', '')}"
        mementos = MementoResponses(root, unquote(name), captures.responses.lookup)
        try:
            if asked is not None:
                found = mementos.respond(asked, request.headers.get("accept-datetime", ""))
                return self._response(found.status, found.headers, found.body)
            if address is not None:
                part = "" if "if-range" in request.headers else request.headers.get("range", "")
                shown = captures.show(address, in_part=bool(part))
                if MEMENTO_DATETIME in shown.headers:
                    date = http_date(shown.headers[MEMENTO_DATETIME]) or date_of(address.moment)
                    links = mementos.links(address.url, moment_of(date))
                    shown = replace(shown, headers={**shown.headers, "Link": links})
                return self._shown(shown, request.method, part)
            return self._listed(captures, unquote(name), request)
        except NoIndexError as error:
            return self._message(503, "No index", str(error))
        except OSError as error:
            return self._message(503, "Not readable", f"The archive cannot be read now: {error.strerror}.")

    def _marked_page(self, path: str, cockpit: str) -> Response | None:
        try:
            marked = self._marked.page(path)
        except OSError as error:
            return self._message(503, "Not readable", f"The page cannot be read now: {error.strerror}.")
        if marked is None:
            return None
        nonce = token_urlsafe(18)
        body = marked_markup(marked, cockpit, nonce)
        return Response(body, 200, {**self._policy(nonce=nonce), **_HTML, "Cache-Control": "no-store"})

    def _listed(self, captures: ReplayedCaptures, crawl: str, request: Request) -> Response:
        if not request.url.path.endswith("/"):
            return self._response(302, {"Location": f"{_path(request.scope)}/"}, b"")
        asked = request.query_params
        beginning, after = asked.get("beginning", "").strip(), asked.get("after", "")
        pages_only = asked.get("all") != "1"
        listed = captures.responses.lookup.listed(beginning, after, _LISTED, pages_only=pages_only)
        return self._own(own_pages.list_of_captures(crawl, beginning, listed, pages_only=pages_only))

    def _shown(self, shown: Shown, method: str, part: str) -> Response:
        """Return the response, or the part of it that a Range field asks for. Responses have no validators."""
        status, headers, body = shown.status, dict(shown.headers), shown.body
        if shown.size is not None and status == HTTPStatus.OK:
            headers |= {"Accept-Ranges": "bytes", "Content-Length": str(shown.size)}
            found = asked_range(part, shown.size) if part and method == "GET" else None
            if found is not None and found.begin == found.end:
                return self._response(416, {"Content-Range": f"bytes */{shown.size}"}, b"")
            if found is not None:
                headers |= {"Content-Range": found.told(shown.size), "Content-Length": str(found.end - found.begin)}
                status, body = 206, found.cut(iter((body,)) if isinstance(body, bytes) else body)
        # Nothing of the body is read for a HEAD request.
        unread = method == "HEAD" and not isinstance(body, bytes)
        return self._response(status, headers, b"" if unread else body)

    def _own(self, body: bytes) -> Response:
        return Response(body, 200, {**self._policy(forms=True), **_HTML})

    def _message(self, status: int, title: str, text: str, headers: Mapping[str, str] | None = None) -> Response:
        return self._response(status, {**_HTML, **(headers or {})}, own_pages.message(title, text))

    def _response(self, status: int, headers: Mapping[str, str], body: bytes | Iterator[bytes]) -> Response:
        fields = {**self._policy(), **headers}
        if isinstance(body, bytes):
            return Response(body, status, fields)
        return StreamingResponse(body, status, fields)


def _path(scope: Scope) -> str:
    """Return the path as it was sent, without decoding escapes in archived URLs."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8")
    return raw.partition(b"?")[0].decode("latin-1")


def _host(headers: Headers) -> str:
    host = headers.get("host", "").lower()
    name, colon, port = host.rpartition(":")
    return name if colon and (port.isdigit() or not port) and not name.endswith(":") else host
