"""What is done to a work with all pages of a sort: they become a level, are for something else, or never fetched."""

from typing import Annotated, Final, get_args

from fastapi import APIRouter, Path, Response

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.site import Editing, Form, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.work_changes import WorkChanges
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError
from aahcrawler.studio.site_groups import SiteGroup
from aahcrawler.studio.works.level_edits import NamedGroup, avoid, name_level, set_role
from knowledge_base.model import Role
from knowledge_base.url_rules import Reason

WorkName = Annotated[str, Path(max_length=80)]
_ROLES: Final[tuple[Role, ...]] = get_args(Role)


def routes(site: Site, desk: StudioDesk) -> APIRouter:
    """Return the routes of acts on groups and levels."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    acts = WorkChanges(desk)

    @router.post("/levels")
    def add_level(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        group = _group(desk, site.crawl(crawl), form)
        role = _role(form)
        addresses = desk.shelf.sample(site.crawl(crawl), form.get("host")).groups[group.number].addresses
        named = NamedGroup(addresses, role, form.get("name"))
        said = acts.changed(session, work, form, lambda text: name_level(text, named))
        return then(session, _back(crawl, work, form), said)

    @router.post("/role")
    def say_role(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        role, level = _role(form), form.get("level")
        said = acts.changed(session, work, form, lambda text: set_role(text, level, role))
        return then(session, address("crawls", crawl, "studio", "works", work), said)

    @router.post("/avoided")
    def avoid_group(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        group = _group(desk, site.crawl(crawl), form)
        if form.get("reason") not in set(Reason):
            raise ProblemError(BAD_SEARCH, "choose a reason of the list")
        addresses = desk.shelf.sample(site.crawl(crawl), form.get("host")).groups[group.number].addresses
        reason = Reason(form.get("reason"))
        said = acts.changed(session, work, form, lambda text: avoid(text, addresses, reason))
        return then(session, _back(crawl, work, form), said)

    return router


def _role(form: Form) -> Role:
    """Return the role that a form names. Raise ``ProblemError`` where it names none."""
    role = next((each for each in _ROLES if each == form.get("role")), None)
    if role is None:
        raise ProblemError(BAD_SEARCH, "say whether the pages hold content or lead to it")
    return role


def _group(desk: StudioDesk, crawl: Crawl, form: Form) -> SiteGroup:
    """Return the group that a form names. Raise ``ProblemError`` where there is none."""
    number = form.get("group")
    groups = desk.shelf.groups(crawl, form.get("host"))
    found = next((each for each in groups if str(each.number) == number), None)
    if found is None:
        raise ProblemError(BAD_SEARCH, "there is no such group of addresses (any more); look at the pages again")
    return found


def _back(crawl: str, work: str, form: Form) -> str:
    return address("crawls", crawl, "studio", "works", work, "pages", host=form.get("host"))
