"""Visits without a browser: a middleware of Scrapy's makes the requests of a page, as a plan has them, in a real crawl.

A plan has for each URL of a page its steps; the requests of a step are made at once. What each was answered, and what
the visit counted, is written beside the plan.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, cast

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.browser.visits.rendered_page import Cookie
from aahcrawler.crawl.browsing.visit_requests import VisitRequests
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.lease.lease_source import LEASE
from aahcrawler.crawl.scrapy.spider import AahSpider
from aahcrawler.frontier.protocol import Lease
from tests.crawl.crawling import SCRAPY, EndedRun, Running, running, scrapy
from tests.crawl.world import define

AGENT = "Mozilla/5.0 (X11) Chrome/156"
USUAL = [
    ["sec-ch-ua", "Chromium"],
    ["User-Agent", AGENT],
    ["Accept", "*/*"],
    ["Accept-Encoding", "gzip, deflate, br, zstd, dcb"],
]


@dataclass(frozen=True, slots=True)
class Asking:
    """A request of a page. It is given up after ``patience`` seconds, where that is more than 0."""

    url: str
    method: str = "GET"
    headers: Sequence[Sequence[str]] = ()
    body: str = ""
    resource_type: str = "Script"
    patience: float = 0.0


@dataclass(slots=True)
class Given:
    """What a request was answered, in the order in which it came."""

    url: str
    status: int = 0
    headers: list[list[str]] = field(default_factory=list)
    body: str = ""
    refused: str = ""
    seconds: float = 0.0
    begun: int = 0

    def header(self, name: str) -> str:
        """Return a header field, empty where there is none."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


class _Relayed:
    def __init__(self, given: Given) -> None:
        self._given = given

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        assert isinstance(reason, str)
        self._given.begun += 1
        self._given.status, self._given.headers = status, [list(each) for each in headers]

    def take(self, piece: bytes) -> None:
        assert piece
        self._given.body += piece.decode("latin-1")


class Visiting:
    """Visits the pages that the plan in the file ``VISITS`` names, before their answers go on to the crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._path = Path(crawler.settings["VISITS"])
        self._plan = json.loads(self._path.read_text("utf-8"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        plan = self._plan.get(request.url) if LEASE in request.meta else None
        if plan is None or not isinstance(response, CapturedResponse):
            return response
        told = await self._visit(request.meta[LEASE], response, plan)
        with self._path.with_suffix(".told").open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
        return response

    async def _visit(self, lease: Lease, response: CapturedResponse, plan: Mapping[str, Any]) -> Mapping[str, object]:
        visits = cast("AahSpider", self._crawler.spider).job.visits
        begun = await visits.cookies_for(lease.url)
        requests = visits.requests_of(lease, response.exchange, frozenset(plan["allows"]))
        given: list[Given] = []
        try:
            for step in plan["steps"]:
                given += await asyncio.gather(*(_asked(requests, Asking(**each)) for each in step))
        finally:
            await requests.close()
        await visits.took(lease.url, [*begun, *(Cookie(**each) for each in plan["cookies"])], begun)
        return {
            "url": lease.url,
            "given": [asdict(each) for each in given],
            "cookies": [asdict(each) for each in begun],
            "requests": requests.requests,
            "bytes": requests.bytes,
            "from_archive": requests.from_archive,
            "refused": dict(requests.refused),
            "rest_asked": requests.rest_asked,
            "manifests": requests.manifests,
            "concealed": (await visits.concealed(lease.url, plan["shown"].encode())).decode(),
        }


async def _asked(requests: VisitRequests, asking: Asking) -> Given:
    given, began = Given(asking.url), time.monotonic()
    headers = tuple((name, value) for name, value in asking.headers or USUAL)
    request = BrowserRequest(
        asking.url, asking.method, headers, asking.body.encode("latin-1"), asking.resource_type, "script"
    )
    try:
        async with asyncio.timeout(asking.patience or None):
            await requests.answer(request, _Relayed(given))
    except RequestRefusedError as refusal:
        given.refused = refusal.reason
    except TimeoutError:
        given.refused = "given up"
    given.seconds = time.monotonic() - began
    return given


@dataclass(frozen=True, slots=True)
class Plan:
    """What a visit does: its steps, the methods that it may use, and how the browser ends."""

    steps: Sequence[Sequence[Asking]]
    allows: Sequence[str] = ()
    cookies: Sequence[Mapping[str, object]] = ()
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What a visit told of itself."""

    said: Mapping[str, Any]

    @property
    def given(self) -> list[Given]:
        """What was answered, in the order of the plan."""
        return [Given(**each) for each in self.said["given"]]

    def of(self, url: str) -> Given:
        """Return the first answer to a URL."""
        return next(each for each in self.given if each.url == url)


def crawl_visiting(
    folder: Path, seeds: Sequence[str], plans: Mapping[str, Plan], **sections: object
) -> tuple[EndedRun, list[Told]]:
    """Crawl to the end, visiting as planned; return what the visits told, in the order in which they ended."""
    ended = scrapy(*command(folder, seeds, plans, **sections))
    return ended, told(folder)


def visiting(folder: Path, seeds: Sequence[str], plans: Mapping[str, Plan], **sections: object) -> Any:
    """Crawl beside a block (``running``)."""
    return running(*command(folder, seeds, plans, **sections), code=SCRAPY)


def command(folder: Path, seeds: Sequence[str], plans: Mapping[str, Plan], **sections: object) -> list[str]:
    """Return the arguments of ``scrapy`` that crawl so, into ``folder/crawl``."""
    icd, path = define(folder, seeds, **sections), folder / "visits.json"
    path.write_text(json.dumps({url: asdict(plan) for url, plan in plans.items()}), "utf-8")
    middlewares = json.dumps({"tests.crawl.visiting.Visiting": 50})
    settings = ("DOWNLOADER_MIDDLEWARES=" + middlewares, f"VISITS={path}")
    return ["crawl", "aah", "-a", f"icd={icd}", *(part for each in settings for part in ("-s", each))]


def told(folder: Path) -> list[Told]:
    """Return what the visits of a crawl have told by now."""
    path = folder / "visits.told"
    return [Told(json.loads(line)) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


__all__ = ["AGENT", "USUAL", "Asking", "Plan", "Running", "Told", "crawl_visiting", "told", "visiting"]
