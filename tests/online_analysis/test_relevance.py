"""The relevance to an event, checked against computations of their own."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.aggregation import document_score
from online_analysis.analysers import RelevanceAnalyser, analysers
from online_analysis.analysers.date_hints import Span, dates_in_text
from online_analysis.analysers.relevance import gossen_date, klein_date
from online_analysis.analysers.temporal import nearness
from online_analysis.document import Document, Outlink, Times
from online_analysis.icd import Event, Icd, Relevance
from online_analysis.terms import Language
from online_analysis.topic import build_topic
from tests.online_analysis.documents import page

ARTICLE = """The river Elbe flooded the old town of Meissen in June.
Volunteers filled sandbags, and the flood crest passed Dresden at night.
Insurers put the damage of the flood at two billion."""
REPORT = """Sandbags held in Dresden while the flood crest passed.
The river fell slowly, and the old town stayed under water for days."""
ABOUT = "At night volunteers filled sandbags in the old town. The flood crest passed, the river fell, insurers counted."
ELSE = "The council voted for a longer tram line, and the theatre opened its season with a comedy."
START, END = datetime(2013, 6, 1, tzinfo=UTC), datetime(2013, 6, 20, tzinfo=UTC)
EVENT = "event: {start: 2013-06-01, end: 2013-06-20, lead: 7 days, cool_down: 10 days}"


def definition(*lines: str, keywords: str = "flood, river Elbe", folder: Path | None = None) -> Icd:
    text = f"""
id: flood
contact: archive@example.org
seeds: ["https://news.example.org/"]
topic:
  keywords: [{keywords}]
  documents: ["https://wiki.example.org/flood", "https://news.example.org/report"]
