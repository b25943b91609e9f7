"""Parts that somebody adds to Scrapy: a middleware that gives requests in place of answers, and a listener."""

from pathlib import Path
from typing import Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from aahcrawler.crawl.lease.lease_source import LEASE


class Replacing:
    """Asks for ``/new`` wherever ``/old`` was answered."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if LEASE in request.meta and request.url.endswith("/old"):
            return Request(request.url.removesuffix("old") + "new", dont_filter=True)
        return response


class Listening:
    """Writes the URLs of answers into the file that ``LISTENED`` names."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        listening = cls(Path(crawler.settings["LISTENED"]))
        crawler.signals.connect(listening.heard, signals.response_received)
        return listening

    def heard(self, response: Response) -> None:
        with self._path.open("a", encoding="ascii") as file:
            print(response.url, file=file)
