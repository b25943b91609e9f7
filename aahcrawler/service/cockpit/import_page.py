"""The first page of imported archives: what was imported, what was told of it, and what was found there."""

from typing import Final

from fastapi import Response

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Session
from aahcrawler.service.cockpit.site import Site, address
from aahcrawler.service.steering.crawl_management import Description, terms
from aahcrawler.service.views.crawl_course import page_counts
from aahcrawler.service.views.imported_files import imported, notes_of
from aahcrawler.service.views.object_list import object_counts
from aahcrawler.service.web.problems import ProblemError

FILES: Final = 20
NOTES: Final = 20
"""Files, and notes, that are shown at once."""


def import_page(site: Site, session: Session, crawl: Crawl, after: int, begin: int, told: str) -> Response:
    """Return the page: files from one on, and notes that begin at a byte, of lost records alone or of all."""
    folder = crawl.folder
    assert folder is not None  # noqa: S101 (an import is known by a file in its folder)
    counts, objects, problem = None, None, ""
    try:
        with site.instruments.indexes.asked(crawl) as index:
            counts, objects = page_counts(index, crawl.number), object_counts(index)
    except ProblemError as error:
        problem = error.detail
    shown = imported(folder)
    notes = notes_of(folder, begin, NOTES, lost_only=told != "all")
    end = after + FILES

    def here(**query: object) -> str:
        return address("crawls", crawl.id, **({"told": told, "after": after, "begin": begin} | query))

    values = {
        "status": site.instruments.states.status(crawl),
        "described": Description.of(crawl.icd),
        "terms": terms(),
        "total": shown.total,
        "of_files": len(shown.files),
        "files": shown.files[after:end],
        "more_files": here(after=end) + "#files-head" if end < len(shown.files) else "",
        "notes": notes.notes,
        "more_notes": here(begin=notes.next) + "#told-head" if notes.next is not None else "",
        "told": told,
        "ways": {name: here(told=name, begin=0) + "#told-head" for name in ("", "all")},
        "counts": counts,
        "objects": objects,
        "problem": problem,
    }
    return site.crawl_page(session, crawl, "", "import.html", **values)
