import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.aggregation import Scores, aggregate, document_score, joined
from online_analysis.document import Document, Outlink

LINKS = tuple(Outlink(f"http://a.test/{n}", f"link {n}", action="thread" if n else None) for n in range(3))
DOCUMENT = Document("http://a.test/", "en", "", (), LINKS)

values = st.none() | st.floats(0, 1)
analyser_scores = st.builds(
    Scores,
    st.sampled_from(["text", "url", "spam", "other"]),
    values,
    st.just(()) | st.tuples(values, values, values),
)
weights = st.dictionaries(st.sampled_from(["text", "url", "spam"]), st.just(0.0) | st.floats(1e-6, 100))


def link_scores(scores: list[Scores], weights: dict[str, float] | None = None) -> list[float]:
    return [link.score for link in aggregate(DOCUMENT, scores, weights or {})]


def test_links_keep_their_order_anchor_and_action() -> None:
    links = aggregate(DOCUMENT, [Scores("text", 0.5)], {})
    assert [(link.url, link.anchor, link.action) for link in links] == [
        (each.url, each.anchor, each.action) for each in LINKS
    ]


def test_a_document_score_alone_is_passed_on_to_every_link() -> None:
    assert link_scores([Scores("text", 0.5)]) == [0.5, 0.5, 0.5]


def test_an_analyser_that_scores_links_keeps_its_document_score_to_the_document() -> None:
    scores = [Scores("text", 0.9, (0.1, None, 0.3))]
    assert link_scores(scores) == [0.1, 0.0, 0.3]
    assert document_score(scores, {}) == 0.9


def test_a_silent_analyser_is_left_out_of_that_link_only() -> None:
    scores = [Scores("text", None, (0.2, 0.2, 0.2)), Scores("url", None, (None, 0.8, None))]
    assert link_scores(scores, {"text": 1, "url": 3}) == pytest.approx([0.2, 0.65, 0.2])


def test_a_listed_spam_host_sinks_under_the_default_weights() -> None:
    scores = [Scores("text", 1.0, (1.0,) * 3), Scores("url", None, (1.0,) * 3), Scores("spam", None, (0.0, None, None))]
    assert link_scores(scores, {"text": 1, "url": 1, "spam": 10}) == pytest.approx([1 / 6, 1, 1])


def test_without_scores_everything_is_zero() -> None:
    assert link_scores([]) == [0, 0, 0]
    assert document_score([Scores("url")], {}) == 0


@given(st.lists(analyser_scores, max_size=5), weights)
def test_scores_stay_within_what_was_said(scores: list[Scores], weights: dict[str, float]) -> None:
    for index, link in enumerate(aggregate(DOCUMENT, scores, weights)):
        said = [each.links[index] if each.links else each.document for each in scores]
        heard = [
            value
            for each, value in zip(scores, said, strict=True)
            if value is not None and weights.get(each.analyser, 1.0)
        ]
        assert min(heard, default=0.0) - 1e-9 <= link.score <= max(heard, default=0.0) + 1e-9


@given(st.lists(analyser_scores, max_size=5), weights)
def test_an_analyser_that_says_nothing_changes_nothing(scores: list[Scores], weights: dict[str, float]) -> None:
    silent = Scores("other", None, (None, None, None))
    assert aggregate(DOCUMENT, [*scores, silent], weights) == aggregate(DOCUMENT, scores, weights)
    assert document_score([*scores, silent], weights) == document_score(scores, weights)


@given(st.lists(analyser_scores, max_size=5), weights, st.sampled_from([0.125, 0.5, 2.0, 8.0]))
def test_only_the_proportion_of_weights_matters(scores: list[Scores], weights: dict[str, float], factor: float) -> None:
    complete = {name: weights.get(name, 1.0) + 0.5 for name in ("text", "url", "spam", "other")}
    scaled = {name: weight * factor for name, weight in complete.items()}
    assert link_scores(scores, scaled) == pytest.approx(link_scores(scores, complete))


@given(
    st.permutations(
        [Scores("text", 0.3), Scores("url", None, (0.1, None, 0.9)), Scores("spam", None, (None, 0.0, None))]
    )
)
def test_the_order_of_analysers_does_not_matter(scores: list[Scores]) -> None:
    assert link_scores(scores) == pytest.approx([0.2, 0.15, 0.6])


@given(st.lists(analyser_scores, max_size=5), analyser_scores, weights)
def test_one_that_joins_later_counts_as_if_it_had_been_there(
    scores: list[Scores], more: Scores, weights: dict[str, float]
) -> None:
    late = joined(aggregate(DOCUMENT, scores, weights), more, weights)
    at_once = aggregate(DOCUMENT, [*scores, more], weights)
    assert [link.score for link in late] == pytest.approx([link.score for link in at_once])
    assert [link.weight for link in late] == pytest.approx([link.weight for link in at_once])
    assert [(link.url, link.anchor, link.action) for link in late] == [
        (link.url, link.anchor, link.action) for link in at_once
    ]
