"""The folder of a crawl: one process at a time, one definition for ever."""

import json
from pathlib import Path

import pytest

from aahcrawler.crawl.directory.crawl_runs import write_whole
from aahcrawler.crawl.directory.folder import CrawlFolder, CrawlRefusedError
from online_analysis.icd import Icd
from tests.forking import forked

HOLD = """
import sys, time
from pathlib import Path
from aahcrawler.crawl.directory.folder import CrawlFolder
from online_analysis.icd import Icd
folder = CrawlFolder.open(Icd.load(Path(sys.argv[1])))
print("held", flush=True)
time.sleep(600)
"""


def definition(folder: Path, more: str = "", output: str = "crawl") -> Icd:
    path = folder / "icd.yaml"
    path.write_text(
        f"id: t\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {{keywords: [flood]}}\n"
        f"output: {json.dumps(str(folder / output))}\n{more}"
    )
    return Icd.load(path)


def test_it_is_made_with_all_that_is_above_it(tmp_path: Path) -> None:
    folder = CrawlFolder.open(definition(tmp_path, output="a/b/c"))
    assert folder.root == tmp_path / "a" / "b" / "c"
    assert all(part.is_dir() for part in (folder.archive, folder.objects, folder.frontier))
    folder.close()


def test_one_crawl_at_a_time(tmp_path: Path) -> None:
    icd = definition(tmp_path)
    folder = CrawlFolder.open(icd)
    with pytest.raises(CrawlRefusedError, match="another crawl is using this folder; wait"):
        CrawlFolder.open(icd)
    folder.close()
    CrawlFolder.open(icd).close()


def test_of_other_processes_too_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    icd = definition(tmp_path)
    with forked(HOLD, tmp_path / "icd.yaml") as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(CrawlRefusedError, match="another crawl"):
            CrawlFolder.open(icd)
        holder.kill()
        holder.wait()
    CrawlFolder.open(icd).close()


def test_another_definition_is_refused_unless_it_is_accepted(tmp_path: Path) -> None:
    folder = CrawlFolder.open(definition(tmp_path))
    folder.keep_definition(definition(tmp_path))
    folder.close()
    changed = definition(tmp_path, "scope: {depth: 3}\ntitle: Another\n")
    with pytest.raises(CrawlRefusedError, match=r"\(changed: scope.depth, title\).*--accept-changes"):
        CrawlFolder.open(changed)
    accepted = CrawlFolder.open(changed, accept_changes=True)
    accepted.keep_definition(changed)
    accepted.close()
    CrawlFolder.open(changed).close()


def test_what_was_refused_leaves_the_folder_free_and_as_it_was(tmp_path: Path) -> None:
    folder = CrawlFolder.open(definition(tmp_path))
    folder.keep_definition(definition(tmp_path))
    before = folder.definition.read_bytes()
    folder.close()
    with pytest.raises(CrawlRefusedError):
        CrawlFolder.open(definition(tmp_path, "scope: {depth: 3}\n"))
    assert folder.definition.read_bytes() == before
    CrawlFolder.open(definition(tmp_path)).close()


def test_the_same_definition_in_other_words_is_the_same(tmp_path: Path) -> None:
    folder = CrawlFolder.open(definition(tmp_path))
    folder.keep_definition(definition(tmp_path))
    folder.close()
    CrawlFolder.open(definition(tmp_path, "# a comment\npoliteness: {delay: 1000 ms}\n")).close()


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"id": 7}', b"\xff\xfe"])
def test_a_damaged_definition_is_no_crash(tmp_path: Path, damaged: bytes) -> None:
    folder = CrawlFolder.open(definition(tmp_path))
    folder.definition.write_bytes(damaged)
    folder.close()
    with pytest.raises(CrawlRefusedError, match="is damaged; write another output"):
        CrawlFolder.open(definition(tmp_path))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CrawlRefusedError, match="write another output in the ICD"):
        CrawlFolder.open(definition(tmp_path, output="file/crawl"))
    with pytest.raises(CrawlRefusedError, match="write another output in the ICD"):
        CrawlFolder.open(definition(tmp_path, output="file"))


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "crawl.json"
    write_whole(path, "first")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half \ud800 of it")
    assert path.read_text("utf-8") == "first"
    write_whole(path, "second")
    assert path.read_text("utf-8") == "second"
