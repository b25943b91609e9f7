"""What a killed worker left unscored, by the score log."""

from datetime import timedelta
from pathlib import Path

import pytest

from aahcrawler.scores import Findings, Leads, left_over
from online_analysis.aggregation import Scores
from online_analysis.batching import BatchScore
from tests.scores.logs import BEGUN, Ticking, score_log


def page(
    name: str, *urls: str, depth: int = 1, score: float = 0.5, unscored: bool = True, **refused: list[int]
) -> Findings:
    scores = (Scores("text", 0.1, tuple(score for _ in urls)), Scores("url", None, tuple(None for _ in urls)))
    leads = Leads(urls, [score] * len(urls), refused, unscored=unscored)
    return Findings(name, depth, 1.0, 0.5, scores, leads)


def test_what_was_linked_to_and_scored_with_no_batch_is_left_over(tmp_path: Path) -> None:
    with score_log(tmp_path) as log:
        log.judged(page("/1", "/a", "/b"))
        log.batched(1, {"/a": BatchScore(0.5, {}, 1), "/b": BatchScore(0.5, {}, 1)})
        log.judged(page("/2", "/b", "/c", "/denied", "/2", depth=3, score=0.2, denied=[2]))
        log.judged(page("/3", "/c", "/d", "/e", depth=2, score=0.6))
        log.judged(page("/d"))
        log.ended("/e", "failed")
        log.judged(page("/4", "/f", unscored=False))
    left = left_over(tmp_path, 1)
    assert set(left) == {"/b", "/c", "/2"}
    assert (left["/b"].score, left["/b"].depth) == (BatchScore(0.2, {"text": 0.2}, 1), 4)
    assert left["/c"].depth == 3
    assert left["/c"].score.score == pytest.approx(0.4)
    assert left["/c"].score.pages == 2


def test_other_crawls_of_the_folder_and_empty_ones_have_left_nothing(tmp_path: Path) -> None:
    assert left_over(tmp_path / "none", 1) == {}
    with score_log(tmp_path, clock=Ticking(BEGUN + timedelta(hours=1))) as log:
        log.judged(page("/1", "/a"))
    assert left_over(tmp_path, 2) == {}
