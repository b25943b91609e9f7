"""Archive a response, add it to the history, describe it for the object store and count it.

What a site is told in confidence is left out.
"""

import asyncio
import hashlib
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO, Final, cast
from urllib.parse import urlsplit

from aahcrawler import metadata as metadata_record
from aahcrawler.archive.history import History, HistoryRecord
from aahcrawler.archive.payload import HttpPayload
from aahcrawler.archive.records import UNIDENTIFIED, Identified, Original, Resource
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.crawl.capture.recrawl import Change, RecrawlComparison
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.credentials.given import MIN_OF_A_TOKEN, NONE, REDACTED, Credentials, Masks, is_among
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease
from aahcrawler.metadata import LinkType, Metadata
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.page import sniff
from aahcrawler.page.decoding import decode_content
from aahcrawler.page.loose_xml import Mistakes
from aahcrawler.pipeline.analysis import PageAnalysis
from aahcrawler.traps.patterns import Trap
from aahcrawler.urls import queue_of

MAX_SEARCHED_BYTES: Final = 16_000_000
"""Bytes of a response up to which secrets are looked for in its body, and of what it is after decoding."""

_HEAD: Final = 65_536
"""Bytes of a response in which the cookies that it sets are looked for."""
_COOKIE: Final = re.compile(rb"([^=;\s]+)=([^;]*)")
_LINE: Final = re.compile(rb"([^:\r\n]+):[ \t]*([^\r\n]*)")
_AUTHORIZATION: Final = frozenset({b"authorization", b"proxy-authorization"})
_FRAMING: Final = frozenset({b"content-encoding", b"transfer-encoding", b"content-length"})


