"""Who may do what: tokens with roles, requests that pages of other sites send, rates, and bodies."""

import json
import logging
import re
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext, iter_route_contexts

from aahcrawler.service.api.app import ServiceSettings, create_app
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.web.entrance import BODY, UNLIMITED, Buckets, Rate, Rates
from aahcrawler.service.web.problems import ProblemError
from aahcrawler.service.web.roles import Caller, Named, Needed, Role, TokenError, Tokens, read_tokens
from tests.crawl.crawling import PATIENCE
from tests.service.asking import JSON, Reply, Service, begun, serving

SECRETS = {role: f"the-secret-of-{role}-0123456789" for role in Role}
ITEM = {"url": "http://a.test/x", "score": 0.5}
SAFE = {"GET", "HEAD", "OPTIONS"}


def tokens() -> Tokens:
    return Tokens(Named(secret, Caller(f"who-{role}", frozenset({role}))) for role, secret in SECRETS.items())


def settings(folder: Path, **more: Any) -> ServiceSettings:
    return ServiceSettings(Catalog([folder]), **more)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("crawl")
    begun(folder)
    with serving(settings(folder, tokens=tokens(), rates=UNLIMITED)) as service:
        yield service


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("crawl")
    begun(folder)
    with serving(settings(folder, rates=UNLIMITED)) as service:
        yield service


def as_role(role: Role) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {SECRETS[role]}"}


# The routes


def routes(app: FastAPI) -> list[tuple[str, str, RouteContext]]:
    """Return method, path and route of all that can be asked under /v1."""
    found = [(route, route.path or "") for route in iter_route_contexts(app.routes)]
    return [
        (method, re.sub(r"{[^}]*}", "test", path), route)
        for route, path in found
        if path.startswith("/v1/")
        for method in route.methods or ()
    ]


def needed(dependant: Dependant) -> set[Role]:
    own = {dependant.call.role} if isinstance(dependant.call, Needed) else set()
    return own.union(*(needed(each) for each in dependant.dependencies)) if dependant.dependencies else own


def is_refused(reply: Reply, role: Role) -> bool:
    told = (reply.status, reply.json["type"], f"`{role}`" in reply.json["detail"])
    return told == (403, "urn:aahcrawler:problem:forbidden", True) and role in reply.headers["www-authenticate"]


def test_every_route_is_refused_to_those_who_have_all_roles_but_the_one_that_it_needs(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    asked = routes(app)
    assert {method for method, _, _ in asked} >= {"GET", "POST"}
    begun(tmp_path)
    for lacked in Role:
        others = Tokens([Named(SECRETS[lacked], Caller("who", frozenset(set(Role) - {lacked})))])
        with serving(settings(tmp_path, tokens=others, rates=UNLIMITED)) as service:
            for method, path, route in asked:
                roles = needed(route.dependant) or ({Role.READ} if method in SAFE else set())
                assert roles, f"{method} {path} changes something, and needs no role"
                if lacked in roles:
                    reply = service.ask(method, path, b"{}", **as_role(lacked), Content_Type=JSON)
                    assert is_refused(reply, lacked), (method, path, reply)


def test_a_reader_changes_nothing(guarded: Service, tmp_path: Path) -> None:
    for method, path, route in routes(create_app(settings(tmp_path))):
        if method not in SAFE and Role.READ not in needed(route.dependant):
            reply = guarded.ask(method, path, b"{}", **as_role(Role.READ), Content_Type=JSON)
            assert (reply.status, reply.json["type"]) == (403, "urn:aahcrawler:problem:forbidden"), (method, path)


def test_roles_do_not_include_one_another(guarded: Service) -> None:
    assert guarded.ask("GET", "/v1/crawls", **as_role(Role.READ)).status == 200
    assert is_refused(guarded.ask("GET", "/v1/crawls", **as_role(Role.SCORE)), Role.READ)
    assert guarded.post(ITEM, **as_role(Role.SCORE)).status == 503, "let in, and the crawl does not run"
    assert is_refused(guarded.post(ITEM, **as_role(Role.OPERATE)), Role.SCORE)
    for sent in ({}, {"Authorization": f"Bearer {SECRETS[Role.READ]}x"}, {"Authorization": SECRETS[Role.READ]}):
        assert guarded.ask("GET", "/v1/crawls", **sent).status == 401
    assert guarded.ask("GET", "/v1/crawls", Authorization=f"bearer  {SECRETS[Role.READ]}").status == 200


def test_the_log_names_callers_and_no_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), serving(settings(tmp_path, tokens=tokens())) as service:
        service.ask("GET", "/v1/crawls", **as_role(Role.READ))
    assert 'GET /v1/crawls" 200' in caplog.text
    assert "for who-read" in caplog.text
    assert not any(secret in caplog.text for secret in SECRETS.values())


# Files of tokens


