"""What keeps others out of the cockpit, by HTTP as it is: host names, origins, secrets of forms, and roles."""

import asyncio
import re
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from aahcrawler.layout import SERVICE_LOG, STEERING
from aahcrawler.service.cockpit import origins
from aahcrawler.service.cockpit.origins import host_of
from aahcrawler.service.cockpit.site import COOKIE
from aahcrawler.service.web.entrance import Rate, Rates
from tests import skipping
from tests.cockpit.cockpit_browser import BLIND, FORM, OPERATOR, READER, Cockpit, serving
from tests.cockpit.shown_crawl import CRAWL, HOSTILE
from tests.crawl.crawling import PATIENCE

HERE = f"/crawls/{CRAWL}"
ACTS = (
    "pause",
    "resume",
    "stop",
    "start",
    "pause-site",
    "resume-site",
    "fetch",
    "revisit",
    "unblock",
    "block",
    "rescore",
)
FIELDS = {
    "url": f"http://{HOSTILE}/",
    "site": HOSTILE,
    "score": "0.5",
    "kind": "host",
    "text": HOSTILE,
    "yaml": "id: other\ncontact: a@example.org\nseeds: [http://a.test/]\n",
    "action": "save",
    "seeds": "http://a.test/",
    "contact": "a@example.org",
    "limits.pages": "7",
}
"""Fields that any of the forms would make something of."""
DRAFT = "id: other\ncontact: a@example.org\nseeds: [http://a.test/]\ntopic: {keywords: [flood]}\n"
ENTERING = {"/sign-in", "/sign-out"}


def _posted(cockpit: Cockpit) -> Iterator[str]:
    """Yield the path of every route that is posted to, and of every act."""
    for route in cockpit.routes:
        if "POST" in (route.methods or ()):
            path = route.path.replace("{crawl}", CRAWL).replace("{section}", "limits")
            yield from (path.replace("{act}", act) for act in (ACTS if "{act}" in path else ("",)))


def _state(place: Path) -> Mapping[str, bytes]:
    """Return what steering would change: definitions, what was done, and which crawls there are."""
    return {
        str(path): path.read_bytes() if path.is_file() else b""
        for path in (
            *(path for path in place.iterdir() if path.name != SERVICE_LOG),
            *place.parent.glob("*.yaml"),
            place / CRAWL / STEERING,
            place / CRAWL / "icd.json",
        )
        if path.exists()
    }


def test_the_cookie_is_for_this_host_alone_and_no_script_sees_it(shown: Cockpit) -> None:
    told = shown.post("/sign-in", {"code": READER}).headers["set-cookie"]
    attributes = {part.strip().lower().partition("=")[0] for part in told.split(";")[1:]}
    assert {"httponly", "samesite", "path", "max-age"} <= attributes
    assert "samesite=strict" in told.lower()
    assert "domain" not in attributes
    assert len(told.partition("=")[2].partition(";")[0]) >= 40


def test_signing_out_ends_the_session(shown: Cockpit) -> None:
    cookie = shown.entered(READER)
    secret = shown.form_secret(cookie)
    assert shown.ask("GET", "/", Cookie=f"{COOKIE}={cookie}").status == 200
    assert shown.post("/sign-out", {"secret": "another"}, cookie).status == 403
    assert shown.ask("GET", "/", Cookie=f"{COOKIE}={cookie}").status == 200
    assert shown.post("/sign-out", {"secret": secret}, cookie).status == 303
    gone = shown.ask("GET", HERE, Cookie=f"{COOKIE}={cookie}")
    assert (gone.status, gone.headers["location"]) == (303, "/sign-in")
    assert shown.ask("GET", f"{HERE}/live", Cookie=f"{COOKIE}={cookie}").status == 303


@pytest.mark.parametrize(("path", "is_replay"), [("/sign-in", False), ("/enter", True)])
@pytest.mark.parametrize("trickling", [False, True])
def test_a_stranger_holds_no_connection_by_a_slow_body(
    shown: Cockpit, monkeypatch: pytest.MonkeyPatch, path: str, is_replay: bool, trickling: bool
) -> None:
    monkeypatch.setattr(origins, "PATIENCE", 1.0)
    host = host_of(shown.names.replay if is_replay else shown.names.cockpit)
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {shown.names.cockpit}\r\nContent-Type: {FORM}\r\n"
    with socket.create_connection(("127.0.0.1", shown.port), PATIENCE) as stranger:
        stranger.sendall(f"{head}Content-Length: 1000\r\nConnection: close\r\n\r\ncode=".encode())
        begun = time.monotonic()
        stranger.settimeout(0.2 if trickling else PATIENCE)
        told = b""
        while not told:
            assert time.monotonic() < begun + PATIENCE
            with suppress(TimeoutError):
                told = stranger.recv(1 << 16)
            if trickling and not told:
                stranger.sendall(b"x")
    assert told.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - begun > 0.9


