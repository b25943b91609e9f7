"""The page of the schedule: what is next and why then, what ran, and acts that are noted and asked of the log."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from aahcrawler.schedule.visit_log import Notice, VisitLog
from aahcrawler.service.cockpit.site import COOKIE
from aahcrawler.service.web.noted_acts import Damage, read_entries
from tests.cockpit.cockpit_browser import OPERATOR, READER, Cockpit, dumped, serving, visiting
from tests.cockpit.shown_crawl import CRAWL, scheduled
from tests.cockpit.test_every_page import EXTENTS, Walk


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    place = tmp_path_factory.mktemp("scheduled") / "crawls"
    place.mkdir()
    with serving(place, schedule=scheduled(place.parent)) as cockpit:
        yield cockpit


def with_units(folder: Path) -> None:
    """Write a list of units, of which the other one has not answered for long."""
    units = "{north: {url: 'https://north.example'}, south: {url: 'https://south.example'}}"
    (folder / "schedule-units.yaml").write_text(f"name: north\nunits: {units}", "utf-8")
    failing = {"asked_at": "2026-03-02T12:00:00Z", "failing_since": "2026-03-01T12:00:00Z", "problem": "it <is> down"}
    (folder / "schedule-units.json").write_text(json.dumps({"units": {"south": failing}}), "utf-8")


def page(cockpit: Cockpit, token: str, query: str = "") -> str:
    answer = cockpit.ask("GET", f"/schedule{query}", Cookie=f"{COOKIE}={cockpit.entered(token)}")
    assert answer.status == 200, answer
    return answer.body.decode()


def test_it_shows_what_is_next_and_what_ran(cockpit: Cockpit) -> None:
    shown = page(cockpit, READER)
    assert "4 crawls, at most 2 at once" in shown
    assert "every 6 h" in shown
    assert "at 06:00, UTC" in shown
    assert "for 5 due moments" in shown
    assert ">needs somebody</span>" in shown
    assert "Visit now" not in shown
    assert "Visit now" in page(cockpit, OPERATOR)


def test_the_calendar_tells_new_changed_and_gone_pages_apart(cockpit: Cockpit) -> None:
    shown = page(cockpit, READER)
    assert ">New pages</th>" in shown
    assert "Pages that changed" not in shown


def test_a_crawl_has_a_page_with_its_visits_and_what_was_told(cockpit: Cockpit) -> None:
    with VisitLog.opened(cockpit.place.parent / "schedule.sqlite") as log:
        notice = Notice(datetime(2026, 3, 2, 12, tzinfo=UTC), CRAWL, "attention", "a <seed> gave nothing")
        log.noticed(notice, ["mail", "webhook"])
        log.delivered(notice, "mail", notice.at)
    assert f'href="/schedule/crawls/{CRAWL}"' in page(cockpit, READER)
    shown = page(cockpit, READER, f"/crawls/{CRAWL}")
    assert "every 6 h" in shown
    assert "a &lt;seed&gt; gave nothing" in shown
    assert 'data-label="By">mail<span class="why">not sent yet by webhook</span>' in shown
    assert "A visit takes" in shown
    assert "Visit now" not in shown
    assert "Visit now" in page(cockpit, OPERATOR, f"/crawls/{CRAWL}")
    answer = cockpit.ask("GET", "/schedule/crawls/no-such", Cookie=f"{COOKIE}={cockpit.entered(READER)}")
    assert answer.status == 404


def test_crawls_are_found_by_a_part_of_their_name(cockpit: Cockpit) -> None:
    shown = page(cockpit, READER, "?text=TOWN")
    assert "1 crawl, at most" in shown
    assert "town-hall" in shown
    assert f"<bdi>{CRAWL}</bdi>" not in shown


def test_operators_have_crawls_visited_and_paused_and_that_is_noted(cockpit: Cockpit) -> None:
    cookie, reader = cockpit.entered(OPERATOR), cockpit.entered(READER)
    own = {"secret": cockpit.form_secret(cookie), "name": CRAWL}
    assert cockpit.post("/schedule/acts/now", own, cookie).status == 303
    assert cockpit.post("/schedule/acts/resume", {**own, "name": "news"}, cookie).status == 303
    assert cockpit.post("/schedule/acts/pause", {**own, "name": ""}, cookie).status == 303
    with VisitLog.opened(cockpit.place.parent / "schedule.sqlite") as log:
        assert log.wanted() == {CRAWL}
        assert log.paused() == {""}
    assert "Go on with all" in page(cockpit, OPERATOR)
    assert set(re.findall(r'data-label="To come">(.*?)<', page(cockpit, READER))) == {"–"}
    assert cockpit.post("/schedule/acts/resume", {**own, "name": ""}, cookie).status == 303
    sent = {"secret": cockpit.form_secret(reader), "name": CRAWL}
    assert cockpit.post("/schedule/acts/now", sent, reader).status == 403
    assert cockpit.post("/schedule/acts/now", {**own, "name": "no-such"}, cookie).status == 404
    assert cockpit.post("/schedule/acts/granted", own, cookie).status == 400
    entries = [each for each in read_entries(cockpit.place) if not isinstance(each, Damage)]
    did = [each["did"] for each in entries if each.get("did")]
    assert did == [[f"schedule_now {CRAWL}"], ["schedule_resume news"], ["schedule_pause all"], ["schedule_resume all"]]


def test_units_and_crawls_with_mistakes_are_shown(tmp_path: Path) -> None:
    file = scheduled(tmp_path)
    file.write_text(f"{file.read_text('utf-8')}\n  torn: {{definition: torn.yaml, every: 60}}", "utf-8")
    with_units(tmp_path)
    (tmp_path / "crawls").mkdir()
    with serving(tmp_path / "crawls", schedule=file) as cockpit:
        shown = page(cockpit, READER)
    assert "5 crawls" in shown
    assert "has no unit" in shown
    assert "it &lt;is&gt; down" in shown
    assert "all of it: south has not answered since 2026-03-01 12:00 UTC" in shown


def test_a_cockpit_without_a_schedule_says_so(tmp_path: Path) -> None:
    with serving(tmp_path) as cockpit:
        answer = cockpit.ask("GET", "/schedule", Cookie=f"{COOKIE}={cockpit.entered(READER)}")
        assert answer.status == 404
        assert b"start it with --schedule FILE" in answer.body
        assert b'href="/schedule"' not in answer.body


@pytest.mark.slow
@pytest.mark.parametrize("is_full", EXTENTS)
def test_it_is_accessible_and_within_its_window(chromium: Browser, cockpit: Cockpit, is_full: bool) -> None:
    with visiting(chromium, cockpit) as visit:
        walk = Walk(visit, is_full=is_full)
        walk.look(visit.goto("/schedule"), "schedule")
        walk.look(visit.goto("/schedule?text=nothing"), "schedule without a crawl")
        walk.look(visit.goto(f"/schedule/crawls/{CRAWL}"), "scheduled crawl")
        with_units(cockpit.place.parent)
        walk.look(visit.goto("/schedule"), "schedule of several units")
        assert not walk.wrong, dumped(walk.wrong)
