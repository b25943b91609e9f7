"""Admits clients of the service, and logs a line for each request."""

import hmac
import logging
import time
from ipaddress import ip_address
from pathlib import Path

from fastapi.requests import HTTPConnection
from fastapi.security import HTTPBearer
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aahcrawler.service.web.problems import MISDIRECTED, UNAUTHORISED, ProblemError

access_log = logging.getLogger("aahcrawler.service.web.access")

SHORTEST_TOKEN = 16
_DESCRIPTION = "The token that the service was started with, if it was."
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


class TokenError(Exception):
    """Raised where there is no usable token; the message tells cause and remedy."""


def read_token(given: str, file: Path | None) -> str:
    """Return the token of a file, or else the one given; empty where there is none.

    Raise ``TokenError`` for a file that cannot be read, and for a token that is easily guessed.
    """
    try:
        token = (file.read_text("utf-8") if file is not None else given).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise TokenError(f"{file}: cannot be read ({error})") from error
    if (file is not None or token) and (len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        where = str(file) if file is not None else "AAH_SERVICE_TOKEN"
        raise TokenError(f"{where}: a token has at least {SHORTEST_TOKEN} printable ASCII characters; make a new one")
    return token


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host, by its spelling: names but localhost may lead anywhere."""
    name = host.removeprefix("[").removesuffix("]")
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


class Door(HTTPBearer):
    """Admits requests with the token; without a token, those that name this machine by a loopback name.

    The latter keeps web pages in a browser on this machine from reaching the service under a name of their own.
    """

    def __init__(self, token: str) -> None:
        super().__init__(scheme_name=HTTPBearer.__name__, description=_DESCRIPTION, auto_error=False)
        self._token = token.encode()

    async def __call__(self, request: HTTPConnection) -> None:
        """Raise ``ProblemError`` for whom is not let in."""
        if not self._token:
            if not is_loopback(request.url.hostname or ""):
                raise ProblemError(MISDIRECTED, "ask for localhost or a loopback address, or start with a token")
            return
        credentials = await super().__call__(request)
        given = credentials.credentials.encode() if credentials is not None else b""
        if not hmac.compare_digest(given, self._token):
            raise ProblemError(UNAUTHORISED, "send `Authorization: Bearer TOKEN`", headers=_CHALLENGE)


class AccessLog:
    """Logs client, request, status and milliseconds of every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            client = scope["client"][0] if scope.get("client") else "-"
            asked = scope.get("raw_path", b"").decode("latin-1")
            query = scope["query_string"].decode("latin-1")
            path = f"{asked}?{query}" if query else asked
            spent = (time.perf_counter() - began) * 1000
            access_log.info('%s "%s %s" %d %.1f ms', client, scope["method"], path, status, spent)
