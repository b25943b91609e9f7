"""The way of web objects to item pipelines, feed exports and listeners, where there are any."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.extensions.corestats import CoreStats
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import maybe_deferred_to_future

from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.scrapy.items import items_of
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.webobject import WebObject

ITEMS = "items"
"""The name of the spider's argument that takes the items of a page."""
READ_AGAIN = "read_again"
"""The flag of responses that stand for a page which was read again from the archive; they have no body."""
_OUTCOMES = {signals.item_scraped: "items", signals.item_dropped: "items_dropped", signals.item_error: "items_failed"}


class ItemDelivery:
    """Hands the web objects of a page to Scrapy, and waits until they have been taken.

    They go where the results of a spider's callback go: to spider middlewares, item pipelines, signals and feeds, at
    most ``CONCURRENT_ITEMS`` of a page at once. Whatever becomes of them there, the page stays archived; how many were
    taken, dropped and failed is counted. Where nobody would be given them, they are not even made.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._answers: dict[str, CapturedResponse] = {}
        self._ended: Counter[str] = Counter()
        self._own = {signal: self._counting(name) for signal, name in _OUTCOMES.items()}
        self._own[signals.spider_error] = self._counting("items_failed")
        for signal, count in self._own.items():
            crawler.signals.connect(count, signal, weak=False)

    def begin(self, url: str, answer: CapturedResponse) -> None:
        """Remember the answer that the web objects of a URL will be from."""
        self._answers[url] = answer

    def end(self, url: str) -> None:
        """Forget the answer of a URL."""
        self._answers.pop(url, None)

    @property
    def is_wanted(self) -> bool:
        """Whether there is an item pipeline, or anybody who listens for items beside Scrapy's own statistics."""
        assert self._crawler.engine is not None  # noqa: S101
        processor = self._crawler.engine.scraper.itemproc
        if not isinstance(processor, ItemPipelineManager) or processor.methods["process_item"]:
            return True
        return any(self._is_listened_to(signal) for signal in _OUTCOMES)

    async def deliver(self, capture: CaptureDescription, objects: Sequence[WebObject]) -> Mapping[str, float]:
        """Hand on what was found on a page, and return what became of it, as counts of the crawl."""
        if not objects or not self.is_wanted:
            return {}
        response = self._answers.get(capture.url)
        if response is None or capture.reading is not None:
            await self._through_scrapy(_of_the_archive(capture), capture, objects)
        else:
            await self._through_scrapy(response, capture, objects)
        self._flush_feeds()
        ended, self._ended = self._ended, Counter()
        return dict(ended)

    async def _through_scrapy(
        self, response: Response, capture: CaptureDescription, objects: Sequence[WebObject]
    ) -> None:
        assert self._crawler.engine is not None  # noqa: S101
        assert response.request is not None  # noqa: S101
        response.request.cb_kwargs[ITEMS] = items_of(capture, objects)
        await maybe_deferred_to_future(self._crawler.engine.scraper.enqueue_scrape(response, response.request))

    def _flush_feeds(self) -> None:
        """Give the operating system what feeds have written, so that a kill does not lose what is counted."""
        assert self._crawler.extensions is not None  # noqa: S101
        feeds = (each for each in self._crawler.extensions.middlewares if isinstance(each, FeedExporter))
        for slot in chain.from_iterable(each.slots for each in feeds):
            if slot.file is not None and not slot.file.closed:
                slot.file.flush()

    def _is_listened_to(self, signal: object) -> bool:
        everybody = liveReceivers(getAllReceivers(self._crawler.signals.sender, signal))
        return any(
            each is not self._own[signal] and not isinstance(getattr(each, "__self__", None), CoreStats)
            for each in everybody
        )

    def _counting(self, name: str) -> Callable[[], None]:
        def count() -> None:
            self._ended[name] += 1

        return count


def _of_the_archive(capture: CaptureDescription) -> Response:
    return Response(
        capture.url, status=capture.status, request=Request(capture.url, dont_filter=True), flags=[READ_AGAIN]
    )
