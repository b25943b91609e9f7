"""Archive an answer and add it to the history: a payload that is known already is not kept twice."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from aahcrawler import metadata as metadata_record
from aahcrawler.archive.history import History, HistoryRecord
from aahcrawler.archive.records import UNIDENTIFIED, Identified, Original
from aahcrawler.archive.resources import Resource
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.crawl.capture.redaction import NO_REDACTION, Redaction
from aahcrawler.exchange import Exchange
from aahcrawler.metadata import Metadata
from aahcrawler.page import sniff

LARGE = 4_000_000
"""Bytes of a response from which on archiving it would hold up everything else for long."""

RetryWrite = Callable[[Callable[[], Awaitable[WrittenCapture]]], Awaitable[WrittenCapture]]
"""Makes a write, and makes it again while the disk is full."""


@dataclass(frozen=True, slots=True)
class Annotations:
    """The records archived with an answer: the identified type of its payload, and its metadata.

    ``unchanged`` is the former capture that the answer equals, None where it equals none. ``resources`` are what a
    browser made of the page.
    """

    identified: Identified = UNIDENTIFIED
    metadata: Metadata | None = None
    unchanged: Original | None = None
    resources: tuple[Resource, ...] = ()


NO_ANNOTATIONS = Annotations()


class Archiver:
    """Writes answers to the WARC files and adds them to the history, one after another.

    A payload that was archived before, by this crawl or a former one, is not written again: a revisit record says
    where it is (WARC 1.1, section 6.7). Empty and truncated payloads are written as they are. What
    ``redaction`` makes of an exchange is kept of it.
    """

    def __init__(self, writer: WarcWriter, history: History, crawl: int, redaction: Redaction = NO_REDACTION) -> None:
        self._redaction = redaction
        self._writer = writer
        self._history = history
        self._crawl = crawl
        self._lock = asyncio.Lock()

    async def keep(self, exchange: Exchange, annotations: Annotations, retry: RetryWrite) -> WrittenCapture:
        """Archive an answer, a large one beside the event loop: 2 GB take minutes to compress.

        Of one that is from the archive nothing is written, and it is the capture that it was, unless it was understood
        as a page: what that said has to stand beside an answer, which is then a revisit of the same moment, without a
        request, as nothing was asked for.
        """
        if exchange.kept_in and not _is_page(annotations):
            return WrittenCapture(exchange.kept_in, exchange.url, exchange.started_at, "", 0, session=exchange.session)
        is_large = exchange.response_size > LARGE
        shown = self._redaction.resources(exchange, annotations.resources)
        kept = await asyncio.to_thread(self._redaction.of, exchange) if is_large else self._redaction.of(exchange)
        try:
            return await self._keep(kept, replace(annotations, resources=shown), retry)
        finally:
            if kept.response is not exchange.response:
                kept.close()

    async def _keep(self, exchange: Exchange, annotations: Annotations, retry: RetryWrite) -> WrittenCapture:
        async with self._lock:
            original = annotations.unchanged or self._known(exchange)
            metadata = _metadata(annotations.metadata, exchange)
            write = partial(
                self._writer.write,
                exchange,
                annotations.identified,
                original=original,
                metadata=None if metadata is None else metadata_record.write(metadata),
                resources=annotations.resources,
            )

            async def once() -> WrittenCapture:
                return await asyncio.to_thread(write) if exchange.response_size > LARGE else write()

            capture = await retry(once)
            self._history.add(HistoryRecord.of(capture, exchange, self._crawl, original=original, metadata=metadata))
        return capture

    def _known(self, exchange: Exchange) -> Original | None:
        if exchange.truncated is not None:
            return None
        known = self._history.original(exchange.payload_digest)
        return known if known is None or self._redaction.are_alike(known.url, exchange.url) else None


def _is_page(annotations: Annotations) -> bool:
    said = annotations.metadata
    return bool(annotations.resources) or (said is not None and said.priority is not None)


def _metadata(metadata: Metadata | None, exchange: Exchange) -> Metadata | None:
    """Return the metadata of an exchange with what the browser said of it; None where nothing is to be told."""
    if metadata is None and not exchange.initiator:
        return None
    return replace(
        metadata or Metadata(), url=exchange.url, resource_type=exchange.resource_type, initiator=exchange.initiator
    )


def identified(body: bytes, language: str | None = None, *, declared: str = "") -> Identified:
    """Return what the bytes of a payload are; nothing is said of an empty one.

    The ``declared`` media type says what kind of text it is where that does not show in the bytes.
    """
    return Identified(sniff(body, declared) or None, language)
