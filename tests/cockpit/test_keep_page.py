"""What to keep: proposed, decided on by item and by group, also by keyboard, noted, and written as WARC and WACZ."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from aahcrawler.annotations.keep_decisions import KeepAnswer, decisions_of
from aahcrawler.layout import DECISIONS
from aahcrawler.service.cockpit.site import address
from aahcrawler.service.views.proposed_pages import proposals_file
from tests.cockpit.cockpit_browser import OPERATOR, READER, Cockpit, visiting
from tests.cockpit.shown_crawl import CRAWL
from tests.cockpit.test_noted_acts import Since
from tests.cockpit.test_packages import Visitor
from tests.crawl.crawling import until

KEEP = f"/crawls/{CRAWL}/archive/keep"


@pytest.fixture
def folder(shown: Cockpit) -> Iterator[Path]:
    """Yield the folder of the crawl, in which nothing is decided before and after."""
    found = shown.place / CRAWL
    proposals = proposals_file(found).read_bytes()
    yield found
    (found / DECISIONS).unlink(missing_ok=True)
    proposals_file(found).write_bytes(proposals)


def rows(visitor: Visitor) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(visitor.text(f"{KEEP}/proposals.csv"))))


def state(visitor: Visitor) -> str:
    return str(re.findall(r'name="state" value="(\w+)"', visitor.text(KEEP))[0])


def test_pages_and_groups_are_decided_on_and_taken_back(shown: Cockpit, folder: Path) -> None:
    operator, noted = Visitor(shown, OPERATOR), Since(shown)
    seen, proposed = state(operator), rows(operator)
    first = proposed[0]
    group = [row["url"] for row in proposed if row["group"] == first["group"]]
    back = f"{address('crawls', CRAWL, 'archive', 'keep', group=first['group'])}#page-1-1"
    rejected = operator.post(f"{KEEP}/decide", state=seen, url=first["url"], answer="reject", back=back)
    assert (rejected.status, rejected.headers["location"]) == (303, back)
    operator.post(f"{KEEP}/decide", state=seen, group=first["group"], answer="keep")
    found = decisions_of(folder)
    # The answer to a group leaves alone what was decided of one page.
    assert {url: each.answer for url, each in found.items()} == {
        **dict.fromkeys(group, KeepAnswer.KEEP),
        first["url"]: KeepAnswer.REJECT,
    }
    assert {each.by for each in found.values()} == {"operator"}
    assert [each["did"] for each in noted.found("done")][:1] == [[f"reject 1 page of {CRAWL}"]]
    page = operator.text(KEEP)
    assert "rejected" in page
    assert rows(operator)[0]["answer"] == "reject"
    lines = operator.text(f"{KEEP}/decisions.jsonl").splitlines()
    assert json.loads(lines[0])["target"] == [first["url"]]
    operator.post(f"{KEEP}/decide", state=seen, group=first["group"], answer="undecided")
    assert decisions_of(folder) == {}


def test_only_those_who_operate_decide_and_on_what_they_have_seen(shown: Cockpit, folder: Path) -> None:
    operator, reader = Visitor(shown, OPERATOR), Visitor(shown, READER)
    url = rows(reader)[0]["url"]
    assert 'name="answer"' not in reader.text(KEEP)
    seen = state(operator)
    assert reader.post(f"{KEEP}/decide", state=seen, url=url, answer="keep").status == 403
    assert reader.post(f"{KEEP}/propose", pages="5").status == 403
    assert operator.post(f"{KEEP}/decide", state="another", url=url, answer="keep").status == 409
    assert operator.post(f"{KEEP}/decide", state=seen, url=url, answer="perhaps").status == 400
    assert operator.post(f"{KEEP}/propose", pages="0").status == 400
    assert operator.post(f"{KEEP}/files/wacz").status == 409
    assert decisions_of(folder) == {}


def test_that_none_was_proposed_is_told(shown: Cockpit, folder: Path) -> None:
    proposals_file(folder).write_bytes(b"")
    text = Visitor(shown, OPERATOR).text(KEEP)
    assert re.search(r"Pages were weighed <time[^>]*>[^<]+</time>, and none was proposed\.", text)
    proposals_file(folder).unlink()
    assert "Nothing is proposed so far." in Visitor(shown, OPERATOR).text(KEEP)


@pytest.mark.starts
@pytest.mark.usefixtures("folder")
def test_what_is_kept_is_written_and_another_proposal_loses_no_decision(shown: Cockpit) -> None:
    operator = Visitor(shown, OPERATOR)
    seen, proposed = state(operator), rows(operator)
    kept, rejected = proposed[-1]["url"], proposed[0]["url"]
    operator.post(f"{KEEP}/decide", state=seen, url=kept, answer="keep")
    operator.post(f"{KEEP}/decide", state=seen, url=rejected, answer="reject")
    begun = operator.post(f"{KEEP}/files/warc.gz").headers["location"]
    job = re.findall(r"job=([\w-]+)", begun)[0]
    until(lambda: "data-again" not in operator.text(f"{KEEP}/files/warc.gz/job/{job}"), 60)
    assert re.search(r"with [12] pages? and", operator.text(f"{KEEP}/files/warc.gz/job/{job}"))
    whole = operator.ask(f"{KEEP}/files/warc.gz")
    assert (whole.status, whole.headers["content-type"]) == (200, "application/warc")
    assert whole.body.startswith(b"\x1f\x8b")
    begun = operator.post(f"{KEEP}/propose", pages="2").headers["location"]
    job = re.findall(r"job=([\w-]+)", begun)[0]
    until(lambda: "data-again" not in operator.text(f"{KEEP}/job/{job}"), 60)
    assert "are being weighed" not in operator.text(KEEP)
    now = {row["url"]: row["answer"] for row in rows(operator)}
    assert (now[kept], now[rejected], len(now)) == ("keep", "reject", 4)


@pytest.mark.slow
def test_by_keyboard_one_page_after_another_without_leaving_the_place(
    chromium: Browser, shown: Cockpit, folder: Path
) -> None:
    with visiting(chromium, shown) as visit:
        page = visit.goto(KEEP)
        places = page.locator("[data-decides] details[open] li[id]")
        first, second = places.nth(0), places.nth(1)
        first.get_by_role("button", name="Keep").focus()
        page.keyboard.press("k")
        expect(first.get_by_text("kept", exact=True)).to_be_visible()
        expect(second.get_by_role("button", name="Keep")).to_be_focused()
        page.keyboard.press("r")
        expect(second.get_by_text("rejected", exact=True)).to_be_visible()
        page.locator("[data-decides] details[open] li[id]").nth(1).get_by_role("button").focus()
        page.keyboard.press("ArrowUp")
        expect(first.get_by_role("button", name="Undo")).to_be_focused()
        page.keyboard.press("u")
        expect(first.get_by_role("button", name="Keep")).to_be_focused()
        assert [each.answer for each in decisions_of(folder).values()] == [KeepAnswer.REJECT]
        assert not visit.wrong


@pytest.mark.slow
def test_without_scripts_the_forms_do_the_same(chromium: Browser, shown: Cockpit, folder: Path) -> None:
    with visiting(chromium, shown, java_script_enabled=False) as visit:
        page = visit.goto(KEEP)
        page.locator("[data-decides] details[open] li[id]").first.get_by_role("button", name="Reject").click()
        expect(page.locator("[data-decides] li[id] .tag.bad").first).to_have_text("rejected")
        assert "#page-1-1" in page.url
        assert len(decisions_of(folder)) == 1
