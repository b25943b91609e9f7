"""The cockpit as an ASGI application: its pages, the JSON interface, and the replay under another host name."""

import logging
from importlib import resources
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.requests import HTTPConnection
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp

from aahcrawler.service.cockpit import (
    alike_pages,
    archive_pages,
    captured_pages,
    collection_pages,
    definition_pages,
    judge_page,
    keep_page,
    live_page,
    manage_page,
    new_crawl_page,
    queue_page,
    schedule_page,
    search_page,
    sign_in_page,
    spoken_pages,
)
from aahcrawler.service.cockpit.origins import Hosts
from aahcrawler.service.cockpit.site import COOKIE, NotSignedInError, Site, said_of, then
from aahcrawler.service.cockpit.studio_loading import StudioRoutes
from aahcrawler.service.web.noted_acts import Noting, ServiceLog, note_said
from aahcrawler.service.web.problems import ProblemError
from aahcrawler.service.web.roles import Caller
from online_analysis.icd.explanations import in_words

_STATIC: Final = {"cockpit.css": "text/css", "cockpit.js": "text/javascript", "icon.svg": "image/svg+xml"}
ROUTES: Final = (
    sign_in_page.routes,
    live_page.crawl_list_routes,
    search_page.routes,
    live_page.routes,
    queue_page.routes,
    queue_page.url_routes,
    captured_pages.routes,
    captured_pages.object_routes,
    archive_pages.routes,
    archive_pages.collected_routes,
    spoken_pages.all_spoken_routes,
    spoken_pages.routes,
    spoken_pages.conversation_routes,
    alike_pages.routes,
    captured_pages.picture_routes,
    keep_page.routes,
    judge_page.routes,
    captured_pages.finding_routes,
    captured_pages.change_routes,
    queue_page.exclusion_routes,
    manage_page.log_routes,
    new_crawl_page.new_collection_routes,
    new_crawl_page.routes,
    manage_page.routes,
    collection_pages.package_routes,
    collection_pages.routes,
    schedule_page.routes,
    definition_pages.routes,
    manage_page.steer_routes,
    queue_page.act_routes,
)
_logger = logging.getLogger(__name__)
_DAY: Final = "private, max-age=86400"


def cockpit_app(site: Site, api: ASGIApp, replay: ASGIApp, log: ServiceLog) -> ASGIApp:
    """Return the whole application; acts on its pages are noted in ``log``."""

    def known(connection: HTTPConnection) -> Caller | None:
        session = site.sign_in.session(connection.cookies.get(COOKIE, ""))
        return session.caller if session is not None else None

    noting = Noting(log, "cockpit", known, lambda _method, path: path in definition_pages.CHECKS)
    return Hosts(site.names, pages_app(site), api, replay, noting)


def pages_app(site: Site) -> FastAPI:
    """Return the application of the pages alone."""
    app = FastAPI(title="AAHCrawler cockpit", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.site = site
    for routes in ROUTES:
        app.include_router(routes(site))
    app.router.routes.append(StudioRoutes(site))
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    _install_problems(app, site)
    return app


def _static(name: str) -> Response:
    """Return a static file of the cockpit; any other name is not found."""
    if name not in _STATIC:
        raise HTTPException(404)
    text = resources.files(__package__).joinpath("static", name).read_text("utf-8")
    return Response(text, media_type=_STATIC[name], headers={"Cache-Control": _DAY})


def _form_of(request: Request, site: Site) -> str:
    """Return the path of the page from which a form was sent; empty if it is no page of the cockpit."""
    referer, begin = request.headers.get("referer", ""), f"{site.names.cockpit}/"
    return referer[len(begin) - 1 :] if request.method == "POST" and referer.startswith(begin) else ""


def _install_problems(app: FastAPI, site: Site) -> None:
    """Show problems as pages, and redirect to the sign-in page those who are not signed in."""

    def signed_out(_request: Request, _error: Exception) -> Response:
        return RedirectResponse("/sign-in", 303)

    def problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, ProblemError)  # noqa: S101 (it is registered for these alone)
        session = site.sign_in.session(request.cookies.get(COOKIE, ""))
        form = _form_of(request, site)
        if session is not None and form:
            return then(session, form, said_of(error))
        note_said(error.detail, refused=True)
        return _told(request, int(error.kind.status), error.kind.title, error.detail)

    def failed(request: Request, error: Exception) -> HTMLResponse:
        _logger.error("a page failed", exc_info=error)
        return _told(
            request,
            500,
            "The cockpit has a defect here",
            "Its terminal says more. What it had done by then is not known.",
        )

    def refused(request: Request, error: Exception) -> HTMLResponse:
        if isinstance(error, HTTPException) and error.status_code != 404:
            return _told(request, error.status_code, "This cannot be done", str(error.detail))
        return _told(request, 404, "No such page", "The address leads nowhere; begin with the list of crawls.")

    def mistaken(request: Request, error: Exception) -> HTMLResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101 (it is registered for these alone)
        first = error.errors()[0]
        return _told(request, 400, "Something in the address is wrong", in_words(first, str(first["loc"][:2][-1])))

    def _told(request: Request, status: int, heading: str, detail: str) -> HTMLResponse:
        session = site.sign_in.session(request.cookies.get(COOKIE, ""))
        values = {"session": session, "said": None, "heading": heading, "detail": detail, "lines": ()}
        return site.pages.respond("problem.html", {**values, "back": "/", "back_to": "All crawls"}, status)

    app.add_exception_handler(NotSignedInError, signed_out)
    app.add_exception_handler(Exception, failed)
    app.add_exception_handler(ProblemError, problem)
    app.add_exception_handler(RequestValidationError, mistaken)
    app.add_exception_handler(HTTPException, refused)
