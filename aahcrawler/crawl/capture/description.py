"""Describe a capture for the object store, and count it in the statistics of its crawl."""

from collections import Counter
from dataclasses import replace

from aahcrawler.archive.writer import Capture
from aahcrawler.crawl.capture.recrawl import Change, RecrawlComparison
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Lease
from aahcrawler.metadata import Metadata
from aahcrawler.objects.versions import Changes, compare
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.pipeline.analysis import PageAnalysis, is_doubtful
from aahcrawler.traps import Trap


def description(
    lease: Lease, comparison: RecrawlComparison, metadata: Metadata, capture: Capture, status: int
) -> CaptureDescription:
    """Return what is stated of a capture of a page, whose answer has a status and was understood as ``metadata``.

    A payload that was only ever captured at other URLs has no former capture whose objects this one's revise.
    """
    former = comparison.former
    record = former.record_id if former is not None else None
    own = record if former is not None and former.original_url == former.url else None
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
    )


def changes(before: Metadata, now: Metadata, *, complete: bool) -> Changes:
    """Return what became of the objects of a page; both must have been understood by the same knowledge base.

    What was not found because an action failed, or because the page did not come whole (``complete``), is not taken
    for deleted, nor for added where an action failed before.
    """
    found = compare(before.objects, now.objects)
    if is_doubtful(now) or not complete:
        found = replace(found, deleted=())
    return replace(found, added=()) if is_doubtful(before) else found


def count(comparison: RecrawlComparison, reading: PageAnalysis, stats: Stats) -> None:
    """Add an answer to a page to the counts: what it is, what was found in it, what became of it."""
    metadata = reading.metadata
    if comparison.change is not None:
        stats.add(comparison.change)
    if metadata.trap:
        stats.add(f"trap:{metadata.trap}")
    is_page = comparison.page.status < 300 or comparison.change is Change.UNCHANGED
    if is_page and metadata.trap != Trap.SOFT_404:
        stats.merge({"pages": 1, "relevant": int(bool(metadata.relevant))})
        stats.add(f"type:{metadata.media_type or 'unknown'}")
        stats.add(f"application:{metadata.application or 'unknown'}")
        stats.add(f"level:{metadata.role or 'none'}")
        stats.merge({f"no_object:{metadata.no_object}": 1} if metadata.no_object else {})
    if reading.error:
        stats.add(f"error:{reading.error}")
    stats.add("objects", len(metadata.objects))
    stats.merge(Counter(f"object:{web_object.type}" for web_object in metadata.objects))
    for refused in reading.refused:
        stats.add(f"refused:{refused.reason}")
    stats.add("failed_actions", 0 if reading.error else len(metadata.failures))
    for failed in reading.failed:
        stats.merge({f"failure:{failed.failure}": 1, f"failed:{failed.place}: {failed.failure}": 1})
        if failed.objects:
            stats.add(f"mended:{failed.place}: {failed.failure}")
    if reading.learned:
        stats.add(f"learned:{reading.learned}")
