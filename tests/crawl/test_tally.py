from aahcrawler.crawl.tally import GROUPS, SINGLE, Tally


def test_counts_are_merged_and_grouped() -> None:
    tally = Tally({"pages": 1, "refused:login": 2})
    tally.merge({"pages": 2, "refused:edit": 5, "refused:login": 1})
    assert tally["pages"] == 3
    assert tally.group("refused") == {"edit": 5, "login": 3}
    assert tally["nothing"] == 0


def test_the_summary_has_every_count_even_when_nothing_happened() -> None:
    summary = Tally().summary()
    assert {*SINGLE, *GROUPS, "harvest_ratio"} == set(summary)
    assert summary["harvest_ratio"] is None
    assert summary["refused"] == {}


def test_the_harvest_ratio_is_relevant_pages_over_pages() -> None:
    assert Tally({"pages": 8, "relevant": 2, "requisites": 100}).summary()["harvest_ratio"] == 0.25


def test_words_with_colons_stay_whole() -> None:
    assert Tally({"error:http: bad": 1}).group("error") == {"http: bad": 1}
