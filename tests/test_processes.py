"""Tests that run in several processes: all of them are told of, whatever becomes of them."""

from pathlib import Path
from textwrap import dedent

from tests.crawl.crawling import PATIENCE, EndedRun
from tests.forking import forked

RUN = """
import sys
import pytest
from tests import collecting, processes

sys.exit(pytest.main(sys.argv[1:], plugins=[collecting, processes]))
"""


def ran(folder: Path, *options: str, **files: str) -> EndedRun:
    """Run files of tests in two processes."""
    for name, code in files.items():
        (folder / f"test_{name}.py").write_text(dedent(code), "utf-8")
    options = (*options, "--processes=2", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(folder))
    with forked(RUN, *options, folder) as process:
        out, err = process.communicate(PATIENCE)
        return EndedRun(process.returncode, out, err)


def test_all_is_told_of_and_what_a_file_shares_is_made_once(tmp_path: Path) -> None:
    sharing = """
    import os
    import pytest

    @pytest.fixture(scope="module")
    def shared(tmp_path_factory):
        yield tmp_path_factory.mktemp("shared")
        print("shared no more")

    @pytest.mark.parametrize("number", range(3))
    def test_it(shared, number):
        (shared / str(number)).touch()
        assert len(list(shared.iterdir())) == number + 1
        print("written by", os.getpid())
        assert number < 2
    """
    skipping = """
    import pytest

    def test_nothing(capfd):
        print("heard")
        assert capfd.readouterr().out == "heard\\n"
        pytest.skip("there is nothing")
    """
    ended = ran(tmp_path, "-rs", first=sharing, second=sharing, third=skipping)
    assert ended.code == 1, ended
    assert "2 failed, 4 passed, 1 skipped" in ended.out
    assert "there is nothing" in ended.out
    assert ended.out.count("shared no more") == 2
    assert len({line for line in ended.out.splitlines() if line.startswith("written by")}) == 2


def test_the_files_of_a_folder_are_run_by_one_process_as_long_as_there_are_others(tmp_path: Path) -> None:
    code = """
    import os
    from pathlib import Path

    def test_it():
        Path(__file__).with_suffix(".pid").write_text(str(os.getpid()))
    """
    for folder, count in (("first", 3), ("second", 2)):
        (tmp_path / folder).mkdir()
        for number in range(count):
            (tmp_path / folder / f"test_{folder}_{number}.py").write_text(dedent(code), "utf-8")
    ended = ran(tmp_path)
    assert "5 passed" in ended.out, ended
    first, second = (
        [path.read_text() for path in sorted((tmp_path / folder).glob("*.pid"))] for folder in ("first", "second")
    )
    assert first[:2] == first[:1] * 2  # Whichever has done its own takes the last one.
    assert second == second[:1] * 2
    assert first[0] != second[0]


def test_a_process_that_ends_ends_the_run_which_names_its_test(tmp_path: Path) -> None:
    ending = """
    import os

    def test_before(): ...

    def test_the_end():
        os._exit(0)
    """
    ended = ran(tmp_path, ending=ending, other="def test_other(): ...")
    assert ended.code == 1, ended
    assert "a process of tests ended: test_ending.py::test_the_end" in ended.out + ended.err


def test_the_first_failure_ends_the_run_where_that_is_asked_for(tmp_path: Path) -> None:
    code = """
    import pytest

    @pytest.mark.parametrize("number", range(1000))
    def test_it(number):
        assert number == 0
    """
    ended = ran(tmp_path, "-x", first=code, second=code)
    assert ended.code == 1, ended
    assert "stopping after 1 failures" in ended.out
    assert "1 failed" in ended.out