class Redaction:
    """Marks exchanges, and masks what is secret in them where ``masks`` says so; those of other sites stay."""

    def __init__(self, given: Credentials, *, masks: bool) -> None:
        self._given, self._masks = given, masks
        self._sites = given.sites
        self._headers = {
            host: frozenset(header.name.lower().encode("ascii") for header in headers if header.is_secret)
            for host, headers in given.headers.items()
        }

    def of(self, exchange: Exchange) -> Exchange:
        """Return an exchange as it is to be archived; its response is read from the start and left there."""
        if not is_among(self._sites, exchange.url):
            return self._elsewhere(exchange)
        marked = replace(exchange, session=", ".join(self._kinds(exchange, queue_of(exchange.url))))
        return self._masked(marked) if self._masks else marked

    def resources(self, exchange: Exchange, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """Return what a browser made of a page as it is to be archived, given the exchange as it passed.

        Where secrets are masked, they are in documents; pictures, in which none can be found, are left out.
        """
        if not self._masks or not is_among(self._sites, exchange.url):
            return tuple(resources)
        exchange.response.seek(0)
        masks = Masks({*self._given.secrets, *_tokens(exchange.request, exchange.response.read(_HEAD))}, tokens=True)
        exchange.response.seek(0)
        return tuple(
            replace(
                each,
                target=masks.masked_text(each.target),
                block=masks.masked(each.block),
                document_url=masks.masked_text(each.document_url),
            )
            for each in resources
            if each.media_type.startswith("text/")
        )

    def are_alike(self, url: str, other: str) -> bool:
        """Return whether the crawl has credentials for the sites of both URLs, or of none.

        What a site showed to the crawl alone is not what a capture of another one refers to.
        """
        return is_among(self._sites, url) == is_among(self._sites, other)

    def _elsewhere(self, exchange: Exchange) -> Exchange:
        """Return an exchange with another site: it may be shown on a page where the crawl has credentials."""
        if not self._masks or not exchange.shown_on or not is_among(self._sites, exchange.shown_on):
            return exchange
        return replace(exchange, shown_on=Masks(self._given.secrets, tokens=True).masked_text(exchange.shown_on))

    def _kinds(self, exchange: Exchange, site: str) -> Iterator[str]:
        """Yield how a site knows the crawl in an exchange."""
        names = dict(_fields(exchange.request.partition(b"\r\n\r\n")[0]))
        if site in self._given.logins and (b"cookie" in names or exchange.method == "POST"):
            yield "login"
        if b"cookie" in names and self._given.cookies_of(site):
            yield "cookies"
        if b"authorization" in names:
            yield names[b"authorization"].partition(b" ")[0].decode("latin-1").lower()
        if self._headers.get(urlsplit(exchange.url).hostname or "", frozenset()) & names.keys():
            yield "header"

    def _masked(self, exchange: Exchange) -> Exchange:
        exchange.response.seek(0)
        response = exchange.response.read(MAX_SEARCHED_BYTES + 1)
        exchange.response.seek(0)
        masks = Masks({*self._given.secrets, *_tokens(exchange.request, response)}, tokens=True)
        done: set[str] = set()
        request, url = self._request(exchange, masks, done), masks.masked_text(exchange.url)
        mask = _response if len(response) <= MAX_SEARCHED_BYTES else _large
        shown_on = masks.masked_text(exchange.shown_on)
        changed = mask(replace(exchange, url=url, request=request, shown_on=shown_on), response, masks, done)
        if url != exchange.url:
            done.add("url")
        return replace(changed, redacted=", ".join(sorted(done)))

    def _request(self, exchange: Exchange, masks: Masks, done: set[str]) -> bytes:
        head, mark, body = exchange.request.partition(b"\r\n\r\n")
        secret = self._headers.get(urlsplit(exchange.url).hostname or "", frozenset())
        if body:
            done.add("body of the request")
            body = REDACTED.encode()
        return _head(head, masks, done, secret, len(body) if body else None) + mark + body


NO_REDACTION: Final = Redaction(NONE, masks=False)
"""Leaves all exchanges as they are."""


def _response(exchange: Exchange, response: bytes, masks: Masks, done: set[str]) -> Exchange:
    """Return an exchange with its response masked; ``response`` is all of it."""
    reading = HttpPayload()
    payload = reading.feed(response)
    if reading.head is None:
        return exchange
    head = reading.head.rstrip(b"\r\n")
    names = dict(_fields(head))
    body = decode_content(payload, names.get(b"content-encoding", b"").decode("latin-1"), MAX_SEARCHED_BYTES).body
    masked = masks.masked(body)
    if masked == body:
        kept = _head(head, masks, done) + b"\r\n\r\n"
        raw = kept + response[len(reading.head) :]
        return replace(exchange, response=BytesIO(raw), response_size=len(raw), head_size=len(kept))
    done.add("body of the response")
    kept = _head(head, masks, done, length=len(masked)) + b"\r\n\r\n"
    digest = hashlib.sha1(masked, usedforsecurity=False).digest()
    raw = kept + masked
    return replace(exchange, response=BytesIO(raw), response_size=len(raw), head_size=len(kept), payload_digest=digest)


def _large(exchange: Exchange, response: bytes, masks: Masks, done: set[str]) -> Exchange:
    """Return an exchange whose response is too large to be searched: its head is masked, and its body as it came."""
    kept = _head(response[: exchange.head_size].rstrip(b"\r\n"), masks, done) + b"\r\n\r\n"
    whole = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 - whoever consumes the exchange closes it
    whole.write(kept)
    exchange.response.seek(exchange.head_size)
    copyfileobj(exchange.response, whole)
    exchange.response.seek(0)
    size = whole.tell()
    whole.seek(0)
    return replace(exchange, response=whole, response_size=size, head_size=len(kept))


def _head(
    head: bytes, masks: Masks, done: set[str], secret: frozenset[bytes] = frozenset(), length: int | None = None
) -> bytes:
    """Return the head of a message, masked; with a ``length`` for a body that is no longer what it was."""
    lines = []
    for line in head.split(b"\r\n"):
        found = _LINE.fullmatch(line)
        name = found[1].strip().lower() if found else b""
        if found is None or not (name in _AUTHORIZATION or name in secret or name in (b"cookie", b"set-cookie")):
            if name in _FRAMING and length is not None:
                continue
            masked = masks.masked(line)
            if masked != line:
                done.add("url" if found is None or name in (b"location", b"referer") else name.decode("latin-1"))
            lines.append(masked)
            continue
        done.add(name.decode("latin-1"))
        lines.append(found[1] + b": " + _value(name, found[2]))
    if length is not None:
        lines.append(b"Content-Length: %d" % length)
    return b"\r\n".join(lines)


def _value(name: bytes, value: bytes) -> bytes:
    """Return the value of a field that lets in, with what it is made of and nothing of what it says."""
    word = REDACTED.encode()
    if name == b"cookie":
        return _COOKIE.sub(rb"\1=" + word, value)
    if name == b"set-cookie":
        return _COOKIE.sub(rb"\1=" + word, value, count=1)
    scheme, blank, _ = value.partition(b" ")
    return scheme + b" " + word if name in _AUTHORIZATION and blank else word


def _tokens(request: bytes, response: bytes) -> Iterator[str]:
    """Yield the long values of the cookies that an exchange carries."""
    for name, value in (*_fields(request.partition(b"\r\n\r\n")[0]), *_fields(response[:_HEAD])):
        pairs: Sequence[tuple[bytes, bytes]] = _COOKIE.findall(value) if name == b"cookie" else ()
        if name == b"set-cookie":
            pairs = _COOKIE.findall(value)[:1]
        for _, each in pairs:
            if len(each) >= MIN_OF_A_TOKEN:
                yield each.decode("latin-1")


def _fields(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    for line in head.split(b"\r\n\r\n", 1)[0].split(b"\r\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            yield name.strip().lower(), value.strip()


LARGE = 4_000_000
"""Bytes of a response from which on archiving it would hold up everything else for long."""

RetryWrite = Callable[[Callable[[], Awaitable[WrittenCapture]]], Awaitable[WrittenCapture]]
"""Makes a write, and makes it again while the disk is full."""


@dataclass(frozen=True, slots=True)
class Annotations:
    """The records archived with a response: the identified type of its payload, and its metadata.

    ``unchanged`` is the former capture that the response equals, None where it equals none. ``resources`` are what a
    browser made of the page.
    """

    identified: Identified = UNIDENTIFIED
    metadata: Metadata | None = None
    unchanged: Original | None = None
    resources: tuple[Resource, ...] = ()


NO_ANNOTATIONS = Annotations()


class Archiver:
    """Writes responses to the WARC files and adds them to the history, one after another.

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
        """Archive a response, a large one beside the event loop: 2 GB take minutes to compress.

        Of one that is from the archive nothing is written, and it is the capture that it was, unless it was understood
        as a page: what that said has to stand beside a response, which is then a revisit of the same moment, without a
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
                metadata=None if metadata is None else metadata_record.write_metadata(metadata),
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


logger = logging.getLogger(__name__)


def description(
    lease: Lease, comparison: RecrawlComparison, metadata: Metadata, capture: WrittenCapture, status: int
) -> CaptureDescription:
    """Return what is stated of a capture, of a page or a file of an object.

    Its response has a status and was understood as ``metadata``.

    A payload that was only ever captured at other URLs has no former capture whose objects this one's revise.
    """
    former = comparison.former
    record = former.record_id if former is not None else None
    own = record if former is not None and former.original_url == former.url else None
    if former is not None and comparison.page.rendered:  # Many pages that scripts make have one payload.
        record = own = former.metadata_of
    return CaptureDescription(
        iri=capture.record_id,
        url=capture.url,
        status=status,
        fetched_at=capture.date,
        media_type=metadata.media_type,
        application=metadata.application,
        level=metadata.level,
        role=metadata.role,
        score=metadata.score,
        relevant=metadata.relevant,
        priority=lease.score,
        depth=lease.depth,
        via=lease.via,
        unchanged=record if comparison.change is Change.UNCHANGED else None,
        revision_of=own if comparison.change in (Change.CHANGED, Change.GONE) else None,
        trap=metadata.trap,
        session=capture.session,
        reader=metadata.understood_by,
        title=metadata.title,
        is_requisite=not lease.is_page,
        frames=tuple(link.url for link in metadata.links if link.type is LinkType.FRAME),
        rendered=metadata.browser.dom if metadata.browser is not None else "",
        memento=capture.memento,
        frame_of=lease.via if lease.path.upper().endswith(Hop.FRAME) else "",
    )


def count(comparison: RecrawlComparison, reading: PageAnalysis, stats: Stats) -> None:
    """Add a response to a page to the counts: what it is, what was found in it, what became of it."""
    metadata = reading.metadata
    if comparison.change is not None and not comparison.is_list:
        stats.add(comparison.change)
    if metadata.trap:
        stats.add(f"trap:{metadata.trap}")
    is_page = comparison.page.is_content or comparison.change is Change.UNCHANGED
    if is_page and metadata.trap != Trap.SOFT_404:
        stats.merge({"pages": 1, "relevant": int(bool(metadata.relevant))})
        stats.add(f"type:{metadata.media_type or 'unknown'}")
        stats.merge(kind_counts(metadata))
    if reading.error:
        stats.add(f"error:{reading.error}")
    stats.merge(object_counts(metadata))
    for refused in reading.refused:
        stats.add(f"refused:{refused.reason}")
    stats.add("failed_actions", 0 if reading.error else len(metadata.failures))
    for failed in reading.failed:
        stats.merge({f"failure:{failed.failure}": 1, f"failed:{failed.place}: {failed.failure}": 1})
        if failed.objects:
            stats.add(f"mended:{failed.place}: {failed.failure}")
        if failed.spared:
            stats.add(f"spared:{failed.place}: {failed.failure}")
    if reading.learned:
        stats.add(f"learned:{reading.learned}")
    stats.merge(malformed(comparison.page.url, "feeds", reading.mistakes))


def malformed(url: str, kind: str, mistakes: Mistakes | None) -> Mapping[str, int]:
    """Log what was wrong with the markup of a list; return the counts of it, and of entries that were left out."""
    if mistakes is None:
        return {}
    logger.warning("%s: malformed: %s", url, mistakes)
    return {f"malformed:{kind}": 1, "malformed:entries": mistakes.dropped}


def page_counts(said: Metadata) -> Mapping[str, int]:
    """Return the counts of what a page was found to be and to hold, which another reading may find otherwise."""
    return {**kind_counts(said), **object_counts(said)}


def kind_counts(said: Metadata) -> Mapping[str, int]:
    """Return the counts of what a page was found to be."""
    counts = {f"application:{said.application or 'unknown'}": 1, f"level:{said.role or 'none'}": 1}
    return counts | ({f"no_object:{said.no_object}": 1} if said.no_object else {})


def object_counts(said: Metadata) -> Mapping[str, int]:
    """Return the counts of the objects that were found on a page."""
    return {"objects": len(said.objects), **Counter(f"object:{web_object.type}" for web_object in said.objects)}
