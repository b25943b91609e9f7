"""One port with two host names: the cockpit's, and one for archived pages, which share neither cookies nor origin.

Two ports of one host name would not do, since cookies ignore ports. A request for any other host is refused, so that no
website can reach the cockpit under a name of its own (DNS rebinding).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from fastapi.requests import HTTPConnection
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aahcrawler.service.web.noted_acts import NotedActs, Noting

MAX_BODY_SIZE: Final = 16 << 20
"""Bytes of a form with all that comes with it."""
PATIENCE: Final = 30.0
"""Seconds between two pieces of a body, and of those who are not signed in for the whole of it."""
_API: Final = ("/v1", "/health", "/metrics", "/openapi.json")
_UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Names:
    """The origins, such as ``http://127.0.0.1:8390``, of the cockpit and of the archived pages."""

    cockpit: str
    replay: str

    def __post_init__(self) -> None:
        if host_name(self.cockpit) == host_name(self.replay):
            raise ValueError("archived pages need a host name of their own: cookies ignore ports")


def host_of(origin: str) -> str:
    """Return the host of an origin as the Host field has it, with the port unless it is the default."""
    return origin.partition("//")[2]


def host_name(origin: str) -> str:
    """Return the host of an origin without port, to which a browser's cookies belong."""
    return urlsplit(origin).hostname or ""


def security_headers(names: Names) -> Mapping[str, str]:
    """Return the header fields of all responses of the cockpit: nothing is loaded from elsewhere, no page is framed."""
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "connect-src": "'self'",
        "frame-src": names.replay,
        "form-action": f"'self' {names.replay}",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), usb=(), payment=()",
    }


class Hosts:
    """Routes each request to pages, JSON interface or archived pages, by host and path."""

    def __init__(self, names: Names, pages: ASGIApp, api: ASGIApp, replay: ASGIApp, noting: Noting) -> None:
        self._names, self._api, self._replay, self._who = names, api, replay, noting.who
        self._pages = NotedActs(_Guarded(pages, names), noting)
        self._elsewhere = NotedActs(PlainTextResponse(f"The cockpit is at {names.cockpit}\n", 421), noting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it; startup and shutdown are passed to the JSON interface."""
        if scope["type"] == "lifespan":
            await self._api(scope, receive, send)
        if scope["type"] != "http":
            return
        app = self._chosen(scope)
        if app is not self._api:  # It has bounds of its own.
            receive = _patient(receive, is_known=self._who(HTTPConnection(scope)) is not None)
        try:
            await app(scope, receive, send)
        except HTTPException as error:  # The replay's: pages tell their own.
            await PlainTextResponse(f"{error.detail}\n", error.status_code)(scope, receive, send)

    def _chosen(self, scope: Scope) -> ASGIApp:
        host, path = Headers(scope=scope).get("host", "").lower(), scope["path"]
        if host == host_of(self._names.replay):
            if path == "/":
                return RedirectResponse(self._names.cockpit, 303)
            return self._replay
        if host != host_of(self._names.cockpit):
            return self._elsewhere
        is_api = any(path == begin or path.startswith(f"{begin}/") for begin in _API)
        return self._api if is_api else self._pages


class _Guarded:
    """Adds the security header fields, and refuses forms sent from other sites."""

    def __init__(self, app: ASGIApp, names: Names) -> None:
        self._app, self._names, self._headers = app, names, security_headers(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        app = self._app
        if scope["method"] in _UNSAFE and headers.get("origin") != self._names.cockpit:
            app = PlainTextResponse("A form of another site cannot change anything here.\n", 403)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    added.setdefault(name, value)
                added.setdefault("Cache-Control", "no-store")
            await send(message)

        await app(scope, _bounded(receive), guarded)


def _patient(receive: Receive, *, is_known: bool) -> Receive:
    """Return a reader of a body with time limits, as a slow body occupies a connection."""
    whole_by = asyncio.get_running_loop().time() + PATIENCE
    goes_on = True

    async def patient() -> Message:
        nonlocal goes_on
        if not goes_on:  # Whoever waits now waits for the end of the connection.
            return await receive()
        until = asyncio.get_running_loop().time() + PATIENCE if is_known else whole_by
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, "The rest of the request did not arrive in time.") from None
        goes_on = bool(message.get("more_body", False))
        return message

    return patient


def _bounded(receive: Receive) -> Receive:
    """Return a reader of a body up to ``MAX_BODY_SIZE`` bytes."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY_SIZE:
            raise HTTPException(413, f"A form has at most {MAX_BODY_SIZE:,} bytes; send a shorter text or document.")
        return message

    return bounded
