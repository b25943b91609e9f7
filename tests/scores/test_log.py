"""What is said of pages and links is written down, survives crashes, and teaches a ranker the same again."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.layout import SCORE_LOG
from aahcrawler.scores import (
    Findings,
    Leads,
    Lessons,
    Remembered,
    ScoreLog,
    Source,
    remember,
)
from aahcrawler.scores.entries import Ended, Judged, Lesson, Offered, Rescored, packed, unpacked
from aahcrawler.scores.ranker_lessons import MAX_TEXT_LENGTH
from aahcrawler.scores.reader import count_lessons, read_scores
from aahcrawler.segments import DamageError, recover
from online_analysis.aggregation import BudgetLeft, LinkRanker, Revision, ScoredLink, Scores
from online_analysis.document import Document, DocumentPart, Outlink
from online_analysis.icd.scoring import Scoring
from online_analysis.ranking import link_ranker
from tests.scores.logs import BEGUN, HostRanker, Ticking, score_log

URLS = [f"http://{site}.test/{name}" for site in "ab" for name in ("", "1", "2?q=ü%22", "3")]
scores = st.sampled_from([0.0, 0.1, 0.12345678, 0.5, 1 / 3, 0.99999, 1.0])


def entries(folder: Path, crawl: int | None = None, about: str | None = None) -> list[object]:
    return [found.entry for found in read_scores(folder, crawl=crawl, about=about)]


def a_page(url: str, *links: str, worth: float = 0.5, lesson: Lesson | None = None) -> Findings:
    leads = Leads(links, [0.25] * len(links))
    return Findings(url, 1, 0.75, worth, (Scores("text", worth, (0.25,) * len(links)),), leads, lesson)


def test_entries_come_back_as_they_were_written(tmp_path: Path) -> None:
    with score_log(tmp_path) as log:
        log.offered(Source.SEED, [("http://a.test/", 1.0)])
        said = (Scores("text", 0.123456, (0.1, None)), Scores("url", None, ()), Scores("spam", 0.5))
        leads = Leads(("http://a.test/1", "http://a.test/2"), (0.3, 0.123456), {"denied": (1,)})
        log.judged(Findings("http://a.test/", 2, 1.0, 0.4, said, leads))
        log.judged(Findings("http://a.test/moved", 1, 0.5, leads=Leads(redirect="http://a.test/2")))
        log.rescored([Revision("http://a.test/1", 0.9)])
        log.ended("http://a.test/1", "failed", "timeout")
    offered, page, moved, rescored, ended = entries(tmp_path)
    assert isinstance(offered, Offered)
    assert (offered.source, offered.url, offered.score) == (Source.SEED, ["http://a.test/"], [1.0])
    assert isinstance(page, Judged)
    assert page.links is not None
    assert (page.score, page.parts, page.links.score) == (0.4, {"text": 0.1235, "spam": 0.5}, [0.3, 0.1235])
    assert page.links.parts == {"text": [0.1, None], "spam": 0.5}
    assert page.links.refused == {"denied": [1]}
    assert isinstance(moved, Judged)
    assert (moved.redirect, moved.links, moved.score) == ("http://a.test/2", None, None)
    assert isinstance(rescored, Rescored)
    assert (rescored.url, rescored.score) == (["http://a.test/1"], [0.9])
    assert isinstance(ended, Ended)
    assert (ended.url, ended.state, ended.reason) == ("http://a.test/1", "failed", "timeout")


def test_nothing_is_written_of_nothing(tmp_path: Path) -> None:
    with score_log(tmp_path) as log:
        log.offered(Source.FORMER, [])
    assert list(tmp_path.iterdir()) == []
    assert entries(tmp_path / "nowhere") == []


def test_entries_about_one_url_of_one_crawl(tmp_path: Path) -> None:
    clock = Ticking()
    for crawl in (1, 2):
        with score_log(tmp_path, crawl, clock) as log:
            log.ended("http://a.test/1", "failed", f"crawl {crawl}")
            log.ended("http://a.test/11", "failed")
            log.judged(a_page("http://a.test/2", "http://a.test/1"))
    assert len(entries(tmp_path)) == 6
    assert len(entries(tmp_path, about="http://a.test/1")) == 4
    assert len(entries(tmp_path, crawl=2, about="http://a.test/1")) == 2
    assert entries(tmp_path, about="http://a.test/") == []


def test_files_of_several_workers_are_one_sequence(tmp_path: Path) -> None:
    one, two = (score_log(tmp_path, clock=Ticking(BEGUN + timedelta(seconds=late))) for late in (0, 0.5))
    for i in range(3):
        one.ended(f"http://a.test/{2 * i}", "failed")
        two.ended(f"http://a.test/{2 * i + 1}", "failed")
    one.close()
    late = score_log(tmp_path, clock=Ticking(BEGUN + timedelta(seconds=60)))
    late.ended("http://a.test/6", "failed")
    two.ended("http://a.test/7", "failed")  # Its clock is behind, its file older.
    found = [entry.url for entry in entries(tmp_path) if isinstance(entry, Ended)]
    assert found == [f"http://a.test/{i}" for i in (0, 1, 2, 3, 4, 5, 7, 6)]
    two.close()
    late.close()


def test_a_crash_loses_at_most_the_entry_that_was_being_written(tmp_path: Path) -> None:
    log = score_log(tmp_path)
    for i in range(3):
        log.judged(a_page(f"http://a.test/{i}", *URLS))
    (path,) = tmp_path.glob("*.open")
    whole = path.read_bytes()
    log.close()
    (closed,) = tmp_path.iterdir()
    for cut in (1, 20, 60):
        closed.unlink()
        path.write_bytes(whole[:-cut])
        assert len(entries(tmp_path)) == 2
        (recovered,) = recover(tmp_path, SCORE_LOG)
        assert (recovered.file, recovered.cut > 0) == (closed, True)
        assert len(entries(tmp_path)) == 2


def test_damage_is_told_after_what_came_before_it(tmp_path: Path) -> None:
    with score_log(tmp_path) as log:
        for i in range(200):
            log.judged(a_page(f"http://a.test/{i}", *URLS))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] + b"garbage" + whole[len(whole) // 2 :])
    told = "is damaged|is no entry"  # Garbage may give a line that is none before decompression fails.
    found: list[object] = []
    with pytest.raises(DamageError, match=told):
        found.extend(entry for entry in read_scores(tmp_path))
    ranker = HostRanker()
    with pytest.raises(DamageError, match=told):
        remember(ranker, tmp_path, 1, Remembered())
    assert len(ranker.calls) > 50


def test_what_is_no_score_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test-20260131120000-00000.scores.gz").write_bytes(b"none of ours")
    with pytest.raises(DamageError, match="00000"):
        entries(tmp_path)


def test_columns_of_one_value_are_one_value() -> None:
    for values in ([0.5], [0.5, 0.5], [None, None], [0.5, None], ["", ""], ["", "a"]):
        assert list(unpacked(packed(values), len(values))) == values


# What a replay brings back

links = st.lists(
    st.builds(
        lambda url, anchor, context, action, part, place: Outlink(url, anchor, context, part, action, place),
        st.sampled_from(URLS),
        st.sampled_from(["", "anchor", "ü" * MAX_TEXT_LENGTH, "y" * (MAX_TEXT_LENGTH + 1)]),
        st.sampled_from(["", "anchor", "the text around an anchor", "z" * (MAX_TEXT_LENGTH + 1)]),
        st.sampled_from([None, "next", "thread"]),
        st.sampled_from([None, 0, 1]),
        st.sampled_from(["", "html/body/p/a", "html/body/div.ü/a"]),
    ),
    max_size=6,
)
documents = st.builds(
    lambda url, links, application, level: Document(
        url,
        "en",
        "Title",
        (DocumentPart("content", "text"), DocumentPart("sidebar", "more")),
        tuple(links),
        application=application,
        kind=application and "forum",
        level=level,
    ),
    st.sampled_from(URLS),
    links,
    st.sampled_from(["", "phpBB"]),
    st.sampled_from(["", "thread"]),
)
calls = st.lists(st.tuples(st.sampled_from(["follow", "follow", "end", "revise"]), documents, scores), max_size=15)


def live(ranker: Lessons, log: ScoreLog, what: str, document: Document, score: float) -> None:
    """Do to a ranker what the crawl does, and log it as it does."""
    if what == "follow":
        given = [
            ScoredLink(link.url, round(score * 0.77, 6), link.anchor, link.action, 1.5) for link in document.outlinks
        ]
        said = ranker.follow(document, score, given, 3, BudgetLeft(round(score, 4), 1.0))
        refused = {"denied": [i for i in range(len(given)) if i % 3 == 2], "too_deep": [0] if given else []}
        for position in refused["denied"]:
            ranker.settled(given[position].url)
        ranker.settled(document.url)
        leads = Leads([each.url for each in given], [each.score for each in given], refused)
        log.judged(Findings(document.url, 3, 0.5, score, (said,), leads, ranker.take()))
    elif what == "end":
        ranker.settled(document.url)
        log.ended(document.url, "failed", "timeout")
    else:
        revisions = ranker.revised(2)
        log.asked(2)
        if revisions:
            log.rescored(revisions)


@given(course=calls)
def test_a_ranker_that_is_taught_again_knows_what_it_knew(
    tmp_path_factory: pytest.TempPathFactory, course: Sequence[tuple[str, Document, float]]
) -> None:
    folder = tmp_path_factory.mktemp("scores")
    ranker, again = HostRanker(), HostRanker()
    with score_log(folder) as log:
        for step in course:
            live(Lessons(ranker), log, *step)
    remembered = Remembered()
    remember(again, folder, 1, remembered)
    assert again.calls == ranker.calls
    assert (again.worth, again.queued, again.told) == (ranker.worth, ranker.queued, ranker.told)
    assert remembered.pages == sum(what == "follow" for what, _, _ in course)
    assert remembered.pending == ()


def test_what_the_frontier_was_not_told_before_a_crash_is_pending(tmp_path: Path) -> None:
    ranker = Lessons(HostRanker())
    outlinks = (Outlink("http://a.test/1", ""),)
    with score_log(tmp_path) as log:
        for worth in (0.2, 0.8):
            document = Document("http://a.test/", None, "", (), outlinks)
            live(ranker, log, "follow", document, worth)
        revisions = tuple(ranker.revised(5))
        log.asked(5)
    assert len(revisions) == 1
    for crawl, expected in ((1, Remembered(0, 2, revisions)), (2, Remembered())):
        remembered = Remembered()
        remember(HostRanker(), tmp_path, crawl, remembered)
        assert remembered == expected


def test_of_a_long_log_the_last_pages_are_learned_from(tmp_path: Path) -> None:
    ranker, again = Lessons(HostRanker()), HostRanker()
    with score_log(tmp_path) as log:
        for number in range(5):
            live(ranker, log, "follow", Document(f"http://a.test/{number}", None, '"lesson":{', (), ()), 0.5)
            log.judged(a_page(f'http://a.test/"lesson":{{{number}', *URLS))
    assert (count_lessons(tmp_path, 1), count_lessons(tmp_path, 2)) == (5, 0)
    remember(again, tmp_path, 1, Remembered(passed=count_lessons(tmp_path, 1) - 2))
    assert [call[1] for call in again.calls if call[0] == "follow"] == ["http://a.test/3", "http://a.test/4"]


def test_a_page_takes_little_room(tmp_path: Path) -> None:
    """A hundred links are about two kilobytes: what grows with every page has to stay small."""
    urls = [f"http://forum.test/viewtopic.php?f={i % 7}&t={i * 7919 % 99991}" for i in range(100)]
    outlinks = tuple(Outlink(url, "", "", None, "thread", "html/body/div.main/ul.topics/li/a") for url in urls)
    values = tuple(i * 7919 % 9973 / 9973 for i in range(100))
    ranker = Lessons(HostRanker())
    given = [ScoredLink(url, value, "", "thread", 2.5) for url, value in zip(urls, values, strict=True)]
    said = ranker.follow(Document("http://forum.test/", "en", "", (), outlinks), 0.5, given, 1)
    log = score_log(tmp_path)
    log.ended("http://a.test/", "failed")
    before = sum(path.stat().st_size for path in tmp_path.iterdir())
    parts = (Scores("text", 0.5, values), Scores("url", None, values[::-1]), said)
    log.judged(Findings("http://forum.test/", 1, 0.5, 0.5, parts, Leads(urls, values), ranker.take()))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) - before < 3000
    log.close()


def test_times_are_of_the_clock(tmp_path: Path) -> None:
    with score_log(tmp_path, clock=Ticking(datetime(2026, 2, 1, tzinfo=UTC))) as log:
        log.ended("http://a.test/", "failed")
    (found,) = read_scores(tmp_path)
    assert (found.begin.crawl, found.begin.update, found.begin.seed) == (1, "max", 7)
    assert (found.begin.weights["text"], found.begin.weights["ranker"]) == (1.0, 3.0)
    assert 0 < found.entry.at / 1000 - datetime(2026, 2, 1, tzinfo=UTC).timestamp() < 10


def test_the_ranker_that_ships_learns_all_that_it_reads_of_pages_again(tmp_path: Path) -> None:
    """A ranker that came to read more of a page than a lesson holds would know something else."""
    random, ranker = Random(3), Lessons(shipped())
    known = [
        f"http://{site}.test/{word}/{number}" for site in "ab" for word in ("flood", "cat") for number in range(60)
    ]
    with score_log(tmp_path) as log:
        for number in range(60):
            live(ranker, log, "follow", a_document(random, known), round(random.random(), 6))
            live(ranker, log, "revise" if number % 3 else "end", a_document(random, known), 0.0)
    again = shipped()
    remember(again, tmp_path, 1, Remembered())
    told = {url: ranker.explain(url) for url in known}
    assert any(told.values())
    assert {url: again.explain(url) for url in known} == told
    assert again.revised(500) == ranker.revised(500)


def shipped() -> LinkRanker:
    ranker = link_ranker(Scoring(explore=0.1, seed=5))
    assert ranker is not None
    return ranker


def a_document(random: Random, known: Sequence[str]) -> Document:
    """Return a document that says something everywhere."""

    def words(n: int) -> str:
        return " ".join(random.choice(("flood", "dike", "cat", "index", "news", "2024")) for _ in range(n))

    outlinks = tuple(
        Outlink(
            random.choice(known),
            words(random.randrange(4)),
            words(12),
            random.choice((None, 0, 1, 2)),
            random.choice((None, "next", "thread")),
            random.choice(("", "html/body/p/a", "html/body/div.menu/ul/li/a")),
        )
        for _ in range(random.randrange(12))
    )
    parts = tuple(DocumentPart(role, words(20)) for role in ("sidebar", "content", "navigation"))
    application = random.choice(("", "phpBB"))
    return Document(
        random.choice(known), "en", words(3), parts, outlinks, BEGUN, application, application and "forum", "thread"
    )
