"""Describe a capture for the object store, and count it in the statistics of its crawl."""

import logging
from collections import Counter
from collections.abc import Mapping

from aahcrawler.archive.writer import WrittenCapture
from aahcrawler.crawl.capture.recrawl import Change, RecrawlComparison
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease
from aahcrawler.metadata import LinkType, Metadata
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.page.loose_xml import Mistakes
from aahcrawler.pipeline.analysis import PageAnalysis
from aahcrawler.traps.path_shape import Trap

logger = logging.getLogger(__name__)


def description(
    lease: Lease, comparison: RecrawlComparison, metadata: Metadata, capture: WrittenCapture, status: int
) -> CaptureDescription:
    """Return what is stated of a capture, of a page or a file of an object.

    Its answer has a status and was understood as ``metadata``.

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
    """Add an answer to a page to the counts: what it is, what was found in it, what became of it."""
    metadata = reading.metadata
    if comparison.change is not None:
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
