"""The page on which a browser signs in."""

import logging
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from aahcrawler.service.cockpit.sign_in import SESSION_SECONDS
from aahcrawler.service.cockpit.site import COOKIE, Sent, Site
from aahcrawler.service.web.noted_acts import note_caller

_logger = logging.getLogger(__name__)
_WRONG = "That is not right, or was used before; the terminal shows the code that is good now."
_CLOSED = "Too many wrong tries. Wait a minute."


def routes(site: Site) -> APIRouter:
    """Return the routes of signing in and out."""
    router = APIRouter()

    def form(mistake: str = "", status: int = 200) -> HTMLResponse:
        values = {"session": None, "said": None, "mistake": mistake, "by_code": site.sign_in.code_caller is not None}
        return site.pages.respond("sign_in.html", {**values, "by_token": site.sign_in.has_tokens}, status)

    @router.get("/sign-in")
    def show(request: Request) -> Response:
        if site.sign_in.session(request.cookies.get(COOKIE, "")) is not None:
            return RedirectResponse("/", 303)
        return form()

    @router.post("/sign-in")
    def enter(request: Request, code: Annotated[str, Form(max_length=400)] = "") -> Response:
        cookie = site.sign_in.enter(code)
        session = site.sign_in.session(cookie or "")
        client = request.client.host if request.client is not None else "-"
        if cookie is None or session is None:
            closed = site.sign_in.is_closed()
            _logger.warning("%s gave a wrong code or token%s", client, "; nobody signs in for a minute" * closed)
            return form(_CLOSED if closed else _WRONG, 429 if closed else 403)
        _logger.info("%s signed in from %s", session.caller.name, client)
        note_caller(session.caller)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            COOKIE,
            cookie,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=site.names.cockpit.startswith("https:"),
        )
        return response

    @router.post("/sign-out")
    def leave(request: Request, _sent: Sent) -> Response:
        site.sign_in.leave(request.cookies.get(COOKIE, ""))
        response = RedirectResponse("/sign-in", 303)
        response.delete_cookie(COOKIE)
        return response

    return router
