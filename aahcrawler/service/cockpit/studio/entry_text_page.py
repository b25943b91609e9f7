"""The text of an entry, for those who read XML: with the numbers of its lines, and to be changed."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Editing, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.work_changes import seen_by
from aahcrawler.studio.works.work_errors import WorkError

WorkName = Annotated[str, Path(max_length=80)]


def routes(site: Site, desk: StudioDesk) -> APIRouter:
    """Return the routes of texts."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}/xml")

    def shown(session: Session, crawl: str, work: str, text: str = "", wrong: str = "") -> Response:
        opened = desk.works.open(work)
        now = opened.state.text.data.decode("utf-8", "replace")
        values = {"work": opened, "now": now, "text": text or now, "wrong": wrong}
        return site.crawl_page(session, site.crawl(crawl), "studio", "studio/xml.html", **values)

    @router.get("")
    def show_text(session: Reading, crawl: str, work: WorkName) -> Response:
        return shown(session, crawl, work)

    @router.post("")
    def write_text(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        (revision, mark), text = seen_by(form), form.raw("xml")
        held = desk.works.work(work, mark)
        try:
            held.rewrite(text.encode(), session.caller.name, revision)
        except (EditError, WorkError) as error:
            # What was written stays before who wrote it.
            return shown(session, crawl, work, text, str(error))
        return then(session, address("crawls", crawl, "studio", "works", work, "xml"), Said("The text is changed."))

    return router
