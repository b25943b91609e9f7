"""What a crawl has learned of its topic, when it is killed at any moment."""

import asyncio
import errno
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.crawl.directory.crawl_runs import FolderLock
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.layout import TOPIC_NOTES
from online_analysis.analysers import TextAnalyser
from online_analysis.document import Document
from online_analysis.icd import Icd
from online_analysis.topic import Topic
from online_analysis.topic_learning import TopicState, topic_learning
from tests.online_analysis.topical_world import KEYWORDS, document, naming, other, speaking

PAGES = [document(f"http://a.test/{i}", naming(i) if i % 3 == 0 else other(i)) for i in range(24)]


def opened(root: Path, keywords: tuple[str, ...] = KEYWORDS) -> TopicLearner:
    """Open what a crawl has learned by now, as a start does."""
    topic = json.dumps({"keywords": keywords, "reference_crawl": len(PAGES)})
    icd = Icd.parse(f"id: t\ncontact: a@b.org\nseeds: [http://a.test/0]\ntopic: {topic}\n".encode())
    folder = CrawlFolder(root, FolderLock(root))
    kept = TopicState.parse(folder.topic.read_bytes()) if folder.topic.exists() else TopicState()
    topic_learner = TopicLearner(folder, kept, lambda known: topic_learning(icd, known.texts, icd.seeds, known.learned))
    topic_learner.replay()
    return topic_learner


async def at_once(write: Callable[[], Awaitable[None]]) -> None:
    await write()


def worth(topic: Topic, page: Document) -> float:
    return TextAnalyser(topic).analyse(page).document or 0.0


def crawled(topic_learner: TopicLearner, pages: list[Document]) -> list[float]:
    """Score pages and learn from them, one after another."""
    scores = []
    for page in pages:
        scores.append(worth(topic_learner.topic, page))
        asyncio.run(topic_learner.learn(page, scores[-1], at_once))
    return scores


SPEAKING = document("http://b.test/", speaking(0))


def test_who_is_told_of_a_new_topic_finds_it_kept(tmp_path: Path) -> None:
    topic_learner, seen = opened(tmp_path), []
    topic_learner.changed.append(
        lambda topic: seen.append((worth(topic, SPEAKING), (tmp_path / "topic.json").exists()))
    )
    crawled(topic_learner, PAGES[:-1])
    assert seen == []
    crawled(topic_learner, PAGES[-1:])
    assert seen == [(worth(topic_learner.topic, SPEAKING), True)]
    assert seen[0][0] >= 0.2


@pytest.mark.slow
@pytest.mark.parametrize("killed", [1, 11, 23, 24])
def test_a_crawl_that_is_killed_scores_all_pages_as_one_that_is_not(killed: int, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for root in (whole, cut):
        root.mkdir()
    later = [*PAGES, SPEAKING, document("http://b.test/1", speaking(1))]
    expected = crawled(opened(whole), later)
    before = crawled(opened(cut), later[:killed])
    # The last page before the kill was noted and not finished, so it is fetched again.
    again = opened(cut)
    assert [*before[:-1], *crawled(again, later[killed - 1 :])][: len(PAGES) - 1] == expected[: len(PAGES) - 1]
    assert worth(again.topic, SPEAKING) == expected[len(PAGES)]
    assert again.kept == opened(whole).kept


def test_notes_that_came_to_something_before_it_was_kept_are_enough(tmp_path: Path) -> None:
    topic_learner = opened(tmp_path)
    crawled(topic_learner, PAGES)
    kept = topic_learner.kept
    (tmp_path / "topic.json").unlink()
    assert (tmp_path / TOPIC_NOTES).exists()
    again = opened(tmp_path)
    assert again.kept == kept
    assert TopicState.parse((tmp_path / "topic.json").read_bytes()) == kept
    assert not (tmp_path / TOPIC_NOTES).exists()


def test_notes_for_another_topic_are_left_aside(tmp_path: Path) -> None:
    crawled(opened(tmp_path), PAGES[:20])
    another = opened(tmp_path, ("violin",))
    assert not (tmp_path / TOPIC_NOTES).exists()
    crawled(another, PAGES[:10])
    assert another.kept.learned.is_empty


def test_lines_that_a_crash_has_torn_are_left_aside(tmp_path: Path) -> None:
    crawled(opened(tmp_path), PAGES[:12])
    notes = tmp_path / TOPIC_NOTES
    notes.write_bytes(notes.read_bytes()[:-40])
    topic_learner = opened(tmp_path)
    assert len(notes.read_bytes().splitlines()) == 12
    crawled(topic_learner, PAGES[11:])
    assert worth(topic_learner.topic, SPEAKING) >= 0.2


def test_a_full_disk_loses_no_note_and_tears_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topic_learner = opened(tmp_path)
    crawled(topic_learner, PAGES[:5])
    notes = tmp_path / TOPIC_NOTES
    before = notes.read_bytes()
    appended: Callable[[str], None] = topic_learner._append
    refusals = iter([True, False])

    def refused(line: str) -> None:
        if next(refusals):
            raise OSError(errno.ENOSPC, "No space left on device")
        appended(line)

    async def until_there_is_room(write: Callable[[], Awaitable[None]]) -> None:
        try:
            await write()
        except OSError:
            assert notes.read_bytes() == before
            await write()

    monkeypatch.setattr(topic_learner, "_append", refused)
    asyncio.run(topic_learner.learn(PAGES[5], 0.0, until_there_is_room))
    assert len(notes.read_bytes().splitlines()) == 7


def test_log_and_file_say_why_nothing_was_learned(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    topic_learner = opened(tmp_path)
    with caplog.at_level("INFO"):
        crawled(topic_learner, [document(f"http://a.test/{i}", other(i)) for i in range(len(PAGES))])
    assert "the topic stays as it was given, as too few pages are relevant (0 of the 24 pages" in caplog.text
    assert "too few pages are relevant" in (tmp_path / "topic.json").read_text("utf-8")
