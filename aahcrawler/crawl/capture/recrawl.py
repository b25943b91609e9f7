"""Compare responses with the captures of former crawls (RFC 9110, section 13; WARC 1.1, section 6.7).

That tells which URLs to ask for with conditions, and what a response is compared with.
"""

import re
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus

from aahcrawler.archive.history import Former, History
from aahcrawler.archive.records import Original
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Lease
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.page.feeds import FEED_TYPES, is_list
from aahcrawler.pipeline.analysis import is_doubtful
from aahcrawler.wire.replay import replayed

GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})

_FIELD_VALUE = re.compile(r"[\x21-\x7e\x80-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?")


class Change(StrEnum):
    """The change of a page since the crawls before this one; the counts of a crawl have these names."""

    NEW = "new"
    """It was never captured before."""
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """The server says so, or sent the same payload."""
    GONE = "gone"
    """There was a page, and now the server says that there is none (404, 410)."""


@dataclass(frozen=True, slots=True)
class ConditionalRequest:
    """The former capture of a URL when it is requested, and whether the request carries conditions."""

    former: Former | None = None
    conditional: bool = False

    @property
    def plain(self) -> "ConditionalRequest":
        """The same request as if it had been made without conditions."""
        return replace(self, conditional=False)

    @property
    def conditions(self) -> dict[str, bytes]:
        """The header fields of a conditional request, none for another."""
        if self.former is None or not self.conditional:
            return {}
        fields = {"If-None-Match": self.former.etag, "If-Modified-Since": self.former.last_modified}
        return {name: value.encode("latin-1") for name, value in fields.items() if _is_sendable(value)}


UNCONDITIONAL = ConditionalRequest()


@dataclass(frozen=True, slots=True)
class RecrawlComparison:
    """A response beside what was there before.

    ``page`` is what there is to be understood: the response itself, or the archived page that a 304 stands for.
    ``former`` is the capture that the response is compared with, ``before`` what was understood of it. ``remembered``
    says that ``before`` is what would be understood today. ``change`` is None for whatever neither is nor was a page.
    ``unmodified`` says that the server sent no payload because the former one is still right. ``held`` is false where
    the archive has the payload of ``former`` no more. ``repeats`` says whether the payload is that of ``former``; None
    is what ``change`` says, which is of the page as a browser showed it where one did. ``was_gone`` says of a page that
    is gone that a former crawl found that already. ``statements`` are how many statements or rows of data were added,
    removed and changed, None where that is not known. ``unread`` says why a document was not read to its end, or not
    compared; it is empty where it was.
    """

    page: Page
    former: Former | None = None
    change: Change | None = None
    before: Metadata | None = None
    remembered: bool = False
    unmodified: bool = False
    held: bool = True
    repeats: bool | None = None
    was_gone: bool = False
    statements: tuple[int, int, int] | None = None
    unread: str = ""

    @property
    def is_repeated(self) -> bool:
        """Whether the payload is that of the former capture."""
        return self.change is Change.UNCHANGED if self.repeats is None else self.repeats

    @property
    def is_list(self) -> bool:
        """Whether what was fetched as a page is, or was, a list of pages: a feed or a sitemap that a page links to."""
        if self.page.is_content:
            return is_list(self.page)
        return self.before is not None and self.before.media_type in FEED_TYPES

    @property
    def original(self) -> Original | None:
        """The response that holds the payload of an unchanged response; None where the archive has it no more."""
        return self.former.original if self.former is not None and self.is_repeated and self.held else None


class UnreadableCaptureError(Exception):
    """An archived page cannot be read any more."""


