"""Shows what crawls and imports hold, one of them or several together."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from aahcrawler.overview.archive_overview import CrawlChange, GatheredArchives, Holdings, changes, holdings
from aahcrawler.overview.link_graph import StrongestSites, strongest, strongest_names
from aahcrawler.overview.overview_sections import STRONGEST
from aahcrawler.overview.site_links import SiteLinks
from aahcrawler.page_index import captures_in
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_indexes import Asked, PageIndexes
from aahcrawler.service.web.problems import ProblemError

_TOPICS: Final = {"site": "site", "application": "application", "media": "media"}


@dataclass(frozen=True, slots=True)
class PartHeld:
    """How much of something one crawl or import holds."""

    crawl: Crawl
    count: int


@dataclass(frozen=True, slots=True)
class HeldArchives:
    """What is held. ``notes`` tell what is not counted yet, or cannot be.

    ``archives`` are those that were counted, with their captures; ``changes`` are of a single crawl alone.
    """

    held: Holdings
    changes: tuple[CrawlChange, ...]
    graph: StrongestSites | None
    archives: tuple[PartHeld, ...]
    notes: tuple[str, ...]


def held_archives(indexes: PageIndexes, crawls: Sequence[Crawl]) -> HeldArchives:
    """Return what crawls and imports hold together. Those that cannot be asked now are named in the notes."""
    notes: list[str] = []
    archives: list[PartHeld] = []
    read: list[Crawl] = []
    with GatheredArchives() as gathered:
        for crawl in crawls:
            try:
                with indexes.asked(crawl) as index:
                    gathered.add_pages(index.base)
                    archives.append(PartHeld(crawl, captures_in(index.base)))
                    notes += _note(crawl, index.progress.note, "")
            except ProblemError as problem:
                notes += _note(crawl, problem.detail, "")
                continue
            try:
                with indexes.asked(crawl, SiteLinks) as index:
                    gathered.add_sites(index.base)
                    read.append(crawl)
                    notes += _note(crawl, index.progress.note, "links and languages: ")
            except ProblemError as problem:
                notes += _note(crawl, problem.detail, "links and languages: ")
        names = strongest_names(gathered.base, STRONGEST)
        for crawl in read if names else ():
            # One whose index has been removed meanwhile is named the next time.
            with suppress(ProblemError), indexes.asked(crawl, SiteLinks) as index:
                gathered.add_links(index.base, names)
        held = holdings(gathered)
        graph = strongest(gathered.base, STRONGEST) if read else None
    only = crawls[0] if len(crawls) == 1 else None
    changed = () if only is None or only.folder is None or only.is_import else changes(only.folder)
    return HeldArchives(held, changed, graph, tuple(archives), tuple(notes))


def parts_held(indexes: PageIndexes, crawls: Sequence[Crawl], by: str, of: str) -> tuple[PartHeld, ...]:
    """Return which crawls and imports hold how much of a part: those that hold any, the most first.

    ``by`` is ``captured`` or ``published`` with a period, or ``site``, ``application`` or ``media`` with a name. Those
    that cannot be asked now are left out.
    """
    found: list[PartHeld] = []
    for crawl in crawls:
        try:
            with indexes.asked(crawl) as index:
                found.append(PartHeld(crawl, _count(index, by, of)))
        except ProblemError:
            continue
    return tuple(sorted((each for each in found if each.count), key=lambda each: (-each.count, each.crawl.id)))


def _count(index: Asked, by: str, of: str) -> int:
    if by in _TOPICS:
        condition, values = "crawl != 0 AND topic = ? AND name = ?", (_TOPICS[by], of)
    else:
        topic, crawl = ("month", "!=") if by == "captured" else ("published", "=")
        condition, values = f"crawl {crawl} 0 AND topic = ? AND substr(name, 1, {len(of)}) = ?", (topic, of)
    statement = f"SELECT coalesce(sum(n), 0) FROM tally WHERE {condition}"  # noqa: S608
    return int(index.base.execute(statement, values).fetchone()[0])


def _note(crawl: Crawl, text: str, about: str) -> tuple[str, ...]:
    return (f"{crawl.icd.title or crawl.id}: {about}{text}",) if text else ()
