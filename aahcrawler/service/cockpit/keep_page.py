"""Pages for selecting what to keep of a crawl: proposals, people's decisions, and the result as WARC or WACZ."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from markupsafe import Markup

from aahcrawler.annotations.keep_decisions import KeepAnswer, decide
from aahcrawler.annotations.web_annotations import AnnotationFileError
from aahcrawler.layout import DECISIONS
from aahcrawler.overview.overview_sections import table
from aahcrawler.overview.periods import worded
from aahcrawler.overview.spoken_pictures import Spread, spread
from aahcrawler.service.catalog.crawl_catalog import Crawl, argument_of
from aahcrawler.service.cockpit.collection_pages import PATIENCE, JobName, Range, part_of, shown_package
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Operating, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.spoken_pages import as_csv
from aahcrawler.service.cockpit.spoken_sections import shown_markup
from aahcrawler.service.steering.packaging import KeptFile, Packing, propose
from aahcrawler.service.views.enriched_crawl import is_enriched
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.views.proposed_pages import (
    MAX_PROPOSED,
    GroupToKeep,
    answered,
    decisions_told,
    proposed_pages,
    table_of_proposals,
    with_captures,
)
from aahcrawler.service.web.noted_acts import note_did
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, ProblemError
from aahcrawler.tallies import plural

GROUPS: Final = 10
"""Groups that the page shows at once, each folded."""
FIRST: Final = 5
"""Pages of each group that are shown where all groups are."""
ROWS: Final = 15
"""Pages of a group that are shown at once where it is shown alone: more would be longer than three screens."""
_PROPOSED: Final = 100
_FILES: Final[Mapping[KeptFile, tuple[str, str]]] = {
    "warc.gz": ("WARC", "The records of the pages that are kept, with what they need to be shown."),
    "wacz": ("WACZ", "The same as one file with index and list of pages, which ReplayWeb.page and others show."),
}
_DONE: Final = {KeepAnswer.KEEP: "kept", KeepAnswer.REJECT: "rejected", KeepAnswer.UNDECIDED: "undecided again"}


def routes(site: Site) -> APIRouter:
    """Return the routes of what is kept."""
    router = APIRouter(prefix="/crawls/{crawl}/archive/keep")
    helm, indexes = site.instruments.helm, site.instruments.indexes

    @router.get("")
    def show(
        session: Reading,
        crawl: str,
        group: Annotated[str, Query(max_length=2_000)] = "",
        after: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
        job: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        found = site.crawl(crawl)
        proposed = proposed_pages(found)
        chosen = [each for each in proposed.groups if each.name == group] if group else proposed.groups
        groups = chosen if group else chosen[after : after + GROUPS]
        at, most = (after, ROWS) if group else (0, FIRST)
        with indexes.asked(found) as asked:
            shown = {each.number: with_captures(each.pages[at : at + most], asked) for each in groups}
        rest = max((len(each.pages) for each in groups), default=0) if group else len(chosen)
        step = ROWS if group else GROUPS
        here = address("crawls", crawl, "archive", "keep", group=group, after=after or "")
        proposing = helm.jobs.wait(found.id, job, PATIENCE) if job else helm.jobs.under_way(found.id, "propose")
        values = {
            "proposed": proposed,
            "groups": groups,
            "shown": shown,
            "group": group,
            "at": at,
            "here": here,
            "picture": _picture(crawl, groups),
            "before": _moved(crawl, group, after - step) if after else "",
            "following": _moved(crawl, group, after + step) if after + step < rest else "",
            "files": [{**_file(site, found, ending, job), "ending": ending} for ending in _FILES],
            "proposing": proposing,
            "job_at": "" if proposing is None else address("crawls", crawl, "archive", "keep", "job", proposing.id),
            "enriched": is_enriched(found),
            "decisions": found.folder and argument_of(found.folder / DECISIONS),
            "most": MAX_PROPOSED,
            "usual": _PROPOSED,
        }
        return site.crawl_page(session, found, "archive", "keep.html", **values)

    @router.get("/job/{job}")
    def go_on(session: Reading, crawl: str, job: JobName) -> Response:
        found = site.crawl(crawl)
        values = {"proposing": helm.jobs.wait(found.id, job, PATIENCE), "crawl": found}
        at = address("crawls", crawl, "archive", "keep", "job", job)
        return site.part(session, "keep_job.html", job_at=at, **values)

    @router.get("/proposals.csv")
    def download(_: Reading, crawl: str) -> Response:
        return as_csv(f"{crawl}-keep", table_of_proposals(proposed_pages(site.crawl(crawl))))

    @router.get("/decisions.jsonl")
    def download_decisions(_: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        proposed_pages(found)  # Nothing is handed out while pages are taken out, or of a damaged file.
        content = b"" if found.folder is None else b"".join(decisions_told(found.folder))
        named = {"Content-Disposition": f'attachment; filename="{crawl}-{DECISIONS}"'}
        return Response(content, media_type="application/x-ndjson", headers=named)

    _add_acts(router, site)
    _add_files(router, site)
    return router


def _add_acts(router: APIRouter, site: Site) -> None:
    """Add the routes by which pages are proposed and decided on."""
    helm = site.instruments.helm

    @router.post("/propose")
    def begin(session: Operating, crawl: str, form: Sent) -> Response:
        found = site.crawl(crawl)
        if found.folder is None:
            raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder")
        wanted = form.get("pages") or str(_PROPOSED)
        if not wanted.isascii() or not wanted.isdigit() or not 1 <= int(wanted[:9]) <= MAX_PROPOSED:
            raise ProblemError(BAD_SEARCH, f"write a number of pages from 1 to {MAX_PROPOSED:,}")
        by, knowledge = session.caller.name, site.instruments.reach
        begun = propose(helm.jobs, found.id, found.folder, int(wanted), by, lambda: knowledge.knowledge)
        note_did(found.id, "propose")
        return then(session, address("crawls", found.id, "archive", "keep", job=begun.id))

    @router.post("/decide")
    def take(session: Operating, crawl: str, form: Sent) -> Response:
        found, answer, url, group = site.crawl(crawl), form.get("answer"), form.get("url"), form.get("group")
        if answer not in list(KeepAnswer):
            raise ProblemError(BAD_SEARCH, "say whether to keep or to reject")
        proposed = proposed_pages(found)
        if form.get("state") != proposed.state:
            raise ProblemError(CONFLICT, "the pages were proposed anew meanwhile; look at them again, then decide")
        assert found.folder is not None  # noqa: S101 (else nothing was proposed)
        pages = answered(proposed, url, group, KeepAnswer(answer))
        try:
            number = decide(found.folder, pages, KeepAnswer(answer), session.caller.name)
        except AnnotationFileError as error:
            raise ProblemError(CONFLICT, str(error)) from error
        note_did(found.id, f"{answer} {plural(number, 'page')} of")
        said = url if url and number else plural(number, "page")
        path = form.get("back") or address("crawls", crawl, "archive", "keep")
        return then(session, path, Said(f"{said}: {_DONE[KeepAnswer(answer)]}"))


def _add_files(router: APIRouter, site: Site) -> None:
    """Add the routes of the files with the pages to keep."""
    helm = site.instruments.helm

    @router.post("/files/{ending}")
    def make(session: Operating, crawl: str, ending: KeptFile, _: Sent) -> Response:
        found = site.crawl(crawl)
        kept = proposed_pages(found).count(KeepAnswer.KEEP)
        if not kept:
            raise ProblemError(CONFLICT, "no page is kept so far; decide on some first")
        begun = helm.packages.make(helm.jobs, _packing(found, ending), session.caller.name, kept)
        note_did(found.id, f"package_{ending}")
        return then(session, f"{address('crawls', found.id, 'archive', 'keep', job=begun.id)}#files")

    @router.get("/files/{ending}/job/{job}")
    def go_on(session: Reading, crawl: str, ending: KeptFile, job: JobName) -> Response:
        return site.part(session, "package.html", **_file(site, site.crawl(crawl), ending, job))

    @router.get("/files/{ending}")
    def hand_out(_: Reading, crawl: str, ending: KeptFile, asked: Range = "") -> Response:
        return part_of(_packing(site.crawl(crawl), ending), asked)


def _file(site: Site, crawl: Crawl, ending: KeptFile, job: str) -> Mapping[str, object]:
    """Return the values that show a file with the pages to keep."""
    title, about = _FILES[ending]
    here = ("crawls", crawl.id, "archive", "keep", "files", ending)
    told = shown_package(site, _packing(crawl, ending), job)
    return {
        "heading": title,
        "about": about,
        "packed_at": address(*here),
        "make_at": address(*here),
        "job_at": address(*here, "job", job),
        **told,
    }


def _packing(crawl: Crawl, ending: KeptFile) -> Packing:
    found = Packing.of_kept(crawl, ending)
    if found is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder; ask the service of one that has")
    return found


def _moved(crawl: str, group: str, after: int) -> str:
    return address("crawls", crawl, "archive", "keep", group=group, after=max(0, after) or "")


def _picture(crawl: str, groups: Sequence[GroupToKeep]) -> Markup:
    """Return the picture of pages by group and time, with its table."""
    rows = [
        Spread(
            each.name.removeprefix("topic: "), each.months(), each.months(KeepAnswer.KEEP), _moved(crawl, each.name, 0)
        )
        for each in groups
    ]
    drawn = spread("Proposed pages by group and time", rows)
    lines = [
        (f"{each.label}, {worded(month)}", each.address, (n, each.within.get(month, 0)))
        for each in rows
        for month, n in sorted(each.months.items())
    ]
    shown = drawn + table(("Group and time", "proposed", "kept"), lines) if drawn else ""
    return shown_markup(shown)