def test_who_is_signed_in_may_take_longer_as_long_as_something_comes() -> None:
    async def piece() -> Message:
        await asyncio.sleep(0.9 * origins.PATIENCE)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def taken(*, is_known: bool) -> int:
        receive = origins._patient(piece, is_known=is_known)
        return len([await receive() for _ in range(8)])

    with ThreadPoolExecutor(1) as thread:  # In this one the loop of a browser may run that other files have left open.
        assert thread.submit(skipping.run, taken(is_known=True)).result() == 8
        with pytest.raises(HTTPException):
            thread.submit(skipping.run, taken(is_known=False)).result()


def test_who_is_signed_in_is_known_to_be(shown: Cockpit, monkeypatch: pytest.MonkeyPatch) -> None:
    known, patient = list[bool](), origins._patient

    def noting(receive: Receive, *, is_known: bool) -> Receive:
        known.append(is_known)
        return patient(receive, is_known=is_known)

    monkeypatch.setattr(origins, "_patient", noting)
    cookie = shown.entered(OPERATOR)
    fields = {"secret": shown.form_secret(cookie), "yaml": "id: x", "base": "id: x"}
    assert shown.post("/draft/check", fields, cookie).status == 200
    assert known == [False, True], "the sign-in itself is of somebody who is not yet known"


def test_signing_out_shuts_the_archive_and_ends_what_is_kept_up(shown: Cockpit) -> None:
    cookie = shown.entered(READER)
    own, replay = {"Cookie": f"{COOKIE}={cookie}"}, {"Host": host_of(shown.names.replay)}
    record = re.search(
        rf"{HERE}/captures/([^\"?]+)", shown.ask("GET", f"{HERE}/pages?text=viewtopic.php", **own).body.decode()
    )
    assert record is not None

    def ticket() -> str:
        page = shown.ask("GET", record[0], **own).body.decode()
        found = re.search(r'name="ticket" value="([^"]+)"', page)
        assert found is not None
        return urlencode({"ticket": found[1]})

    left, form = ticket(), {"Content_Type": FORM}
    entered = shown.ask("POST", "/enter", ticket(), **form, **replay)
    assert entered.status == 303
    path, known = entered.headers["location"], {"Cookie": entered.headers["set-cookie"].partition(";")[0]}
    assert shown.ask("GET", path, **known, **replay).status == 200
    with closing(HTTPConnection("127.0.0.1", shown.port, timeout=PATIENCE)) as stream:
        stream.request("GET", f"{HERE}/live", headers={"Host": host_of(shown.names.cockpit), **own})
        live = stream.getresponse()
        assert live.readline() == b"event: part\n"
        assert shown.post("/sign-out", {"secret": shown.form_secret(cookie)}, cookie).status == 303
        live.read()  # It ends.
    assert shown.ask("GET", path, **known, **replay).status == 403
    assert shown.ask("POST", "/enter", left, **form, **replay).status == 403


@pytest.mark.parametrize("host", ["rebound.test", "rebound.test:{port}", "127.0.0.1", "localhost.evil.test:{port}", ""])
def test_no_page_is_reached_under_another_name(shown: Cockpit, host: str) -> None:
    cookie = shown.entered(OPERATOR)
    named = host.format(port=shown.port)
    for path in ("/", HERE, "/v1/crawls", "/static/cockpit.js", "/enter"):
        answer = shown.ask("GET", path, Host=named, Cookie=f"{COOKIE}={cookie}", Authorization=f"Bearer {OPERATOR}")
        assert answer.status == 421, path
        assert CRAWL.encode() not in answer.body


def test_the_host_of_archived_pages_has_neither_the_cockpit_nor_the_interface(shown: Cockpit) -> None:
    cookie, host = shown.entered(OPERATOR), host_of(shown.names.replay)
    for path in (HERE, f"{HERE}/queue", "/v1/crawls", "/sign-in", "/static/cockpit.js", "/metrics", "/openapi.json"):
        for method in ("GET", "POST"):
            told = {"Host": host, "Cookie": f"{COOKIE}={cookie}", "Authorization": f"Bearer {OPERATOR}"}
            answer = shown.ask(method, path, **told, Origin=shown.names.cockpit)
            assert answer.status in (403, 404, 405), (method, path)
            assert b"cockpit.css" not in answer.body
            assert "set-cookie" not in answer.headers
    assert shown.ask("GET", "/", Host=host).headers["location"] == shown.names.cockpit


def test_the_interface_is_not_opened_by_the_cookie_of_the_pages(shown: Cockpit) -> None:
    cookie = shown.entered(OPERATOR)
    assert shown.ask("GET", "/v1/crawls", Cookie=f"{COOKIE}={cookie}").status == 401
    answer = shown.post(f"/v1{HERE}/stop", {"secret": shown.form_secret(cookie)}, cookie)
    assert answer.status in (401, 403)
    assert shown.ask("GET", "/v1/crawls", Authorization=f"Bearer {READER}").status == 200


