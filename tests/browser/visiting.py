"""A browser that tests share, and a web in memory that its pages are of."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from aahcrawler.browser.browser import Browser
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.browser.process.chromium_executable import BrowserSettings
from aahcrawler.browser.visits.rendered_page import RenderedPage, VisitBounds, VisitOrder
from aahcrawler.wire.relay import Relay
from tests.browsing import sandboxed_chromium

AGENT = "ExampleCrawler/1.0 (+https://crawler.test/)"
HOME = "http://site.test/"
T = TypeVar("T")


@dataclass
class Given:
    """An answer of the web in memory."""

    body: str | bytes
    media_type: str = "text/html; charset=utf-8"
    status: int = 200
    fields: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


Answer = str | Given | Callable[[BrowserRequest], str | Given]


@dataclass
class Web:
    """An upstream: what it does not have it refuses."""

    pages: Mapping[str, Answer]
    asked: list[BrowserRequest] = field(default_factory=list)

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        self.asked.append(request)
        given = self.pages.get(request.url)
        if given is None:
            raise RequestRefusedError("scope")
        given = given(request) if callable(given) else given
        given = Given(given) if isinstance(given, str) else given
        await asyncio.sleep(given.seconds)
        body = given.body.encode() if isinstance(given.body, str) else given.body
        length = ("Content-Length", str(len(body)))
        relay.begin(given.status, "OK", (("Content-Type", given.media_type), length, *given.fields))
        relay.take(body)

    def asked_as(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Return type and initiator of each request by its method and URL."""
        return {(asked.method, asked.url): (asked.resource_type, asked.initiator) for asked in self.asked}


@dataclass
class Visited:
    """What came of a visit: a page or an error."""

    web: Web
    page: RenderedPage | None = None
    error: Exception | None = None

    @property
    def rendered(self) -> RenderedPage:
        if self.page is None:
            raise AssertionError("no page") from self.error
        return self.page

    @property
    def dom(self) -> str:
        return self.rendered.dom.decode()


class Visitor:
    """Visits with one browser, on a loop of its own."""

    def __init__(self, folder: Path) -> None:
        self._runner = asyncio.Runner()
        self.browser = self._runner.run(_made(BrowserSettings(str(sandboxed_chromium()), folder)))

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        """Run something on the loop of the browser."""
        return self._runner.run(doing)

    def visit(self, pages: Mapping[str, Answer], order: VisitOrder | None = None) -> Visited:
        """Visit the first of some pages."""
        return self._runner.run(self.visiting(pages, order))

    def visit_all(self, sites: Mapping[str, tuple[Mapping[str, Answer], VisitOrder | None]]) -> dict[str, Visited]:
        """Visit the first pages of some sites, several at once."""

        async def visit() -> list[Visited]:
            return list(await asyncio.gather(*(self.visiting(*site) for site in sites.values())))

        return dict(zip(sites, self._runner.run(visit()), strict=True))

    async def visiting(self, pages: Mapping[str, Answer], order: VisitOrder | None = None) -> Visited:
        web = Web(pages)
        try:
            return Visited(web, await self.browser.visit(order or ordered(next(iter(pages))), web))
        except Exception as error:
            return Visited(web, error=error)

    def close(self) -> None:
        self._runner.run(self.browser.close())
        self._runner.close()


def ordered(url: str = HOME, **bounds: float) -> VisitOrder:
    """Return an order without pictures, and with time enough on a busy machine."""
    return VisitOrder(url, AGENT, pictures=False, bounds=VisitBounds(**{"seconds": 120.0, **bounds}))  # type: ignore[arg-type]


async def _made(settings: BrowserSettings) -> Browser:
    return Browser(settings)


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """Yield a browser that has not been started yet."""
    visitor = Visitor(tmp_path_factory.mktemp("profiles"))
    yield visitor
    visitor.close()
