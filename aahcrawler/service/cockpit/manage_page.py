"""Pages on which a crawl is steered by form, described, downloaded, copied and deleted."""

from collections.abc import Mapping
from typing import Annotated, Final, cast

from fastapi import APIRouter, Path, Query, Response
from pydantic import JsonValue, ValidationError

from aahcrawler.event_index import EventQuery
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.gateway import AskingAgain
from aahcrawler.service.cockpit.collection_pages import crawl_package, handed_out, saved
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Form, Operating, Reading, Sent, Site, address, said_of, then
from aahcrawler.service.steering import crawl_management
from aahcrawler.service.steering.crawl_management import MULTIPLE_TERMS, Description, terms
from aahcrawler.service.steering.long_jobs import JobView
from aahcrawler.service.steering.redefining import (
    Redefined,
    Section,
    change,
    is_running,
    preview_scope,
    preview_weights,
)
from aahcrawler.service.steering.steering_log import read_acts
from aahcrawler.service.steering.url_scores import admission
from aahcrawler.service.views.downloads import (
    has_report,
    object_table,
    page_table,
    report,
    warc_file,
    warc_files,
    warc_tar,
)
from aahcrawler.service.views.live_feed import events_page
from aahcrawler.service.web.problems import BAD_DEFINITION, BAD_SEARCH, ProblemError
from online_analysis.icd.editing import edited, steps
from online_analysis.icd.explanations import in_words
from online_analysis.icd.form_view import FieldView, FormView, form_changes, form_view

MAX_FILES: Final = 20
"""WARC files that are listed at once."""


def routes(site: Site) -> APIRouter:
    """Return the routes of the page and of its downloads."""
    router = APIRouter(prefix="/crawls/{crawl}")
    _add_page(router, site)
    _add_downloads(router, site)
    return router


