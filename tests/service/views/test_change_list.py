"""The list of changes that service and cockpit show."""

from pathlib import Path

import pytest

from aahcrawler.layout import CHANGES
from aahcrawler.revisits.visit_record import ChangeState, WantedVisits
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.views.change_list import ChangeList, ChangesQuery
from aahcrawler.service.web.problems import ProblemError
from tests.service.views.folders import FAILED, FRONT, write_crawl


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    write_crawl(tmp_path / "crawl")
    return Catalog([tmp_path / "crawl"]).crawls()[0]


def test_visits_are_paged_from_the_newest_on(crawl: Crawl) -> None:
    found, after = [], ""
    while True:
        page = ChangeList(crawl).page(ChangesQuery(after=after, most=4))
        found += [(each.url, each.state) for each in page.visits]
        after = page.next
        if not after:
            break
    states = [ChangeState.CHANGED, ChangeState.UNCHANGED, ChangeState.CHANGED, ChangeState.UNCHANGED, ChangeState.NEW]
    assert [state for url, state in found if url == FRONT] == states
    assert found.count((FAILED, ChangeState.FAILED)) == 1
    assert len(found) == 6


def test_a_change_can_be_compared_with_the_visit_before(crawl: Crawl) -> None:
    page = ChangeList(crawl).page(ChangesQuery(WantedVisits(states=frozenset({ChangeState.CHANGED}))))
    assert [(each.before, each.record_id) for each in page.visits] == [
        ("urn:uuid:3", "urn:uuid:4"),
        ("urn:uuid:1", "urn:uuid:2"),
    ]


def test_a_damaged_log_is_told(crawl: Crawl) -> None:
    assert crawl.folder is not None
    (crawl.folder / CHANGES / "test-20260101000000-00000.changes.gz").write_bytes(b"no gzip")
    with pytest.raises(ProblemError, match="move it elsewhere"):
        ChangeList(crawl).page(ChangesQuery())
