"""What the benchmark of the frontier measures, on few URLs."""

from collections import Counter

import pytest

from benchmarks import frontier
from benchmarks.frontier_peer import LINKS, OWN, PER_DOMAIN, pages


def test_urls_are_as_the_benchmark_says() -> None:
    links = [link for page in pages(20_000) for link in page.links]
    assert len({link.url for link in links}) == 20_000
    assert 68 < sum(len(link.url) for link in links) / len(links) < 74
    sizes = Counter(link.domain for link in links)
    assert 0.8 * 20_000 / PER_DOMAIN < len(sizes) <= 20_000 / PER_DOMAIN
    assert max(sizes.values()) > 5 * PER_DOMAIN
    first = next(pages(20_000))
    assert Counter(link.domain for link in first.links).most_common(1)[0][1] >= OWN
    assert len(first.links) == LINKS
    assert first == next(pages(20_000))


@pytest.mark.soak
def test_a_row_says_what_everything_costs() -> None:
    row = frontier._aahcrawler(20_000)
    assert (row["system"], row["urls"]) == ("aahcrawler", 20_000)
    rates = {name: value for name, value in row.items() if name.endswith(("_per_second", "_us"))}
    assert len(rates) == 10
    assert all(isinstance(value, int | float) and value > 0 for value in rates.values())
    assert 100 < float(row["bytes_per_queued_url"] or 0) < 220
    # Of so few URLs the buffers of connections are a part.
    assert float(row["bytes_per_finished_url"] or 0) < float(row["bytes_per_queued_url"] or 0)
