"""What readers search for and do not find is counted without them, and offered to those who crawl."""

import re
from datetime import date
from pathlib import Path

import pytest

from aahcrawler.service.cockpit.site import COOKIE
from aahcrawler.service.steering.unfound_searches import MAX_KEPT, MIN_ASKERS, UNFOUND, UnfoundSearches
from tests.cockpit.cockpit_browser import OPERATOR, READER, serving
from tests.crawl.crawling import until
from tests.search.archives import running

DAY = date(2026, 3, 1)


def counted(place: Path, *days: date) -> UnfoundSearches:
    return UnfoundSearches(place / UNFOUND, lambda: days[-1] if days else DAY)


def test_a_query_is_kept_once_several_have_asked_it(tmp_path: Path) -> None:
    found = counted(tmp_path)
    for asker in range(MIN_ASKERS - 1):
        for _ in range(5):
            found.note("High  Water", f"s{asker}", is_url=False)
    assert found.listed() == ()
    assert [*tmp_path.iterdir()] == []  # Nothing at all is on disk before.
    found.note("high water", "another", is_url=False)
    (kept,) = found.listed()
    assert (kept.query, kept.count, kept.first, kept.last) == ("high water", MIN_ASKERS, DAY, DAY)
    found.note("HIGH WATER", "another", is_url=False)
    assert found.listed()[0].count == MIN_ASKERS
    found.note("high water", "one more", is_url=False)
    assert found.listed()[0].count == MIN_ASKERS + 1
    assert b"one more" not in (tmp_path / UNFOUND).read_bytes()


def test_urls_are_seeds_and_what_is_long_or_none_is_not_counted(tmp_path: Path) -> None:
    found = counted(tmp_path)
    for asker in range(MIN_ASKERS):
        found.note("HTTP://Dykes.test/a#b", f"s{asker}", is_url=True)
        found.note("x" * 201, f"s{asker}", is_url=False)
        found.note("   ", f"s{asker}", is_url=False)
    assert [(each.query, each.is_url) for each in found.listed()] == [("http://dykes.test/a", True)]
    found.forget(["http://dykes.test/a"])
    assert found.listed() == []


def test_a_sign_in_counts_once_a_day_and_a_restart_forgets_what_was_not_kept(tmp_path: Path) -> None:
    days = [DAY]
    found = UnfoundSearches(tmp_path / UNFOUND, lambda: days[-1])
    for asker in range(MIN_ASKERS):
        found.note("dyke", f"s{asker}", is_url=False)
        found.note("flood", "s0", is_url=False)
    days.append(date(2026, 3, 2))
    found.note("dyke", "s0", is_url=False)
    (kept,) = found.listed()
    assert (kept.count, kept.first, kept.last) == (MIN_ASKERS + 1, DAY, days[-1])
    again = UnfoundSearches(tmp_path / UNFOUND, lambda: DAY)
    for asker in range(1, MIN_ASKERS):
        again.note("flood", f"s{asker}", is_url=False)
    assert [each.query for each in again.listed()] == ["dyke"]


def test_only_so_many_are_kept_and_a_damaged_file_is_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = counted(tmp_path)
    (tmp_path / UNFOUND).write_bytes(b"[{")
    assert found.listed() == ()
    assert "cannot be read" in caplog.text
    entry = '{{"query": "q{}", "is_url": false, "count": {}, "first": "2026-01-01", "last": "2026-01-01"}}'
    (tmp_path / UNFOUND).write_text(f"[{','.join(entry.format(n, n + 3) for n in range(MAX_KEPT))}]")
    for asker in range(MIN_ASKERS):
        found.note("new", f"s{asker}", is_url=False)
    kept = {each.query for each in found.listed()}
    assert len(kept) == MAX_KEPT
    assert "new" in kept
    assert "q0" not in kept


DEFINITION = "id: floods\ncontact: a@example.org\nseeds: [http://a.test/]\ntopic: {keywords: [flood]}\n"


@pytest.mark.starts
def test_the_operator_takes_them_up_in_a_definition(tmp_path: Path) -> None:
    with serving(tmp_path, unfound=counted(tmp_path)) as shown:
        cookie = shown.entered(OPERATOR)
        own = {"secret": shown.form_secret(cookie)}
        made = shown.post("/draft", {**own, "yaml": DEFINITION, "base": DEFINITION, "action": "save"}, cookie)
        assert made.status == 303
        with running(tmp_path / "floods") as crawl:
            crawl.page("p", "The flood came.")

        def asked(query: str, as_whom: str) -> str:
            return shown.ask("GET", f"/search?q={query}", Cookie=f"{COOKIE}={as_whom}").body.decode()

        until(lambda: "1 found" in asked("flood", cookie))
        for _ in range(MIN_ASKERS):
            reader = shown.entered(READER)
            assert "Nothing was found" in asked("sea+walls", reader)
            asked("http%3A%2F%2Fb.test%2Fdykes", reader)
            asked("flood", reader)
        page = shown.ask("GET", "/search/unfound", Cookie=f"{COOKIE}={cookie}").body.decode()
        offered = re.findall(r'name="(add:[^"]+)"', page)
        assert {*offered} == {"add:keywords:sea walls", "add:seeds:http://b.test/dykes"}
        assert shown.ask("GET", "/search/unfound", Cookie=f"{COOKIE}={shown.entered(READER)}").status == 403
        (crawl_id,) = re.findall(r'<option value="([^"]+)"', page)
        chosen = dict.fromkeys(offered, "on")
        draft = shown.post("/search/unfound", {**own, **chosen, "crawl": crawl_id, "action": "add"}, cookie)
        assert draft.status == 200
        text = draft.body.decode()
        assert "sea walls" in text
        assert "http://b.test/dykes" in text.replace("<wbr>", "")
        assert "sea walls" not in (tmp_path / crawl_id / "definition.yaml").read_text("utf-8")  # It is a draft.
        shown.post("/search/unfound", {**own, **chosen, "action": "forget"}, cookie)
        assert "None so far" in shown.ask("GET", "/search/unfound", Cookie=f"{COOKIE}={cookie}").body.decode()
