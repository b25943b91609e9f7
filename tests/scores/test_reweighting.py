"""What a log says under other weights than those that its scores were made with."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.scores import Findings, Leads, ScoreLog, Share, Source, Terms, weighed
from online_analysis.aggregation import Revision, ScoredLink, Scores, Weighed
from online_analysis.document import Document, Outlink
from online_analysis.icd.scoring import Scoring
from online_analysis.ranking import LearningRanker, Standing
from tests.scores.logs import Ticking

BEFORE, AFTER = {"text": 1.0, "url": 0.5, "ranker": 3.0}, {"text": 0.2, "url": 2.0, "ranker": 1.0}
Said = Mapping[str, float | None]
Page = Sequence[tuple[str, Said]]


def scoring(weights: Mapping[str, float], update: str) -> Scoring:
    return Scoring.model_validate({"weights": weights, "update": update})


def average(said: Said, weights: Mapping[str, float]) -> float:
    given = {name: value for name, value in said.items() if value is not None}
    total = sum(weights[name] for name in given)
    return sum(weights[name] * value for name, value in given.items()) / total if total else 0.0


def log_of(folder: Path, pages: Sequence[Page], weights: Mapping[str, float], update: str = "max") -> ScoreLog:
    """Return a log of pages, the links of each being scored by these weights."""
    log = ScoreLog(folder, "test", Terms(1, scoring(weights, update)), Ticking())
    for number, page in enumerate(pages):
        log.judged(findings(f"http://{number}.test/", page, weights))
    return log


def findings(url: str, page: Page, weights: Mapping[str, float]) -> Findings:
    urls, said = [url for url, _ in page], [said for _, said in page]
    scores = [Scores(name, None, tuple(each[name] for each in said)) for name in BEFORE]
    return Findings(url, 0, 1.0, 0.5, scores, Leads(urls, [average(each, weights) for each in said]))


values = st.none() | st.integers(0, 1000).map(lambda n: n / 1000)
said = st.fixed_dictionaries({"text": values, "url": values, "ranker": values})
links = st.tuples(st.sampled_from([f"http://link-{n}.test/" for n in range(5)]), said)
pages = st.lists(st.lists(links, min_size=1, max_size=4, unique_by=lambda link: link[0]), min_size=1, max_size=5)


@given(pages, st.sampled_from(("first", "last", "max", "sum", "avg")))
def test_links_are_scored_as_if_the_weights_had_always_been_so(
    tmp_path_factory: pytest.TempPathFactory, pages: Sequence[Page], update: str
) -> None:
    before, after = (tmp_path_factory.mktemp("log") for _ in range(2))
    with log_of(before, pages, BEFORE, update), log_of(after, pages, AFTER, update):
        found, expected = weighed(before, 1, AFTER), weighed(after, 1, AFTER)
    assert found.keys() == expected.keys() == {url for page in pages for url, _ in page}
    for url, each in expected.items():
        assert found[url].score == pytest.approx(each.score)
        assert found[url].analyser_mean == pytest.approx(each.analyser_mean)


def test_what_has_no_parts_keeps_its_score_and_what_has_ended_is_gone(tmp_path: Path) -> None:
    with log_of(tmp_path, [], BEFORE) as log:
        log.offered(Source.SEED, [("http://seed.test/", 1.0), ("http://0.test/", 1.0)])
        log.judged(findings("http://0.test/", [("http://a.test/", dict.fromkeys(BEFORE, 0.3))], BEFORE))
        log.judged(Findings("http://1.test/", 0, 0.7, leads=Leads(["http://former.test/"], [0.4])))
        log.judged(Findings("http://2.test/", 0, 0.6, leads=Leads(redirect="http://to.test/")))
        log.ended("http://a.test/", "blocked", "robots")
    found = weighed(tmp_path, 1, AFTER)
    assert {url: each.score for url, each in found.items()} == {
        "http://seed.test/": 1.0,
        "http://former.test/": 0.4,
        "http://to.test/": 0.6,
    }
    assert weighed(tmp_path, 2, AFTER) == {}


def test_the_ranker_keeps_its_prediction(tmp_path: Path) -> None:
    said = {"text": 0.2, "url": 0.8, "ranker": None}
    others = average(said, BEFORE)
    prediction = 0.9
    with log_of(tmp_path, [[("http://a.test/", said)]], BEFORE) as log:
        log.rescored([Revision("http://a.test/", (others * 1.5 + prediction * 3.0) / 4.5)])
        log.rescored([Revision("http://a.test/", 0.123)], "weights")
    found = weighed(tmp_path, 1, AFTER)["http://a.test/"]
    assert found.score == pytest.approx((average(said, AFTER) * 2.2 + prediction * 1.0) / 3.2, abs=1e-3)
    assert found.weight == pytest.approx(2.2)
    same = weighed(tmp_path, 1, BEFORE)["http://a.test/"]
    assert same.score == pytest.approx((others * 1.5 + prediction * 3.0) / 4.5, abs=1e-3)


def test_each_url_is_of_one_share(tmp_path: Path) -> None:
    page = [(f"http://{n}.test/", dict.fromkeys(BEFORE, n / 100)) for n in range(100)]
    with log_of(tmp_path, [page], BEFORE):
        shares = [weighed(tmp_path, 1, AFTER, Share(number, 3)) for number in range(3)]
    assert sum(map(len, shares)) == 100
    assert all(len(share) > 10 for share in shares)
    assert {**shares[0], **shares[1], **shares[2]} == weighed(tmp_path, 1, AFTER)


def test_a_ranker_goes_by_what_it_was_told_of_other_weights() -> None:
    ranker = LearningRanker(Standing(weight=3.0))
    for number in range(8):
        worth = number / 10
        target = f"http://next-{number}.test/"
        document = Document(f"http://page-{number}.test/", None, "", (), (Outlink(target, "flood"),))
        ranker.follow(document, worth, (ScoredLink(target, 0.1, weight=1.0),), 0)
    ranker.revised(100)
    ranker.reweigh(1.0, {f"http://next-{number}.test/": Weighed(1.0, 9.0, 0.5) for number in range(8)})
    revised = {each.url: each.score for each in ranker.revised(100)}
    assert len(revised) == 8
    assert all(score >= 0.9 for score in revised.values())
