"""``archive.html``: the overview of several folders of crawls and imports as one self-contained page."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from aahcrawler.crawls import is_import
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.derived_index import coverage
from aahcrawler.layout import DEFINITION, DELETED
from aahcrawler.overview.archive_overview import KINDS, CrawlChange, GatheredArchives, changes, holdings
from aahcrawler.overview.link_graph import SiteLinks, strongest, write_graph
from aahcrawler.overview.overview_sections import STRONGEST, EventLine, event_table, is_collection, sections, table
from aahcrawler.page_index import PageIndex, captures_in
from aahcrawler.report import ReportError, read_collection
from aahcrawler.report.chart import html_page
from aahcrawler.segments import no_link

ARCHIVE_REPORT: Final = "archive.html"
_KEPT: Final = (
    "Captures are those of pages, redirects and errors, as the cockpit lists them; pages are URLs, each counted "
    "once in a crawl."
)


class OverviewError(Exception):
    """There is nothing to report; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Reported:
    """The page that was written, and the number of sites and links in the graph, None if no graph was asked for.

    ``faults`` are messages on folders that could not be read completely.
    """

    page: Path
    graph: tuple[int, int] | None
    faults: tuple[str, ...]


def archive_folders(places: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders of crawls and imports among ``places`` and right below them. Raise ``OverviewError``."""
    found: list[Path] = []
    for place in places:
        if (place / DEFINITION).is_file():
            found.append(place)
            continue
        inner = sorted(place.iterdir()) if place.is_dir() else []
        held = [each for each in inner if (each / DEFINITION).is_file() and not each.name.startswith(DELETED)]
        if not held:
            raise OverviewError(f"{place}: is no folder of a crawl or of imported archives, and holds none")
        found += held
    return tuple(dict.fromkeys(found))


def report_archives(
    places: Sequence[Path], target: Path | None, graph: Path | None, seen: Callable[[int], object] = abs
) -> Reported:
    """Write the overview of the folders at ``places`` to a page, and their graph to a file if ``graph`` names one.

    Without ``target``, the page is ``archive.html`` in the first place. Indexes are brought up to date first; ``seen``
    is called for each step of that. Raise ``OverviewError``, ``OSError`` and ``sqlite3.Error``.
    """
    folders = archive_folders(places)
    faults: list[str] = []
    with GatheredArchives() as gathered:
        rows = [(each, _gathered(each, gathered, seen, faults)) for each in folders]
        held, drawn = holdings(gathered), strongest(gathered.base, STRONGEST)
        try:
            counts = None if graph is None else write_graph(gathered.base, graph)
        except ValueError as error:
            raise OverviewError(str(error)) from error
        changed = tuple(changes(folders[0])) if len(folders) == 1 and not is_import(folders[0]) else ()
        shown = sections(held, changed, drawn)
    others = () if len(folders) == 1 else tuple(_changes_of(folders))
    title = folders[0].name if len(folders) == 1 else "Archives"
    body = "".join(f'<section id="{each.name}"><h2>{escape(each.title)}</h2>{each.html}</section>' for each in shown)
    content = _archives(rows) + _events(folders) + body + _changed(others)
    figures = {"captures": held.captures, "pages": held.pages, "web objects": held.objects, "sites": held.sites.names}
    shown_figures = {name: f"{n:,}" for name, n in figures.items()}
    path = target or places[0] / ARCHIVE_REPORT
    with open(path, "w", encoding="utf-8", opener=no_link) as file:
        file.write(html_page(f"{title}: what is archived", title, f"What is archived. {_KEPT}", shown_figures, content))
    return Reported(path, counts, tuple(faults))


def _gathered(folder: Path, gathered: GatheredArchives, seen: Callable[[int], object], faults: list[str]) -> int:
    """Add the counts of a folder; return its number of captures."""

    def caught_up(index: PageIndex | SiteLinks) -> PageIndex | SiteLinks:
        while index.step():
            seen(index.at_once)
        return index

    with PageIndex(folder) as pages, caught_up(pages).asked() as base:
        faults += [f"{folder}: {each}" for each in coverage(base).damaged]
        gathered.add_pages(base)
        captures = captures_in(base)
    with SiteLinks(folder) as links, caught_up(links).asked() as base:
        faults += [f"{folder}: {each}" for each in coverage(base).damaged]
        gathered.add_sites(base)
        gathered.add_links(base)
    return captures


def _archives(rows: Sequence[tuple[Path, int]]) -> str:
    if len(rows) == 1:
        return ""
    told = ((f"{path.name}{' (import)' if is_import(path) else ''}", "", (captures,)) for path, captures in rows)
    return f"<h2>Archives</h2>{table(('Folder', 'captures'), told)}"


def _events(folders: Sequence[Path]) -> str:
    lines = []
    for folder in folders:
        with suppress(DefinitionError, ReportError):
            icd = read_definition(folder / DEFINITION)
            if is_collection(icd):
                lines.append(EventLine.of(icd, read_collection(folder)))
    return f"<h2>Collections about events</h2>{event_table(lines)}" if lines else ""


def _changes_of(folders: Sequence[Path]) -> Iterator[tuple[str, CrawlChange]]:
    for folder in folders:
        yield from ((folder.name, each) for each in (() if is_import(folder) else changes(folder)))


def _changed(found: Sequence[tuple[str, CrawlChange]]) -> str:
    if not found:
        return ""
    rows = ((f"{name}, crawl {each.crawl}", "", (each.pages, *each.changes())) for name, each in found)
    return f"<h2>What changed between crawls</h2>{table(('Crawl', 'pages', *KINDS), rows)}"
