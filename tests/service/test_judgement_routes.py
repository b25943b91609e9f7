"""Judgements over HTTP: drawn, judged, taken back, measured, and who belongs to a collection."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.annotations.judgements import MemberAnswer, decide_membership, frame_of, judgements_of, membership_of
from aahcrawler.layout import REMOVING
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.views.judged_pages import framed_pages
from aahcrawler.service.views.page_indexes import PageIndexes
from benchmarks.cockpit_crawl import CRAWL
from tests.crawl.crawling import until
from tests.service.asking import Reply, Service, serving
from tests.service.test_page_routes import asked, made, problem, unhurried, wait_for_index

__all__ = ["made"]
BASE = f"/v1/crawls/{CRAWL}"
JSON = "application/json"


@pytest.fixture(scope="module")
def service(made: Path) -> Iterator[Service]:
    """Serve the folder of two crawls."""
    with serving(unhurried(made)) as found:
        wait_for_index(found)
        yield found


def sent(service: Service, method: str, path: str, **said: Any) -> Reply:
    return service.ask(method, f"{BASE}/{path}", json.dumps(said).encode(), Content_Type=JSON)


def test_pages_are_drawn_judged_and_measured(service: Service, made: Path) -> None:
    drawn = sent(service, "POST", "judgements/samples", pages=30, seed=5)
    assert (drawn.status, drawn.headers["location"]) == (201, f"{BASE}/judgements/samples/1")
    pages = drawn.json["pages"]
    assert len(pages) == 30
    assert asked(service, "judgements/samples/1") == drawn.json
    again = sent(service, "POST", "judgements/samples", pages=30, seed=5)
    assert again.headers["location"] == drawn.headers["location"], "the same pages are no second sample"
    assert len(asked(service, "judgements/samples")) == 1
    for number, page in enumerate(pages):
        grade = "relevant" if page["is_member"] == (number % 5 > 0) else "not-relevant"
        assert sent(service, "POST", "judgements", url=page["url"], grade=grade, sample=1).status == 204
    found = asked(service, "judgements/evaluation")
    frame, _ = frame_of(made, {})
    assert (found["evaluation"]["judged"], found["evaluation"]["pages"]) == (30, len(frame))
    assert 0 < found["evaluation"]["precision"]["low"] <= found["evaluation"]["precision"]["value"] < 1
    assert "drawn by lot" in found["basis"]
    assert asked(service, "judgements/samples")[0]["judged"] == {"local": 30}
    listed = asked(service, "judgements", limit=20)
    assert (len(listed["judgements"]), listed["total"], listed["next"]) == (20, 30, 20)
    assert len(asked(service, "judgements", after=20)["judgements"]) == 10
    assert sent(service, "POST", "judgements", url=pages[0]["url"], grade=None).status == 204
    assert len(judgements_of(made)) == 29


def test_what_cannot_be_judged_is_refused(service: Service, made: Path) -> None:
    before = judgements_of(made)
    for path, said, expected in (
        ("judgements", {"url": "nowhere", "grade": "spam"}, (422, "invalid-url")),
        ("judgements", {"url": "http://elsewhere.test/", "grade": "spam"}, (404, "unknown-url")),
        ("judgements", {"url": "http://elsewhere.test/", "grade": "spam", "sample": 99}, (404, "no-such-sample")),
        ("judgements", {"url": "http://elsewhere.test/", "grade": "perhaps"}, (400, "invalid-request")),
        ("judgements/samples", {"pages": 1_001}, (400, "invalid-request")),
    ):
        reply = sent(service, "POST", path, **said)
        assert problem(reply) == expected, reply.body
    assert problem(service.get(f"{BASE}/judgements/evaluation?sample=99")) == (404, "no-such-sample")
    (made / REMOVING).write_text("{}")
    try:
        assert service.get(f"{BASE}/judgements").status == 409
    finally:
        (made / REMOVING).unlink()
    assert judgements_of(made) == before


def test_membership_is_changed_by_hand(service: Service, made: Path) -> None:
    frame, _ = frame_of(made, {})
    page = next(each for each in frame if each.is_member)
    assert sent(service, "PUT", "membership", url=page.url, member=False, reason="another flood").status == 204
    (found,) = asked(service, "membership")
    assert (found["url"], found["is_member"], found["by"], found["reason"]) == (
        page.url,
        False,
        "local",
        "another flood",
    )
    assert sent(service, "PUT", "membership", url=page.url, member=None).status == 204
    assert asked(service, "membership") == []
    assert problem(sent(service, "PUT", "membership", url="http://elsewhere.test/", member=True))[0] == 404


def test_index_and_segments_give_the_same_pages_to_draw_from(made: Path) -> None:
    frame, number = frame_of(made, {})
    decide_membership(made, [frame[0].url], MemberAnswer.NOT_MEMBER, "anna")
    try:
        decided = membership_of(made)
        frame, number = frame_of(made, decided)
        (crawl,) = Catalog([made]).crawls()
        indexes = PageIndexes()
        until(lambda: _is_whole(indexes, crawl))
        with indexes.asked(crawl) as found:
            by_index = framed_pages(found, decided)
        indexes.close()
        assert by_index[1] == number == 2
        assert sorted(by_index[0], key=lambda each: each.url) == sorted(frame, key=lambda each: each.url)
    finally:
        decide_membership(made, [frame[0].url], MemberAnswer.UNDECIDED, "anna")


def _is_whole(indexes: PageIndexes, crawl: Crawl) -> bool:
    with indexes.asked(crawl) as found:
        return found.progress.complete
