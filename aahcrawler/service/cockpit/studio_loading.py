"""The studio's routes, imported with its first page, so that the cockpit starts without the code that reads pages."""
# ruff: noqa: PLC0415

import re
from functools import cached_property
from threading import Lock
from typing import Final

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from aahcrawler.service.cockpit.site import Site

_PATHS: Final = re.compile(r"/crawls/[^/]+/studio(?:/.*)?", re.DOTALL)


class StudioRoutes(BaseRoute):
    """The route of all addresses of the studio."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._loading = Lock()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match by address alone, as the methods of a page are unknown before the studio is imported."""
        found = scope["type"] == "http" and _PATHS.fullmatch(scope["path"])
        return (Match.FULL if found else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the studio's own routes."""
        await (await run_in_threadpool(self._loaded))(scope, receive, send)

    def _loaded(self) -> APIRouter:
        with self._loading:
            return self._routes

    @cached_property
    def _routes(self) -> APIRouter:
        from aahcrawler.service.cockpit.studio import studio_routes

        return studio_routes.routes(self._site)
