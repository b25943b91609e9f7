"""Answers that this crawl has already: given to a page in a browser, and to leases of what a visit has captured.

A visit captures what its page asks for; the same URLs are leased as well, as requisites and frames of the page. And
most pages of a site ask for the same scripts. Nothing is fetched twice in one crawl: what is in the archive is given.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Final

from aahcrawler.archive.history import Former
from aahcrawler.archive.records import warc_date
from aahcrawler.browser.network.upstream import BrowserRequest
from aahcrawler.crawl.browsing.answer_relay import head_of
from aahcrawler.crawl.browsing.browser_headers import asks_for_news
from aahcrawler.crawl.browsing.media_parts import is_coded, part_asked
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.fetch.download_handler import Captured, CapturedResponse
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.hops import Hop, ends_with
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers
from aahcrawler.wire.replay import replayed

ALIKE: Final = frozenset({"accept-encoding", "accept-language", "origin", "user-agent"})
"""What an answer may vary by and still be given: the crawl says the same of itself with each request.

Whether an answer suits an ``Origin`` is looked up in it. What varies by anything else, ``Accept`` and cookies above
all, is asked for anew.
"""
_USUAL: Final = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "cache-control", "cookie", "dnt", "host", "origin", "pragma"),
        *(
            "priority",
            "purpose",
            "range",
            "referer",
            "save-data",
            "upgrade-insecure-requests",
            "user-agent",
            "connection",
        ),
    }
)
"""Fields that browsers write by themselves, ``Sec-`` apart: a request with another one asks for something special."""
_DOCUMENTS: Final = frozenset({"document", "iframe", "frame", "fencedframe"})


class RecordedAnswers:
    """Looks up what the crawl ``number``, which was ``begun`` then, has captured itself."""

    def __init__(self, context: CurrentContext, writer: StoreWriter, number: int, begun: datetime) -> None:
        self._context = context
        self._writer = writer
        self._history = writer.stores.history
        self._number = number
        self._begun = warc_date(begun)

    async def to_request(self, request: BrowserRequest, url: str) -> Exchange | None:
        """Return the recorded answer to a page's request for a canonical URL; None where the server has to be asked.

        Given are whole answers with status 200 that may be stored, set no cookie and suit whoever asks, also to those
        who ask for one part of a file. The caller closes the exchange.
        """
        if request.method != "GET" or request.body or asks_for_news(request) or not _is_usual(request):
            return None
        asks_for_part = bool(Headers(request.headers).get("Range"))
        if asks_for_part and part_asked(request) is None:
            return None
        former = self._captured(url)
        if former is not None and former.kind == "page" and not _asks_for_document(request):
            return None  # Many a site tells a script that asks for a page's URL something else than a reader.
        exchange = None if former is None else await self._exchange(former)
        if exchange is None:
            return None
        head = head_of(exchange)
        is_given = head is not None and not exchange.redacted and _may_be_given(head.headers, request.headers)
        if head is None or not is_given or (asks_for_part and is_coded(Headers(head.headers))):
            exchange.close()
            return None
        return exchange

    async def to_lease(self, lease: Lease) -> CapturedResponse | None:
        """Return what a visit has captured of a leased requisite or frame; None where it is to be fetched.

        Of a frame, or a file that objects consist of, things are stated: they are of the URL's own capture in this
        crawl, or the URL is asked for as always.
        """
        # The count is the crawl's, so it holds for all workers, and after a restart.
        if not self._writer.stats["browser_requests"] or not _is_part(lease):
            return None
        former = self._captured(lease.url)
        if former is None or (_is_stated(lease) and not self._is_own(former)):
            return None
        exchange = await self._exchange(former)
        page = None if exchange is None else replayed(exchange, self._context.now.icd.limits.page_bytes, as_sent=True)
        if exchange is None:
            return None
        if page is None or exchange.redacted:
            exchange.close()
            return None
        fields = tuple(each for each in page.headers.fields if each[0].lower() != "content-encoding")
        exchange.response.seek(0)
        return CapturedResponse(
            lease.url,
            captured=Captured(exchange, "", page.headers.fields, page.complete, 0.0, 0.0),
            status=page.status,
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields],
            body=page.body,
        )

    def _captured(self, url: str) -> Former | None:
        former = self._history.former(url)
        if former is None or former.crawl != self._number:
            return None
        return former if former.status == HTTPStatus.OK and former.complete else None

    def _is_own(self, former: Former) -> bool:
        return former.original_url == former.url and former.warc_date >= self._begun

    async def _exchange(self, former: Former) -> Exchange | None:
        exchange = await asyncio.to_thread(self._history.exchange, former)
        return None if exchange is None else replace(exchange, kept_in=former.record_id)


def _is_part(lease: Lease) -> bool:
    return lease.kind == "requisite" or ends_with(lease.path, Hop.FRAME)


def _is_stated(lease: Lease) -> bool:
    return lease.kind == "page" or ends_with(lease.path, Hop.MEDIA)


def _is_usual(request: BrowserRequest) -> bool:
    names = (name.lower() for name, _ in request.headers)
    return all(name in _USUAL or name.startswith("sec-") for name in names)


def _asks_for_document(request: BrowserRequest) -> bool:
    fields = Headers(request.headers)
    said = request.resource_type or fields.get("Sec-Fetch-Dest")
    return said.lower() in _DOCUMENTS if said else fields.get("Accept").startswith("text/html")


def _may_be_given(answer: Sequence[tuple[str, str]], asked: Sequence[tuple[str, str]]) -> bool:
    head = Headers(tuple(answer))
    if "no-store" in _words(head, "cache-control") or head.get("Set-Cookie"):
        return False
    return _words(head, "vary") <= ALIKE and _suits_origin(head, Headers(tuple(asked)).get("Origin"))


def _suits_origin(head: Headers, origin: str) -> bool:
    """Return whether a browser lets a page of an origin read an answer (Fetch Standard, CORS check)."""
    return not origin or head.get("Access-Control-Allow-Origin") in ("*", origin)


def _words(head: Headers, name: str) -> set[str]:
    return {word.strip().lower() for value in head.all(name) for word in value.split(",") if word.strip()}