def test_nothing_is_changed_by_forms_of_others(shown: Cockpit) -> None:
    cookie, before = shown.entered(OPERATOR), _state(shown.place)
    own = {**FIELDS, "secret": shown.form_secret(cookie)}
    origins = ("http://evil.test", "null", shown.names.replay, f"{shown.names.cockpit}.evil.test", "")
    paths = list(_posted(shown))
    assert len(paths) > len(ACTS) + len(ENTERING) + 5
    for path in paths:
        for origin in origins:
            assert shown.post(path, own, cookie, origin).status == 403, (path, origin)
        headers = {"Content_Type": "application/x-www-form-urlencoded", "Cookie": f"{COOKIE}={cookie}"}
        assert shown.ask("POST", path, "secret=x", **headers).status == 403, f"{path} without an origin"
        if path != "/sign-in":
            for secret in ("", "wrong", shown.form_secret(shown.entered(OPERATOR))):
                assert shown.post(path, {**FIELDS, "secret": secret}, cookie).status == 403, (path, secret)
            signed_out = shown.post(path, own)
            assert (signed_out.status, signed_out.headers["location"]) == (303, "/sign-in"), path
    assert _state(shown.place) == before
    assert shown.ask("GET", "/", Cookie=f"{COOKIE}={cookie}").status == 200


def test_an_unknown_choice_in_an_address_is_told_with_those_that_there_are(shown: Cockpit) -> None:
    cookie = f"{COOKIE}={shown.entered(READER)}"
    assert shown.ask("GET", f"{HERE}/changes?since=2020-13-01", Cookie=cookie).status == 400
    within = shown.ask("GET", f"{HERE}/changes?all=true&since=2020-01-01&until=2100-01-01T12:00", Cookie=cookie)
    assert b"All its visits" in within.body
    outside = shown.ask("GET", f"{HERE}/changes?all=true&until=2020-01-01", Cookie=cookie)
    assert b"No visits are like that." in outside.body
    answer = shown.ask("GET", f"{HERE}/changes?kind=moon", Cookie=cookie)
    assert answer.status == 400
    assert "kind: is not among the choices; write &#39;content&#39;, " in answer.body.decode()


def test_a_reader_changes_nothing_and_sees_no_button_that_would(shown: Cockpit) -> None:
    cookie, before = shown.entered(READER), _state(shown.place)
    fields = {**FIELDS, "secret": shown.form_secret(cookie)}
    for path in _posted(shown):
        if path in ENTERING:
            continue
        answer = shown.post(path, fields, cookie)
        assert answer.status == 403, path
        is_judging = "/archive/judge/" in path and not path.endswith("/membership")
        role = "edit" if "/studio/" in path else "judge" if is_judging else "operate"
        assert f"his needs the role `{role}`".encode() in answer.body, path
    assert _state(shown.place) == before
    tabs = (
        "",
        "/queue",
        "/sites",
        f"/sites/{HOSTILE}",
        "/pages",
        "/objects",
        "/seeds",
        "/failures",
        "/changes",
        "/exclusions",
        "/studio",
    )
    for path in ("/", *(f"{HERE}{tab}" for tab in (*tabs, "/definition", "/log", f"/url?url=http://{HOSTILE}/"))):
        answer = shown.ask("GET", path, Cookie=f"{COOKIE}={cookie}")
        assert answer.status == 200, path
        posted = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', answer.body.decode())
        assert posted == ["/sign-out"], path
        assert b'href="/new"' not in answer.body, path


def test_who_steers_and_may_not_read_is_shown_nothing_that_a_crawl_has(shown: Cockpit) -> None:
    cookie = shown.entered(BLIND)
    own = {**FIELDS, "secret": shown.form_secret(cookie), "yaml": DRAFT, "base": DRAFT}
    for path, action in ((f"{HERE}/definition", "save"), ("/draft", "suggest"), (f"{HERE}/definition", "suggest")):
        told = shown.post(path, {**own, "action": action, "reference": CRAWL, "digest": "another"}, cookie)
        assert b"needs the role `read`" in told.body, (path, action)
        assert HOSTILE.encode() not in told.body
    for path in (HERE, f"{HERE}/definition", f"{HERE}/pages", f"{HERE}/log", f"/draft/reference/{CRAWL}/x"):
        assert shown.ask("GET", path, Cookie=f"{COOKIE}={cookie}").status == 403, path


def test_nobody_sends_forms_without_end(tmp_path: Path) -> None:
    with serving(tmp_path, Rates(requests=Rate(0.1, 3))) as cockpit:
        cookie = cockpit.entered(OPERATOR)
        own = {"secret": cockpit.form_secret(cookie), "yaml": DRAFT, "base": DRAFT}
        assert [cockpit.post("/draft/check", own, cookie).status for _ in range(5)] == [200, 200, 200, 429, 429]
        assert cockpit.ask("GET", "/", Cookie=f"{COOKIE}={cookie}").status == 200