def test_a_file_has_one_bare_token_or_a_line_for_each(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "tokens"
    file.touch(0o600)
    file.write_text("# staff\nanna read,operate  0123456789abcdef\n\n bot@lab score fedcba9876543210\n", "utf-8")
    found = read_tokens("", file)
    assert found.caller("0123456789abcdef") == Caller("anna", frozenset({Role.READ, Role.OPERATE}))
    assert found.caller("fedcba9876543210") == Caller("bot@lab", frozenset({Role.SCORE}))
    assert found.caller("0123456789abcdeg") is None
    assert "0123456789abcdef" not in repr(vars(found))
    for bare in ("a token that nobody guesses", "0123456789abcdef", "# made today\n0123456789abcdef"):
        file.write_text(bare, "utf-8")
        only = read_tokens("", file).caller(bare.rpartition("\n")[2])
        assert only is not None
        assert only.roles == set(Role)
    assert not caplog.messages
    file.chmod(stat.S_IRUSR | stat.S_IROTH)
    read_tokens("", file)
    assert "chmod 600" in caplog.text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("anna reed 0123456789abcdef", "'reed' is no role; the roles are read, score, operate, widen, judge, edit"),
        ("# x\nanna read 0123456789abcdef\nben read short-one", "line 3: a token has at least 16"),
        ("anna read 0123456789abcdef\nben 0123456789abcdeX", "line 2: has 2 words and not 3; write `name role"),
        ("anna read 0123456789abcdef\n\nben read 0123456789abcdef", "line 3: is the token of line 1, too"),
        ("a/b read 0123456789abcdef", "line 1: a name has"),
        ("", "a token has at least 16"),
        ("# nothing but words", "a token has at least 16"),
    ],
)
def test_mistakes_in_a_file_are_told_with_their_line_and_without_the_token(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "tokens"
    file.write_text(text, "utf-8")
    file.chmod(0o600)
    with pytest.raises(TokenError) as caught:
        read_tokens("", file)
    assert str(caught.value).startswith(str(file))
    assert told in str(caught.value)
    assert "0123456789abcde" not in str(caught.value)


# Pages of other sites


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 503),
        ({"Origin": "http://127.0.0.1:{port}"}, 503),
        ({"Origin": "http://127.0.0.1:{port}", "Sec_Fetch_Site": "same-origin"}, 503),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "https://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:{port}"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
    ],
)
def test_a_page_of_another_site_changes_nothing(unguarded: Service, headers: Mapping[str, str], status: int) -> None:
    sent = {name: value.format(port=unguarded.port) for name, value in headers.items()}
    assert unguarded.post(ITEM, **sent).status == status
    assert unguarded.ask("GET", "/v1/crawls", **sent).status == 200, "to read is left to the browser, which forbids it"


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "Text/Plain;a=b"]
)
def test_what_a_form_can_send_is_not_taken(unguarded: Service, media: str) -> None:
    assert unguarded.post(ITEM, Content_Type=media).status == 415
    assert unguarded.ask("DELETE", "/v1/crawls", b"{}", Content_Type=media).status == 415


def test_a_host_that_is_none_is_no_defect(unguarded: Service) -> None:
    with socket.create_connection(("127.0.0.1", unguarded.port), timeout=PATIENCE) as client:
        client.sendall(b"GET /v1/crawls HTTP/1.1\r\nHost: [::1\r\nConnection: close\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 421")


# Rates and bodies


def test_a_bucket_fills_again_with_time() -> None:
    now = [100.0]
    bucket = Buckets(Rate(2, 3), lambda: now[0])
    for _ in range(3):
        bucket.take("a")
    with pytest.raises(ProblemError) as caught:
        bucket.take("a")
    assert caught.value.headers == {"Retry-After": "1"}
    bucket.take("b")
    now[0] += 0.5
    bucket.take("a")
    with pytest.raises(ProblemError):
        bucket.take("a")
    now[0] += 3600
    for _ in range(3):
        bucket.take("a")
    with pytest.raises(ProblemError):
        bucket.take("a")


def test_a_slow_rate_lets_one_request_in_and_none_is_no_rate() -> None:
    bucket = Buckets(Rates.of(0.1).requests, lambda: 0.0)
    bucket.take("a")
    with pytest.raises(ProblemError, match="wait 10 s"):
        bucket.take("a")
    endless = Buckets(UNLIMITED.requests, lambda: 0.0)
    for _ in range(1000):
        endless.take("a")
    assert Rates.of(50) == Rates()


def test_each_caller_has_a_rate_and_posts_have_one_of_their_own(tmp_path: Path) -> None:
    begun(tmp_path)
    rates = Rates(Rate(0.01, 3), Rate(0.01, 2))
    both = Tokens(Named(SECRETS[role], Caller(role, frozenset({Role.READ, Role.SCORE}))) for role in Role)
    with serving(settings(tmp_path, tokens=both, rates=rates)) as service:
        read = [service.ask("GET", "/v1/crawls", **as_role(Role.READ)) for _ in range(4)]
        assert [reply.status for reply in read] == [200, 200, 200, 429]
        assert int(read[-1].headers["retry-after"]) > 90
        assert read[-1].headers["content-type"] == "application/problem+json"
        assert [service.post(ITEM, **as_role(Role.READ)).status for _ in range(3)] == [503, 503, 429]
        assert service.ask("GET", "/v1/crawls", **as_role(Role.SCORE)).status == 200
        assert service.get("/health").status == 200


@pytest.mark.parametrize("body", [b"x" * (BODY + 1), iter([b"x" * (BODY // 2)] * 3)])
def test_no_route_takes_a_body_without_end(unguarded: Service, body: Any) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # It is closed while most of the body is still to come.
        assert unguarded.ask("PUT", "/v1/crawls", body, Content_Type=JSON).status == 413
    assert unguarded.ask("PUT", "/v1/crawls", json.dumps(ITEM).encode(), Content_Type=JSON).status == 405
