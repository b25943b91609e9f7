"""A login by a form, step by step."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qs

import pytest

from aahcrawler.crawl.core.site_sessions import FormLogins, LoginFailedError, LoginStep, SiteSessions
from aahcrawler.credentials.given import Credentials, GivenLogin
from aahcrawler.page import Headers, Page

BOARD = "https://forum.test/"
LOGIN = "https://forum.test/login"
IN = "<p>Welcome, <a class=out href=/bye>log out</a></p>"
FORM = (
    '<form action="/search"><input name=q></form><form method=post action="{}"><input type=hidden name=token value=t7>'
    "<input name=user><input type=password name=word><select name=days><option value=1>1<option value=9 selected>9"
    "</select></form>"
)
HTML = ("Content-Type", "text/html; charset=utf-8")


def page(url: str, body: str = "", status: int = 200, location: str = "") -> Page:
    fields = (HTML, ("Location", location)) if location else (HTML,)
    return Page(url, status, Headers(fields), f"<!doctype html><body>{body}".encode(), datetime(2026, 1, 1, tzinfo=UTC))


class Site:
    """Answers the steps of a login, and remembers them."""

    def __init__(self, answers: Mapping[str, Page], after: Page) -> None:
        self.answers, self.after = answers, after
        self.steps: list[LoginStep] = []

    async def fetch(self, step: LoginStep) -> Page:
        self.steps.append(step)
        return self.after if step.body is not None else self.answers.get(step.url, page(step.url, "nothing", 404))


def login(site: Site, *, logged_in: str = "css=a.out", tries: int = 1) -> str:
    """Log in; return why that failed, empty where it did not."""
    fields = {"user": "me", "word": "a b&c"}
    given = Credentials(logins={"forum.test": GivenLogin(LOGIN, fields, frozenset({"word"}), logged_in, "", tries)})

    async def run() -> str:
        kept: dict[str, str] = {}

        async def read(name: str) -> str:
            return kept.get(name, "")

        async def keep(name: str, text: str) -> None:
            kept[name] = text

        async def count(_: str) -> None:
            pass

        sessions = SiteSessions(given, read, keep, is_shared=False)
        session = await sessions.of(LOGIN)
        try:
            await FormLogins(sessions, site.fetch, count).ensure(session)
        except LoginFailedError as error:
            assert not session.is_logged_in
            return str(error)
        assert session.is_logged_in
        return ""

    return asyncio.run(run())


def test_the_form_is_filled_in_and_keeps_what_the_page_gave_it() -> None:
    site = Site({LOGIN: page(LOGIN, FORM.format("/enter")), BOARD: page(BOARD, IN)}, page(BOARD, "", 302, "/"))
    assert login(site) == ""
    sent = next(step for step in site.steps if step.body is not None)
    assert sent.url == "https://forum.test/enter"
    assert parse_qs((sent.body or b"").decode()) == {"token": ["t7"], "user": ["me"], "word": ["a b&c"], "days": ["9"]}


@pytest.mark.parametrize(
    "sign",
    [
        *("css=a.out", "css=html a.out", "css=a:contains('og out')", "css=p:not(:contains('Log in'))"),
        *("xpath=//a[@href='/bye']", "welcome, LOG out", "xpath=count(//a) > 0"),
    ],
)
def test_what_tells_a_login_is_a_selector_a_path_or_words(sign: str) -> None:
    assert login(Site({LOGIN: page(LOGIN, FORM.format(""))}, page(BOARD, IN)), logged_in=sign) == ""


def test_a_board_that_says_welcome_and_goes_on_by_itself_is_followed() -> None:
    after = page("https://forum.test/done", '<meta http-equiv=refresh content="3; url=/home">You are in.')
    home = "https://forum.test/home"
    assert login(Site({LOGIN: page(LOGIN, FORM.format("")), home: page(home, IN)}, after)) == ""


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (FORM.format("https://elsewhere.test/"), "another site, elsewhere.test"),
        (FORM.format("http://forum.test/enter"), "without encryption"),
        (FORM.format("").replace("method=post", "method=get"), "into a URL"),
        (
            FORM.format("").replace("name=word", "name=kennwort"),
            "that asks for a password has days, kennwort, token, user",
        ),
        ("<p>Closed</p>", "no form at"),
    ],
)
def test_forms_that_would_tell_the_password_or_lack_a_field_are_not_sent(form: str, said: str) -> None:
    site = Site({LOGIN: page(LOGIN, form)}, page(BOARD, IN))
    assert said in login(site)
    assert all(step.body is None for step in site.steps)


def test_tries_are_bounded() -> None:
    site = Site({LOGIN: page(LOGIN, FORM.format(""))}, page(LOGIN, "Wrong."))
    assert "logged_in is not on the pages" in login(site, tries=3)
    assert sum(step.body is not None for step in site.steps) == 3


def test_redirects_do_not_lead_to_other_sites() -> None:
    site = Site({LOGIN: page(LOGIN, FORM.format(""))}, page(LOGIN, "", 302, "https://elsewhere.test/in"))
    assert login(site)
    assert not any("elsewhere" in step.url for step in site.steps)
