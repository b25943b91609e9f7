"""Crawls made-up boards with another crawler; run by an interpreter that has it.

    python throughput_peer.py scrapy|scrapy-jobdir|scrapy-redis|crawlee WORK.json

WORK.json holds ``seeds``, ``allow`` (an expression that the URLs of wanted pages match) or ``pages`` (all of their
URLs), ``concurrency`` (in all, and for each host), ``folder`` (for files) and ``redis`` (the program of a server). Each
crawler follows the wanted links of each page and keeps nothing of it; those of ``pages`` that no link led to are asked
for at the end. Nothing of the project is imported here.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Work = Mapping[str, Any]


def settings(work: Work) -> dict[str, Any]:
    """Return the settings of all crawls with Scrapy: no delay, no log of pages, robots.txt not obeyed."""
    every, host = work["concurrency"]
    return {
        "CONCURRENT_REQUESTS": every,
        "CONCURRENT_REQUESTS_PER_DOMAIN": host,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
    }


def scrapy(work: Work, more: Mapping[str, Any]) -> None:
    """Crawl with Scrapy and its link extractor."""
    from scrapy.crawler import AsyncCrawlerProcess  # noqa: PLC0415 - each crawler is imported where it is asked for

    process = AsyncCrawlerProcess({**settings(work), **more})
    process.crawl(_among_pages(work) if work["pages"] else _matching(work))
    process.start()


def _matching(work: Work) -> Any:
    from scrapy import Request, Spider  # noqa: PLC0415
    from scrapy.linkextractors import LinkExtractor  # noqa: PLC0415

    extractor = LinkExtractor(allow=work["allow"])

    class Following(Spider):
        name = "following"
        start_urls = work["seeds"]

        def parse(self, response: Any) -> Iterator[Request]:
            for link in extractor.extract_links(response):
                yield Request(link.url)

    return Following


def _among_pages(work: Work) -> Any:
    from scrapy import Request, Spider, signals  # noqa: PLC0415
    from scrapy.exceptions import DontCloseSpider  # noqa: PLC0415
    from scrapy.http import HtmlResponse  # noqa: PLC0415
    from scrapy.linkextractors import LinkExtractor  # noqa: PLC0415

    extractor, pages = LinkExtractor(), frozenset(work["pages"])
    unlinked = set(work["pages"]).difference(work["seeds"])

    class Following(Spider):
        name = "following"
        start_urls = work["seeds"]

        @classmethod
        def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.idle, signals.spider_idle)
            return spider

        def parse(self, response: Any) -> Iterator[Request]:
            for link in extractor.extract_links(response) if isinstance(response, HtmlResponse) else ():
                if link.url in pages:
                    unlinked.discard(link.url)
                    yield Request(link.url)

        def idle(self) -> None:
            left = list(unlinked)
            unlinked.clear()
            for url in left:
                self.crawler.engine.crawl(Request(url))
            if left:
                raise DontCloseSpider

    return Following


def scrapy_redis(work: Work) -> None:
    """Crawl with Scrapy, scheduler and duplicates in a Redis server of its own."""
    with server(work) as url:
        more = {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "REDIS_URL": url,
        }
        scrapy(work, more)


@contextmanager
def server(work: Work) -> Iterator[str]:
    """Run a server with an append-only file, and return its address."""
    folder = Path(work["folder"])
    socket = folder / "s"
    options = ("--port", "0", "--unixsocket", socket, "--dir", folder, "--appendonly", "yes", "--save", "")
    with subprocess.Popen([work["redis"], *map(str, options)], stdout=subprocess.DEVNULL) as process:
        while not socket.exists():
            time.sleep(0.01)
        try:
            yield f"unix://{socket}"
        finally:
            process.terminate()


def crawlee(work: Work) -> None:
    """Crawl with Crawlee and Parsel, requests kept in memory."""
    import re  # noqa: PLC0415

    from crawlee import ConcurrencySettings, service_locator  # noqa: PLC0415
    from crawlee.crawlers import ParselCrawler, ParselCrawlingContext  # noqa: PLC0415
    from crawlee.storage_clients import MemoryStorageClient  # noqa: PLC0415

    service_locator.set_storage_client(MemoryStorageClient())
    every, _ = work["concurrency"]
    wanted = re.compile(work["allow"])

    async def crawl() -> None:
        crawler = ParselCrawler(
            concurrency_settings=ConcurrencySettings(
                min_concurrency=every, desired_concurrency=every, max_concurrency=every
            ),
            configure_logging=False,
        )

        async def handle(context: ParselCrawlingContext) -> None:
            await context.enqueue_links(include=[wanted])

        crawler.router.default_handler(handle)
        await crawler.run(work["seeds"])

    asyncio.run(crawl())


def main() -> None:
    """Run a crawler to its end."""
    system, work = sys.argv[1], json.loads(Path(sys.argv[2]).read_text("utf-8"))
    match system:
        case "scrapy":
            scrapy(work, {})
        case "scrapy-jobdir":
            scrapy(work, {"JOBDIR": str(Path(work["folder"]) / "job")})
        case "scrapy-redis":
            scrapy_redis(work)
        case "crawlee":
            crawlee(work)


if __name__ == "__main__":
    main()
