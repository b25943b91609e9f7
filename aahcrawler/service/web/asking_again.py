"""Ask a crawl's frontier again where its server went while it was asked, as one does when its crawl ends."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

from aahcrawler.frontier.protocol import FrontierAwayError
from aahcrawler.service.web.problems import ProblemError

SECONDS: Final = 3.0
"""Seconds within which a crawl that ends has let go of its folder, on most machines."""
PAUSE: Final = 0.2
_SAFE: Final = frozenset({"GET", "HEAD"})


class AskingAgain(APIRoute):
    """A route whose reading requests are answered by the server that a frontier has by now.

    A crawl that ends takes its server with it, and that of a crawl at rest goes when its crawl is started: whoever only
    reads need not know. A crawl that is being started is asked once, as that takes longer.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            until = time.monotonic() + SECONDS
            while True:
                try:
                    return await handle(request)
                except ProblemError as problem:
                    if request.method not in _SAFE or not _has_gone(problem) or time.monotonic() > until:
                        raise
                await asyncio.sleep(PAUSE)

        return answered


def _has_gone(problem: ProblemError) -> bool:
    return type(problem.__cause__) is FrontierAwayError
