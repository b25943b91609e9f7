"""Keep what each visit of a page found, for the log of changes."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from typing import Final

from aahcrawler.archive.records import labelled_digest
from aahcrawler.archive.writer import WrittenCapture
from aahcrawler.crawl.browsing.page_rendering import Rendering
from aahcrawler.crawl.capture.recrawl import Change, Recrawl, RecrawlComparison, UnreadableCaptureError
from aahcrawler.crawl.core.page_reading import PageReading, WorkEndedError
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.health.outages import is_local
from aahcrawler.crawl.lease.lease_source import StoppedError
from aahcrawler.documents.formats import JSON, format_of
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Lease
from aahcrawler.metadata import LinkType, Metadata
from aahcrawler.objects.versions import Changes, edited_fields
from aahcrawler.page import Page
from aahcrawler.page.text import fold
from aahcrawler.pipeline.analysis import PageAnalysis
from aahcrawler.revisits.idle_lines import is_of_request
from aahcrawler.revisits.page_comparison import (
    Difference,
    compared,
    content_of,
    http_date,
    is_comparable,
    of_data,
    template_of,
)
from aahcrawler.revisits.visit_record import MAX_REASON, ChangeKind, ChangeState, VisitRecord, milliseconds
from aahcrawler.traps.patterns import Trap
from aahcrawler.webobject import WebObject

logger = logging.getLogger(__name__)

_SAME: Final = Difference(ChangeKind.TEMPLATE, ())
_MAX_OBJECTS: Final = 200
"""Objects of each kind of change that are named; all of them are in the triples."""
_MAX_FIELD: Final = 1_000
_TEXTS: Final = frozenset({"body", "description"})
"""The properties of an object that hold lines of its page."""


@dataclass(frozen=True, slots=True)
class AnsweredVisit:
    """A visit that was answered, and what came of it.

    ``found`` is None for what leads nowhere by itself, ``changes`` where nobody can tell what became of its objects.
    """

    lease: Lease
    response: CapturedResponse
    page: Page
    comparison: RecrawlComparison
    look: Rendering
    found: PageAnalysis | None
    capture: WrittenCapture
    changes: Changes | None = None


@dataclass(frozen=True, slots=True)
class ListedPages:
    """What a list says of pages, by canonical URL: when they changed, and how often they do (``changefreq``)."""

    changed: Mapping[str, datetime]
    frequencies: Mapping[str, str]


class VisitNoting:
    """Adds visits of pages, and of lists of pages, to the log of changes; requisites are visited for their pages."""

    def __init__(self, writer: StoreWriter, recrawl: Recrawl, reading: PageReading) -> None:
        self._writer = writer
        self._recrawl = recrawl
        self._reading = reading

    async def answered(self, visit: AnsweredVisit) -> None:
        """Keep a visit that was answered, with what of the page differs from its former capture."""
        log = self._writer.stores.changes
        if log is None or not visit.lease.is_page:
            return
        is_changed = visit.comparison.change is Change.CHANGED and not visit.comparison.is_list
        await self._writer.write(log.visited, _record(visit, await self._difference(visit) if is_changed else None))

    async def failed(self, lease: Lease, reason: str) -> None:
        """Keep that a page was asked for and gave no response."""
        log = self._writer.stores.changes
        if log is not None and lease.is_page:
            at = milliseconds(datetime.now(UTC))
            seen = VisitRecord(url=lease.url, at=at, reason=reason, requests=max(lease.attempt, 1))
            await self._writer.write(log.visited, seen)

    async def listed(
        self, lease: Lease, response: CapturedResponse, capture: WrittenCapture, listed: ListedPages
    ) -> None:
        """Keep a visit of a list, and what it says of pages."""
        log = self._writer.stores.changes
        if log is None:
            return
        told = {url: date for url, date in listed.changed.items() if date <= capture.date}
        await self._writer.write(log.listed, lease.url, capture.date, told, listed.frequencies)
        await self._writer.write(log.visited, VisitRecord.model_validate(_of_exchange(lease, response, capture)))

    async def _difference(self, visit: AnsweredVisit) -> Difference | None:
        """Compare the page with its former capture; None where that cannot be read any more."""
        says_otherwise = visit.comparison.statements is not None
        if says_otherwise and format_of(visit.comparison.page) != JSON:
            return of_data(None)
        found = await self._difference_of_texts(visit)
        return of_data(found) if says_otherwise else found

    async def _difference_of_texts(self, visit: AnsweredVisit) -> Difference | None:
        former, page = visit.comparison.former, visit.comparison.page
        if former is None or not is_comparable(page):
            return None
        try:
            before = self._recrawl.page_of(former)
            if before.body == page.body:  # It came in another content coding.
                return _SAME
            return compared(await self._reading.of(before, content_of), await self._reading.of(page, content_of))
        except UnreadableCaptureError:
            return None
        except StoppedError:
            raise
        except WorkEndedError as error:
            logger.warning("%s: not compared with its former capture: %s", visit.lease.url, error)
        except Exception as error:  # Whatever a page may provoke, the crawl goes on.
            if is_local(error):
                raise
            logger.exception("%s: not compared with its former capture", visit.lease.url)
        return None


def _record(visit: AnsweredVisit, difference: Difference | None) -> VisitRecord:
    lease, comparison, look, changes = visit.lease, visit.comparison, visit.look, visit.changes or Changes()
    metadata = visit.found.metadata if visit.found is not None else Metadata()
    fields = _of_exchange(lease, visit.response, visit.capture)
    former, note = comparison.former, look.note
    if note is not None:
        fields["requests"] = visit.response.exchange.is_fetched + note.requests
        fields["seconds"] = round(float(str(fields.get("seconds") or 0.0)) + note.seconds, 3)
    if comparison.unmodified and former is not None:
        fields["payload"] = labelled_digest(former.digest)
    said = None if comparison.change is None else ChangeState(comparison.change)
    kind, is_idle = _judged(visit, difference, metadata.objects)
    return VisitRecord.model_validate(
        {
            **fields,
            "status": visit.page.status,
            "said": said,
            "kind": kind,
            "compared": None if former is None else milliseconds(former.last_seen),
            "shown": _shown(visit, metadata.objects),
            "text": _text_of(visit.found),
            # Lists are made by no template; so they count for nothing where pages are counted.
            "template": "" if comparison.is_list else template_of(lease.url, metadata.application, metadata.level),
            "places": None if difference is None else difference.places,
            "idle": is_idle,
            "to": _redirect(visit.page, metadata),
            "soft": metadata.trap == Trap.SOFT_404,
            "rendered": comparison.page.rendered,
            "reader": metadata.understood_by[:8],
            "new": changes.added[:_MAX_OBJECTS],
            "edited": changes.edited[:_MAX_OBJECTS],
            "deleted": changes.deleted[:_MAX_OBJECTS],
            "statements": comparison.statements,
            "reason": comparison.unread[:MAX_REASON],
        }
    )


def _judged(
    visit: AnsweredVisit, difference: Difference | None, objects: Sequence[WebObject]
) -> tuple[ChangeKind | None, bool]:
    """Return what has changed of a page and its objects, and whether it is nothing but what visits themselves leave.

    Links of a page belong to its objects, too: where those are all that was edited, links have changed, not content.
    """
    if difference is None or not visit.changes:
        return (None, False) if difference is None else (difference.kind, bool(difference.idle))
    edits = _edits(visit, objects)
    if edits and difference.kind is ChangeKind.LINKS and all(edited_fields(*edit) == {"links"} for edit in edits):
        return ChangeKind.LINKS, False
    is_idle = bool(edits and difference.idle) and all(
        _is_of_lines(*edit, difference.idle) and _is_dated_alike(visit, *edit) for edit in edits
    )
    return ChangeKind.CONTENT, is_idle


def _edits(visit: AnsweredVisit, objects: Sequence[WebObject]) -> list[tuple[WebObject, WebObject]]:
    """Return both versions of each edited object; none where an object is new or gone, or a version is not known."""
    changes, before = visit.changes, visit.comparison.before
    if changes is None or before is None or changes.added or changes.deleted:
        return []
    former, now = ({each.iri: each for each in known} for known in (before.objects, objects))
    if not all(name in former and name in now for name in changes.edited):
        return []
    return [(former[name], now[name]) for name in changes.edited]


def _is_of_lines(former: WebObject, now: WebObject, lines: frozenset[str]) -> bool:
    """Return whether an object was edited in its text and date alone, and in some lines alone, none more or less."""
    if not edited_fields(former, now) <= _TEXTS | {"date"}:
        return False
    for name in _TEXTS:
        before, after = (
            Counter(fold(line) for text in each.properties.get(name, ()) for line in str(text).splitlines())
            for each in (former, now)
        )
        gone, came = before - after, after - before
        if gone.total() != came.total() or not lines.issuperset([*gone, *came]):
            return False
    return True


def _is_dated_alike(visit: AnsweredVisit, *versions: WebObject) -> bool:
    """Return whether both versions of an object have the same date, or that of their own requests."""
    former = visit.comparison.former
    dates = [each.properties.get("date", ()) for each in versions]
    if former is None or dates[0] == dates[1]:
        return former is not None
    return len(dates[0]) == len(dates[1]) and all(
        isinstance(told, datetime) and told.tzinfo is not None and is_of_request(told, asked)
        for each, asked in zip(dates, (former.last_seen, visit.capture.date), strict=True)
        for told in each
    )


def _of_exchange(lease: Lease, response: CapturedResponse, capture: WrittenCapture) -> dict[str, object]:
    """Return what a response itself says of a visit."""
    exchange, headers = response.exchange, {name.lower(): value for name, value in response.wire_headers}
    asked_at = http_date(headers.get("date"))
    return {
        "url": lease.url,
        "at": milliseconds(capture.date),
        "seconds": round(response.captured.elapsed, 3) if exchange.is_fetched else None,
        "status": response.status,
        "etag": _field(headers, "etag"),
        "modified": _field(headers, "last-modified"),
        "asked_at": None if asked_at is None else milliseconds(asked_at),
        "payload": labelled_digest(exchange.payload_digest) if _has_payload(exchange, response.status) else None,
        "size": exchange.response_size if exchange.memento is None else 0,
        "requests": int(exchange.is_fetched),
        "record": capture.record_id,
    }


def _field(headers: Mapping[str, str], name: str) -> str | None:
    return headers.get(name, "")[:_MAX_FIELD] or None


def _has_payload(exchange: Exchange, status: int) -> bool:
    return bool(exchange.payload_digest) and status != 304


def _text_of(found: PageAnalysis | None) -> str | None:
    """Return the digest of the text of a page's content, None where it has none or was not looked at again."""
    document = None if found is None else found.document
    text = "" if document is None else document.text
    return sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest() if text else None


def _redirect(page: Page, metadata: Metadata) -> str:
    """Return where a redirect leads, empty for what is none."""
    if page.is_content or not 300 <= page.status < 400:
        return ""
    return next((link.url for link in metadata.links if link.type is LinkType.REDIRECT), "")


def _shown(visit: AnsweredVisit, objects: Sequence[WebObject]) -> int | None:
    """Return the newest date that a page gives for what is new on it: of its objects, else of its text."""
    named = {*visit.changes.added, *visit.changes.edited} if visit.changes else None
    dates = [
        value
        for each in objects
        if named is None or each.iri in named
        for name in ("modified", "date")
        for value in each.properties.get(name, ())
        if isinstance(value, datetime) and value.tzinfo is not None
    ]
    document = visit.found.document if visit.found is not None else None
    if not dates and document is not None and document.times is not None and document.times.shown is not None:
        dates = [document.times.shown]
    return milliseconds(max(dates)) if dates else None
