"""Each rule that tells a wall, with a page that it holds for and one that only looks like it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.metadata import Link, Metadata
from aahcrawler.page import Headers, Page
from aahcrawler.seeds import Verdict, wall
from aahcrawler.webobject import WebObject
from knowledge_base.model import KnowledgeBase

URL = "http://a.test/"
WAYS = tuple(Link(f"http://a.test/boat/{n}", anchor=f"Boat {n}") for n in range(4))
NOWHERE, ON, CONTENT = (
    Metadata(),
    Metadata(links=WAYS),
    Metadata(objects=(WebObject("urn:1", "article", URL, {"body": ("The ferry sails again.",)}),)),
)
PROSE = " ".join(f"Ferry {n} left the northern pier with {n} passengers and came back without any." for n in range(60))
SECRET = "<input type=password name=word>"  # noqa: S105  # a field of a form
ASKS_AGE = "<p>You have to be over 18 to see the wines.</p><button>Yes, I am</button>"
ASKS_HUMAN = "<p>Show us that you are not a robot.</p><form><input name=sum><button>Go on</button></form>"
WIDGET = "<form method=post><div class=box data-sitekey=k1></div></form>"
FOR_SALE = "<h1>ferry.test</h1><p>You can buy this domain today.</p>"
CLOSED = "<h1>Under maintenance</h1><p>We are polishing the bell.</p>"
NO_COOKIES = "<p>Your browser does not accept cookies.</p>"
MEMBERS = "<p>You must be logged in.</p><a href=/in>Go</a>"
SAML = "<form action=https://id.test/ method=post><input type=hidden name=SAMLRequest value=PHA+></form>"
DIALOG = "<div id=onetrust-banner-sdk><p>Nous et nos partenaires.</p><button>D'accord</button></div>"
FRAMED = "<div id=sp_message_container_7><iframe src=https://m.test/></iframe></div>"
ORCHESTRATED = "<p>Wait.</p><script src=/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1></script>"
WATCHED = "<p>The pier is closed.</p><script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>"
RELOADS = "<p>Wait.</p><script>document.cookie='k=1';location.reload()</script>"
TEASER = "<article><h1>The pier</h1><p>The pier was painted on Monday, and then...</p></article>"
SUBSCRIBE = "<p>Subscribe to continue reading.</p><a href=/subscribe>Subscribe</a>"
NOT_FREE = '<script type="application/ld+json">{"@type": "Article", "isAccessibleForFree": "False"}</script>'
TO_ACCOUNT = "<a href=/mein-konto>Anmelden</a>"
COMMENT_FORM = "<form method=post><textarea name=comment></textarea><div data-sitekey=k1></div></form>"
ANSWER_FIELD = "<form method=post><div data-sitekey=k1></div><textarea name=g-recaptcha-response></textarea></form>"


def page(body: str, status: int = 200, *fields: tuple[str, str]) -> Page:
    markup = f"<!doctype html><html lang=en><head><title>Ferries</title></head><body>{body}</body></html>"
    head = Headers((("Content-Type", "text/html; charset=utf-8"), *fields))
    return Page(URL, status, head, markup.encode(), datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("verdict", "body"),
    [
        (Verdict.CHALLENGE, "<p>We are checking your browser.</p><script src=/gate.js></script>"),
        (Verdict.CHALLENGE, "<p>Wir sehen nach, ob Sie kein Roboter sind.</p><script src=/gate.js></script>"),
        (Verdict.LOGIN, "<p>Please log in to view other pages.</p><a href='/index.php?title=In'>log in</a>"),
        (Verdict.AGE, ASKS_AGE),
        (Verdict.AGE, "<p>Sind Sie schon 18?</p><a href=/ja>Ja</a>"),
        (Verdict.CHALLENGE, ASKS_HUMAN),
        (Verdict.CHALLENGE, WIDGET),
        (Verdict.CHALLENGE, ANSWER_FIELD),
        (Verdict.CHALLENGE, ORCHESTRATED),
        (Verdict.CHALLENGE, RELOADS),
        (Verdict.LOGIN, MEMBERS),
        (Verdict.LOGIN, SAML),
        (Verdict.PARKED, FOR_SALE),
        (Verdict.PARKED, "<h1>Dieser Name</h1><p>Diese Domain ist geparkt.</p>"),
        (Verdict.MAINTENANCE, CLOSED),
        (Verdict.MAINTENANCE, "<p>Site en cours de maintenance.</p>"),
        (Verdict.COOKIE_WALL, NO_COOKIES),
        (Verdict.CONSENT, DIALOG),
        (Verdict.CONSENT, FRAMED),
    ],
)
def test_a_wall_is_told_and_content_beside_it_clears_it(verdict: Verdict, body: str) -> None:
    assert wall(page(body), NOWHERE) is verdict
    assert wall(page(body), ON) is Verdict.FETCHED
    assert wall(page(body), CONTENT) is Verdict.FETCHED
    assert wall(page(f"{body}<p>{PROSE}</p>"), NOWHERE) is Verdict.FETCHED


@pytest.mark.parametrize(
    "body",
    [
        "<p>Casks of 18 years stand in the cellar.</p><button>Next</button>",
        "<p>You have to be over 18 to steer.</p>",
        "<p>A robot paints the hull.</p><button>Next</button>",
        "<p>A robot paints the hull, and checks it.</p><script src=/a.js></script>",
        f"{TEASER}<p>Continue reading next week.</p>{TO_ACCOUNT}",
        f"{TEASER}<p>Subscribe to continue reading.</p>",
        "<p>The logbook is on the table.</p><a href=/in>Go</a>",
        "<p>The public domain has songs of sailors; the ferry is for sale.</p>",
        "<p>Maintenance of hulls is dear.</p>",
        "<p>We bake cookies in the galley.</p>",
        "<div id=onetrust-banner-sdk></div><p>The pier is closed.</p>",
        f"<div id=onetrust-banner-sdk><p>Nous.</p></div><p>{PROSE[:400]}</p>",
        "<form><input type=hidden name=request value=PHA+></form><p>The pier is closed.</p>",
        COMMENT_FORM,
        WATCHED,
    ],
)
def test_a_lookalike_is_no_wall(body: str) -> None:
    assert wall(page(body), NOWHERE) not in {*Verdict} - {Verdict.FETCHED, Verdict.SCRIPTS, Verdict.EMPTY}


@pytest.mark.parametrize("place", ["header", "nav", "aside"])
def test_a_form_for_a_password_at_the_side_is_no_wall(place: str) -> None:
    form = f"<form>{SECRET}</form>"
    assert wall(page(form), NOWHERE) is Verdict.LOGIN
    assert wall(page(f"<{place}>{form}</{place}><p>The pier is closed.</p>"), NOWHERE) is Verdict.FETCHED


@pytest.mark.parametrize(
    ("links", "verdict"),
    [
        ((Link(f"{URL}board?f=1"), Link(f"{URL}board?f=2")), Verdict.FETCHED),
        ((Link(f"{URL}ferries", action="boards"),), Verdict.FETCHED),
        ((Link(f"{URL}help"), Link(f"{URL}rules")), Verdict.LOGIN),
        ((Link(f"{URL}board?f=1"), Link(f"{URL}help")), Verdict.LOGIN),
    ],
    ids=["two boards", "a known rule", "help and rules", "a single number"],
)
def test_a_small_forum_with_a_login_on_its_front_page_is_no_wall(links: tuple[Link, ...], verdict: Verdict) -> None:
    assert wall(page(f"<form>{SECRET}</form><p>The pier is closed.</p>"), Metadata(links=links)) is verdict


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (403, ASKS_HUMAN, Verdict.CHALLENGE),
        (403, MEMBERS, Verdict.LOGIN),
        (403, f"<form>{SECRET}</form>", Verdict.LOGIN),
        (403, f"<form>{SECRET}<div data-sitekey=k1></div></form>", Verdict.LOGIN),
        (403, NO_COOKIES, Verdict.COOKIE_WALL),
        (403, ASKS_AGE, Verdict.AGE),
        (403, FOR_SALE, Verdict.FORBIDDEN),
        (403, "<h1>Forbidden</h1>", Verdict.FORBIDDEN),
        (429, ASKS_HUMAN, Verdict.CHALLENGE),
        (429, CLOSED, Verdict.TOO_MANY),
        (503, ORCHESTRATED, Verdict.CHALLENGE),
        (503, CLOSED, Verdict.MAINTENANCE),
        (503, MEMBERS, Verdict.SERVER_ERROR),
        (404, ASKS_HUMAN, Verdict.NOT_FOUND),
        (404, WIDGET, Verdict.NOT_FOUND),
        (500, ORCHESTRATED, Verdict.SERVER_ERROR),
    ],
)
def test_the_page_of_an_error_may_say_more_than_its_status(status: int, body: str, verdict: Verdict) -> None:
    assert wall(page(body, status), NOWHERE) is verdict


@pytest.mark.parametrize(
    ("status", "field", "verdict"),
    [
        (200, ("CF-Mitigated", "challenge"), Verdict.CHALLENGE),
        (202, ("X-Amzn-WAF-Action", "challenge"), Verdict.CHALLENGE),
        (403, ("X-DataDome", "protected"), Verdict.CHALLENGE),
        (200, ("X-DataDome", "protected"), Verdict.FETCHED),
        (200, ("CF-Mitigated", "none"), Verdict.FETCHED),
    ],
)
def test_headers_declare_challenges_whatever_is_on_the_page(
    status: int, field: tuple[str, str], verdict: Verdict
) -> None:
    assert wall(page("<p>Wait.</p>", status, field), CONTENT) is verdict


@pytest.mark.parametrize(
    "body",
    [TEASER + SUBSCRIBE, TEASER + NOT_FREE + TO_ACCOUNT, f"<nav><a href=/boat/1>Boats</a></nav>{TEASER}{SUBSCRIBE}"],
)
@pytest.mark.parametrize("said", [NOWHERE, CONTENT])
def test_the_beginning_of_an_article_is_a_wall_where_the_rest_is_for_subscribers(body: str, said: Metadata) -> None:
    linked = replace(said, links=(WAYS[1], Link("http://a.test/subscribe", anchor="Subscribe")))
    assert wall(page(body), replace(linked, links=linked.links[1:])) is Verdict.LOGIN
    in_menu = Verdict.LOGIN if "<nav>" in body else Verdict.FETCHED
    assert wall(page(body), linked) is in_menu


def test_who_may_pay_or_consent_is_asked_for_consent() -> None:
    pay_or_consent = f"<p>Do you consent to cookies and tracking?</p><button>Accept</button>{SUBSCRIBE}"
    assert wall(page(pay_or_consent), NOWHERE) is Verdict.CONSENT


@pytest.mark.parametrize("asking", [SUBSCRIBE, NOT_FREE + TO_ACCOUNT])
def test_an_article_that_is_all_there_is_no_wall_and_neither_are_several(asking: str) -> None:
    assert wall(page(f"<article>{PROSE}</article>{asking}"), CONTENT) is Verdict.FETCHED
    assert wall(page(TEASER + asking), Metadata(objects=CONTENT.objects * 2)) is Verdict.FETCHED


@pytest.mark.parametrize(
    ("retry_after", "verdict"),
    [
        ("3600", Verdict.MAINTENANCE),
        ("Thu, 01 Jan 2026 06:00:00 GMT", Verdict.MAINTENANCE),
        ("Wed, 31 Dec 2025 06:00:00 GMT", Verdict.SERVER_ERROR),
        ("20", Verdict.SERVER_ERROR),
        ("soon", Verdict.SERVER_ERROR),
        ("Thu, 01 Jan 2026 06:00:00", Verdict.SERVER_ERROR),
    ],
)
def test_a_server_that_is_away_for_long_is_under_maintenance(retry_after: str, verdict: Verdict) -> None:
    assert wall(page("<p>Nos vemos.</p>", 503, ("Retry-After", retry_after)), NOWHERE) is verdict


def test_a_short_article_with_a_captcha_is_read() -> None:
    body = f"<article><h1>The ferry sails again</h1><p>{PROSE[:500]}</p></article>{WIDGET}"
    answer = replace(page(body), url="http://a.test/2025/11/the-ferry-sails-again.html")
    found = ApplicationAwareHelper(KnowledgeBase(())).assist(answer)
    assert found.objects
    assert wall(answer, Metadata(objects=found.objects)) is Verdict.FETCHED


@pytest.mark.parametrize(
    ("status", "media_type", "body", "said", "verdict"),
    [
        (204, "text/html", b"", NOWHERE, Verdict.NO_CONTENT),
        (205, "", b"", NOWHERE, Verdict.NO_CONTENT),
        (200, "image/png", b"", NOWHERE, Verdict.NO_CONTENT),
        (200, "image/png", b"\x89PNG", NOWHERE, Verdict.FETCHED),
        (200, "application/zip", b"PK", NOWHERE, Verdict.FETCHED),
        (200, "application/pdf", b"%PDF", NOWHERE, Verdict.FETCHED),
        (200, "application/pdf", b"%PDF", replace(NOWHERE, source="document"), Verdict.FETCHED),
        (200, "text/plain", b"The ferry sails again.", NOWHERE, Verdict.FETCHED),
        (200, "text/plain", b" \n", NOWHERE, Verdict.UNREAD),
        (200, "application/json", b'{"a": 1}', NOWHERE, Verdict.UNREAD),
        (200, "application/json", b'{"a": 1}', CONTENT, Verdict.FETCHED),
        (200, "application/atom+xml", b"<feed/>", replace(NOWHERE, source="feed"), Verdict.UNREAD),
        (200, "application/atom+xml", b"<feed/>", replace(ON, source="feed"), Verdict.FETCHED),
        (200, "text/xml", b"<data/>", NOWHERE, Verdict.UNREAD),
        (200, "image/svg+xml", b"<svg/>", NOWHERE, Verdict.FETCHED),
    ],
)
def test_an_answer_of_which_nothing_was_read_is_told_unless_it_is_a_file(
    status: int, media_type: str, body: bytes, said: Metadata, verdict: Verdict
) -> None:
    head = Headers((("Content-Type", media_type),) if media_type else ())
    assert wall(Page(URL, status, head, body, datetime(2026, 1, 1, tzinfo=UTC)), said) is verdict