"""
    return Icd.parse((text + "\n".join(lines)).encode(), (folder or Path()) / "flood.yaml")


def analyser(icd: Icd) -> RelevanceAnalyser:
    texts = {"https://wiki.example.org/flood": ARTICLE, "https://news.example.org/report": REPORT}
    return RelevanceAnalyser(icd.scoring.relevance or Relevance(), build_topic(icd, texts), icd.event)


def scoring(**settings: object) -> str:
    return f"scoring: {{relevance: {{{', '.join(f'{name}: {value}' for name, value in settings.items())}}}}}"


def reference_relevance(documents: Sequence[str], keywords: Sequence[str], text: str) -> float:
    """Compute the topical relevance with dictionaries and scikit-learn, from the words of the article."""
    language = Language("en")
    phrases = [tuple(language.terms(each)) for each in keywords]

    def grams(text: str) -> dict[tuple[str, ...], float]:
        found: Counter[tuple[str, ...]] = Counter()
        for line in text.split("\n"):
            terms = language.terms(line)
            found.update((term,) for term in terms)
            found.update(pairwise(terms))
        weights = {}
        for gram, n in found.items():
            whole = any(
                gram == phrase[at : at + len(gram)] and len(gram) == min(2, len(phrase))
                for phrase in phrases
                for at in range(len(phrase))
            )
            part = any(term in phrase for phrase in phrases for term in gram)
            boost = 2.0 if whole else 1.5 if part else 1.0
            weights[gram] = (1 + math.log(n)) * math.fsum(language.idf[term] for term in gram) * boost
        return weights

    from sklearn.metrics.pairwise import cosine_similarity  # Its import takes a second.

    vectors = [grams(each) for each in (*documents, text)]
    names = sorted({gram for vector in vectors for gram in vector})
    matrix = np.array([[vector.get(name, 0.0) for name in names] for vector in vectors])
    reference = matrix[:-1].sum(axis=0, keepdims=True)
    near = cosine_similarity(matrix, reference).ravel()
    return float(near[-1] / near[:-1].mean())


@pytest.mark.parametrize("keywords", ["", "flood", "flood, river Elbe, sandbags"])
@pytest.mark.parametrize("text", [ABOUT, ELSE, "flood flood flood", ARTICLE[:60]])
def test_topical_relevance_is_what_scikit_learn_computes(text: str, keywords: str) -> None:
    found = analyser(definition(keywords=keywords)).relevance(page(text)).topic
    expected = reference_relevance([ARTICLE, REPORT], [each for each in keywords.split(", ") if each], text)
    assert found == pytest.approx(min(1.0, expected), abs=1e-9)


def test_a_page_on_the_topic_comes_before_others_and_a_reference_document_scores_like_one() -> None:
    judge = analyser(definition())
    about, other, reference = (judge.relevance(page(*text.split("\n"))).topic for text in (ABOUT, ELSE, ARTICLE))
    assert about is not None
    assert other is not None
    assert reference is not None
    assert reference > about > 3 * other
    assert judge.relevance(page("")).topic == 0.0


def test_pages_in_another_language_are_compared_by_what_they_share() -> None:
    german = "Die Elbe überflutete Meissen, und in Dresden füllten Helfer Sandsäcke."
    judge = analyser(definition())
    near = judge.relevance(replace(page(german), language="de")).topic
    far = judge.relevance(replace(page("Der Stadtrat stimmt für die Straßenbahn."), language="de")).topic
    assert near is not None
    assert far is not None
    assert near > far


def test_a_long_page_has_the_same_relevance_when_it_is_read_after_others() -> None:
    first, judge = analyser(definition()), analyser(definition())
    for number in range(50):
        judge.relevance(page(f"word{number} flood"))
    assert judge.relevance(page(ABOUT)) == first.relevance(page(ABOUT))


moments = st.integers(0, 3_000_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))
spans = st.integers(0, 4_000).map(lambda days: timedelta(days=days))


@pytest.mark.slow
@given(moments, moments, spans, spans, spans)
def test_nearness_is_a_temporal_relevance_function(
    one: datetime, other: datetime, lead: timedelta, cool_down: timedelta, grace: timedelta
) -> None:
    event = Event(start=START, end=END, lead=lead, cool_down=cool_down, grace=grace)
    first, second = nearness(event, min(one, other)), nearness(event, max(one, other))
    assert 0 <= first <= 1
    assert (first == 1) == (START <= min(one, other) <= END)
    if max(one, other) <= START:
        assert first <= second
    if min(one, other) >= END:
        assert first >= second


@pytest.mark.parametrize(
    ("days_after", "expected"), [(0, 1.0), (5, math.exp(-math.log(2) / 10 * 5)), (30, 0.5), (31, 2**-3.1)]
)
def test_within_the_grace_period_nothing_counts_less_than_half(days_after: int, expected: float) -> None:
    event = Event(start=START, end=END, cool_down=timedelta(days=10), grace=timedelta(days=30))
    assert nearness(event, END + timedelta(days=days_after)) == pytest.approx(expected)
    assert nearness(event, START - timedelta(seconds=1)) == 0.0


def dated(text: str = ABOUT, url: str = "https://news.example.org/a", **times: datetime | bool | None) -> Document:
    published = times.pop("published", None)
    assert not isinstance(published, bool)
    captured = times.pop("captured", datetime(2015, 1, 1, tzinfo=UTC))
    return replace(page(text, url=url, published=published), times=Times(captured=captured, **times))  # type: ignore[arg-type]


JUNE, JULY = datetime(2013, 6, 9, tzinfo=UTC), datetime(2013, 7, 9, tzinfo=UTC)
LATE = datetime(2015, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (dated(published=JUNE, shown=JULY), JUNE),
        (dated(shown=JULY), JULY),
        (dated(), LATE),
        (dated(published=LATE + timedelta(seconds=1), shown=JULY), JULY),
        (dated(published=LATE + timedelta(days=1)), LATE),
        (replace(dated(), times=None), None),
    ],
)
def test_publication_comes_before_the_capture_and_nothing_after_it(
    document: Document, expected: datetime | None
) -> None:
    found = gossen_date(document)
    assert (found.first if found else None) == expected


DAY = Span(datetime(2013, 6, 5, tzinfo=UTC), datetime(2013, 6, 5, 23, 59, 59, tzinfo=UTC))


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (dated(memento=True, captured=JUNE, published=START), Span(JUNE, JUNE)),
        (dated(memento=True, captured=JULY, published=JUNE), Span(JUNE, JUNE)),
        (dated(memento=True, published=JULY, modified=JUNE), Span(JULY, JULY)),
        (dated(memento=True, modified=JULY), Span(JULY, JULY)),
        (dated(memento=True, modified=LATE + timedelta(days=1)), None),
        (dated(memento=True), None),
        (dated(captured=JUNE), None),
        (dated(modified=JULY), None),
        (dated(published=JUNE, url="https://news.example.org/2013/06/05/flood"), DAY),
        (dated(published=JUNE, url="https://news.example.org/2013/flood"), Span(JUNE, JUNE)),
        (dated(url="https://news.example.org/2019/06/05/flood"), None),
        (dated(published=JULY, shown=JUNE), Span(JUNE, JUNE)),
    ],
)
def test_mementos_and_live_pages_are_dated_as_the_second_article_says(
    document: Document, expected: Span | None
) -> None:
    event = definition(EVENT).event
    assert event is not None
    assert klein_date(document, event) == expected


def test_the_first_mention_of_a_page_dates_it(tmp_path: Path) -> None:
    posts = [
        '{"author": "a", "text": "later https://news.example.org/a", "date": "2013-06-10"}',
        '{"author": "b", "text": "first https://news.example.org/a", "date": "2013-06-08T12:00:00Z"}',
    ]
    (tmp_path / "posts.jsonl").write_text("\n".join(posts))
    lines = (EVENT, scoring(dates="klein"))
    text = (
        "id: flood\ncontact: archive@example.org\nseeds: ['https://news.example.org/']\n"
        "topic: {keywords: [flood], posts: posts.jsonl}\n" + "\n".join(lines)
    )
    icd = Icd.parse(text.encode(), tmp_path / "flood.yaml")
    judge = RelevanceAnalyser(Relevance(dates="klein"), build_topic(icd, {}), icd.event, icd.posts)
    found = judge.relevance(dated(published=JULY))
    assert found.date is not None
    assert found.date.first == datetime(2013, 6, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("settings", "combine"),
    [
        ({}, lambda topic, time: topic * min(1, 16 * time)),
        ({"combination": "linear"}, lambda topic, time: 0.5 * topic + 0.5 * time),
        ({"combination": "linear", "alpha": 0.8}, lambda topic, time: 0.8 * topic + 0.2 * time),
        ({"combination": "product"}, lambda topic, time: topic * time),
    ],
)
@pytest.mark.parametrize("days", [3, 10, 50])
def test_topic_and_time_are_combined_as_the_definition_says(settings, combine, days: int) -> None:  # type: ignore[no-untyped-def]
    icd = definition(EVENT, scoring(**settings))
    assert icd.event is not None
    found = analyser(icd).relevance(dated(published=icd.event.end + timedelta(days=days)))
    assert found.topic is not None
    assert found.time == pytest.approx(2 ** (-days / 10))
    assert found.score == pytest.approx(combine(found.topic, found.time))


def test_content_focus_asks_for_no_date_and_temporal_focus_for_no_text() -> None:
    undated = replace(page(ABOUT), times=None)
    content = analyser(definition(EVENT, scoring(combination="linear", alpha=1))).relevance(undated)
    assert content.score == content.topic != 0.0
    time = analyser(definition(EVENT, scoring(combination="linear", alpha=0))).relevance(dated(ELSE, published=JUNE))
    assert (time.score, time.topic) == (1.0, None)


def test_a_page_without_a_date_is_dismissed() -> None:
    found = analyser(definition(EVENT, scoring(dates="klein"))).relevance(dated())
    assert found.topic
    assert (found.score, found.time, found.date) == (0.0, 0.0, None)


def test_dates_that_a_text_speaks_of_come_before_its_own_where_that_is_wished() -> None:
    looking_back = "In June the flood came. It began on 3 June 2013 and fell by 20 June 2013; see 3 June 2099."
    document = dated(looking_back, published=datetime(2014, 6, 3, tzinfo=UTC))
    plain, discussed = (
        analyser(definition(EVENT, scoring(discussed=wished))).relevance(document).time for wished in ("false", "true")
    )
    assert plain == pytest.approx(0.0, abs=1e-6)
    assert discussed == 1.0
    without = analyser(definition(EVENT, scoring(discussed="true"))).relevance(dated(published=JUNE))
    assert without.time == 1.0


def test_dates_are_found_in_a_long_text_without_end() -> None:
    assert len([*dates_in_text("1.1.2013 " * 20_000)]) == 20_000
    assert [*dates_in_text("1 " * 100_000)] == []


def test_the_score_of_a_page_is_its_relevance_alone_and_links_have_it_as_one_opinion() -> None:
    icd = definition(EVENT, "scoring: {relevance: {}, weights: {relevance: 1, spam: 0, social: 0, application: 0}}")
    texts = {"https://wiki.example.org/flood": ARTICLE, "https://news.example.org/report": REPORT}
    document = replace(dated(ELSE, published=JUNE), outlinks=(Outlink("https://a.example.org/", "the flood"),))
    scores = [each.analyse(document) for each in analysers(icd, build_topic(icd, texts))]
    assert [each.analyser for each in scores] == ["relevance", "text", "url", "temporal"]
    assert [each.document is None for each in scores] == [False, True, True, True]
    assert document_score(scores, icd.scoring.weights) == scores[0].document
    assert all(len(each.links) == 1 for each in scores[1:])


def test_without_the_section_nothing_changes() -> None:
    icd = definition(EVENT)
    names = [each.name for each in analysers(icd, build_topic(icd, dict.fromkeys(icd.topic.documents, ARTICLE)))]
    assert "relevance" not in names


def test_a_weight_that_no_combination_takes_is_refused() -> None:
    with pytest.raises(ValueError, match="by which a combination that is gated does not weigh"):
        Relevance(alpha=0.8)
    assert Relevance.model_validate(Relevance().model_dump()) == Relevance()


@pytest.mark.parametrize(
    ("scoring", "doubtful"),
    [
        ("{relevance: {combination: linear}}", True),
        ("{relevance: {combination: linear}, relevant: 0.5}", True),
        ("{relevance: {combination: linear}, relevant: 0.51}", False),
        ("{relevance: {combination: linear, alpha: 0.9}, relevant: 0.2}", False),
        ("{relevance: {combination: linear, alpha: 1}, relevant: 0.1}", False),
        ("{relevance: {combination: gated}}", False),
        ("{}", False),
    ],
)
def test_a_threshold_that_the_time_alone_reaches_is_doubted(scoring: str, doubtful: bool) -> None:
    text = (
        "id: x\ncontact: a@b.example\nseeds: [http://a.test/]\ntopic: {keywords: [flood]}\n"
        f"event: {{start: 2013-06-01, end: 2013-06-30}}\nscoring: {scoring}\n"
    )
    doubts = list(Icd.parse(text.encode()).doubts())
    assert len(doubts) == doubtful
    assert all("set it above 0.5, or write `combination: gated`" in each for each in doubts)
