"""What judgements say of a collection: estimates by lot and without one, intervals, and how far judges agree."""

from collections.abc import Collection, Mapping, Sequence
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.annotations.judgements import FramePage, Grade, Judgement, Order, Sample, Seen, Wanted, draw
from aahcrawler.report.judged_collection import (
    Agreement,
    Evaluation,
    NoSampleError,
    agreements,
    as_text,
    cohen_kappa,
    evaluate,
    fleiss_kappa,
    section,
)

HIGH, YES, NO, SPAM, UNKNOWN = Grade


def frame(count: int, seed: int = 0) -> list[FramePage]:
    """Return pages of which few have good scores."""
    lot = Random(seed)
    scores = [round(lot.random() ** 4, 4) for _ in range(count)]
    return [FramePage(f"http://a.test/{n}", f"urn:uuid:{n}", "", score, score >= 0.5) for n, score in enumerate(scores)]


def known(pages: Sequence[FramePage]) -> "Finding":
    return Finding({each.url: each for each in pages})


class Finding:
    def __init__(self, pages: Mapping[str, FramePage]) -> None:
        self.pages = pages

    def __call__(self, urls: Collection[str]) -> Mapping[str, FramePage]:
        return {url: self.pages[url] for url in urls if url in self.pages}


def said(url: str, grade: Grade, by: str = "anna", sample: Sample | None = None) -> Judgement:
    return Judgement(Seen(url), grade, by, "", samples=frozenset({sample.id} if sample else ()))


def page_of(pages: Sequence[FramePage], url: str) -> FramePage:
    return pages[int(url.rpartition("/")[2])]


def truth(page: FramePage) -> Grade:
    """Return a grade that the score tells with mistakes, the same for a page each time."""
    is_relevant = (page.score or 0.0) + Random(page.url).gauss(0, 0.15) > 0.45
    return YES if is_relevant else NO


def exact(pages: Sequence[FramePage]) -> tuple[float, float, float]:
    relevant = [page for page in pages if truth(page) is YES]
    both = sum(page.is_member for page in relevant)
    ordered = sorted(pages, key=lambda page: (-(page.score or 0.0), page.url))
    even = sum(truth(page) is YES for page in ordered[: len(relevant)]) / len(relevant)
    return both / sum(page.is_member for page in pages), both / len(relevant), even


def judged(pages: Sequence[FramePage], sample: Sample, most: int) -> Evaluation:
    by_url = {page.url: page for page in pages}
    judgements = [said(each.url, truth(by_url[each.url]), sample=sample) for each in sample.drawn[:most]]
    return evaluate(judgements, [sample], known(pages))


def test_a_lot_over_bands_estimates_what_all_pages_have() -> None:
    pages = frame(2_000)
    wanted = exact(pages)
    found = [judged(pages, draw(pages, Wanted(most=200, seed=seed), 1, "x"), 200) for seed in range(12)]
    for place, name in enumerate(("precision", "recall", "break_even")):
        values = [getattr(each, name) for each in found]
        assert fmean(each.value for each in values) == pytest.approx(wanted[place], abs=0.04), name
        within = sum(each.low <= wanted[place] <= each.high for each in values)
        assert within >= 9, (name, within)
    # Pages of the best bands are judged far more often than the others: unweighted they would say something else.
    assert fmean(
        sum(truth(page_of(pages, each.url)) is YES for each in draw(pages, Wanted(seed=seed), 1, "x").drawn) / 100
        for seed in range(5)
    ) > 2 * sum(truth(page) is YES for page in pages) / len(pages)
    assert "200 judged of 2,000; drawn by lot from bands of relevance, and weighted by them" in found[0].basis


@given(
    st.lists(st.sampled_from([None, *Grade]), min_size=1, max_size=24), st.sampled_from([*Order, None]), st.booleans()
)
def test_whatever_was_judged_estimates_are_shares_within_their_intervals(
    grades: list[Grade | None], order: Order | None, members: bool
) -> None:
    pages = frame(40, seed=4)
    sample = draw(pages, Wanted(order or Order.LOT, most=24, seed=1, members=members), 1, "x")
    drawn = zip(sample.drawn, grades, strict=False)
    judgements = [said(page.url, grade, sample=sample if order else None) for page, grade in drawn if grade]
    found = evaluate(judgements, [sample] if order else [], known(pages), sample=1 if order else None)
    assert found.judged + found.unknown == len(judgements)
    for each in (found.precision, found.recall, found.break_even):
        if each is not None:
            assert 0 <= each.value <= 1 + 1e-9
        if each is not None and each.low is not None and each.high is not None:
            assert 0 <= each.low <= each.high <= 1 + 1e-9
    assert section(found)
    assert list(as_text(found))


