"""What an archived crawl, an article on an event, or reference pages suggest for a definition.

What reads pages is imported with the first request: a cockpit has to start at once.

What reads pages is imported with the first request: a cockpit has to start at once.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final

from aahcrawler.archive.folders import ArchiveError
from aahcrawler.objects.reader import ReadError
from aahcrawler.segments import SegmentError
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import BAD_SEARCH, UNAVAILABLE, ProblemError, Shown
from aahcrawler.urls import canonicalize, queue_of, resolve
from knowledge_base.loader import LoadError
from online_analysis.icd import Icd
from online_analysis.suggestions import Suggested

# ruff: noqa: PLC0415


MAX_PAGES: Final = 1_000
"""Pages that are read: each is understood anew."""


class SuggestedValue(Shown):
    """A value with the number of relevant pages that have it; ``snippet`` is the URL of the best of them."""

    value: str
    count: int
    snippet: str
    note: str


class ReferenceSuggestions(Shown):
    """What a crawl suggests, the weightiest first, after so many of its ``pages``, ``relevant`` ones among them."""

    pages: int
    relevant: int
    keywords: tuple[SuggestedValue, ...]
    entities: tuple[SuggestedValue, ...]
    seeds: tuple[SuggestedValue, ...]
    outcome: str


def reference_suggestions(
    crawl: Crawl, icd: Icd, folders: Sequence[Path], advance: Callable[[], None]
) -> ReferenceSuggestions:
    """Return what a crawl suggests for a definition, its pages read with the knowledge base of some folders.

    ``advance`` is called with each page. Raise ``ProblemError``.
    """
    from offline.refinement.proposals import (
        ReferencePage,
        RefinementError,
        propose,
        reference_pages,
        suggestions_of,
        topic_of,
    )
    from offline.rereading import Reader, RereadError

    if crawl.folder is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder")

    def counted(pages: Iterator[ReferencePage]) -> Iterator[ReferencePage]:
        for page in islice(pages, MAX_PAGES):
            advance()
            yield page

    try:
        topic = topic_of(icd, crawl.folder)
        seeds = frozenset(canonicalize(seed) or seed for seed in icd.seeds)
        with closing(Reader.of(crawl.folder, folders)) as reader:
            proposals = propose(icd, topic, seeds, counted(reference_pages(crawl.folder, topic, reader)))
    except (ArchiveError, LoadError, ReadError, RefinementError, RereadError, SegmentError) as error:
        raise ProblemError(UNAVAILABLE, f"{crawl.id} cannot be read as a reference: {error}") from error
    found = suggestions_of(proposals)
    return ReferenceSuggestions(
        pages=proposals.pages,
        relevant=proposals.relevant,
        keywords=_shown(found.keywords),
        entities=_shown(found.entities),
        seeds=_shown(found.seeds),
        outcome=proposals.outcome.value if proposals.are_none else "",
    )


def _shown(found: Sequence[Suggested]) -> tuple[SuggestedValue, ...]:
    return tuple(
        SuggestedValue(value=each.value, count=each.count, snippet=each.snippet, note=each.note) for each in found
    )


# ruff: noqa: PLC0415


MAX_REFERENCES: Final = 10
"""References whose captures are read for the addresses that they link to."""
MAX_PROPOSED: Final = 200
"""Addresses that are proposed."""


@dataclass(frozen=True, slots=True)
class ArticleRead:
    """The contents of a saved article: ``start`` and ``end`` are days (ISO 8601), empty if no infobox has them.

    With its revision history, the event ends when edits became rare, and ``cool_down`` is a quarter of its length, as a
    definition has it; ``notes`` name contradictions between article and history.
    """

    title: str
    text: str
    start: str
    end: str
    references: tuple[str, ...]
    cool_down: str = ""
    notes: tuple[str, ...] = ()


def article_read(document: bytes, history: bytes = b"") -> ArticleRead:
    """Parse a saved page of a wiki: HTML, a response of its API, or wikitext.

    ``history`` has responses of the API about its revisions. Raise ``ProblemError`` if it is none of these.
    """
    from offline.collections.event_definition import Materials, event_of
    from offline.collections.event_page import EventPageError, read_event_page
    from offline.collections.reference_pages import EditHistory, HistoryError, read_histories
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
    """Yield contradictions between an article and its history; ``current`` was the version when edits became rare."""
    if unread:
        yield f"{unread} versions of the history have no time that can be read, and are left out."
    if current is None:
        yield "Edits have not fallen yet: the event ends with the last version."
    elif current[0] != revision:
        saved = "another version" if revision is None else f"version {revision}"
        told = f"version {current[0]} was current when edits fell, on {current[1]:%Y-%m-%d}"
        yield f"The article is {saved}; {told}: for its text, save that one (oldid={current[0]})."


def linked_addresses(crawls: Sequence[Crawl], references: Sequence[str]) -> tuple[str, ...]:
    """Return the URLs on other sites to which references link, from the last capture of each that has links.

    Raise ``ProblemError`` if an archive cannot be read.
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
