"""One folder, many crawls: which one is at hand, when it is over, and that the next begins whole or not at all."""

import json
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.crawl.directory.crawl_runs import EndedRun, Start, current_run, is_over, rotation
from aahcrawler.crawl.directory.folder import CrawlFolder, CrawlRefusedError
from aahcrawler.crawls import number
from aahcrawler.report.report_page import ReportError, read_collection
from online_analysis.icd import Icd
from tests.forking import forked

FILES = ("crawl.json", "icd.json", "topic.json", "crawl.log", "report.html")
DIE = """
import os, signal, sys
from pathlib import Path
from aahcrawler.crawl.directory.crawl_runs import rotation
for step in rotation(Path(sys.argv[1]), 1)[: int(sys.argv[2])]:
    step()
os.kill(os.getpid(), signal.SIGKILL)
"""


def definition(folder: Path, more: str = "") -> Icd:
    path = folder / "icd.yaml"
    path.write_text(
        f"id: t\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {{keywords: [flood]}}\n"
        f"output: {json.dumps(str(folder / 'crawl'))}\n{more}"
    )
    return Icd.load(path)


def a_crawl(icd: Icd, **ended: Any) -> Path:
    """Leave a folder as a crawl does that ended so."""
    folder = CrawlFolder.open(icd)
    folder.keep_definition(icd)
    folder.write_summary({"crawl": folder.run.number, "state": "finished", "reason": "finished", **ended})
    for name in FILES[2:]:
        (folder.root / name).write_text(f"{name} of {folder.run.number}")
    folder.close()
    return folder.root


def contents(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in FILES if (folder / name).exists()}


def begun(number: int) -> dict[str, str]:
    """Return the contents of a folder in which a crawl has only just begun."""
    return {"crawl.json": f'{{"crawl": {number}, "state": "running"}}\n'}


def test_a_first_crawl_begins_and_goes_on_once_it_has_a_definition(tmp_path: Path) -> None:
    icd = definition(tmp_path)
    folder = CrawlFolder.open(icd)
    assert (folder.run.number, folder.run.start) == (1, Start.FIRST)
    folder.keep_definition(icd)
    folder.close()
    folder = CrawlFolder.open(icd)
    assert (folder.run.number, folder.run.start) == (1, Start.RESUMED)
    folder.close()


def test_a_crawl_that_is_over_makes_room_for_the_next(tmp_path: Path) -> None:
    icd = definition(tmp_path)
    for last in (1, 2, 3):
        root = a_crawl(icd)
        before = contents(root)
        folder = CrawlFolder.open(icd)
        assert (folder.run.number, folder.run.start) == (last + 1, Start.NEXT)
        assert contents(root) == begun(last + 1)
        assert contents(root / "former" / str(last)) == before
        assert folder.known_topic == root / "former" / str(last) / "topic.json"
        folder.close()


def test_one_that_was_stopped_goes_on_with_its_number(tmp_path: Path) -> None:
    icd = definition(tmp_path)
    root = a_crawl(icd)
    a_crawl(icd, state="stopped", reason="shutdown")
    before = contents(root)
    folder = CrawlFolder.open(icd)
    assert (folder.run.number, folder.run.start) == (2, Start.RESUMED)
    assert contents(root) == before
    folder.close()


@pytest.mark.parametrize(("state", "following"), [("stopped", 2), ("finished", 3)])
def test_it_keeps_its_number_when_the_former_ones_were_removed(state: str, following: int, tmp_path: Path) -> None:
    icd = definition(tmp_path)
    a_crawl(icd)
    root = a_crawl(icd, state=state, reason="shutdown")
    for name in ("former/1/" + name for name in FILES):
        (root / name).unlink()
    (root / "former" / "1").rmdir()
    assert current_run(root, icd).number == following


@pytest.mark.parametrize("summary", [None, b"", b"[]", b'{"state": 7}', b"\xff"])
def test_of_what_nothing_is_known_goes_on(summary: bytes | None, tmp_path: Path) -> None:
    """A crawl that was killed in its first seconds has no summary."""
    icd = definition(tmp_path)
    root = a_crawl(icd)
    (root / "crawl.json").unlink()
    if summary is not None:
        (root / "crawl.json").write_bytes(summary)
    assert current_run(root, icd).start is Start.RESUMED


def test_a_summary_without_a_number_is_that_of_a_first_crawl(tmp_path: Path) -> None:
    icd = definition(tmp_path)
    root = a_crawl(icd)
    (root / "crawl.json").write_text('{"state": "finished", "reason": "finished", "frontier": {}}')
    assert current_run(root, icd).number == 2


def test_a_reader_finds_a_summary_at_every_step(tmp_path: Path) -> None:
    root = a_crawl(definition(tmp_path))
    numbers = []
    for step in rotation(root, 1):
        step()
        numbers.append(json.loads((root / "crawl.json").read_text())["crawl"])
    assert numbers == [1] * 6 + [2]
    with pytest.raises(ReportError, match="has only just begun"):
        read_collection(root)


