"""What a saved article on an event, and references that archives hold, give for the specification of a collection.

What reads pages is imported with the first request: a cockpit has to start at once.
"""
# ruff: noqa: PLC0415

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.web.problems import BAD_SEARCH, UNAVAILABLE, ProblemError
from aahcrawler.urls import canonicalize, queue_of, resolve

MAX_REFERENCES: Final = 10
"""References whose captures are read for the addresses that they link to."""
MAX_PROPOSED: Final = 200
"""Addresses that are proposed."""


@dataclass(frozen=True, slots=True)
class ArticleRead:
    """What a saved article tells: ``start`` and ``end`` are days (ISO 8601), empty where no infobox has the date."""

    title: str
    text: str
    start: str
    end: str
    references: tuple[str, ...]


def article_read(document: bytes) -> ArticleRead:
    """Return what the page of a wiki tells that somebody saved: as HTML, by the API, or as wikitext.

    Raise ``ProblemError`` for what is none.
    """
    from offline.collections.event_page import EventPageError, read_event_page
    from offline.collections.wikitext import read_wikitext, wikitext_of

    try:
        written = wikitext_of(document)
        page = read_event_page(document) if written is None else read_wikitext(*written, "")
    except EventPageError as error:
        raise ProblemError(BAD_SEARCH, f"the article {error}") from None
    start, end = (page.time.start, page.time.end) if page.time is not None else (None, None)
    return ArticleRead(
        page.title,
        page.text,
        "" if start is None else start.date().isoformat(),
        "" if end is None else end.date().isoformat(),
        tuple(dict.fromkeys(each.url for each in page.references if not each.other))[:MAX_PROPOSED],
    )


def linked_addresses(crawls: Sequence[Crawl], references: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses on other sites that references link to, by the last capture of each that has links.

    Raise ``ProblemError`` where an archive cannot be read.
    """
    from aahcrawler.archive.folders import ArchiveError
    from aahcrawler.segments import SegmentError

    found: dict[str, None] = {}
    folders = [crawl.folder for crawl in crawls if crawl.folder is not None]
    try:
        for url in references[:MAX_REFERENCES]:
            for folder in folders:
                linked = list(_links_of(folder, url))
                found.update(dict.fromkeys(linked))
                if linked:
                    break
    except (ArchiveError, SegmentError, OSError) as error:
        raise ProblemError(UNAVAILABLE, f"an archive cannot be read: {error}") from error
    return tuple(found)[:MAX_PROPOSED]


def _links_of(folder: Path, url: str) -> Iterator[str]:
    from aahcrawler.captures.archived_captures import ArchivedCaptures

    with ArchivedCaptures(folder) as captures:
        held = [each for each in captures.of_url(canonicalize(url) or url) if each.status == 200 and each.shows_target]
        page = held[-1].page if held else None
        if page is None or not page.is_html:
            return
        site = queue_of(page.url)
        for target in page.tree.xpath("//a/@href"):
            linked = resolve(page.base_url, str(target).strip())
            if linked is not None and queue_of(linked) != site:
                yield linked
