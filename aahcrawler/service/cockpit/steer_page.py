"""Limits, weights and scope of a crawl by form, with what a change would do shown before it is made."""

from collections.abc import Mapping
from typing import Annotated, Final, cast

from fastapi import APIRouter, Path, Query, Response
from pydantic import JsonValue

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.gateway import AskingAgain
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Form, Operating, Sent, Site, address, said_of, then
from aahcrawler.service.steering.long_jobs import JobView
from aahcrawler.service.steering.order_preview import preview_weights
from aahcrawler.service.steering.redefining import Redefined, Section, change
from aahcrawler.service.steering.scope_preview import preview_scope
from aahcrawler.service.steering.url_scores import admission
from aahcrawler.service.web.problems import ProblemError
from online_analysis.icd.editing import edited, steps
from online_analysis.icd.form_view import FieldView, FormView, form_changes, form_view

SECTIONS: Final[Mapping[Section, str]] = {
    Section.LIMITS: "Limits",
    Section.WEIGHTS: "Weights of the analysers",
    Section.SCOPE: "Scope",
}
_WEIGHTS: Final = "scoring.weights"
_PREVIEWS: Final = {Section.WEIGHTS: preview_weights, Section.SCOPE: preview_scope}
_PATIENCE = 0.2
"""Seconds that a page waits for a preview, so that a short one is there at once."""


def routes(site: Site) -> APIRouter:
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
    """Shows what a change would do, and makes it."""

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
