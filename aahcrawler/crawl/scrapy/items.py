"""Web objects as Scrapy's items: what item pipelines, feed exports and signals are given."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.extensions.corestats import CoreStats
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import maybe_deferred_to_future

from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.webobject import Person, Reference, Value, WebObject


@dataclass(slots=True)
class WebObjectItem:
    """One web object of one capture of a page; what is not known is None.

    ``iri`` names the object for good: in every capture, under every URL, in every crawl. ``type`` and the next fields
    are as in ``aah objects``: ``url`` is its own, else that of the page; ``author`` is a name; ``date`` is ISO 8601
    with the offset that the page names; of several values the first is given. ``part_of`` is the IRI of what holds it.

    ``page`` is the URL of the page, ``application`` and ``level`` what it was recognised as, ``score`` its relevance
    in [0, 1]. ``captured_at`` is ISO 8601 in UTC, ``capture`` the id of the WARC record. ``read_again`` tells that the
    page was read again from the archive, after a repair: the item supersedes those of its capture before.

    ``properties`` has all values of all properties, a list for each name; people are mappings of ``name`` and ``url``.
    ``inferred`` names the properties that no action of the knowledge base found, with what they were inferred from.
    """

    iri: str
    type: str
    url: str
    page: str
    captured_at: str
    capture: str
    title: str | None = None
    author: str | None = None
    date: str | None = None
    body: str | None = None
    part_of: str | None = None
    application: str | None = None
    level: str | None = None
    score: float | None = None
    read_again: bool = False
    properties: dict[str, list[Any]] = field(default_factory=dict)
    inferred: dict[str, str] = field(default_factory=dict)


def items_of(capture: CaptureDescription, objects: Iterable[WebObject]) -> tuple[WebObjectItem, ...]:
    """Return the items of the web objects that a reading of a capture found."""
    return tuple(_item(capture, each) for each in objects)


def _item(capture: CaptureDescription, web_object: WebObject) -> WebObjectItem:
    first = {name: _text(web_object.first(name)) for name in ("url", "title", "author", "date", "body")}
    return WebObjectItem(
        iri=web_object.iri,
        type=web_object.type,
        url=first.pop("url") or web_object.source_url or capture.url,
        page=capture.url,
        captured_at=capture.fetched_at.astimezone(UTC).isoformat(),
        capture=capture.iri,
        **first,
        part_of=web_object.part_of,
        application=capture.application,
        level=capture.level,
        score=capture.score,
        read_again=capture.reading is not None,
        properties={name: list(map(_plain, values)) for name, values in web_object.properties.items()},
        inferred=dict(web_object.inferred),
    )


def _text(value: Value | None) -> str | None:
    match value:
        case None:
            return None
        case Person(name=name):
            return name
        case Reference(url=url):
            return url
        case datetime():
            return value.isoformat()
        case _:
            return str(value)


def _plain(value: Value) -> object:
    """Return a value as every exporter can write it."""
    match value:
        case Person(name=name, url=url):
            return {"name": name, "url": url}
        case int() | float():
            return value
        case _:
            return _text(value)


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
        self._responses: dict[str, CapturedResponse] = {}
        self._ended: Counter[str] = Counter()
        self._own = {signal: self._counting(name) for signal, name in _OUTCOMES.items()}
        self._own[signals.spider_error] = self._counting("items_failed")
        for signal, count in self._own.items():
            crawler.signals.connect(count, signal, weak=False)

    def begin(self, url: str, response: CapturedResponse) -> None:
        """Remember the response that the web objects of a URL will be from."""
        self._responses[url] = response

    def end(self, url: str) -> None:
        """Forget the response of a URL."""
        self._responses.pop(url, None)

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
        response = self._responses.get(capture.url)
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
