import os
from pathlib import Path
from typing import BinaryIO

import pytest

from online_analysis.private_cache import FOLDER, cached


class Making:
    """Writes a content and counts how often."""

    def __init__(self, content: bytes = b"content") -> None:
        self.content = content
        self.times = 0

    def __call__(self, file: BinaryIO) -> None:
        self.times += 1
        file.write(self.content)


def read(file: BinaryIO) -> bytes:
    with file:
        found = file.read()
    if found.startswith(b"broken"):
        raise ValueError(found)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / FOLDER


def test_what_was_written_once_is_read_by_later_ones_and_by_this_user_alone(folder: Path) -> None:
    making = Making()
    assert [cached("thing", "1", making, read) for _ in range(3)] == [b"content"] * 3
    assert making.times == 1
    (kept,) = folder.iterdir()
    assert (kept.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)


def test_another_digest_has_it_made_anew_and_removes_the_old_file_and_no_other(folder: Path) -> None:
    cached("thing", "1", Making(), read)
    cached("thing-more", "1", Making(), read)
    assert cached("thing", "2", Making(b"new"), read) == b"new"
    assert sorted(path.name for path in folder.iterdir()) == ["thing-more.1", "thing.2"]


def test_a_file_that_its_reader_cannot_use_is_made_anew(folder: Path) -> None:
    making = Making()
    cached("thing", "1", making, read)
    (folder / "thing.1").write_bytes(b"broken")
    assert [cached("thing", "1", making, read) for _ in range(2)] == [b"content"] * 2
    assert making.times == 2


def test_a_writer_that_fails_leaves_nothing_behind(folder: Path) -> None:
    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached("thing", "1", fail, read)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_a_folder_that_others_can_look_into_is_left_alone(folder: Path, mode: int) -> None:
    folder.mkdir(parents=True)
    folder.chmod(mode)
    making = Making()
    assert [cached("thing", "1", making, read) for _ in range(2)] == [b"content"] * 2
    assert making.times == 2
    assert list(folder.iterdir()) == []


def test_a_folder_elsewhere_that_a_link_leads_to_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.parent.mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert cached("thing", "1", Making(), read) == b"content"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_that_others_may_have_written_is_not_read(folder: Path, tmp_path: Path) -> None:
    cached("thing", "1", Making(), read)
    path = folder / "thing.1"
    path.write_bytes(b"theirs")
    path.chmod(0o666)
    assert cached("thing", "1", Making(), read) == b"content"
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    (tmp_path / "theirs").write_bytes(b"theirs")
    path.symlink_to(tmp_path / "theirs")
    assert cached("thing", "1", Making(), read) == b"content"
    assert not path.is_symlink()
    path.unlink()
    os.mkfifo(path, 0o600)
    assert cached("thing", "1", Making(), read) == b"content"


def test_without_a_place_for_the_folder_it_is_made_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    making = Making()
    assert [cached("thing", "1", making, read) for _ in range(2)] == [b"content"] * 2
    assert making.times == 2
