"""What a saved article on an event, and references that archives hold, give for the specification of a collection.

What reads pages is imported with the first request: a cockpit has to start at once.
"""
# ruff: noqa: PLC0415

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
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
    """What a saved article tells: ``start`` and ``end`` are days (ISO 8601), empty where no infobox has the date.

    With its history the event ends when edits fell, and ``cool_down`` is a quarter of its length, as a definition has
    it; ``notes`` say what does not fit together.
    """

    title: str
    text: str
    start: str
    end: str
    references: tuple[str, ...]
    cool_down: str = ""
    notes: tuple[str, ...] = ()


def article_read(document: bytes, history: bytes = b"") -> ArticleRead:
    """Return what the page of a wiki tells that somebody saved: as HTML, by the API, or as wikitext.

    ``history`` has answers of the API about its revisions. Raise ``ProblemError`` for what is none.
    """
    from offline.collections.edit_history import EditHistory, HistoryError, read_histories
    from offline.collections.event_definition import Materials, event_of
    from offline.collections.event_page import EventPageError, read_event_page
    from offline.collections.wikitext import read_wikitext, wikitext_of
    from online_analysis.icd.units import format_duration

    try:
        written = wikitext_of(document)
        page = read_event_page(document) if written is None else read_wikitext(*written, "")
    except EventPageError as error:
        raise ProblemError(BAD_SEARCH, f"the article {error}") from None
    try:
        edits = read_histories({"the history": history}) if history else EditHistory(())
    except HistoryError as error:
        raise ProblemError(BAD_SEARCH, str(error)) from None
    change = edits.change_point()
    version = None if change is None else edits.current_at(change)
    latest = edits.revisions[-1] if edits.revisions else None
    event, _ = event_of(Materials(page, change, latest), "klein", [])
    current = None if change is None or version is None else (version.number, change)
    notes = tuple(_notes(page.revision, edits.unread, current)) if history else ()
    return ArticleRead(
        page.title,
        page.text,
        "" if event is None else event.start.date().isoformat(),
        "" if event is None else event.end.date().isoformat(),
        tuple(dict.fromkeys(each.url for each in page.references if not each.other))[:MAX_PROPOSED],
        format_duration(event.cool_down) if event is not None and event.cool_down else "",
        notes,
    )


def _notes(revision: int | None, unread: int, current: tuple[int, datetime] | None) -> Iterator[str]:
    """Yield what of an article and its history does not fit together; ``current`` was the version when edits fell."""
    if unread:
        yield f"{unread} versions of the history have no time that can be read, and are left out."
    if current is None:
        yield "Edits have not fallen yet: the event ends with the last version."
    elif current[0] != revision:
        saved = "another version" if revision is None else f"version {revision}"
        told = f"version {current[0]} was current when edits fell, on {current[1]:%Y-%m-%d}"
        yield f"The article is {saved}; {told}: for its text, save that one (oldid={current[0]})."


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
