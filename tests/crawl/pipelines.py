"""What a user of Scrapy adds to a crawl: item pipelines, a listener, downloader middlewares."""

import asyncio
from pathlib import Path
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.http import HtmlResponse, Response


class Choosy:
    """Drops an item in three, fails on another, and leaves the third."""

    def __init__(self) -> None:
        self._number = 0

    def process_item(self, item: Any) -> Any:
        self._number += 1
        if self._number % 3 == 1:
            raise DropItem("not this one")
        if self._number % 3 == 2:
            raise RuntimeError("this pipeline is broken")
        return item


class Noting:
    """Appends the IRI of each item to the file that ``NOTED`` names, after ``PAUSE`` seconds."""

    def __init__(self, path: Path, pause: float) -> None:
        self._path = path
        self._pause = pause
        self._is_closed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Path(crawler.settings["NOTED"]), crawler.settings.getfloat("PAUSE"))

    async def process_item(self, item: Any) -> Any:
        self._note("begun " if self._pause else "")
        await asyncio.sleep(self._pause)
        self._note(f"{'after the end ' if self._is_closed else ''}{ItemAdapter(item)['iri']}\n")
        return item

    def close_spider(self) -> None:
        self._is_closed = True

    def _note(self, text: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text)


class Hearing:
    """Writes what it hears into the file that ``NOTED`` names."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        hearing = cls(Path(crawler.settings["NOTED"]))
        crawler.signals.connect(hearing.scraped, signals.item_scraped)
        crawler.signals.connect(hearing.received, signals.response_received)
        crawler.signals.connect(hearing.closed, signals.spider_closed)
        return hearing

    def scraped(self, item: Any, response: Response) -> None:
        self._write("item", item.page, response.url)

    def received(self, response: Response) -> None:
        self._write("response", response.url)

    def closed(self, reason: str) -> None:
        self._write("closed", reason)

    def _write(self, *words: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            print(*words, file=file)


class Meddling:
    """Ignores article 8, makes up 7, makes up another answer of 6, changes what is read of 4."""

    def process_request(self, request: Request) -> Response | None:
        if request.url.endswith("/8.html"):
            raise IgnoreRequest("nobody wants it")
        return HtmlResponse(request.url, body=b"made up") if request.url.endswith("/7.html") else None

    def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/6.html"):
            return HtmlResponse(request.url, body=b"made up")
        if request.url.endswith("/4.html"):
            return response.replace(body=response.body.replace(b"Flood 4", b"Storm 4"))
        return response