@pytest.mark.parametrize("steps", range(8))
def test_a_kill_at_any_step_leaves_the_crawl_over_or_the_next_one_begun(steps: int, tmp_path: Path) -> None:
    icd = definition(tmp_path)
    root = a_crawl(icd)
    assert len(rotation(root, 1)) == 7
    before = contents(root)
    with forked(DIE, root, steps) as process:
        assert process.wait() == -signal.SIGKILL
    assert number(root) == (2 if steps >= 2 else 1)
    folder = CrawlFolder.open(icd)
    assert (folder.run.number, folder.run.start) == (2, Start.NEXT)
    assert contents(root) == begun(2)
    assert contents(root / "former" / "1") == before
    assert [path.name for path in (root / "former").iterdir()] == ["1"]
    folder.close()


@pytest.mark.parametrize("steps", range(8))
def test_another_definition_is_refused_at_any_step_and_changes_nothing(steps: int, tmp_path: Path) -> None:
    icd = definition(tmp_path)
    root = a_crawl(icd)
    for step in rotation(root, 1)[:steps]:
        step()
    before = contents(root), contents(root / "former" / "1")
    changed = definition(tmp_path, "scope: {depth: 3}\n")
    with pytest.raises(CrawlRefusedError, match=r"\(changed: scope.depth\)"):
        CrawlFolder.open(changed)
    assert (contents(root), contents(root / "former" / "1")) == before
    folder = CrawlFolder.open(changed, accept_changes=True)
    assert (folder.run.number, folder.run.start) == (2, Start.NEXT)
    folder.close()


def test_a_place_that_cannot_be_written_is_no_crash(tmp_path: Path) -> None:
    icd = definition(tmp_path)
    root = a_crawl(icd)
    (root / "former").write_text("in the way")
    with pytest.raises(CrawlRefusedError, match="the next crawl cannot begin"):
        CrawlFolder.open(icd)
    (root / "former").unlink()
    folder = CrawlFolder.open(icd)
    assert folder.run.number == 2
    folder.close()


# Over or not


@pytest.mark.parametrize(
    ("ended", "limits", "over"),
    [
        ({"state": "finished", "reason": "finished"}, "", True),
        ({"state": "stopped", "reason": "shutdown"}, "{pages: 10}", False),
        ({"state": "stopped", "reason": "failed"}, "{pages: 10}", False),
        ({"state": "running", "reason": ""}, "", False),
        ({"state": "paused", "reason": "no room"}, "", False),
        ({"reason": "limits.pages reached", "frontier": {"pages_done": 10}}, "{pages: 10}", True),
        ({"reason": "limits.pages reached", "frontier": {"pages_done": 10}}, "{pages: 9}", True),
        ({"reason": "limits.pages reached", "frontier": {"pages_done": 10}}, "{pages: 11}", False),
        ({"reason": "limits.pages reached", "frontier": {"pages_done": 10}}, "{pages: 0}", False),
        ({"reason": "limits.bytes reached", "bytes": 1000}, "{bytes: 1 kB}", True),
        ({"reason": "limits.bytes reached", "bytes": 1000}, "{bytes: 2 kB}", False),
        ({"reason": "limits.bytes reached", "bytes": 1000}, "", False),
        ({"reason": "limits.time reached", "seconds": 60.5}, "{time: 1 minute}", True),
        ({"reason": "limits.time reached", "seconds": 60.5}, "{time: 1 hour}", False),
        ({"reason": "limits.pages_per_domain reached"}, "{pages_per_domain: 5}", True),
        ({"reason": "limits.pages_per_domain reached"}, "{pages_per_domain: 4}", True),
        ({"reason": "limits.pages_per_domain reached"}, "{pages_per_domain: 6}", False),
        ({"reason": "limits.pages_per_domain reached"}, "", False),
    ],
)
def test_a_crawl_is_over_when_it_finished_or_its_limit_is_still_used_up(
    ended: dict[str, Any], limits: str, over: bool, tmp_path: Path
) -> None:
    meant = definition(tmp_path, "limits: {pages_per_domain: 5}\n").meaning()
    icd = definition(tmp_path, f"limits: {limits}\n" if limits else "")
    assert is_over(EndedRun.model_validate({"state": "stopped", **ended}), icd, meant) is over


@pytest.mark.parametrize("name", ["../exclusions.txt", "removed.jsonl", "removing.json"])
def test_where_nobody_can_say_what_must_not_be_fetched_a_crawl_that_is_over_stays_as_it_is(
    name: str, tmp_path: Path
) -> None:
    icd = definition(tmp_path)
    root = a_crawl(icd)
    (root / name).write_text("two words\n")
    before = contents(root)
    with pytest.raises(CrawlRefusedError, match=Path(name).name.replace(".", r"\.")):
        CrawlFolder.open(icd)
    with pytest.raises(CrawlRefusedError, match=Path(name).name.replace(".", r"\.")):
        CrawlFolder.join(icd, 2, datetime(2020, 1, 1, tzinfo=UTC))
    assert contents(root) == before
    assert not (root / "former").exists()
