"""The history against a dictionary: whatever is written, cut, removed, killed or opened again, both know the same."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from aahcrawler.archive.history import Former, History, HistoryRecord
from aahcrawler.archive.scanning import scan
from aahcrawler.exchange import Truncation
from aahcrawler.layout import HISTORY
from aahcrawler.metadata import Metadata
from tests.archive.test_history import EMPTY, Crawled

URLS = [f"http://{host}.test/{path}" for host in "ab" for path in "xyz"]
HEADS = [b"200 OK", b'200 OK\r\nETag: "1"', b"404 Not Found", b"503 Busy", b"301 Moved"]


@dataclass
class Version:
    """What one address held; ``order`` is that of coming to be known."""

    kept: HistoryRecord
    order: int
    seen: datetime
    etag: str
    crawl: int
    told: HistoryRecord | None
    own: bool

    @property
    def rank(self) -> tuple[int, datetime, int]:
        good = (200 <= self.kept.status < 300) * (1 + self.kept.complete)
        return good, self.seen, self.order


class Model:
    """What is known, as a list for each address."""

    def __init__(self) -> None:
        self.versions: dict[str, list[Version]] = {}
        self.count = 0

    def add(self, kept: HistoryRecord) -> None:
        url, capture = kept.capture.url, kept.capture
        self.count += 1
        if not capture.revisit:
            self.put(url, Version(kept, self.count, capture.date, kept.etag, kept.crawl, told(kept), own=True))
            return
        same = [each for each in self.versions.get(url, []) if each.kept.digest == kept.digest]
        same = [each for each in same if kept.status in {304, each.kept.status}]
        if same:
            self.renew(max(same, key=lambda each: (each.seen, each.order)), kept)
        elif kept.status != 304 and self.holder(kept.digest) is not None:
            self.put(url, Version(kept, self.count, capture.date, kept.etag, kept.crawl, told(kept), own=False))

    def put(self, url: str, version: Version) -> None:
        self.versions.setdefault(url, []).append(version)

    def renew(self, version: Version, kept: HistoryRecord) -> None:
        if kept.capture.date < version.seen:
            return
        version.seen, version.crawl, version.etag = kept.capture.date, kept.crawl, kept.etag or version.etag
        if kept.capture.metadata_offset is not None:
            version.told = kept

    def holder(self, digest: bytes) -> Version | None:
        """Return the first complete version whose own record holds a payload."""
        all_versions = (each for versions in self.versions.values() for each in versions)
        holders = [each for each in all_versions if each.own and each.kept.complete and each.kept.digest == digest]
        return None if digest == EMPTY else min(holders, key=lambda each: each.order, default=None)

    def forget(self, file: str) -> None:
        for url, versions in self.versions.items():
            self.versions[url] = [each for each in versions if each.kept.capture.file != file]
            for each in self.versions[url]:
                if each.told is not None and each.told.capture.file == file:
                    each.told = replace(each.told, capture=replace(each.told.capture, metadata_offset=None))

    def known(self, url: str) -> tuple[object, ...] | None:
        versions = self.versions.get(url)
        if not versions:
            return None
        best = max(versions, key=lambda each: each.rank)
        holder = best if best.own else self.holder(best.kept.digest)
        if holder is None:
            return None
        said = best.told.capture.metadata_offset if best.told is not None else None
        return (
            *(holder.kept.capture.record_id, holder.kept.capture.url, holder.kept.capture.file),
            *(holder.kept.capture.offset, best.kept.digest, best.kept.status, best.kept.complete),
            *(best.etag, best.crawl, best.seen, said),
            *((best.told.kind, best.told.priority) if best.told is not None else ("requisite", None)),
        )


def told(kept: HistoryRecord) -> HistoryRecord | None:
    return kept if kept.kind == "page" else None


def shown(former: Former | None) -> tuple[object, ...] | None:
    if former is None:
        return None
    return (
        *(former.record_id, former.original_url, former.file, former.offset, former.digest, former.status),
        *(former.complete, former.etag, former.crawl, former.last_seen, former.metadata_offset),
        *(former.kind, former.priority),
    )


class HistoryMachine(RuleBasedStateMachine):
    """Crawls, and what people and accidents do to the files between them."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.crawled = Crawled(self.root)
        self.model = Model()
        self.written: list[HistoryRecord] = []

    def teardown(self) -> None:
        self.crawled.close()
        shutil.rmtree(self.root)

    def take(self, kept: HistoryRecord) -> None:
        self.written.append(kept)
        self.model.add(kept)

    @rule(
        url=st.sampled_from(URLS),
        body=st.sampled_from([b"", b"1", b"2", b"3"]),
        head=st.sampled_from(HEADS),
        priority=st.none() | st.sampled_from([0.25, 0.5]),
        truncated=st.booleans(),
    )
    def answer(self, url: str, body: bytes, head: bytes, priority: float | None, truncated: bool) -> None:
        understood = None if priority is None else Metadata(priority=priority)
        cut = Truncation.LENGTH if truncated else None
        self.take(self.crawled.write(url, body, head, understood=understood, truncated=cut))

    @rule(url=st.sampled_from(URLS), priority=st.none() | st.sampled_from([0.75, 1.0]), renewed=st.booleans())
    def not_modified(self, url: str, priority: float | None, renewed: bool) -> None:
        former = self.crawled.history.former(url)
        if former is not None:
            understood = None if priority is None else Metadata(priority=priority)
            head = b'304 Not Modified\r\nETag: "2"' if renewed else b"304 Not Modified"
            self.take(self.crawled.write(url, b"", head, understood=understood, former=former))

    @rule()
    def begin_a_file(self) -> None:
        self.crawled.rotate()
        self.crawled.number += 1

    @rule(killed=st.booleans())
    def open_again(self, killed: bool) -> None:
        if killed:
            self.crawled.ledger.abandon()
        else:
            self.crawled.history.close()
        self.crawled.open()

    @rule()
    def make_anew(self) -> None:
        self.crawled.history.close()
        for path in self.crawled.folder.glob(f"{HISTORY}*"):
            path.unlink()
        self.crawled.open()
        self.model = Model()
        for kept in sorted(self.written, key=lambda each: (each.capture.file, each.capture.offset)):
            self.model.add(kept)

    @precondition(lambda self: self.written)
    @rule(which=st.integers(0, 99))
    def remove_a_file(self, which: int) -> None:
        self.crawled.close()
        files = sorted({kept.capture.file for kept in self.written})
        gone = files[which % len(files)]
        (self.crawled.archive / gone).unlink()
        self.written = [kept for kept in self.written if kept.capture.file != gone]
        self.model.forget(gone)
        self.crawled.open()

    @precondition(lambda self: self.written)
    @rule(which=st.integers(0, 99), part=st.floats(0.5, 1))
    def cut_a_file(self, which: int, part: float) -> None:
        self.crawled.close()
        files = sorted({kept.capture.file for kept in self.written})
        file = files[which % len(files)]
        path = self.crawled.archive / file
        with path.open("rb") as whole:
            ends = {record.offset: record.offset + record.size for record in scan(whole)}
        size = int(path.stat().st_size * part)
        os.truncate(path, size)
        here = sorted(
            (kept for kept in self.written if kept.capture.file == file), key=lambda kept: kept.capture.offset
        )
        left = [cut for kept in here if (cut := cut_to(kept, ends, size)) is not None]
        self.written = [kept for kept in self.written if kept.capture.file != file] + left
        if not left or places(left[-1]) != places(here[-1]):
            self.model.forget(file)
            for kept in left:
                self.model.add(kept)
        self.crawled.open()

    @rule()
    def read_beside(self) -> None:
        with History(self.crawled.archive, self.crawled.folder, beside=True) as beside:
            assert self.of(beside) == self.of(self.crawled.history)

    @invariant()
    def both_know_the_same(self) -> None:
        assert self.of(self.crawled.history) == [self.model.known(url) for url in URLS]
        pages = {former.url for former in self.crawled.history.pages()}
        formers = [self.crawled.history.former(url) for url in URLS]
        assert pages == {each.url for each in formers if each and each.kind == "page" and 200 <= each.status < 300}

    def of(self, history: History) -> Sequence[object]:
        formers = [history.former(url) for url in URLS]
        for former in formers:
            assert former is None or history.is_readable(former)
            assert former is None or (former.metadata_offset is None) == (history.metadata(former) is None)
        return [shown(former) for former in formers]


def places(kept: HistoryRecord) -> tuple[int, int | None]:
    return kept.capture.offset, kept.capture.metadata_offset


def cut_to(kept: HistoryRecord, ends: dict[int, int], size: int) -> HistoryRecord | None:
    """Return what is left of a capture where its file ends earlier, None for nothing."""
    capture = kept.capture
    if ends[capture.offset] > size:
        return None
    if kept.status == 304 and capture.revisit:
        # The last of its records holds its head.
        begins = [other for other in ends if other > capture.offset]
        apart = begins[bool(capture.metadata_offset) + 1]
        kept = kept if ends[apart] <= size else replace(kept, etag="")
    if capture.metadata_offset is None or ends[capture.metadata_offset] <= size:
        return kept
    bare = replace(capture, metadata_offset=None)
    return replace(kept, capture=bare, kind="requisite", priority=None, score=None, relevant=None)


TestHistory = HistoryMachine.TestCase
