"""What is proposed to be kept, as pages show it: in groups, with what people decided, without what was taken down."""

import json
from pathlib import Path

import pytest

from aahcrawler.annotations.keep_decisions import KeepAnswer, decide, decisions_of
from aahcrawler.layout import DECISIONS
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.proposed_pages import (
    answered,
    decisions_told,
    proposals_file,
    proposed_pages,
    table_of_proposals,
    with_captures,
)
from aahcrawler.service.web.problems import CONFLICT, ProblemError
from aahcrawler.takedown.removal import WantedRemoval, remove
from offline.selection.keep_proposals import as_lines, keep_proposals
from tests.enrichment.archives import define
from tests.offline.crawls import graph
from tests.offline.test_keep_proposals import crawl, urls

__all__ = ["crawl"]


@pytest.fixture
def shown(crawl: Path) -> Crawl:
    """Return the crawl after pages were proposed."""
    define(crawl)
    file = proposals_file(crawl)
    file.parent.mkdir()
    file.write_text(as_lines(keep_proposals(crawl, 10)), "utf-8")
    (found,) = Catalog([crawl]).crawls()
    return found


def test_pages_are_shown_in_groups_with_what_was_decided(crawl: Path, shown: Crawl) -> None:
    one, two, four = urls([1, 2, 4])
    decide(crawl, [one], KeepAnswer.KEEP, "anna")
    decide(crawl, ["http://forum.test/gone"], KeepAnswer.KEEP, "anna")
    found = proposed_pages(shown)
    dikes = found.groups[0]
    assert (dikes.name, [each.url for each in dikes.pages]) == ("topic: dike", [one, two])
    assert (dikes.count("keep"), dikes.count(""), dikes.months(), dikes.months("keep")) == (
        *(1, 1),
        *({"2020-05": 2}, {"2020-05": 1}),
    )
    assert found.groups[-1].name == "decided on before"
    assert answered(found, "", "topic: dike", KeepAnswer.REJECT) == [two]
    assert answered(found, "", "topic: dike", KeepAnswer.UNDECIDED) == [one]
    assert answered(found, four, "", KeepAnswer.KEEP) == [four]
    assert answered(found, "http://forum.test/never-proposed", "", KeepAnswer.KEEP) == []
    rows = [*table_of_proposals(found)]
    assert (len(rows), rows[1][5:7]) == (7, ("keep", "anna"))
    indexes = PageIndexes()
    with indexes.asked(shown) as asked:
        assert with_captures(dikes.pages, asked)[0].record == graph(1)
    indexes.close()


def test_what_was_taken_down_is_not_shown_and_decisions_stay(crawl: Path, shown: Crawl) -> None:
    one, two = urls([1, 2])
    decide(crawl, [one, two], KeepAnswer.KEEP, "anna")
    before = proposed_pages(shown)
    remove(crawl, WantedRemoval(urls=(one,)), "Ida", "asked for")
    assert not proposals_file(crawl).exists()
    after = proposed_pages(shown)
    assert [each.url for each in after.pages] == [two]
    assert (before.state, after.state) == (before.state or "none", "")
    assert decisions_of(crawl).keys() == {one, two}
    assert [json.loads(line)["target"] for line in decisions_told(crawl)] == [[two]]


@pytest.mark.parametrize("name", ["proposals", "decisions"])
def test_a_damaged_file_is_told(crawl: Path, shown: Crawl, name: str) -> None:
    path = proposals_file(crawl) if name == "proposals" else crawl / DECISIONS
    path.write_text('{"url": 5}\n')
    with pytest.raises(ProblemError, match=path.name) as told:
        proposed_pages(shown)
    assert told.value.kind is CONFLICT
