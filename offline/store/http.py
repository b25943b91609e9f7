"""Sends requests to a store over HTTP until it has taken them."""

import base64
import http.client
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

ATTEMPTS = 6
"""The number of times a request is sent before it is given up."""

_TIMEOUT = 300.0
_LONGEST = 30.0
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
    """Raised where a store refuses a request; the message tells its answer and the remedy."""


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes
    retry_after: float


class HttpService:
    """One URL of a store, over a connection that is kept. ``name`` is the URL without user and password.

    Raises ``HttpError`` for a URL that is not one of HTTP.
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
        """Send a request until it is answered with success, waiting longer each time; return the answer.

        A request is repeated after faults that may be temporary: a broken connection, a busy store. Raises
        ``HttpError``.
        """
        headers = {"Content-Type": content_type, "Accept": accept, "User-Agent": "AAHCrawler", **self._authorization}
        trouble, pause = "", 0.0
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(min(_LONGEST, pause or 2.0 ** (attempt - 2)))
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
        """Close the connection; another request opens it again."""
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
