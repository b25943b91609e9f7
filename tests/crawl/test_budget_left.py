"""How much of the budgets of a crawl and of a page's domain is left."""

from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml

from aahcrawler.crawl.core.lifecycle import Budget
from aahcrawler.crawl.core.stores import CrawlContext, CurrentContext
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Lease
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.scope import Scope
from online_analysis.icd import Icd
from tests.crawl.world import define


@pytest.mark.parametrize(
    ("more", "counts", "of_queue", "left"),
    [
        ("", {"pages": 7, "bytes": 10**9, "seconds": 10**6}, None, (1.0, 1.0)),
        ("limits: {pages: 10}", {"pages": 4}, None, (0.6, 1.0)),
        ("limits: {pages: 10, bytes: 1 kB, time: 1 hour}", {"pages": 4, "bytes": 900, "seconds": 60}, None, (0.1, 1.0)),
        ("limits: {pages: 10}", {"pages": 12}, None, (0.0, 1.0)),
        ("limits: {pages_per_domain: 8}", {"pages": 90}, 2, (1.0, 0.25)),
        ("politeness: {domains: {a.test: {pages: 4}}}", {"domain_pages:a.test": 3}, None, (1.0, 0.25)),
        ("politeness: {domains: {a.test: {bytes: 1 kB}}}", {"domain_bytes:a.test": 600}, None, (1.0, 0.4)),
        ("politeness: {domains: {b.test: {pages: 4}}}", {"domain_pages:b.test": 3}, None, (1.0, 1.0)),
    ],
)
def test_what_is_left_is_the_least_that_any_bound_leaves(
    tmp_path: Path, more: str, counts: dict[str, float], of_queue: int | None, left: tuple[float, float]
) -> None:
    path = define(tmp_path, ["http://a.test/"])
    fields = yaml.safe_load(path.read_text("utf-8")) | yaml.safe_load(more or "{}")
    icd = Icd.parse(yaml.safe_dump(fields).encode(), path)
    context = CrawlContext(icd, lambda: Mock(ApplicationAwareHelper), (), Scope(icd))
    budget = Budget(CurrentContext(context), Stats(counts))
    lease = Lease("http://www.a.test/1", "a.test", 0.5, 1, "page", "", 1, "1", left=of_queue)
    assert budget.left(lease) == pytest.approx(left)
