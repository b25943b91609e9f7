"""Who may be in a crawl's folder with whom."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from aahcrawler.crawl.directory.folder_lock import LOCK, Occupancy


@pytest.fixture
def three(tmp_path: Path) -> Iterator[tuple[Occupancy, Occupancy, Occupancy]]:
    each = Occupancy(tmp_path), Occupancy(tmp_path), Occupancy(tmp_path)
    yield each
    for one in each:
        one.leave()


def test_one_alone_lets_others_in_and_nobody_is_alone_then(
    three: tuple[Occupancy, Occupancy, Occupancy], tmp_path: Path
) -> None:
    ann, bob, cid = three
    assert ann.alone()
    assert not bob.alone()
    assert not bob.together()
    assert ann.together()
    assert bob.together()
    assert not cid.alone()
    with pytest.raises(Timeout):  # What offline commands take.
        FileLock(tmp_path / LOCK, timeout=0).acquire()
    ann.leave()
    assert not cid.alone()
    bob.leave()
    assert cid.alone()


def test_one_keeps_the_folder_and_another_after_it(three: tuple[Occupancy, Occupancy, Occupancy]) -> None:
    ann, bob, _ = three
    assert (ann.together(), bob.together()) == (True, True)
    assert (ann.keep(), bob.keep(), ann.keep()) == (True, False, True)
    assert (ann.keeps, bob.keeps) == (True, False)
    ann.leave()
    assert bob.keep()


def test_who_steps_out_still_keeps(three: tuple[Occupancy, Occupancy, Occupancy]) -> None:
    ann, bob, _ = three
    assert ann.alone()
    assert ann.keep()
    ann.step_out()
    assert bob.alone()
    assert not bob.keep()
    assert ann.keeps