class Recrawl:
    """Compares responses with the former crawls of a definition, for the crawl ``number``, which was ``begun`` then.

    Pages are bounded by ``page_bytes``. What this crawl itself was the first to capture, before it was killed, is not
    taken for a former capture: what had changed by then would not be told.
    """

    def __init__(self, history: History, number: int, begun: datetime, page_bytes: int) -> None:
        self._history = history
        self._number = number
        self._begun = begun
        self._page_bytes = page_bytes
        self._plain: set[str] = set()

    def captured_at(self, url: str) -> datetime | None:
        """Return when a URL was captured last, None where it was not, as far as this process knows."""
        former = self._history.former(url)
        return None if former is None else former.last_seen

    def asked(self, url: str) -> ConditionalRequest:
        """Return what is known of a canonical URL, and whether to ask for it with conditions."""
        former = self._history.former(url, self._begun)
        if former is None or not 200 <= former.status < 300:
            return UNCONDITIONAL
        conditional = (
            former.status == HTTPStatus.OK
            and former.complete
            and (_is_sendable(former.etag) or _is_sendable(former.last_modified))
            and url not in self._plain
            and self._history.is_readable(former)
        )
        return ConditionalRequest(former, conditional)

    def compared(self, asked: ConditionalRequest) -> ConditionalRequest:
        """Return what a capture that an archive had is compared with.

        Such captures are older than the crawl, so that those of this very crawl are told by its number.
        """
        is_own = asked.former is not None and asked.former.crawl == self._number
        return UNCONDITIONAL if is_own else asked.plain

    def before(self, url: str) -> Metadata | None:
        """Return what a former crawl understood of a URL, None where it knew nothing of it."""
        former = self._history.former(url, self._begun)
        return self._history.metadata(former) if former is not None else None

    def ask_plainly(self, url: str) -> None:
        """Ask for a URL without conditions from now on."""
        self._plain.add(url)

    def compare(
        self, lease: Lease, page: Page, exchange: Exchange, asked: ConditionalRequest, understood_by: str
    ) -> RecrawlComparison:
        """Compare a response with what was there before; ``understood_by`` identifies today's understanding.

        Raise ``UnreadableCaptureError`` for a 304 whose page cannot be read from the archive and is needed.
        """
        former, is_page = asked.former, lease.is_page
        is_success = page.is_content
        if former is None:
            return RecrawlComparison(page, change=Change.NEW if is_page and is_success else None)
        before = self._history.metadata(former)
        today = self._is_todays(former, before, understood_by)
        if page.status == HTTPStatus.NOT_MODIFIED and asked.conditional:
            if is_page and not today:
                return RecrawlComparison(self.page_of(former), former, Change.UNCHANGED, before, unmodified=True)
            # Of requisites only files of objects, and style sheets that lead somewhere, have metadata.
            return RecrawlComparison(
                page, former, Change.UNCHANGED, before or Metadata(), remembered=True, unmodified=True
            )
        if is_success and exchange.truncated is None and exchange.payload_digest == former.digest:
            held = asked.conditional or self._history.is_readable(former)
            return RecrawlComparison(page, former, Change.UNCHANGED, before, remembered=is_page and today, held=held)
        if is_page and page.status in GONE:
            was_gone = self._history.was_gone(former, self._begun)
            return RecrawlComparison(page, former, Change.GONE, before, was_gone=was_gone)
        return RecrawlComparison(page, former, Change.CHANGED if is_page and is_success else None, before)

    def shown(
        self, comparison: RecrawlComparison, page: Page | None, text: str = "", *, is_made: bool = False
    ) -> RecrawlComparison:
        """Return what the ``page`` that a browser showed makes of the comparison of its response; None: none showed it.

        The digest of its ``text`` says whether it changed since a browser showed it last. Where none did, nothing is
        said beyond what the response said, and nothing is remembered; where one did then and none now, nobody knows.
        Nor where only one of the two was made of data (``is_made``), which may leave some of the text out. Raise as
        ``compare`` does.
        """
        former, before = comparison.former, comparison.before
        if page is None:
            if former is None or not former.rendered or comparison.change is not Change.UNCHANGED:
                return comparison
            came = self.sent_page(former) if comparison.unmodified else comparison.page
            return replace(comparison, page=came, change=None, before=None, remembered=False, repeats=True)
        known = replace(comparison, page=page, remembered=False, repeats=comparison.is_repeated)
        if former is None:
            return known
        if not former.rendered or before is None or before.browser is None:
            return replace(known, before=None)
        if bool(before.browser.made_of) != is_made:
            return replace(known, change=None, before=None)
        return replace(known, change=Change.UNCHANGED if before.browser.text == text else Change.CHANGED)

    def response_of(self, former: Former) -> Exchange | None:
        """Return a former response as the archive has it, which the caller closes; None where it has it no more."""
        return self._history.exchange(former)

    def sent_page(self, former: Former) -> Page:
        """Read a captured page from the archive as its server sent it.

        Raise ``UnreadableCaptureError`` if the archive no longer has it.
        """
        return self._page(former, as_sent=True)

    def page_of(self, former: Former) -> Page:
        """Read a captured page from the archive as it was understood: as a browser rendered it, else as it was sent.

        Raise ``UnreadableCaptureError`` if the archive no longer has it.
        """
        return self._page(former)

    def _page(self, former: Former, *, as_sent: bool = False) -> Page:
        exchange = self._history.exchange(former)
        if exchange is not None:
            with closing(exchange):
                page = replayed(exchange, self._page_bytes, as_sent=as_sent)
            if page is not None:
                return page
        raise UnreadableCaptureError(former.url)

    def _is_todays(self, former: Former, before: Metadata | None, understood_by: str) -> bool:
        """Say whether what was understood of a page is all that would be understood of it today, and is written down.

        What this crawl has understood itself, before it was killed, may not have reached the triples. An action that
        failed may have been mended since.
        """
        return (
            before is not None
            and before.understood_by == understood_by
            and former.crawl < self._number
            and not is_doubtful(before)
        )


def _is_sendable(value: str) -> bool:
    return len(value) <= 1000 and _FIELD_VALUE.fullmatch(value) is not None