def test_all_pages_judged_leave_nothing_to_chance() -> None:
    pages = frame(120)
    found = judged(pages, draw(pages, Wanted(most=1_000), 1, "x"), 1_000)
    for each, wanted in zip((found.precision, found.recall, found.break_even), exact(pages), strict=True):
        assert each is not None
        assert (each.value, each.low, each.high) == pytest.approx((wanted, wanted, wanted))
    assert found.basis == "120 judged of 120; drawn by lot from bands of relevance, and weighted by them"


def test_without_a_lot_judged_pages_stand_for_themselves() -> None:
    pages = [
        FramePage(f"http://a.test/{n}", "", "", score, score > 0.5) for n, score in enumerate((0.9, 0.8, 0.4, 0.1))
    ]
    judgements = [said(page.url, grade) for page, grade in zip(pages, (HIGH, NO, YES, UNKNOWN), strict=True)]
    found = evaluate([*judgements, said("http://elsewhere.test/", YES)], [], known(pages))
    assert found.precision is not None
    assert found.recall is not None
    assert found.break_even is not None
    assert (found.precision.value, found.recall.value, found.break_even.value) == (0.5, 0.5, 0.5)
    assert (found.judged, found.pages, found.unknown, found.uncaptured, found.weighted) == (3, None, 1, 1, False)
    assert found.basis == (
        "3 judged; not drawn by lot: they stand for no others; 1 left out, since no judge knows; "
        "1 judged that the crawl has not"
    )
    strict = evaluate(judgements, [], known(pages), at_least=HIGH)
    assert strict.precision is not None
    assert (strict.precision.value, strict.recall and strict.recall.value) == (0.5, 1.0)


def test_pages_in_the_order_of_fetching_stand_for_no_others() -> None:
    pages = frame(50)
    sample = draw(pages, Wanted(Order.FETCHED, most=10), 1, "x")
    assert [each.url for each in sample.drawn] == [page.url for page in pages[:10]]
    found = evaluate([said(each.url, YES, sample=sample) for each in sample.drawn], [sample], known(pages), sample=1)
    assert found.basis == "10 judged of 50; the first that were fetched: they stand for no others"
    assert found.recall is not None


def test_members_alone_tell_no_recall() -> None:
    pages = frame(300)
    sample = draw(pages, Wanted(most=20, members=True), 1, "x")
    assert sample.pages == sum(page.is_member for page in pages)
    found = judged(pages, sample, 20)
    assert found.precision is not None
    assert (found.recall, found.break_even) == (None, None)
    assert "of the collection" in found.basis


def test_a_lot_counts_what_was_judged_in_it_alone() -> None:
    pages = frame(400)
    by_lot, of_members = (draw(pages, Wanted(most=30, members=members), 1, "x") for members in (False, True))
    apart = next(page for page in pages if page.url not in {each.url for each in by_lot.drawn})
    judgements = [
        said(apart.url, YES),
        *(said(each.url, NO, sample=by_lot) for each in by_lot.drawn[:5]),
        *(said(each.url, YES, "ben", of_members) for each in of_members.drawn),
    ]
    found = evaluate(judgements, [of_members, by_lot], known(pages))
    assert (found.sample, found.judged, found.unknown) == (2, 5, 0)
    assert found.apart == len({each.page.url for each in judgements}) - 5
    assert found.covered is not None
    assert 0 < found.covered < 400
    assert f"of {400 - found.covered:,} others in bands none is judged" in found.basis
    assert "too few judged yet (5 of 10 bands)" in found.basis
    assert not any("Precision" in text for text in (*as_text(found), section(found)[1]))
    whole = [said(each.url, UNKNOWN, sample=by_lot) for each in by_lot.drawn[5:10]]
    enough = evaluate([*judgements, *whole], [of_members, by_lot], known(pages))
    assert "too few" not in enough.basis
    assert "Precision" in next(as_text(enough))
    assert evaluate(judgements, [of_members, by_lot], known(pages), sample=1).judged == len(of_members.drawn)
    with pytest.raises(NoSampleError, match="2 were drawn"):
        evaluate(judgements, [of_members, by_lot], known(pages), sample=3)


def test_a_person_makes_a_page_a_member_and_the_estimate_heeds_it() -> None:
    pages = frame(200)
    sample = draw(pages, Wanted(most=1_000), 1, "x")
    before = judged(pages, sample, 1_000)
    changed = [FramePage(each.url, each.record, "", each.score, truth(each) is YES) for each in pages]
    after = judged(changed, sample, 1_000)
    assert before.precision is not None
    assert after.precision is not None
    assert before.precision.value < after.precision.value == 1
    assert after.break_even == before.break_even, "the order by score stays"


