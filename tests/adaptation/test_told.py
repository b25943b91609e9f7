"""What the report of a crawl says of what was learned."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aahcrawler.adaptation.learned import Decisions, State
from aahcrawler.adaptation.overlay import Evidence, Overlay
from aahcrawler.report.report_sections import adaptation_failures, learned_section
from tests.adaptation.test_overlay import SIGN

BEGUN = "2026-01-02T00:00:00+00:00"


def evidence(kind: str, *, level: str = "thread", action: str = "posts") -> Evidence:
    return Evidence(
        site="forum.test",
        application="phpBB",
        level=level,
        action=action,
        name=f"learned-{kind}-1",
        method="relaxed",
        failure="nothing-found" if action else "",
        pages=("http://forum.test/1?a=1&b=2", "http://forum.test/2"),
        before=3,
        after=12,
        confidence=0.9,
        date="2026-01-02T03:04:05+00:00",
        kind=kind,
    )


def test_actions_links_and_signs_are_told_with_what_speaks_for_them() -> None:
    known = [evidence("action"), evidence("links", action="next"), evidence("sign", action="")]
    told = learned_section([*known, evidence("sign", level="", action="")], {"learned-posts-1": 7}, BEGUN)
    assert "Learned actions read 7 pages of this crawl" in told
    assert "phpBB/thread/posts on forum.test" in told
    assert "12 objects on 2 pages where the action of the file found 3 (nothing-found)" in told
    assert "12 links on 2 pages where the action of the file found 3 (nothing-found)" in told
    assert "for phpBB/thread on forum.test" in told
    assert "a sign of its level, on 12 pages of it and on none of 3 others" in told
    assert "for phpBB on forum.test" in told
    assert "a sign of the application, on 12 pages of it and on none of 3 others" in told
    assert "http://forum.test/1?a=1&amp;b=2 and 1 more" in told
    assert "in a former crawl" not in told


def test_what_people_decided_is_told_of_what_they_saw(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    kept = replace(SIGN, date=moment)
    overlay = Overlay(tmp_path)
    overlay.keep(kept)
    assert "It was" not in learned_section(overlay.evidence(), {}, BEGUN)
    Decisions(tmp_path).note(kept, State.REJECTED, "Ada <a@example.org>", "it is an advertisement")
    told = learned_section(overlay.evidence(), {}, BEGUN)
    assert "It was rejected by Ada &lt;a@example.org&gt; on" in told
    assert "UTC: it is an advertisement" in told
    overlay.keep(replace(kept, date=datetime.now(UTC) + timedelta(minutes=1)))
    assert "It was" not in learned_section(overlay.evidence(), {}, BEGUN)


def test_what_was_learned_before_is_told_from_what_this_crawl_learned() -> None:
    assert "in a former crawl" in learned_section([evidence("action")], {}, "2026-02-01T00:00:00+00:00")
    assert learned_section([], {}, BEGUN) == ""


def test_a_report_says_where_repair_or_learning_was_not_tried() -> None:
    place = "Board/thread/posts: nothing-found"
    told = adaptation_failures({place: 40}, {place: 38}, {place: 31})
    assert "<td>40</td><td>38</td><td>31</td>" in told
    assert "tried on ever fewer pages" in told
    assert "tried on ever fewer pages" not in adaptation_failures({place: 40}, {place: 38}, {})


def test_a_draft_that_reads_less_is_told_with_its_level() -> None:
    where = "A/B/thread/read: reads-less"
    told = adaptation_failures({where: 3}, {where: 3}, {})
    assert "The draft A/B read less than no file would on 3 pages of level thread." in told
    assert "on a page of level" in adaptation_failures({where: 1}, {where: 1}, {})
    assert "The draft" not in adaptation_failures({"B/thread/posts: nothing-found": 1}, {}, {})
