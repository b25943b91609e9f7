"""Pages that stand before a site, and pages that only look like it."""

from datetime import UTC, datetime

import pytest

from aahcrawler.metadata import Link, Metadata
from aahcrawler.page import Headers, Page
from aahcrawler.seeds import Verdict, redirect_wall, wall
from aahcrawler.webobject import WebObject

URL = "http://a.test/"
LONG = "The harbour stood under water for a week, and nobody knew what to do about it. " * 60


def page(body: str, status: int = 200, *fields: tuple[str, str], url: str = URL) -> Page:
    markup = f"<!doctype html><html><head><title>A page</title></head><body>{body}</body></html>"
    head = Headers((("Content-Type", "text/html; charset=utf-8"), *fields))
    return Page(url, status, head, markup.encode(), datetime(2026, 1, 1, tzinfo=UTC))


def links(*paths: str) -> Metadata:
    return Metadata(links=tuple(Link(f"http://a.test{path}", anchor=path) for path in paths))


LOGIN = "<form><input name=u><input type=password name=p><button>Enter</button></form>"
CONSENT = "<p>We use cookies. Do you consent to tracking?</p><button>Accept all</button>"


@pytest.mark.parametrize(
    ("body", "said", "verdict"),
    [
        ("", Metadata(), Verdict.EMPTY),
        ("<a href='mailto:a@b.test'>1</a> <a href='tel:+1'>2</a>", Metadata(), Verdict.EMPTY),
        ("Write to us: <a href='mailto:a@b.test'>1</a>", Metadata(), Verdict.FETCHED),
        ("<a href='/print'>1</a>", Metadata(), Verdict.FETCHED),
        ("<p>Hello</p>", Metadata(), Verdict.FETCHED),
        (LOGIN, links("/register", "/help"), Verdict.LOGIN),
        (LOGIN + "<ul></ul>", links(*(f"/topic/{n}" for n in range(12))), Verdict.FETCHED),
        (LOGIN + f"<p>{LONG}</p>", links("/topic/1"), Verdict.FETCHED),
        (CONSENT, links("/", "/privacy", "/?ok=1"), Verdict.CONSENT),
        (CONSENT, links("/news/1", "/news/2", "/news/3"), Verdict.FETCHED),
        (CONSENT + f"<p>{LONG}</p>", links("/privacy"), Verdict.FETCHED),
        ("<p>Cookies are baked, with consent of the cook.</p>", Metadata(), Verdict.FETCHED),
        ("<div id=app></div><script src=/a.js></script>", Metadata(), Verdict.SCRIPTS),
        ("<div id=app></div><script src=/a.js></script>", links("/1"), Verdict.FETCHED),
        (f"<p>{LONG}</p><script src=/a.js></script>", Metadata(), Verdict.FETCHED),
        ("<h1>Page not found</h1>", Metadata(), Verdict.SOFT_404),
        (f"<h1>Page not found</h1><p>{LONG}</p>", Metadata(), Verdict.FETCHED),
        ("<script>document.cookie='a=1';location.reload()</script>", Metadata(), Verdict.CHALLENGE),
        (f"<p>{LONG}</p><script>document.cookie='a=1';location.reload()</script>", Metadata(), Verdict.FETCHED),
        (LOGIN + "<script src=https://hcaptcha.com/1/api.js></script>", Metadata(), Verdict.LOGIN),
    ],
)
def test_a_page_is_a_wall_or_none(body: str, said: Metadata, verdict: Verdict) -> None:
    assert wall(page(body), said) is verdict


@pytest.mark.parametrize("body", [LOGIN, CONSENT, "<div id=app></div><script src=/a.js></script>", "<h1>404</h1>"])
def test_objects_prove_that_a_page_is_no_wall(body: str) -> None:
    said = Metadata(objects=(WebObject("urn:1", "post", URL, {"body": ("The dike is broken.",)}),))
    assert wall(page(body), said) is Verdict.FETCHED


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (401, Verdict.UNAUTHORIZED),
        (403, Verdict.FORBIDDEN),
        (410, Verdict.NOT_FOUND),
        (418, Verdict.CLIENT_ERROR),
        (429, Verdict.TOO_MANY),
        (502, Verdict.SERVER_ERROR),
    ],
)
def test_errors_are_told_by_their_status(status: int, verdict: Verdict) -> None:
    assert wall(page("<h1>An error</h1>", status), Metadata()) is verdict


def test_a_challenge_is_told_from_a_plain_refusal() -> None:
    assert wall(page("<p>Wait.</p>", 403, ("CF-Mitigated", "challenge")), Metadata()) is Verdict.CHALLENGE
    assert wall(page("<p>Wait.</p>", 403, ("Server", "cloudflare")), Metadata()) is Verdict.FORBIDDEN


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        ("https://consent.example.org/collect?continue=https://a.test/", Verdict.CONSENT),
        ("http://a.test/login?next=/", Verdict.LOGIN),
        ("http://sso.example.org/auth/realms/x", Verdict.LOGIN),
        ("http://b.test/catalogue/1", None),
        ("http://b.test/authors/melville", None),
    ],
)
def test_redirects_that_leave_the_scope_may_lead_to_a_wall(target: str, verdict: Verdict | None) -> None:
    assert redirect_wall(target) is verdict
