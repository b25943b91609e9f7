"""A crawl whose disk is full, or nearly: it pauses, loses nothing, and goes on by itself."""

import asyncio
import errno
import os
import resource
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.crawl.core.stores import CrawlContext, Stores
from aahcrawler.crawl.directory.crawl_runs import FolderLock
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.crawl.health.disk_space import DiskSpace
from aahcrawler.crawl.health.outages import is_full
from aahcrawler.crawl.startup.job import Job, JobOptions, assemble
from aahcrawler.frontier.protocol import (
    Counts,
    FrontierFullError,
    FrontierUnavailableError,
    Lease,
    QueueCounts,
    State,
)
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.scope import Scope
from aahcrawler.segments import DiskFullError, SegmentError
from aahcrawler.wire.errors import SpoolError
from online_analysis.icd import Icd
from tests import skipping
from tests.crawl.articles import article_site
from tests.crawl.crawling import PATIENCE, EndedRun, aah, rows, running, summary, until, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Site, serving
from tests.crawl.verifying import assert_counts, assert_whole
from tests.forking import Forked, forked

GB = 10**9


@dataclass
class Disk:
    """A disk of which a test says how much is free."""

    free: int = GB
    total: int = 100 * GB
    broken: bool = False

    def measure(self, folder: Path) -> "Disk":
        assert folder.name == "crawl"
        if self.broken:
            raise OSError(errno.EIO, "is gone")
        return self


def room_on(disk: Disk, reserve: int | None = None, ending: asyncio.Event | None = None) -> DiskSpace:
    return DiskSpace((Path("crawl"),), reserve, ending or asyncio.Event(), disk.measure)


def test_it_pauses_below_the_reserve_and_goes_on_well_above_it(caplog: pytest.LogCaptureFixture) -> None:
    disk = Disk()
    disk_space = room_on(disk, 100_000_000)
    states: list[bool] = []
    disk_space.changed.append(lambda: states.append(disk_space.is_short))
    for free in (100_000_000, 99_999_999, 100_000_000, 124_999_999, 125_000_000, 100_000_000):
        disk.free = free
        disk_space.look()
    assert states == [True, False]
    assert not disk_space.is_short
    assert disk_space.why == ""
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == [
        "paused: 100.0 MB are free in crawl and archive.reserve keeps 100.0 MB",
        "the disk has space again, the crawl goes on",
    ]


@pytest.mark.parametrize(
    ("reserve", "total", "kept"),
    [(None, 100 * GB, 256_000_000), (None, GB, 30_000_000), (0, GB, 0), (2 * GB, GB, 2 * GB), (500, GB, 500)],
)
def test_what_is_kept_by_default_is_a_small_part_of_a_small_disk(reserve: int | None, total: int, kept: int) -> None:
    disk = Disk(kept, total)
    disk_space = room_on(disk, reserve)
    disk_space.look()
    assert not disk_space.is_short
    disk.free = max(0, kept - 1)
    disk_space.look()
    assert disk_space.is_short == bool(kept)


def test_a_disk_that_cannot_be_measured_pauses_nothing() -> None:
    disk = Disk(0)
    disk_space = room_on(disk)
    disk_space.look()
    assert "make room" in disk_space.why
    disk.broken = True
    disk_space.look()
    assert not disk_space.is_short


@dataclass
class Write:
    """A write that is refused some times before it is made."""

    refusals: list[Exception]
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    made: int = 0

    async def __call__(self) -> str:
        self.made += 1
        if self.refusals:
            raise self.refusals.pop(0)
        return "written"


@pytest.mark.parametrize("error", [DiskFullError("no space"), FrontierFullError("MISCONF"), OSError(errno.EDQUOT, "")])
def test_a_refused_write_pauses_until_it_is_made(error: Exception) -> None:
    async def crawl() -> None:
        disk_space = room_on(Disk())
        write = Write([error, error])
        written = asyncio.create_task(disk_space.retry(write))
        await asyncio.sleep(0.05)
        assert disk_space.is_short
        assert disk_space.why == str(error)
        assert await written == "written"
        assert write.made == 3
        assert not disk_space.is_short

    skipping.run(crawl())