def _add_page(router: APIRouter, site: Site) -> None:
    helm, forget = site.instruments.helm, site.instruments.forget

    @router.get("/manage")
    def show(
        session: Reading,
        crawl: str,
        after: Annotated[str, Query(max_length=300)] = "",
        job: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        return _page(site, session, site.crawl(crawl), after, job)

    @router.post("/manage/{act}")
    def manage(session: Operating, crawl: str, act: str, form: Sent) -> Response:
        found, caller = site.crawl(crawl), session.caller
        match act:
            case "describe":
                crawl_management.describe(helm.definitions, found, caller.name, _description(form))
                return then(session, address("crawls", found.id, "manage"), Said("The description is written."))
            case "copy":
                made = crawl_management.copy(helm, found, caller, _title(form))
                said = Said(f"{made.title}: a new crawl with the same definition, which can be changed and started")
                return then(session, address("crawls", made.id, "definition"), said)
            case "delete":
                gone = crawl_management.delete(helm, found, form.get("confirm"), forget)
                return then(session, "/", Said(f"{gone.id}: {gone.detail}"))
        raise ProblemError(BAD_SEARCH, "there is no such act")


def _add_downloads(router: APIRouter, site: Site) -> None:
    indexes = site.instruments.indexes

    @router.get("/files/archive.tar")
    def archive(_: Reading, crawl: str) -> Response:
        return handed_out(warc_tar(site.crawl(crawl)), "application/x-tar")

    @router.get("/files/warc/{name}")
    def warc(_: Reading, crawl: str, name: Annotated[str, Path(max_length=300)]) -> Response:
        return handed_out(warc_file(site.crawl(crawl), name), "application/gzip")

    @router.get("/files/report.html")
    def whole_report(_: Reading, crawl: str) -> Response:
        return handed_out(report(site.crawl(crawl)), "text/html; charset=utf-8")

    @router.get("/files/pages.csv")
    def pages(_: Reading, crawl: str) -> Response:
        return saved(f"{crawl}-pages.csv", page_table(indexes, site.crawl(crawl)), "text/csv; charset=utf-8")

    @router.get("/files/objects.csv")
    def objects(_: Reading, crawl: str) -> Response:
        return saved(f"{crawl}-objects.csv", object_table(indexes, site.crawl(crawl)), "text/csv; charset=utf-8")


def _page(site: Site, session: Session, crawl: Crawl, after: str, job: str) -> Response:
    """Return the page with the WARC files after the one named ``after``."""
    files = warc_files(crawl) if crawl.folder is not None else ()
    shown = [each for each in files if each.path.name > after][:MAX_FILES]
    more = bool(shown) and shown[-1] != files[-1]
    values = {
        "described": Description.of(crawl.icd),
        "terms": terms(),
        "lists": MULTIPLE_TERMS,
        "files": shown,
        "asked_after": after,
        "number": len(files),
        "bytes": sum(each.size for each in files),
        "more": address("crawls", crawl.id, "manage", after=shown[-1].path.name) if more else "",
        "has_report": has_report(crawl),
        "runs": is_running(crawl),
        "held": crawl_management.held(crawl.folder) if crawl.folder is not None else None,
        "status": site.instruments.states.status(crawl),
        **crawl_package(site, crawl, job),
    }
    return site.crawl_page(session, crawl, "manage", "manage.html", **values)


def _description(form: Form) -> Description:
    lists = {
        name: tuple(line.strip() for line in form.raw(name).splitlines() if line.strip()) for name in MULTIPLE_TERMS
    }
    try:
        return Description.model_validate(
            {"title": _title(form), "description": " ".join(form.raw("description").split()), **lists}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise ProblemError(BAD_DEFINITION, in_words(first, str(first["loc"][0]))) from None


def _title(form: Form) -> str:
    title = " ".join(form.get("title").split())
    if not title:
        raise ProblemError(BAD_DEFINITION, "a crawl needs a title; write what it is to be called")
    return title


Text = Annotated[str, Query(max_length=2_000)]
EVENTS: Final = 25
"""Events that the page shows at once: more would be longer than three screens."""
Word = Annotated[str, Query(max_length=300)]
_LEVELS = {"": (), "warnings": ("WARNING", "ERROR", "CRITICAL"), "errors": ("ERROR", "CRITICAL")}


def log_routes(site: Site) -> APIRouter:
    """Return the route of the log."""
    router = APIRouter(prefix="/crawls/{crawl}")

    @router.get("/log")
    def show_log(
        session: Reading,
        crawl: str,
        text: Text = "",
        level: Annotated[str, Query(pattern="^(warnings|errors)?$")] = "",
        after: Word = "",
    ) -> Response:
        found = site.crawl(crawl)
        listed = events_page(found, EventQuery(text.strip(), _LEVELS[level]), after, EVENTS)
        asked = {"text": text, "level": level}
        more = address("crawls", crawl, "log", **asked, after=listed.next) if listed.next else ""
        acts = read_acts(found)
        return site.crawl_page(session, found, "log", "log.html", listed=listed, acts=acts, asked=asked, more=more)

    return router


SECTIONS: Final[Mapping[Section, str]] = {
    Section.LIMITS: "Limits",
    Section.WEIGHTS: "Weights of the analysers",
    Section.SCOPE: "Scope",
}
_WEIGHTS: Final = "scoring.weights"
_PREVIEWS: Final = {Section.WEIGHTS: preview_weights, Section.SCOPE: preview_scope}
_PATIENCE = 0.2
"""Seconds that a page waits for a preview, so that a short one is there at once."""


def steer_routes(site: Site) -> APIRouter:
    """Return the routes of steering by form."""
    router = APIRouter(prefix="/crawls/{crawl}/steer", route_class=AskingAgain)
    desk = _SteeringHandlers(site)

    @router.get("/{section}")
    def show(
        session: Operating, crawl: str, section: Section, admit: Annotated[str, Query(max_length=20_000)] = ""
    ) -> Response:
        found = site.crawl(crawl)
        text = site.instruments.helm.definitions.read(found).text
        changes = admission(found, admit).changes if admit else {}
        return desk.shown(session, found, section, form_view(edited(text, changes) if changes else text))

    @router.get("/{section}/preview/{job}")
    def go_on(session: Operating, crawl: str, section: Section, job: Annotated[str, Path(max_length=100)]) -> Response:
        found = site.crawl(crawl)
        shown = site.instruments.helm.jobs.wait(crawl, job, _PATIENCE)
        return site.part(session, "steer_preview.html", crawl=found, section=section, job=shown, change=None)

    @router.post("/{section}")
    def act(session: Operating, crawl: str, section: Section, form: Sent) -> Response:
        return desk.act(session, site.crawl(crawl), section, form)

    return router


class _SteeringHandlers:
    """Handlers that preview a change, and apply it."""

    def __init__(self, site: Site) -> None:
        self._site, self._helm = site, site.instruments.helm

    def act(self, session: Session, crawl: Crawl, section: Section, form: Form) -> Response:
        helm, by = self._helm, session.caller.name
        text = helm.definitions.read(crawl).text
        typed = {name: form.raw(name) for name in form.fields}
        changes = form_changes(text, typed)
        fields = cast("Mapping[str, JsonValue]", {_name(path, section): value for path, value in changes.items()})
        job: JobView | None = None
        made: Redefined | None = None
        try:
            made = change(
                helm.reach, helm.definitions, crawl, by, section, fields, preview=form.get("action") != "apply"
            )
            if made.applied:
                told = tuple(f"{each.field}: {each.before} → {each.after}" for each in made.fields)
                return then(session, address("crawls", crawl.id, "steer", section), Said(made.detail, "good", told))
            if section in _PREVIEWS and made.fields:
                begun = _PREVIEWS[section](helm.reach, helm.jobs, helm.definitions, crawl, by, fields)
                job = helm.jobs.wait(crawl.id, begun.id, _PATIENCE)
        except ProblemError as problem:
            session.tell(said_of(problem))
        return self.shown(session, crawl, section, form_view(edited(text, changes) if changes else text), made, job)

    def shown(
        self,
        session: Session,
        crawl: Crawl,
        section: Section,
        view: FormView,
        made: Redefined | None = None,
        job: JobView | None = None,
    ) -> Response:
        values = {
            "section": section,
            "sections": SECTIONS,
            "fields": _fields(view, section),
            "change": made,
            "job": job,
        }
        return self._site.crawl_page(session, crawl, "definition", "steer.html", **values)


def _fields(view: FormView, section: Section) -> list[FieldView]:
    every = [each for part in view.sections for each in part.fields]
    if section is Section.WEIGHTS:
        return [each for each in every if each.field.path == _WEIGHTS]
    return [each for each in every if each.field.path.startswith(f"{section}.")]


def _name(path: str, section: Section) -> str:
    """Return the name of a field within its section.

    >>> _name("limits.pages", Section.LIMITS), _name('scoring.weights["text"]', Section.WEIGHTS)
    ('pages', 'text')
    """
    return ".".join(map(str, steps(path)[2 if section is Section.WEIGHTS else 1 :]))