def test_judges_who_disagree_make_a_page_relevant_in_part() -> None:
    pages = [FramePage("http://a.test/", "", "", 0.9, True)]
    two = [said(pages[0].url, YES, "anna"), said(pages[0].url, SPAM, "ben"), said(pages[0].url, UNKNOWN, "cleo")]
    found = evaluate(two, [], known(pages))
    assert found.precision is not None
    assert (found.precision.value, found.precision.low, found.judges) == (0.5, None, {"anna": 1, "ben": 1, "cleo": 1})


def test_nothing_judged_tells_nothing() -> None:
    found = evaluate([], [], known([]))
    assert (found.precision, found.recall, found.break_even, found.agreements) == (None, None, None, ())


def test_kappa_of_textbooks() -> None:
    two = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(two) == pytest.approx(0.4)
    # J. L. Fleiss, Measuring nominal scale agreement among many raters, 1971; as widely cited: 14 raters of 10 items.
    counts = "0 0 0 0 14,0 2 6 4 2,0 0 3 5 6,0 3 9 2 0,2 2 8 1 1,7 7 0 0 0,3 2 6 3 0,2 5 3 2 2,6 5 2 1 0,0 2 2 3 7"
    items = [[k for k, n in enumerate(line.split()) for _ in range(int(n))] for line in counts.split(",")]
    assert fleiss_kappa(items) == pytest.approx(0.210, abs=0.0005)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40))
def test_kappa_is_that_of_a_library(pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    found = cohen_kappa(pairs)
    if len({each for pair in pairs for each in pair}) == 1:
        assert found is None
    else:
        assert found == pytest.approx(metrics.cohen_kappa_score(*zip(*pairs, strict=True)))
        assert fleiss_kappa(pairs) is not None


def test_agreement_of_several_judges_is_told_by_pair_and_for_all() -> None:
    urls = [f"http://a.test/{n}" for n in range(6)]
    grades = {"anna": (HIGH, YES, NO, NO, SPAM, YES), "ben": (YES, YES, NO, NO, NO, NO), "cleo": (YES, UNKNOWN, NO)}
    judgements = [said(url, grade, by) for by, given in grades.items() for url, grade in zip(urls, given, strict=False)]
    found = list(agreements(judgements))
    assert [(each.measure, each.judges, each.pages) for each in found] == [
        ("Fleiss' kappa", ("anna", "ben", "cleo"), 6),
        ("Cohen's kappa", ("anna", "ben"), 6),
        ("Cohen's kappa", ("anna", "cleo"), 2),
        ("Cohen's kappa", ("ben", "cleo"), 2),
    ]
    assert found[1].relevance == pytest.approx(2 / 3)
    assert found[3].relevance == 1
    alike = [said(url, NO, by) for by in ("anna", "ben") for url in urls]
    assert list(agreements(alike)) == [Agreement(("anna", "ben"), 6, None, None)]


def test_what_is_told_is_the_same_in_report_and_terminal_and_escaped() -> None:
    pages = frame(80)
    sample = draw(pages, Wanted(most=80), 1, "x")
    judgements = [
        said(each.url, truth(page_of(pages, each.url)), by, sample) for each in sample.drawn for by in ("<anna>", "ben")
    ]
    found = evaluate(judgements, [sample], known(pages))
    _, shown = section(found)
    text = "\n".join(as_text(found))
    for each in (found.precision, found.recall, found.break_even):
        assert str(each) in shown
        assert str(each) in text
    assert "<anna>" not in shown
    assert "&lt;anna&gt;" in shown


def test_the_same_pages_and_seed_give_the_same_sample_of_all_bands() -> None:
    pages = frame(500)
    one, other = (draw(pages, Wanted(most=50, seed=7), 1, "x") for _ in range(2))
    assert one.drawn == other.drawn
    assert one.drawn != draw(pages, Wanted(most=50, seed=8), 1, "x").drawn
    assert sum(one.bands) == one.pages == 500
    turns = [[each.band for each in one.drawn[begin : begin + 10]] for begin in (0, 10, 20)]
    assert all(sorted(turn) == list(range(10)) for turn in turns), "each band once in a turn"
    assert turns[0] != turns[1] != turns[2], "the place of a page tells nothing of its relevance"
    assert all(
        page.band == min(9, int(10 * (page.score or 0) / max(p.score or 0 for p in pages))) for page in one.drawn
    )
    unscored = draw([FramePage("http://a.test/", "", "", None, False)], Wanted(), 1, "x")
    assert (unscored.bands[0], len(unscored.drawn)) == (1, 1)