def test_a_refused_write_is_not_tried_while_nothing_is_free_and_at_once_when_there_is_room() -> None:
    async def crawl() -> None:
        disk = Disk(0)
        disk_space = room_on(disk)
        write = Write([DiskFullError("no space")] * 2)
        written = asyncio.create_task(disk_space.retry(write))
        await asyncio.sleep(100.5)
        assert write.made == 1
        disk.free = GB
        await asyncio.sleep(1)
        assert write.made == 2
        assert await asyncio.wait_for(written, 3) == "written"

    skipping.run(crawl())


def test_other_errors_and_those_of_a_crawl_that_ends_are_raised_at_once() -> None:
    async def crawl() -> None:
        ending = asyncio.Event()
        disk_space = room_on(Disk(), ending=ending)
        for error in (SegmentError("read-only"), FrontierUnavailableError("gone"), OSError(errno.EROFS, "")):
            with pytest.raises(type(error)):
                await disk_space.retry(Write([error]))
        waiting = asyncio.create_task(disk_space.retry(Write([DiskFullError("no space")] * 100)))
        await asyncio.sleep(0.05)
        ending.set()
        with pytest.raises(DiskFullError):
            await asyncio.wait_for(waiting, 1)
        assert not disk_space.is_short

    skipping.run(crawl())


def test_a_spool_that_is_full_is_told_from_one_that_is_broken() -> None:
    full, broken = SpoolError("full"), SpoolError("broken")
    full.__cause__, broken.__cause__ = OSError(errno.ENOSPC, ""), OSError(errno.EIO, "")
    assert is_full(full)
    assert not is_full(broken)


# A job and its response handler


@dataclass
class Books:
    """A frontier and an object store that note what is done with them."""

    done: list[str] = field(default_factory=list)
    refusals: int = 0

    def write(self, *_: object) -> None:
        if self.refusals:
            self.refusals -= 1
            raise DiskFullError("no space is left for triples")
        self.done.append("described")

    def release(self, leases: Sequence[Lease], **_: object) -> None:
        self.done += [f"released {lease.url}" for lease in leases]

    def retry(self, lease: Lease, _: object) -> State:
        self.done.append(f"retried {lease.url}")
        return State.QUEUED

    def count(self, _: object) -> None:
        """Keep no counts."""

    def stats(self) -> Mapping[str, float]:
        return {}

    def queue_counts(self) -> Mapping[str, QueueCounts]:
        return {}

    def counts(self) -> Counts:
        return Counts({}, {}, 0)


DEFINITION = "id: t\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {keywords: [flood]}\narchive: {reserve: 1 MB}\n"
LEASE = Lease("http://a.test/b", "a.test", 0.5, 1, "page", "", attempt=1, token="1-1")  # noqa: S106


def job_with(books: Books, disk: Disk, folder: Path) -> Job:
    icd = Icd.parse(DEFINITION.encode())
    anything: Any = books
    root = folder / "crawl"
    root.mkdir()
    stores = Stores(CrawlFolder(root, FolderLock(root)), *(anything,) * 5, ExitStack())
    options = JobOptions(measure=lambda _: disk)
    return assemble(CrawlContext(icd, lambda: anything, (), Scope(icd)), stores, options=options)


@pytest.mark.parametrize(("free", "least", "most"), [(0, 0.0, 0.0), (GB, 1.0, 60.0)])
def test_time_stands_still_while_a_crawl_pauses(free: int, least: float, most: float, tmp_path: Path) -> None:
    async def crawl() -> None:
        job = job_with(Books(), Disk(free), tmp_path)
        async with job.lifecycle.running():
            await asyncio.sleep(1.3)
        assert least <= job.lifecycle.seconds <= most
        if not free:
            assert state_of(tmp_path / "crawl") == "paused"
            assert "archive.reserve keeps 1.0 MB" in reason_of(tmp_path / "crawl")

    asyncio.run(crawl())


def test_the_last_word_of_a_crawl_waits_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals, write = [OSError(errno.ENOSPC, "full")], CrawlFolder.write_summary

    def write_later(folder: CrawlFolder, said: dict[str, object]) -> None:
        if refusals:
            raise refusals.pop()
        write(folder, said)

    async def crawl() -> None:
        job = job_with(Books(), Disk(), tmp_path)
        await job.lifecycle.save("finished")

    monkeypatch.setattr(CrawlFolder, "write_summary", write_later)
    asyncio.run(crawl())
    assert state_of(tmp_path / "crawl") == "finished"


