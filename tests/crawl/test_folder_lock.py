"""Who may be in a crawl's folder with whom."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from aahcrawler.crawl.directory.crawl_runs import FolderLock
from aahcrawler.layout import LOCK


@pytest.fixture
def three(tmp_path: Path) -> Iterator[tuple[FolderLock, FolderLock, FolderLock]]:
    each = FolderLock(tmp_path), FolderLock(tmp_path), FolderLock(tmp_path)
    yield each
    for one in each:
        one.release()


def test_one_alone_lets_others_in_and_nobody_is_alone_then(
    three: tuple[FolderLock, FolderLock, FolderLock], tmp_path: Path
) -> None:
    ann, bob, cid = three
    assert ann.take_exclusive()
    assert not bob.take_exclusive()
    assert not bob.take_shared()
    assert ann.take_shared()
    assert bob.take_shared()
    assert not cid.take_exclusive()
    with pytest.raises(Timeout):  # What offline commands take.
        FileLock(tmp_path / LOCK, timeout=0).acquire()
    ann.release()
    assert not cid.take_exclusive()
    bob.release()
    assert cid.take_exclusive()


def test_one_keeps_the_folder_and_another_after_it(three: tuple[FolderLock, FolderLock, FolderLock]) -> None:
    ann, bob, _ = three
    assert (ann.take_shared(), bob.take_shared()) == (True, True)
    assert (ann.become_keeper(), bob.become_keeper(), ann.become_keeper()) == (True, False, True)
    assert (ann.keeps, bob.keeps) == (True, False)
    ann.release()
    assert bob.become_keeper()


def test_who_steps_out_still_keeps(three: tuple[FolderLock, FolderLock, FolderLock]) -> None:
    ann, bob, _ = three
    assert ann.take_exclusive()
    assert ann.become_keeper()
    ann.unlock()
    assert bob.take_exclusive()
    assert not bob.become_keeper()
    assert ann.keeps
