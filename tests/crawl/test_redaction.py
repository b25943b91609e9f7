"""What the archive keeps of exchanges with sites that the crawl has credentials for."""

import gzip
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO

import pytest

from aahcrawler.archive.records import Resource
from aahcrawler.crawl.capture import archiver
from aahcrawler.crawl.capture.archiver import NO_REDACTION, Redaction
from aahcrawler.credentials.given import Credentials, GivenHeader, GivenLogin, Password
from aahcrawler.exchange import Exchange

SECRET, SESSION = "a word & more", "0123456789abcdef0123"
LOGIN = GivenLogin("https://forum.test/login", {"pass": SECRET}, frozenset({"pass"}), "css=a")
GIVEN = Credentials(
    logins={"forum.test": LOGIN},
    passwords={"files.test": Password("me", SECRET)},
    headers={"api.test": [GivenHeader("X-Key", SECRET, True), GivenHeader("X-Who", "me")]},
    secrets=frozenset({SECRET}),
)
WHOLE = Redaction(GIVEN, masks=True)


def exchange(url: str, request: bytes, response: bytes, method: str = "GET") -> Exchange:
    head = response.partition(b"\r\n\r\n")[0]
    return Exchange(
        url=url,
        method=method,
        request=request,
        response=BytesIO(response),
        response_size=len(response),
        payload_digest=b"as it came",
        ip_address="192.0.2.1",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        head_size=len(head) + 4,
    )


def asked(*fields: str, url: str = "https://forum.test/", answer: bytes = b"HTTP/1.1 200 OK\r\n\r\nhello") -> Exchange:
    head = "\r\n".join([f"GET / HTTP/1.1\r\nHost: {url.split('/')[2]}", *fields, "", ""])
    return exchange(url, head.encode("latin-1"), answer)


@pytest.mark.parametrize(
    ("before", "session", "line"),
    [
        (asked(f"Cookie: id={SESSION}; b=2"), "login", b"Cookie: id=REDACTED; b=REDACTED"),
        (asked("Authorization: Basic bWU6YQ==", url="http://files.test/"), "basic", b"Authorization: Basic REDACTED"),
        (asked(f"X-Key: {SECRET}", "X-Who: me", url="https://api.test/"), "header", b"X-Key: REDACTED\r\nX-Who: me"),
        (
            asked("Referer: https://forum.test/?access_token=abcdefgh"),
            "",
            b"Referer: https://forum.test/?access_token=",
        ),
    ],
)
def test_requests_keep_what_they_are_made_of(before: Exchange, session: str, line: bytes) -> None:
    kept = WHOLE.of(before)
    assert kept.session == session
    assert line in kept.request
    assert SECRET.encode() not in kept.request
    assert SESSION.encode() not in kept.request
    assert b"abcdefgh" not in kept.request
    assert kept.payload_digest == b"as it came"


def test_other_sites_are_kept_as_they_are() -> None:
    other = asked(f"Cookie: id={SESSION}", url="https://other.test/?access_token=abcdefgh")
    assert WHOLE.of(other) is other
    assert NO_REDACTION.of(asked("Cookie: a=1")).session == ""


def test_without_masks_exchanges_are_marked_alone() -> None:
    before = asked(f"Cookie: id={SESSION}")
    kept = Redaction(GIVEN, masks=False).of(before)
    assert (kept.session, kept.redacted, kept.request) == ("login", "", before.request)


def test_forms_that_were_sent_have_no_body() -> None:
    request = b"POST /login HTTP/1.1\r\nHost: forum.test\r\nContent-Length: 20\r\n\r\npass=a+word+%26+more"
    kept = WHOLE.of(exchange("https://forum.test/login", request, b"HTTP/1.1 302 Found\r\n\r\n", "POST"))
    assert kept.request.endswith(b"\r\nContent-Length: 8\r\n\r\nREDACTED")
    assert (kept.session, kept.redacted) == ("login", "body of the request")


def test_a_coded_body_that_tells_a_session_is_kept_plain_with_its_own_digest() -> None:
    body = gzip.compress(f'<a href="/?sid={SESSION}">{SECRET.replace("&", "&amp;")}</a>'.encode())
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\nSet-Cookie: id=%s; Path=/\r\n\r\n"
    )
    answer = head % SESSION.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    kept = WHOLE.of(asked(answer=answer))
    came = kept.response.read()
    payload = b'<a href="/?sid=REDACTED">REDACTED</a>'
    assert came.endswith(b"\r\nContent-Length: %d\r\n\r\n%s" % (len(payload), payload))
    assert b"Set-Cookie: id=REDACTED; Path=/" in came
    assert b"Encoding" not in came
    assert kept.payload_digest == hashlib.sha1(payload, usedforsecurity=False).digest()
    assert kept.response_size == len(came)
    assert kept.redacted == "body of the response, set-cookie"


def test_a_body_without_secrets_keeps_its_coding() -> None:
    body = gzip.compress(b"nothing to hide")
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nSet-Cookie: id=short\r\n\r\n" + body
    kept = WHOLE.of(asked(answer=answer))
    assert kept.response.read() == answer.replace(b"id=short", b"id=REDACTED")
    assert kept.payload_digest == b"as it came"


def test_of_what_is_too_large_the_head_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiver, "MAX_SEARCHED_BYTES", 1000)
    answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: id=%s\r\n\r\n%s" % (SESSION.encode(), b"x" * 5000)
    before = asked(answer=answer)
    kept = WHOLE.of(before)
    assert kept.response.read() == answer.replace(SESSION.encode(), b"REDACTED")
    assert kept.response_size == len(answer) - len(SESSION) + len("REDACTED")
    kept.close()
    assert before.response.tell() == 0


def test_a_url_that_lets_in_is_masked() -> None:
    kept = WHOLE.of(asked(url="https://forum.test/feed?a=1&api_key=abcdefgh&b=2"))
    assert kept.url == "https://forum.test/feed?a=1&api_key=REDACTED&b=2"
    assert "url" in kept.redacted


def test_what_a_browser_made_of_a_page_is_masked_and_pictures_are_left_out() -> None:
    page = "https://forum.test/?access_token=abcdefgh"
    dom = f"<p>{SECRET} {SESSION}</p>".encode()
    made = (Resource.rendered_dom(page, dom, f"{page}#x"), Resource.screenshot(page, b"PNG"))
    before = asked(f"Cookie: id={SESSION}", url=page)
    (kept,) = WHOLE.resources(before, made)
    assert kept.block == b"<p>REDACTED REDACTED</p>"
    assert "abcdefgh" not in kept.target + kept.document_url
    assert kept.record_id == made[0].record_id
    other = asked(url="https://other.test/")
    assert WHOLE.resources(other, made) == made
    assert Redaction(GIVEN, masks=False).resources(before, made) == made
    assert "abcdefgh" not in WHOLE.of(replace(other, shown_on=page)).shown_on