def test_triples_wait_for_room(tmp_path: Path) -> None:
    books = Books(refusals=1)

    async def crawl() -> None:
        job = job_with(books, Disk(), tmp_path)
        await job.writer.describe(CaptureDescription("urn:uuid:1", "http://a.test/", 200, datetime.now(UTC)))
        assert not job.writer.disk_space.is_short

    asyncio.run(crawl())
    assert books.done == ["described"]


@pytest.mark.parametrize(("free", "done"), [(0, "released http://a.test/b"), (GB, "retried http://a.test/b")])
def test_an_answer_that_could_not_be_kept_is_fetched_again(free: int, done: str, tmp_path: Path) -> None:
    """Where one answer alone is too large for the room there is, the attempt counts."""
    books = Books()
    error = SpoolError("no room for the answer")
    error.__cause__ = OSError(errno.ENOSPC, "")

    async def crawl() -> None:
        job = job_with(books, Disk(free), tmp_path)
        await job.handler.ending.on_error(LEASE, error)
        assert job.lifecycle.failure is None

    asyncio.run(crawl())
    assert books.done == [done]


# Whole crawls


def is_paused(crawl: Path, why: str) -> bool:
    return state_of(crawl) == "paused" and why in reason_of(crawl)


def state_of(crawl: Path) -> str:
    return str(summary(crawl)["state"]) if (crawl / "crawl.json").exists() else ""


def reason_of(crawl: Path) -> str:
    return str(summary(crawl)["reason"])


def assert_everything_once(site: Site, crawl: Path, pages: int) -> None:
    assert Counter(Counter(site.paths()).values()) == {1: pages + 1}
    assert set(Counter(row["url"] for row in rows(crawl)).values()) == {1}
    assert_whole(crawl)
    assert_counts(crawl)


def limit_files(pid: int, size: int) -> None:
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


def limit_archive(pid: int, crawl: Path) -> Path:
    (growing,) = (crawl / "archive").glob("*.open")
    limit_files(pid, growing.stat().st_size + 1000)
    return growing


def test_a_crawl_that_may_write_no_more_pauses_and_goes_on(tmp_path: Path) -> None:
    crawl, gate = tmp_path / "crawl", Gate(free=8)
    with serving(article_site(30, gate=gate)) as site:
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd) as crawler:
            crawler.until(lambda: gate.held > 0)
            growing = limit_archive(crawler.process.pid, crawl)
            gate.open()
            crawler.until(lambda: is_paused(crawl, f"no space is left for {growing.stem}"))
            asked = len(site.paths())
            with pytest.raises(AssertionError, match="did not come to pass"):
                until(lambda: len(site.paths()) > asked, 1.5)
            limit_files(crawler.process.pid, resource.RLIM_INFINITY)
            ended = crawler.ended()
        assert ended.code == 0, ended.err
        assert_everything_once(site, crawl, 30)
    found = summary(crawl)
    assert (found["state"], found["reason"]) == ("finished", "finished")


def test_ctrl_c_ends_a_crawl_that_pauses_and_gives_back_what_it_holds(tmp_path: Path) -> None:
    crawl, gate = tmp_path / "crawl", Gate(free=8)
    with serving(article_site(30, gate=gate)) as site:
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd) as crawler:
            crawler.until(lambda: gate.held > 0)
            limit_archive(crawler.process.pid, crawl)
            gate.open()
            crawler.until(lambda: is_paused(crawl, "no space is left"))
            crawler.interrupt()
            ended = crawler.ended()
        assert ended.code == 0, ended.err
        assert "stopped; the same command goes on from here" in ended.err
        assert summary(crawl)["frontier"]["pages_leased"] == 0
        again = aah("crawl", icd)
        assert again.code == 0, again.err
        assert "fetched when the crawl ended" not in (crawl / "crawl.log").read_text("utf-8")
        # The page that could not be kept is fetched once more.
        assert Counter(Counter(site.paths()).values()) == {1: 30, 2: 1}
    assert set(Counter(row["url"] for row in rows(crawl)).values()) == {1}
    assert_whole(crawl)
    assert_counts(crawl)


