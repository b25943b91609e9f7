"""Fields that widen what a crawl reaches, keeps or shows: each needs a role of its own, and to narrow it does not."""

import json
from pathlib import Path

import pytest

from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.steering.held_definitions import (
    GIVEN,
    LED,
    LISTED,
    NARROWEST,
    PRIVATE,
    refuse_widening,
    widened,
)
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service.web.problems import ProblemError
from aahcrawler.service.web.roles import Caller, Named, Role, Tokens
from online_analysis.icd import Icd
from tests.online_analysis.definitions import SMALLEST
from tests.service.asking import JSON, Reply, serving

OPERATOR = Caller("anna", frozenset({Role.OPERATE}))
WIDER = [
    ("archive.redact", "archive: {redact: false}", "archive: {redact: true}"),
    ("browser.under_login", "browser: {under_login: true}", "browser: {}"),
    ("network.cookies", "network: {}", "network: {cookies: off}"),
    ("network.cookies_file", "network: {cookies_file: /a}", "network: {}"),
    ("politeness.nofollow", "politeness: {nofollow: ignore}", "politeness: {nofollow: obey}"),
    ("politeness.robots", "politeness: {robots: ignore}", "politeness: {robots: obey}"),
    (
        "network.logins",
        "network: {logins: [{url: https://a.test/, fields: {user: me}, logged_in: hello}]}",
        "network: {}",
    ),
    (
        "network.secrets_over_http",
        "network: {secrets_over_http: [a.test, b.test]}",
        "network: {secrets_over_http: [a.test]}",
    ),
    ("network.proxy", "network: {proxy: http://p.test:1}", "network: {}"),
    ("network.proxy", "network: {}", "network: {proxy: http://p.test:1}"),
    ("network.hosts", "network: {hosts: {a.test: {certificates: accept}}}", "network: {hosts: {a.test: {}}}"),
    ("network.hosts", "network: {hosts: {a.test: {proxy: direct}}}", "network: {}"),
    ("network.accounts", "network: {accounts: {a.test: {user: me, password: {env: A}}}}", "network: {}"),
    ("network.headers", "network: {headers: {a.test: {X-A: '2'}}}", "network: {headers: {a.test: {X-A: '1'}}}"),
    ("network.resolve", "network: {resolve: {a.test: 10.0.0.1}}", "network: {resolve: {b.test: 10.0.0.1}}"),
    (
        "network.allow_private",
        "network: {allow_private: [10.0.0.0/8]}",
        "network: {allow_private: [10.1.0.0/16, '::1']}",
    ),
    ("network.allow_private", "network: {allow_private: true}", "network: {allow_private: [10.0.0.0/8]}"),
]
NARROWER = [
    ("archive: {redact: true}", "archive: {redact: false}"),
    ("politeness: {robots: obey}", "politeness: {robots: ignore}"),
    ("network: {cookies: off}", "network: {}"),
    ("network: {}", "network: {headers: {a.test: {X-A: '1'}}, resolve: {a.test: 10.0.0.1}}"),
    ("network: {allow_private: [10.1.0.0/16]}", "network: {allow_private: [10.0.0.0/8]}"),
    ("network: {secrets_over_http: [a.test]}", "network: {secrets_over_http: [b.test, a.test]}"),
    ("limits: {pages: 5}", "limits: {pages: 1}"),
]


def defined(text: str) -> Icd:
    return Icd.parse(f"{SMALLEST}{text}\n".encode())


def test_every_listed_field_is_tried_here() -> None:
    assert {field for field, _, _ in WIDER} == {*NARROWEST, *LISTED, *LED, *GIVEN, PRIVATE}


@pytest.mark.parametrize(("field", "after", "before"), WIDER)
def test_what_widens_a_definition_needs_a_role_of_its_own(field: str, after: str, before: str) -> None:
    found = widened(defined(after), defined(before))
    assert found
    assert all(each == field or each.startswith(f"{field}.") for each in found)
    with pytest.raises(ProblemError, match="widen") as refused:
        refuse_widening(OPERATOR, defined(after), defined(before))
    assert refused.value.kind.status == 403
    refuse_widening(Caller("ida", frozenset({Role.WIDEN})), defined(after), defined(before))


@pytest.mark.parametrize(("after", "before"), NARROWER)
def test_what_narrows_it_does_not(after: str, before: str) -> None:
    refuse_widening(OPERATOR, defined(after), defined(before))


@pytest.mark.parametrize("text", [after for _, after, _ in WIDER])
def test_what_stays_as_it_was_does_not(text: str) -> None:
    refuse_widening(OPERATOR, defined(text), defined(text))


def test_a_new_definition_is_judged_by_the_defaults() -> None:
    refuse_widening(OPERATOR, defined("politeness: {nofollow: ignore}"))
    with pytest.raises(ProblemError, match=r"archive\.redact, network\.allow_private"):
        refuse_widening(OPERATOR, defined("archive: {redact: false}\nnetwork: {allow_private: true}"))


def test_the_service_asks_for_that_role(tmp_path: Path) -> None:
    roles = {"anna": {Role.OPERATE, Role.READ}, "ida": {Role.OPERATE, Role.WIDEN, Role.READ}}
    tokens = Tokens(Named(f"{name}-0123456789abcdef", Caller(name, frozenset(has))) for name, has in roles.items())
    with serving(ServiceSettings(Catalog([tmp_path]), tokens=tokens, rates=UNLIMITED)) as service:

        def asked(name: str, method: str, path: str, said: object = None) -> Reply:
            body = None if said is None else json.dumps(said).encode()
            bearer = f"Bearer {name}-0123456789abcdef"
            return service.ask(method, f"/v1/crawls{path}", body, Content_Type=JSON, Authorization=bearer)

        wide = {"definition": f"{SMALLEST}archive: {{redact: false}}\n"}
        refused = asked("anna", "POST", "", wide)
        assert (refused.status, "archive.redact" in refused.json["detail"]) == (403, True)
        assert asked("anna", "POST", "", {"definition": SMALLEST}).status == 201
        (crawl,) = asked("anna", "GET", "").json
        path = f"/{crawl['id']}/definition"
        held = asked("anna", "GET", path).json
        changed = {"text": f"{held['text']}\narchive: {{redact: false}}\n", "digest": held["digest"]}
        assert asked("anna", "PUT", path, changed).status == 403
        assert asked("anna", "GET", path).json == held
        assert asked("ida", "PUT", path, changed).status == 200


def test_a_definition_does_not_tell_what_folders_there_are(tmp_path: Path) -> None:
    with serving(ServiceSettings(Catalog([tmp_path]), rates=UNLIMITED)) as service:
        said = []
        for folder in (tmp_path, tmp_path / "nowhere"):
            text = f"{SMALLEST}scoring: {{entity_model: {folder}}}\n"
            body = json.dumps({"definition": text}).encode()
            reply = service.ask("POST", "/v1/crawls", body, Content_Type=JSON)
            said.append((reply.status, reply.body.replace(str(folder).encode(), b"FOLDER")))
        assert said[0] == said[1]
        assert said[0][0] == 422
