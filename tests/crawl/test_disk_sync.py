import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.crawl.health.disk_space import synced
from aahcrawler.segments import SegmentWriter, Series
from tests.crawl.crawling import until


class Store:
    def __init__(self) -> None:
        self.threads: set[int] = set()

    def sync(self) -> None:
        self.threads.add(threading.get_ident())


def test_stores_are_synced_in_a_thread_of_its_own_until_the_end() -> None:
    first, second = Store(), Store()
    with synced(first, second, every=0.01):
        until(lambda: bool(second.threads))
    assert first.threads == second.threads
    assert threading.get_ident() not in first.threads


@pytest.fixture
def fsyncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    made: list[int] = []
    original: Callable[[int], None] = os.fsync

    def fsync(descriptor: int) -> None:
        made.append(descriptor)
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return made


def test_a_segment_is_forced_to_disk_once_for_what_was_appended(tmp_path: Path, fsyncs: list[int]) -> None:
    writer = SegmentWriter(Series(tmp_path, "crawl", "txt.gz"), lambda: datetime(2026, 1, 1, tzinfo=UTC))
    writer.sync()
    assert fsyncs == []
    writer.append((b"a",))
    writer.sync()
    writer.sync()
    assert len(fsyncs) == 1
    writer.append((b"b",))
    writer.sync()
    assert len(fsyncs) == 2
    writer.close()
    writer.sync()