ON_A_DISK = """
import ctypes, os, shutil, sys
from pathlib import Path

disk, definition, kept = sys.argv[1:]
user, group = os.getuid(), os.getgid()
libc = ctypes.CDLL(None)
if libc.unshare(0x10000000 | 0x20000):  # CLONE_NEWUSER, CLONE_NEWNS
    sys.exit(9)
for name, text in ("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1"):
    Path("/proc/self", name).write_text(text)
if libc.mount(b"tmpfs", disk.encode(), b"tmpfs", 0, b"size=24m"):
    sys.exit(9)
if definition:
    from aahcrawler import cli

    sys.argv = ["aah", "crawl", definition]
    try:
        cli.main()
    finally:
        shutil.copytree(Path(disk, "crawl"), kept)
"""
"""Crawls on a file system of a few megabytes, which only this process sees; without a definition it is only made."""


@cache
def can_mount() -> bool:
    """Whether this user may have small file systems of his own."""
    with forked(ON_A_DISK, "/mnt", "", "") as process:
        return process.wait() == 0


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A crawl that runs on a file system of a few megabytes; its folder is copied to ``kept`` at its end."""

    process: Forked
    folder: Path
    kept: Path

    @property
    def crawl(self) -> Path:
        """The crawl's folder while it runs."""
        return self.folder / "crawl"

    def until(self, condition: Callable[[], bool]) -> None:
        until(lambda: condition() or self.process.poll() is not None)
        assert self.process.poll() is None

    def leave(self, size: int) -> None:
        """Fill the disk up to so many bytes."""
        with suppress(OSError), (self.folder / "ballast").open("wb", buffering=0) as ballast:
            free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
            ballast.write(bytes(max(0, free - size)))

    def clear(self) -> None:
        (self.folder / "ballast").unlink()

    def ended(self) -> EndedRun:
        out, err = self.process.communicate(timeout=PATIENCE)
        return EndedRun(self.process.returncode, out, err)


@contextmanager
def on_small_disk(tmp_path: Path, url: str, more: str) -> Iterator[SmallDisk]:
    mounted = tmp_path / "disk"
    mounted.mkdir()
    icd = write_icd(tmp_path, url, more=more)
    icd.write_text(icd.read_text("utf-8").replace(str(tmp_path / "crawl"), str(mounted / "crawl")), "utf-8")
    with forked(ON_A_DISK, mounted, icd, tmp_path / "kept") as process:
        seen_from_outside = Path(f"/proc/{process.pid}/root{mounted}")
        try:
            yield SmallDisk(process, seen_from_outside, tmp_path / "kept")
        finally:
            process.kill()


@pytest.fixture
def needs_a_disk() -> None:
    if not can_mount():
        pytest.skip("this user may not mount file systems")


@pytest.mark.usefixtures("needs_a_disk")
def test_a_crawl_leaves_its_reserve_free(tmp_path: Path) -> None:
    with (
        serving(article_site(40, gate=(gate := Gate(free=8)))) as site,
        on_small_disk(tmp_path, site.url, "archive: {reserve: 4 MB}\n") as disk,
    ):
        disk.until(lambda: gate.held > 0)
        disk.leave(3_000_000)
        disk.until(lambda: is_paused(disk.crawl, "archive.reserve keeps 4.0 MB"))
        gate.open()
        disk.clear()
        ended = disk.ended()
        assert ended.code == 0, ended.err
        assert_everything_once(site, disk.kept, 40)
        log = (disk.kept / "crawl.log").read_text("utf-8")
        assert log.count(" crawl.health.disk_space paused: ") == 1
        assert log.count("the disk has space again") == 1


@pytest.mark.usefixtures("needs_a_disk")
def test_a_disk_without_a_byte_left_loses_nothing(tmp_path: Path) -> None:
    with (
        serving(article_site(40, gate=(gate := Gate(free=8)))) as site,
        on_small_disk(tmp_path, site.url, "archive: {reserve: 0}\n") as disk,
    ):
        disk.until(lambda: gate.held > 0)
        disk.leave(0)
        gate.open()
        # Neither WARC files nor the frontier's own file can grow now, and crawl.json cannot be written either.
        disk.until(lambda: "AOF" in (disk.crawl / "frontier" / "frontier.log").read_text("utf-8"))
        asked = -1
        while asked != len(site.paths()):
            asked = len(site.paths())
            with pytest.raises(AssertionError, match="did not come to pass"):
                until(lambda: disk.process.poll() is not None, 2)
        assert asked < 40
        disk.clear()
        ended = disk.ended()
        assert ended.code == 0, ended.err
        assert_everything_once(site, disk.kept, 40)
        assert "AOF" in (disk.kept / "frontier" / "frontier.log").read_text("utf-8")
