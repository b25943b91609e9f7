"""What is done to a work from one of its pages: a rule is kept, or links like one are avoided."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from starlette.datastructures import QueryParams

from aahcrawler.service.cockpit.site import Editing, Sent, Site, then
from aahcrawler.service.cockpit.studio.choice import Choice
from aahcrawler.service.cockpit.studio.chosen_element import ChosenElement, told_expression
from aahcrawler.service.cockpit.studio.kept_rules import STRENGTHS, Rule, kept
from aahcrawler.service.cockpit.studio.page_views import Record, page_address
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.work_changes import WorkChanges
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError
from aahcrawler.studio.works.level_edits import avoid
from knowledge_base.model import Strength
from knowledge_base.url_rules import Reason

WorkName = Annotated[str, Path(max_length=80)]


def routes(site: Site, desk: StudioDesk) -> APIRouter:
    """Return the routes of acts on pages of works."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    acts = WorkChanges(desk)

    @router.post("/pages/{record}/keep")
    def keep(session: Editing, crawl: str, work: WorkName, record: Record, form: Sent) -> Response:
        page = desk.page(site.crawl(crawl), desk.works.open(work), record)
        choice = Choice.of(QueryParams(form.get("choice")))
        shown = ChosenElement(page, choice).shown()
        rule = Rule(
            told_expression(choice.expression),
            instead=form.get("instead") == "yes",
            page=form.get("page") == "yes",
            strength=STRENGTHS.get(form.get("strength"), Strength.STRONG),
            group=shown.link.group if shown is not None and shown.link is not None else None,
        )
        said = acts.changed(session, work, form, lambda text: kept(text, choice, rule))
        # What was refused stays chosen.
        return then(session, page_address(page, choice.query if said.kind == "bad" else ""), said)

    @router.post("/pages/{record}/avoid")
    def avoid_links(session: Editing, crawl: str, work: WorkName, record: Record, form: Sent) -> Response:
        page = desk.page(site.crawl(crawl), desk.works.open(work), record)
        shown = ChosenElement(page, Choice.of(QueryParams({"element": form.get("element")}))).shown()
        if shown is None or shown.link is None or form.get("reason") not in set(Reason):
            raise ProblemError(BAD_SEARCH, "choose a link, and a reason of the list")
        group, reason = shown.link.group, Reason(form.get("reason"))
        said = acts.changed(session, work, form, lambda text: avoid(text, group, reason))
        return then(session, page_address(page), said)

    return router
