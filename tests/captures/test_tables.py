"""Tables of a folder, and the examples of the documentation, run on a crawl written by hand."""

import re
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from aahcrawler.captures import ScoreRow, columns, data_frame, objects, pages, scores
from aahcrawler.scores.writer import Findings, ScoreLog, Terms
from online_analysis.icd.scoring import Scoring
from tests.archive.exchanges import STARTED
from tests.captures.test_capture_contents import URL, write_crawl

DOCS = Path(__file__).parents[2] / "docs/captures.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    crawl = write_crawl(tmp_path / "crawls/floods")
    with ScoreLog(crawl / "scores", "floods", Terms(3, Scoring()), lambda: STARTED + timedelta(minutes=2)) as log:
        log.judged(Findings(URL, 1, 0.75, 0.5))
    return crawl


def test_rows_and_columns_say_the_same(scored: Path) -> None:
    (page,) = pages(scored)
    assert (page.url, page.score, page.reader) == (URL, 0.5, "today")
    assert [row.iri for row in objects(scored)] == [f"{URL}#p1", f"{URL}#p2"]
    assert columns(objects(scored))["iri"] == [f"{URL}#p1", f"{URL}#p2"]
    assert list(scores(scored)) == [ScoreRow(URL, 3, "2026-01-02T03:06:05.001+00:00", 0.5, 0.75, 1, {}, 0)]
    assert (list(scores(scored, 2)), columns(scores(scored, 2))) == ([], {})


@pytest.mark.slow
def test_a_data_frame_has_the_rows(scored: Path) -> None:
    pytest.importorskip("pandas")
    frame = data_frame(objects(scored))
    assert list(frame["title"]) == ["One", "One"]
    assert list(data_frame(scores(scored)).columns)[:3] == ["url", "crawl", "judged_at"]


def test_without_pandas_a_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"aahcrawler\[notebooks\]"):
        data_frame([])


@pytest.mark.slow
def test_the_examples_of_the_documentation_run(
    scored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(scored.parents[1])
    known: dict[str, object] = {}
    for example in EXAMPLES:
        if "data_frame" in example:
            pytest.importorskip("pandas")
        exec(example, known)  # noqa: S102 - an example of the documentation
    assert f"200 {URL}" in capsys.readouterr().out
    assert known["by_author"] == [None, None]
    del known["capture"]
    exec(EXAMPLES[2], known)  # noqa: S102 - the job goes on, and there is nothing more
    assert "capture" not in known
