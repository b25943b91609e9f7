"""Judging: drawn, judged by key and by form, taken back, gone on with, and measured as the command line does."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from typer.testing import CliRunner

from aahcrawler.annotations.judgements import Grade, judgements_of, membership_of, samples_of
from aahcrawler.cli import app
from aahcrawler.layout import JUDGEMENTS, MEMBERSHIP, SAMPLES
from tests.cockpit.cockpit_browser import (
    JUDGE,
    OPERATOR,
    OTHER_JUDGE,
    READER,
    Cockpit,
    shoot,
    spilt,
    violations,
    visiting,
)
from tests.cockpit.shown_crawl import CRAWL
from tests.cockpit.test_noted_acts import Since
from tests.cockpit.test_packages import Visitor

BASE = f"/crawls/{CRAWL}/archive/judge"


@pytest.fixture
def folder(shown: Cockpit) -> Iterator[Path]:
    """Yield the folder of the crawl, of which nothing is drawn or judged."""
    found = shown.place / CRAWL
    kept = {name: (found / name).read_bytes() for name in (JUDGEMENTS, SAMPLES)}
    for name in kept:
        (found / name).unlink()
    yield found
    (found / MEMBERSHIP).unlink(missing_ok=True)
    for name, content in kept.items():
        (found / name).write_bytes(content)


def drawn(visitor: Visitor, **asked: str) -> str:
    """Draw pages, and return the path of their sample."""
    begun = visitor.post(f"{BASE}/draw", **{"pages": "4", "seed": "3", **asked})
    assert begun.status == 303, begun.body[:1_000]
    return str(begun.headers["location"])


def told(visitor: Visitor, path: str) -> str:
    page = visitor.text(path)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_pages_are_judged_taken_back_and_gone_on_with(shown: Cockpit, folder: Path) -> None:
    anna, noted = Visitor(shown, JUDGE), Since(shown)
    sample = drawn(anna)
    (made,) = samples_of(folder)
    urls = [each.url for each in made.drawn]
    assert (sample, len(urls), made.by, made.seed) == (f"{BASE}/1", 4, "anna", 3)
    assert "Page 1 of 4 of sample 1; you have judged 0" in told(anna, sample)
    judged = anna.post(f"{sample}/judge", url=urls[0], grade="relevant", comment=" by half ")
    assert judged.headers["location"] == f"{sample}?at=2&after=1"
    assert "Page 1: Relevant" in told(anna, judged.headers["location"])
    anna.post(f"{sample}/judge", url=urls[2], grade="spam")
    # Whoever comes back goes on with the first page that they have not judged.
    assert "Page 2 of 4 of sample 1; you have judged 2" in told(Visitor(shown, JUDGE), sample)
    assert "Page 1 of 4 of sample 1; you have judged 0" in told(Visitor(shown, OTHER_JUDGE), sample)
    assert "You judged this page relevant" in told(anna, f"{sample}?at=1")
    anna.post(f"{sample}/judge", url=urls[0], grade="withdrawn")
    assert [(each.page.url, each.grade, each.comment) for each in judgements_of(folder)] == [(urls[2], Grade.SPAM, "")]
    for url in (urls[0], urls[1], urls[3]):
        last = anna.post(f"{sample}/judge", url=url, grade="dont-know")
    assert last.headers["location"] == BASE
    assert "You have judged all 4 pages" in told(anna, BASE)
    did = [each["did"] for each in noted.found("done") if "did" in each]
    assert did[:2] == [[f"draw 4 pages of {CRAWL}"], [f"judge a page of {CRAWL}"]]


def test_who_may_not_judge_looks_and_what_is_wrong_is_refused(shown: Cockpit, folder: Path) -> None:
    anna, reader, operator = (Visitor(shown, token) for token in (JUDGE, READER, OPERATOR))
    sample = drawn(anna)
    url = samples_of(folder)[0].drawn[0].url
    for other in (reader, operator):
        assert other.post(f"{sample}/judge", url=url, grade="relevant").status == 403
        assert other.post(f"{BASE}/draw", pages="4").status == 403
        assert 'name="grade"' not in other.text(sample)
    assert anna.post(f"{sample}/judge", url=url, grade="perhaps").status == 400
    assert anna.post(f"{sample}/judge", url="http://elsewhere.test/", grade="spam").status == 404
    assert anna.post(f"{BASE}/7/judge", url=url, grade="spam").status == 404
    assert anna.ask(f"{BASE}/7").status == 404
    assert anna.ask(f"{sample}?at=5").status == 404
    for asked in ({"pages": "0"}, {"pages": "1001"}, {"seed": "x"}, {"order": "best"}):
        assert anna.post(f"{BASE}/draw", **asked).status == 400
    assert anna.post(f"{BASE}/membership", url=url, answer="member").status == 403
    assert judgements_of(folder) == []


def test_figures_are_those_of_the_command_line_and_the_report(shown: Cockpit, folder: Path) -> None:
    anna, ben = Visitor(shown, JUDGE), Visitor(shown, OTHER_JUDGE)
    sample = drawn(anna, pages="20")
    for place, page in enumerate(samples_of(folder)[0].drawn):
        anna.post(f"{sample}/judge", url=page.url, grade="relevant" if place % 3 else "not-relevant")
        ben.post(f"{sample}/judge", url=page.url, grade="highly-relevant" if place % 2 else "not-relevant")
    told_there = CliRunner().invoke(app, ["evaluate", str(folder), "--judgements", "--json"])
    found = json.loads(told_there.stdout)
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    told_here, report = anna.text(BASE), (folder / "report.html").read_text("utf-8")
    assert found["precision"] or found["recall"]
    for name in ("precision", "recall", "break_even"):
        if found[name] is not None:
            assert f"<dd>{found[name]['value']:.3f}" in told_here
            assert f"<td>{found[name]['value']:.3f}" in report
    assert found["basis"] in report
    (agreed,) = found["agreements"]
    assert agreed["judges"] == ["anna", "ben"]
    assert f"{agreed['relevance']:.2f}" in told_here
    rows = list(csv.DictReader(io.StringIO(anna.text(f"{BASE}/judgements.csv"))))
    assert (len(rows), {row["judge"] for row in rows}, {row["sample"] for row in rows}) == (
        *(2 * len(samples_of(folder)[0].drawn), {"anna", "ben"}, {"1"}),
    )
    lines = anna.text(f"{BASE}/judgements.jsonl").splitlines()
    assert json.loads(lines[0])["creator"]["name"] == "anna"


def test_a_person_makes_a_page_a_member_or_none(shown: Cockpit, folder: Path) -> None:
    operator = Visitor(shown, OPERATOR)
    drawn(Visitor(shown, JUDGE))
    page = samples_of(folder)[0].drawn[0]
    capture = f"/crawls/{CRAWL}/captures/{page.record.removeprefix('urn:uuid:')}"
    assert "of the collection by its relevance" in told(operator, capture)
    answer = operator.post(
        f"{BASE}/membership", url=page.url, answer="not-member", reason="another flood", back=capture
    )
    assert answer.headers["location"] == capture
    shown_now = told(operator, capture)
    assert "No member of the collection by the word of operator" in shown_now
    assert "another flood" in shown_now
    assert [each.reason for each in membership_of(folder).values()] == ["another flood"]
    operator.post(f"{BASE}/membership", url=page.url, answer="undecided")
    assert membership_of(folder) == {}
    assert operator.post(f"{BASE}/membership", url="http://elsewhere.test/", answer="member").status == 404


@pytest.mark.slow
def test_by_keyboard_page_after_page(chromium: Browser, shown: Cockpit, folder: Path) -> None:
    with visiting(chromium, shown, JUDGE) as visit:
        page = visit.goto(BASE)
        page.get_by_label("Pages, at most").fill("3")
        page.get_by_role("button", name="Draw").click()
        expect(page.get_by_text("Page 1 of 3 of sample 1")).to_be_visible()
        assert page.locator("details", has_text="What the crawl says of it").get_attribute("open") is None
        page.keyboard.press("2")
        expect(page.get_by_text("Page 2 of 3 of sample 1; you have judged 1")).to_be_visible()
        page.keyboard.press("u")
        expect(page.get_by_text("Page 1 of 3 of sample 1; you have judged 0")).to_be_visible()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_text("Page 2 of 3 of sample 1")).to_be_visible()
        page.keyboard.press("c")
        page.keyboard.type("15, a choir")
        page.keyboard.press("Enter")
        assert judgements_of(folder) == [], "nothing typed into the comment judges"
        page.keyboard.press("Escape")
        page.keyboard.press("3")
        expect(page.get_by_text("Page 3 of 3 of sample 1; you have judged 1")).to_be_visible()
        (made,) = judgements_of(folder)
        assert (made.grade, made.comment) == (Grade.NOT_RELEVANT, "15, a choir")
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_text("You judged this page not relevant")).to_be_visible()
        page.locator("iframe").click()
        page.mouse.move(5, 5)
        page.keyboard.press("Escape")
        expect(page.get_by_role("link", name="Go on with sample 1")).to_be_visible()
        page.get_by_role("link", name="Go on with sample 1").click()
        expect(page.get_by_text("Page 1 of 3 of sample 1")).to_be_visible()
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert not spilt(page)
            assert not violations(page)
            shoot(page, f"judging-{width}")
        assert not visit.wrong
        assert not visit.strange()


@pytest.mark.slow
def test_without_scripts_the_forms_do_the_same(chromium: Browser, shown: Cockpit, folder: Path) -> None:
    with visiting(chromium, shown, JUDGE, java_script_enabled=False) as visit:
        page = visit.goto(BASE)
        page.get_by_label("Pages, at most").fill("3")
        page.get_by_role("button", name="Draw").click()
        page.get_by_label("Comment").fill("all of it")
        page.get_by_role("button", name="Highly relevant").click()
        expect(page.get_by_text("Page 2 of 3 of sample 1; you have judged 1")).to_be_visible()
        page.get_by_role("button", name="Undo what you said of page 1").click()
        expect(page.get_by_text("Page 1 of 3 of sample 1; you have judged 0")).to_be_visible()
        assert judgements_of(folder) == []
