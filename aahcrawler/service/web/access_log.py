"""Logs a line for each request."""

import logging
import time

from fastapi.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_PATH = 2_000
"""Characters of a path that are logged: whoever asks may make it as long as a head."""
access_log = logging.getLogger("aahcrawler.service.web.access")


class AccessLog:
    """Logs client, request, status and milliseconds of every answer, and the caller's name where one was let in."""

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
            if len(path) > LONGEST_PATH:
                path = f"{path[:LONGEST_PATH]}..."
            spent = (time.perf_counter() - began) * 1000
            caller = getattr(HTTPConnection(scope).state, "caller", None)
            who = f" for {caller.name}" if caller is not None else ""
            access_log.info('%s "%s %s" %d %.1f ms%s', client, scope["method"], path, status, spent, who)
