"""A Scrapy crawl of one URL through the wire client, in a process of its own: ``python -m tests.wire.scrapy_run URL``.

Prints status, size of the body and size of the exchange, or the name of the error.
"""

import sys
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response
from twisted.python.failure import Failure

from aahcrawler.crawl.fetch.download_handler import WIRE_SETTINGS, CapturedResponse
from aahcrawler.wire.client import IpPolicy, WireSettings

HANDLER = "aahcrawler.crawl.fetch.download_handler.WireDownloadHandler"


class Fetching(Spider):
    name = "fetching"

    async def start(self) -> Any:
        yield Request(sys.argv[1], callback=self.answered, errback=self.failed)

    def answered(self, response: Response) -> None:
        assert isinstance(response, CapturedResponse)
        with response.exchange.response as kept:
            print(response.status, len(response.body), len(kept.read()))

    def failed(self, failure: Failure) -> None:
        print(type(failure.value).__name__)


if __name__ == "__main__":
    policy = IpPolicy(allow_private=sys.argv[2:] == ["--private"])
    process = AsyncCrawlerProcess(
        {
            "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
            WIRE_SETTINGS: WireSettings(Path(".spool"), policy),
            "RETRY_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "LOG_LEVEL": "ERROR",
        }
    )
    process.crawl(Fetching)
    process.start()
