from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.analysers import TemporalAnalyser
from online_analysis.analysers.date_hints import date_in_anchor, date_in_url
from online_analysis.document import Document, Outlink
from online_analysis.icd import Event
from tests.online_analysis.definitions import with_lines
from tests.online_analysis.documents import page


def event(*, lead: str = "10 days", cool_down: str = "20 days") -> Event:
    icd = with_lines(f"event: {{start: 2024-05-01, end: 2024-05-31, lead: {lead}, cool_down: {cool_down}}}")
    assert icd.event is not None
    return icd.event


START, END = event().start, event().end
moments = st.integers(0, 3_000_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


def score_of(published: datetime | None, of: Event | None = None) -> float | None:
    return TemporalAnalyser(of or event()).analyse(page("text", published=published)).document


@pytest.mark.parametrize(
    ("published", "score"),
    [
        (START, 1.0),
        (END, 1.0),
        (datetime(2024, 5, 17, tzinfo=UTC), 1.0),
        (START - timedelta(days=10), 0.5),
        (START - timedelta(days=20), 0.25),
        (END + timedelta(days=20), 0.5),
        (END + timedelta(days=60), 0.125),
        (None, None),
    ],
)
def test_lead_and_cool_down_are_half_lives(published: datetime | None, score: float | None) -> None:
    assert score_of(published) == (None if score is None else pytest.approx(score))


def test_without_lead_and_cool_down_only_the_span_counts() -> None:
    narrow = event(lead="0", cool_down="0")
    assert score_of(START, narrow) == score_of(END, narrow) == 1.0
    assert score_of(START - timedelta(seconds=1), narrow) == score_of(END + timedelta(seconds=1), narrow) == 0.0


@pytest.mark.slow
@given(moments, moments)
def test_the_nearer_the_better(one: datetime, other: datetime) -> None:
    first, second = score_of(one), score_of(other)
    assert first is not None
    assert second is not None
    assert 0 <= first <= 1
    if one <= other <= START:
        assert first <= second
    if END <= one <= other:
        assert first >= second


def test_a_link_is_scored_by_its_own_date_where_it_has_one() -> None:
    links = [
        Outlink("https://a.test/2024/05/storm", ""),
        Outlink("https://a.test/2019/05/calm", "storm of 17 May 2024"),
        Outlink("https://a.test/x", "Archive: June 2024"),
        Outlink("https://a.test/y", "no date"),
    ]
    scores = TemporalAnalyser(event()).analyse(page("text", links=links, published=START - timedelta(days=10)))
    assert scores.links[0] == 1.0
    assert scores.links[1] == pytest.approx(0.0, abs=1e-9)
    assert scores.links[2] == pytest.approx(1.0, abs=1e-3)
    assert scores.links[3] == pytest.approx(0.5)
    undated = TemporalAnalyser(event()).analyse(page("text", links=links)).links
    assert undated == (*scores.links[:3], None)


@pytest.mark.parametrize(
    ("url", "first", "last"),
    [
        ("https://a.test/2024/05/storm", "2024-05-01", "2024-05-31"),
        ("https://a.test/2024/5/", "2024-05-01", "2024-05-31"),
        ("https://a.test/2024/02/17", "2024-02-17", "2024-02-17"),
        ("https://a.test/archives/2024/02.html?p=2", "2024-02-01", "2024-02-29"),
        ("https://a.test/news/2024-05/", "2024-05-01", "2024-05-31"),
        ("https://a.test/storm-2024-05-17.html", "2024-05-17", "2024-05-17"),
        ("https://a.test/20240517-storm", "2024-05-17", "2024-05-17"),
        ("https://a.test/?m=202402", "2024-02-01", "2024-02-29"),
        ("https://a.test/?m=20240217", "2024-02-17", "2024-02-17"),
        ("https://a.test/archive?year=2023&month=2", "2023-02-01", "2023-02-28"),
        ("https://a.test/archive?page=2&year=2023", "2023-01-01", "2023-12-31"),
        ("https://a.test/2024/the-storm", "2024-01-01", "2024-12-31"),
    ],
)
def test_addresses_hold_dates(url: str, first: str, last: str) -> None:
    span = date_in_url(url)
    assert span is not None
    assert (span.first.date().isoformat(), span.last.date().isoformat()) == (first, last)
    assert span.last.time().isoformat() == "23:59:59"


@pytest.mark.parametrize(
    "url",
    [
        "https://a.test/questions/2019",
        "https://a.test/t/2019/12345",
        "https://a.test/t/the-storm/2019/12",
        "https://a.test/t/2019/3",
        "https://a.test/2024/02/31/x",
        "https://a.test/id120240517",
        "https://a.test/euro-2024-12-teams",
        "https://2024.a.test/05/x",
        "https://a.test/t?id=2024",
        "https://a.test/1824/05/x",
        "https://a.test/x?m=2024",
    ],
)
def test_numbers_are_no_dates(url: str) -> None:
    assert date_in_url(url) is None


@pytest.mark.parametrize(
    ("anchor", "first", "last"),
    [
        ("17 May 2024", "2024-05-17", "2024-05-17"),
        ("The storm (May 17th, 2024)", "2024-05-17", "2024-05-17"),
        ("Sept. 2024", "2024-09-01", "2024-09-30"),
        ("17. März 2024", "2024-03-17", "2024-03-17"),
        ("Jänner 2024", "2024-01-01", "2024-01-31"),
        ("17. marts 2024", "2024-03-17", "2024-03-17"),
        ("1er août 2024", "2024-08-01", "2024-08-01"),
        ("17 de mayo de 2024", "2024-05-17", "2024-05-17"),
        ("17 ΜΑΪ́ΟΥ 2024", "2024-05-17", "2024-05-17"),
        ("Μάιος 2024", "2024-05-01", "2024-05-31"),
        ("17 мая 2024 года", "2024-05-17", "2024-05-17"),
        ("2024年5月17日", "2024-05-17", "2024-05-17"),
        ("2024년 5월 17일", "2024-05-17", "2024-05-17"),
        ("2024-05-17 18:00", "2024-05-17", "2024-05-17"),
        ("17.05.2024", "2024-05-17", "2024-05-17"),
        ("31/12/2024", "2024-12-31", "2024-12-31"),
        ("12/31/2024", "2024-12-31", "2024-12-31"),
        ("05/06/2024", "2024-05-06", "2024-06-05"),
        (" 2024 ", "2024-01-01", "2024-12-31"),
    ],
)
def test_anchors_name_dates(anchor: str, first: str, last: str) -> None:
    span = date_in_anchor(anchor)
    assert span is not None
    assert (span.first.date().isoformat(), span.last.date().isoformat()) == (first, last)


@pytest.mark.parametrize(
    "anchor",
    ["12 March", "since 2024", "Marathon 2024", "Octopus 2024", "v3.12.2024.1", "31.02.2024", "item 20245", ""],
)
def test_other_anchors_name_none(anchor: str) -> None:
    assert date_in_anchor(anchor) is None


@given(st.text(st.characters(codec="utf-8"), max_size=60), st.integers(1970, 2110), st.sampled_from("/-. "))
def test_no_text_raises(text: str, year: int, between: str) -> None:
    for written in (
        text,
        f"{text}{year}{between}{text}",
        f"31{between}2{between}{year}",
        f"{year}{between}13{between}40",
    ):
        for span in (date_in_anchor(written), date_in_url(f"https://a.test/{written}")):
            assert span is None or span.first < span.last


def test_a_date_that_a_feed_or_sitemap_gives_counts_after_that_of_the_address() -> None:
    storm = event(lead="1 day", cool_down="1 day")
    when = datetime(2024, 5, 1, tzinfo=UTC)
    links = (
        Outlink("http://a.test/x", "Storm of 1990", date=when),
        Outlink("http://a.test/1990/05/01/x", "", date=when),
        Outlink("http://a.test/x", "", date=when.replace(year=1990)),
    )
    scores = TemporalAnalyser(storm).analyse(Document("http://a.test/", None, "", (), links))
    assert [round(score or 0.0, 3) for score in scores.links] == [1, 0, 0]
