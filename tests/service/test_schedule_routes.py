"""The schedule by JSON: what is next and why then, what ran, and acts, which are noted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.schedule.visit_log import VisitLog
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.web.noted_acts import Damage, ServiceLog, read_entries
from aahcrawler.service.web.roles import Caller, Named, Role, Tokens
from aahcrawler.service_client import ServiceClient, ServiceError
from tests.cockpit.shown_crawl import CRAWL, scheduled
from tests.service.asking import begun, serving

SECRETS = {role: f"the-secret-of-{role}-0123456789" for role in (Role.READ, Role.OPERATE)}


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[dict[Role, ServiceClient]]:
    place = tmp_path / "crawls"
    begun(place / "test")
    catalog = Catalog([place])
    named = (Named(token, Caller(f"who-{role}", frozenset({role, Role.READ}))) for role, token in SECRETS.items())
    settings = ServiceSettings(catalog, tokens=Tokens(named), log=ServiceLog(catalog.service_log()))
    instruments = Instruments.of(CrawlRegistry.of(catalog, None), schedule=scheduled(tmp_path))
    with serving(settings, instruments=instruments) as service:
        yield {role: ServiceClient(f"http://127.0.0.1:{service.port}", token) for role, token in SECRETS.items()}


def test_crawls_are_listed_with_their_next_visit_and_why_then(clients: dict[Role, ServiceClient]) -> None:
    client = clients[Role.READ]
    page = client.get("/v1/schedule?limit=1")
    assert (page["total"], page["next"], page["is_looked_after"]) == (4, 1, False)
    by_name = {each["name"]: each for each in client.schedule()}
    assert set(by_name) == {CRAWL, "town-hall", "news", "z" * 64}
    assert by_name["town-hall"]["state"] == "under way"
    assert (
        by_name["town-hall"]["fault"].endswith("name the file of a crawl definition") or by_name["town-hall"]["fault"]
    )
    assert by_name["news"]["rhythm"] == "at 06:00, UTC"
    assert [each["name"] for each in client.schedule("TOWN")] == ["town-hall"]
    assert client.scheduled(CRAWL)["found"]["changed"] == 7
    visits = client.scheduled_visits(CRAWL, 2)
    assert [each["number"] for each in visits] == [5, 4]
    assert visits[0]["failures"] == 1
    assert len(client.scheduled_visits()) == 6
    for path in ("no-such", "no-such/visits"):
        with pytest.raises(ServiceError) as caught:
            client.get(f"/v1/schedule/crawls/{path}")
        assert (caught.value.status, caught.value.kind) == (404, "no-such-scheduled-crawl")


def test_operators_have_crawls_visited_and_paused_and_that_is_noted(
    clients: dict[Role, ServiceClient], tmp_path: Path
) -> None:
    operator = clients[Role.OPERATE]
    assert operator.visit_now(CRAWL) == {"name": CRAWL, "act": "now", "is_looked_after": False}
    operator.resume_scheduled("news")
    operator.pause_scheduled()
    with VisitLog.opened(tmp_path / "schedule.sqlite") as log:
        assert log.wanted() == {CRAWL}
        assert log.paused() == {""}
    assert operator.scheduled(CRAWL)["state"] == "wanted now"
    operator.resume_scheduled()
    with pytest.raises(ServiceError) as refused:
        clients[Role.READ].pause_scheduled()
    assert refused.value.status == 403
    with pytest.raises(ServiceError) as unknown:
        operator.visit_now("no-such")
    assert unknown.value.status == 404
    entries = [each for each in read_entries(tmp_path / "crawls") if not isinstance(each, Damage)]
    did = [each["did"] for each in entries if each.get("did")]
    assert did == [[f"schedule_now {CRAWL}"], ["schedule_resume news"], ["schedule_pause all"], ["schedule_resume all"]]


def test_a_service_without_a_schedule_says_so_and_one_with_mistakes_shows_the_rest(tmp_path: Path) -> None:
    begun(tmp_path / "crawls" / "test")
    catalog = Catalog([tmp_path / "crawls"])
    with serving(ServiceSettings(catalog)) as service:
        reply = service.get("/v1/schedule")
        assert (reply.status, reply.json["type"]) == (404, "urn:aahcrawler:problem:no-schedule")
    file = tmp_path / "schedule.yaml"
    icd = "id: sound\ncontact: a@b.test\nseeds: [http://a.test/]\ntopic: {keywords: [sea]}\n"
    (tmp_path / "sound.yaml").write_text(icd, "utf-8")
    entries = "sound: {definition: sound.yaml, every: 1 h}, torn: {definition: t.yaml, every: 60}"
    file.write_text(f"crawls: {{{entries}, gone: {{definition: gone.yaml, every: 1 h}}}}\n", "utf-8")
    instruments = Instruments.of(CrawlRegistry.of(catalog, None), schedule=file)
    with serving(ServiceSettings(catalog), instruments=instruments) as service:
        found = {each["name"]: each for each in service.get("/v1/schedule").json["crawls"]}
    assert found["sound"]["fault"] == ""
    assert found["sound"]["why"] == "every 1 h; its moment has come; it was never visited"
    assert "has no unit" in found["torn"]["why"]
    assert "gone.yaml" in found["gone"]["fault"]
