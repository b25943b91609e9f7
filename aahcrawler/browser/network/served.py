"""The requests that are answered between the beginning and the end of one visit."""

import asyncio
import logging
from asyncio import Task
from collections import Counter
from collections.abc import Callable, Mapping

from aahcrawler.browser.network.browser_answer import BrowserAnswer
from aahcrawler.browser.network.proxy_bounds import ProxyBounds
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError, Upstream

Peer = tuple[str, int]
"""Address and port of the other end of a connection."""
_logger = logging.getLogger(__name__)


class Served:
    """Hands requests to an upstream, so many at once; counts them, and those that got no whole answer by the reason."""

    def __init__(self, upstream: Upstream, bounds: ProxyBounds, accepts: Callable[[Peer], bool]) -> None:
        self.accepts = accepts
        self.requests = 0
        self._upstream = upstream
        self._slots = asyncio.Semaphore(bounds.requests)
        self._counts: Counter[str] = Counter()
        self._asking: set[Task[None]] = set()

    @property
    def counts(self) -> Mapping[str, int]:
        """What did not pass, by the reason: the upstream's own, and those of the proxy (``websocket``, ``tunnel``)."""
        return dict(self._counts)

    def refuse(self, reason: str) -> None:
        """Count what did not pass."""
        self._counts[reason] += 1

    def ask(self, request: BrowserRequest, answer: BrowserAnswer) -> Task[None]:
        """Have a request answered, when its turn comes."""
        asking = asyncio.create_task(self._ask(request, answer))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return asking

    async def end(self) -> None:
        """Cancel what is still asked for."""
        for asking in self._asking:
            asking.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def _ask(self, request: BrowserRequest, answer: BrowserAnswer) -> None:
        async with self._slots:
            if answer.abandoned:
                return
            self.requests += 1
            try:
                await self._upstream.answer(request, answer)
                answer.end()
            except RequestRefusedError as refused:
                answer.fail(refused.reason)
            except Exception:
                _logger.exception("a request of a page failed: %s %s", request.method, request.url)
                answer.fail("error")
            finally:
                answer.fail("given up")  # Of those that have neither ended nor failed.
                if answer.failed:
                    self.refuse(answer.failed)
