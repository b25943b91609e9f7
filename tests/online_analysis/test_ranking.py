"""What the ranker learns from pages, says of links, and tells again."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.aggregation import BudgetLeft, LinkRanker, ScoredLink, Scores
from online_analysis.document import Document, Outlink
from online_analysis.icd.scoring import Scoring
from online_analysis.ranking import LearningRanker, Standing, link_ranker
from online_analysis.ranking.link_statistics import (
    Ridge,
    Row,
    Rows,
    Weights,
    text_words,
    title_words,
    url_steps,
    url_words,
)
from online_analysis.ranking.ranker import Gone, Update, Waiting
from online_analysis.ranking.url_model import bounded

GOOD, BAD = "https://solar.test", "https://cooking.test"
Link = tuple[str, str]
Page = tuple[str, float, Sequence[Link]]


def follow(ranker: LinkRanker, page: Page, *, said: float = 0.3, settle: bool = True) -> Scores:
    url, worth, links = page
    outlinks = tuple(Outlink(target, anchor, place="html/body/ul/li/a") for target, anchor in links)
    scored = tuple(ScoredLink(target, said, anchor, None, 2.0) for target, anchor in links)
    scores = ranker.follow(Document(url, "en", "", (), outlinks), worth, scored, 1)
    if settle:
        ranker.settled(url)
    return scores


def site(host: str, worth: float, pages: Iterable[int], *, ahead: int = 3) -> list[Page]:
    """Pages of a host, each with links to the next ones."""
    return [
        (f"{host}/page/{n}", worth, [(f"{host}/page/{n + step}", f"part {n + step}") for step in range(1, ahead + 1)])
        for n in pages
    ]


def taught(*, pages: int = 12, ranker: LearningRanker | None = None) -> LearningRanker:
    """Return a ranker that has seen as many good pages of one host as bad ones of another."""
    ranker = ranker or LearningRanker()
    for good, bad in zip(site(GOOD, 0.6, range(pages)), site(BAD, 0.02, range(pages)), strict=True):
        follow(ranker, good)
        follow(ranker, bad)
    return ranker


def test_it_is_silent_until_it_knows_a_few_pages() -> None:
    ranker = LearningRanker()
    for page in site(GOOD, 0.6, range(0, 40, 10))[:4]:
        said = follow(ranker, page)
        assert said == Scores("ranker", None, (None,) * 3)
        assert ranker.revised(100) == []
        assert ranker.explain(f"{GOOD}/page/1") == ()
    said = follow(ranker, (f"{BAD}/", 0.0, [(f"{BAD}/a", "a"), (f"{BAD}/b", "b")]))
    assert len(said.links) == 2
    assert all(score is not None and 0 < score < 1 for score in said.links)


def test_links_of_a_good_host_rise_and_those_of_a_bad_one_fall() -> None:
    ranker = taught()
    links = [(f"{GOOD}/page/90", "part 90"), (f"{BAD}/page/90", "part 90")]
    good, bad = follow(ranker, ("https://other.test/", 0.3, links)).links
    assert good is not None
    assert bad is not None
    assert good > 2 * bad


def test_links_of_a_page_whose_others_were_bad_fall() -> None:
    ranker = LearningRanker()
    for parent, worth in (("good", 0.6), ("bad", 0.02)):
        links = [(f"https://{parent}{n}.test/{n}", "more") for n in range(12)]
        follow(ranker, (f"https://hub.test/{parent}", 0.3, links))
        for url, _ in links[:10]:
            follow(ranker, (url, worth, []))
    good, bad = (effects(ranker, f"https://{parent}11.test/11") for parent in ("good", "bad"))
    assert good["pages"] > 0 > bad["pages"]
    assert total(ranker, "https://good11.test/11") > total(ranker, "https://bad11.test/11")


def test_what_is_queued_falls_when_pages_like_it_turn_out_to_be_bad() -> None:
    ranker = taught(pages=4)
    waiting = f"{BAD}/archive/7"
    links = [(f"{BAD}/archive/{n}", "archive") for n in range(8)]
    follow(ranker, (f"{GOOD}/start", 0.6, links))
    before = total(ranker, waiting)
    for url, _ in links[:6]:
        follow(ranker, (url, 0.0, []))
    assert total(ranker, waiting) < before
    assert {revision.url: revision.score for revision in ranker.revised(100)}[waiting] < before + 0.05


def test_a_link_named_as_a_hub_promises_more_than_its_neighbours() -> None:
    ranker = taught()
    links = [(f"{GOOD}/page/{n}", f"part {n}") for n in range(50, 54)]
    *others, hub = follow(ranker, (f"{GOOD}/start", 0.6, [*links, (f"{GOOD}/page/60", "Site map")])).links
    assert hub is not None
    assert all(other is not None and hub > other for other in others)


def hub_promise(*lefts: BudgetLeft, host: str = GOOD) -> float:
    """Return what the promise of a link that is named as a hub adds to its score, with the budgets left last."""
    ranker = taught()
    for number, left in enumerate(lefts):
        links = (Outlink(f"{host}/sitemap", "Site map", place="html/body/nav/a"),)
        page = Document(f"{GOOD}/last/{number}", "en", "", (), links)
        ranker.follow(page, 0.6, (ScoredLink(links[0].url, 0.3, "Site map", None, 2.0),), 1, left)
    return next(reason.effect for reason in ranker.explain(f"{host}/sitemap") if reason.name == "promise")


def test_promise_is_whole_in_the_first_half_of_a_budget_and_nothing_at_its_end() -> None:
    whole, half, quarter, none = [hub_promise(BudgetLeft(left)) for left in (1.0, 0.5, 0.25, 0.0)]
    assert half == pytest.approx(whole)
    assert 0 < quarter < 0.6 * whole
    assert none == 0


def test_promise_falls_with_what_is_left_to_the_site_of_a_link() -> None:
    whole = hub_promise(BudgetLeft())
    assert hub_promise(BudgetLeft(1.0, 0.25)) == pytest.approx(hub_promise(BudgetLeft(0.25)))
    assert hub_promise(BudgetLeft(1.0, 0.25), BudgetLeft()) == pytest.approx(whole, rel=0.1)
    assert hub_promise(BudgetLeft(1.0, 0.25), host=BAD) > hub_promise(BudgetLeft(0.25, 1.0), host=BAD)


def test_equal_calls_give_equal_answers() -> None:
    def run(seed: int) -> list[object]:
        ranker = LearningRanker(explore=0.3, seed=seed)
        said: list[object] = []
        for page in (*site(GOOD, 0.6, range(0, 60, 2)), *site(BAD, 0.1, range(0, 60, 2))):
            said += [follow(ranker, page), ranker.revised(3)]
        return [*said, ranker.explain(f"{GOOD}/page/61")]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_nothing_is_said_of_what_is_settled() -> None:
    ranker = taught()
    gone = f"{GOOD}/page/13"
    ranker.settled(gone)
    ranker.settled("https://never.test/")
    assert gone not in {revision.url for revision in ranker.revised(1000)}
    assert ranker.explain(gone) == ()
    assert follow(ranker, ("https://other.test/first", 0.3, [(gone, "part 13")])).links == (None,)
    fetched = f"{GOOD}/page/3"
    assert follow(ranker, ("https://other.test/", 0.3, [(fetched, "part 3")])).links == (None,)


def test_what_was_told_is_not_told_again_and_the_highest_come_first() -> None:
    ranker = taught()
    links = [(f"{BAD}/archive/{n}", f"archive {n}") for n in range(20)]
    follow(ranker, (f"{GOOD}/start", 0.6, links))
    ranker.revised(1000)
    for url, _ in links[:8]:
        follow(ranker, (url, 0.9, []))
    first, rest = ranker.revised(5), ranker.revised(1000)
    assert len(first) == 5
    assert {revision.url for revision in (*first, *rest)} >= {url for url, _ in links[8:]}
    assert not {revision.url for revision in first} & {revision.url for revision in rest}
    assert min(revision.score for revision in first) >= max(revision.score for revision in rest)
    assert ranker.revised(1000) == []


def test_its_reasons_add_up_to_the_prediction() -> None:
    ranker = taught()
    predicted = follow(ranker, (f"{GOOD}/start", 0.6, [(f"{GOOD}/page/70", "part 70")]), settle=False).links[0]
    assert predicted == pytest.approx(total(ranker, f"{GOOD}/page/70"))
    assert ranker.explain(f"{GOOD}/page/70")[0].name == "score of links"


def effects(ranker: LinkRanker, url: str) -> dict[str, float]:
    return {reason.name: reason.effect for reason in ranker.explain(url)}


def total(ranker: LinkRanker, url: str) -> float:
    return math.fsum(reason.effect for reason in ranker.explain(url))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25])
def test_a_share_of_fetches_is_given_to_exploration(share: float) -> None:
    ranker = LearningRanker(Standing(20.0), explore=share)
    fronted = 0
    for page in (*site(GOOD, 0.4, range(5)), *site(BAD, 0.1, range(0, 500, 5), ahead=4)):
        follow(ranker, page)
        fronted += sum(revision.score == 1.0 for revision in ranker.revised(1000))
    assert fronted == pytest.approx(share * 101, abs=2)


def test_a_page_that_is_fetched_again_counts_once() -> None:
    once, twice = taught(), taught()
    for ranker, times in ((once, 1), (twice, 3)):
        for _ in range(times):
            follow(ranker, (f"{GOOD}/again", 0.9, []))
        for page in site(BAD, 0.0, range(20, 40)):
            follow(ranker, page)
    assert effects(once, f"{BAD}/page/41")["mean surplus of all pages"] == pytest.approx(
        effects(twice, f"{BAD}/page/41")["mean surplus of all pages"], abs=0.01
    )


def test_worthless_pages_and_pages_without_links_are_no_trouble() -> None:
    ranker = LearningRanker()
    for n in range(30):
        assert follow(ranker, (f"{BAD}/{n}", 0.0, [])).links == ()
    said = follow(ranker, (f"{BAD}/", 0.0, [(f"{BAD}/", "itself"), ("https://a.test/", ""), ("https://a.test/", "b")]))
    assert said.links[0] is None
    assert said.links[1] == said.links[2]
    # No link led to any of these pages, so nothing was learned of what is said of links.
    assert said.links[1] == pytest.approx(0.3, abs=0.01)


def test_an_icd_asks_for_it_by_its_weight() -> None:
    assert link_ranker(Scoring.model_validate({"weights": {"text": 1, "ranker": 0}})) is None
    assert isinstance(link_ranker(Scoring()), LearningRanker)


# What waits


def offered(waiting: Waiting, url: str, score: float) -> None:
    waiting.offered([ScoredLink(url, score, "", None, 1.0)])


@pytest.mark.parametrize(("update", "told"), [("first", 0.4), ("last", 0.2), ("max", 0.6), ("sum", 1.2), ("avg", 0.4)])
def test_what_the_frontier_has_is_known_by_its_update_function(update: Update, told: float) -> None:
    waiting = Waiting(Standing(1.0, update), 10)
    sighting = waiting.add(GOOD)
    for score in (0.4, 0.6, 0.2):
        offered(waiting, GOOD, score)
    assert sighting.told == pytest.approx(told)
    sighting.score = 0.5
    waiting.rank()
    assert [revision.url for revision in waiting.revised(10)] == [GOOD]
    assert waiting.revised(10) == []


def test_of_too_many_the_worst_are_forgotten_oldest_first() -> None:
    waiting = Waiting(Standing(), 10)
    for n in range(11):
        waiting.add(str(n)).score = 0.5 if n % 2 else 0.1
    waiting.make_room()
    assert [sighting.url for sighting in waiting] == ["1", "3", "4", "5", "6", "7", "8", "9", "10"]


def test_it_remembers_no_more_urls_than_it_may() -> None:
    ranker = LearningRanker(most_waiting=200)
    for n in range(12):
        follow(ranker, (f"{GOOD}/{n}", 0.5, [(f"{GOOD}/{n}/{m}", "") for m in range(40)]))
    kept = sum(bool(ranker.explain(f"{GOOD}/{n}/{m}")) for n in range(12) for m in range(40))
    assert 160 <= kept <= 200


@given(st.sets(st.text(max_size=20), max_size=50), st.sets(st.text(max_size=20), max_size=50))
def test_what_is_gone_is_known(urls: set[str], others: set[str]) -> None:
    gone = Gone()
    for url in urls:
        gone.add(url)
    assert all(url in gone for url in urls)
    assert not any(url in gone for url in others - urls)


# The regression


@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_the_regression_finds_the_minimum(penalty: float) -> None:
    chance = np.random.default_rng(7)
    dense = chance.normal(size=(40, 9)) * (chance.random((40, 9)) < 0.6)
    targets = chance.normal(size=40)
    rows = [
        Row((np.flatnonzero(row) + 3).astype(np.int32), row[np.flatnonzero(row)].astype(np.float32)) for row in dense
    ]
    weights = Weights(20)
    weights.replace(np.array([0, 15]), np.array([1.0, 1.0]))
    Ridge(Rows.of(rows), penalty).fit(targets, weights)
    found = weights.all
    expected = np.linalg.solve(dense.T @ dense + penalty * np.eye(9), dense.T @ targets)
    assert found[3:12] == pytest.approx(expected, abs=1e-3)
    assert not found[:3].any()
    assert not found[12:].any()


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=20))
def test_bounded_values_keep_their_order(values: list[float]) -> None:
    mapped = [bounded(value) for value in sorted(values)]
    assert mapped == sorted(mapped)
    assert all(0 <= value < 1 for value in mapped)


# Features


def test_addresses_are_told_apart_by_their_steps_and_words() -> None:
    one = f"{GOOD}/wiki/Wind_Power?page=3"
    assert set(url_words(one)) == set(url_words("https://other.test/page/3/wind?power=wiki"))
    assert set(url_steps(one)) == set(url_steps(f"{GOOD}/wiki/Wind_Power?page=4"))
    shared = set(url_steps(one)) & set(url_steps(f"{GOOD}/wiki/Solar_Power"))
    assert len(shared) == 2
    assert not set(url_steps(one)) & set(url_steps(f"{BAD}/wiki/Wind_Power?page=3"))


def test_words_of_any_script_and_of_composed_names_are_features() -> None:
    assert set(text_words("getElementById")) == set(text_words("get Element By Id"))
    assert set(text_words("太陽能發電")) & set(text_words("太陽能"))
    assert text_words("part 7") == text_words("part 8")


def test_a_word_of_a_url_a_text_and_a_title_are_three_features() -> None:
    assert len({text_words("solar"), url_words(f"{GOOD}/solar"), title_words("solar")}) == 3


def test_a_url_that_many_pages_link_to_keeps_what_the_first_of_them_show() -> None:
    ranker = LearningRanker()
    for n in range(200):
        follow(ranker, (f"{GOOD}/{n}", 0.5, [(f"{GOOD}/home", f"word{n}")]))
    reasons = {reason.name: reason.value for reason in ranker.explain(f"{GOOD}/home")}
    assert reasons["pages"] == 24
    assert reasons["texts"] <= 24
