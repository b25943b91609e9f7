"""The queue of a crawl that does not run, looked at by a service."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from aahcrawler import lending
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.frontier.protocol import FrontierUnavailableError, Offer
from aahcrawler.frontier.server.server_process import lent_at, served_at
from aahcrawler.frontiers import kept_out, server_of
from aahcrawler.layout import FRONTIER
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.catalog.gateway import Gateway, LentServers
from aahcrawler.service.web.problems import ProblemError
from online_analysis.icd import Icd
from tests.crawl.crawling import PATIENCE, aah, until
from tests.crawl.site import Site, html, serving
from tests.crawl.world import crawl, network
from tests.service.asking import begun, running

IDLE = 0.6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawl"


@pytest.fixture
def icd(folder: Path) -> Icd:
    icd = begun(folder, output=str(folder))
    with running(folder, icd) as frontier:
        frontier.offer([Offer("http://a.test/", "a.test", 0.5)])
    return icd


@pytest.fixture
def reach(folder: Path, icd: Icd) -> Iterator[CrawlRegistry]:
    assert icd.id == "test"
    reach = CrawlRegistry(Catalog([folder]), Gateway(None, IDLE))
    yield reach
    reach.close()


def test_a_crawl_at_rest_is_reached_for_as_long_as_it_is_looked_at(reach: CrawlRegistry, folder: Path) -> None:
    crawl = reach.crawl("test")
    for _ in range(2):
        with reach.frontier(crawl) as frontier:
            assert [offer.url for offer in frontier.iterate(5)] == ["http://a.test/"]
        assert lent_at(folder / FRONTIER) is not None
        assert served_at(folder / FRONTIER) is None
    until(lambda: lent_at(folder / FRONTIER) is None)
    with reach.frontier(crawl) as frontier:
        assert frontier.counts().queues == 1


def test_files_that_no_server_can_read_are_told_of_without_asking_to_try_again(
    reach: CrawlRegistry, folder: Path
) -> None:
    (base,) = (folder / FRONTIER / "appendonlydir").glob("*.base.rdb")
    base.write_bytes(b"VALKEY999")
    (folder / FRONTIER / "written-by.json").write_text('{"name": "Valkey", "version": "99.1"}', encoding="utf-8")
    with pytest.raises(ProblemError) as told, reach.frontier(reach.crawl("test")):
        pass
    assert "base.rdb was written by Valkey 99.1, and no server here can read that" in told.value.detail
    assert not told.value.headers
    assert str(folder) not in told.value.detail


def test_posts_are_not_taken_although_the_server_is_lent(reach: CrawlRegistry) -> None:
    crawl = reach.crawl("test")
    with (
        reach.frontier(crawl),
        pytest.raises(ProblemError, match="not running"),
        reach.gateway.frontier(crawl, to_post=True),
    ):
        pass


def test_one_that_is_about_to_start_is_let_go_at_once_and_not_lent_again(
    reach: CrawlRegistry, folder: Path, icd: Icd
) -> None:
    crawl = reach.crawl("test")
    with reach.frontier(crawl):
        pass
    reach.gateway.release(crawl)
    assert lent_at(folder / FRONTIER) is None
    with pytest.raises(ProblemError, match="just being started"), reach.frontier(crawl):
        pass
    with running(folder, icd), reach.frontier(crawl) as frontier:
        assert frontier.counts().queues == 1


def test_a_crawl_that_is_started_elsewhere_gets_its_folder(reach: CrawlRegistry, folder: Path, icd: Icd) -> None:
    crawl = reach.crawl("test")
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.05):
            try:
                with reach.frontier(crawl):
                    pass
            except ProblemError:
                continue

    looking = threading.Thread(target=look)
    looking.start()
    until(lambda: lent_at(folder / FRONTIER) is not None)
    opened = CrawlFolder.open(icd)
    try:
        assert opened.is_first
    finally:
        is_over.set()
        looking.join()
        opened.close()


@contextmanager
def looking(folder: Path) -> Iterator[None]:
    """Look at the queue of a crawl again and again until the block ends, as somebody's browser does."""
    reach, is_over = CrawlRegistry(Catalog([folder]), Gateway(None)), threading.Event()

    def look() -> None:
        while not is_over.wait(0.02):
            with suppress(ProblemError), reach.frontier(reach.crawl("test")) as frontier:
                frontier.counts()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        until(lambda: lent_at(folder / FRONTIER) is not None)
        yield
    finally:
        is_over.set()
        thread.join()
        reach.close()


def test_commands_that_need_the_folder_get_it_although_somebody_looks(tmp_path: Path) -> None:
    with serving(Site({"//a.test/": html("A page", "<p>Nothing.</p>")})) as site:
        reached = network(site, "a.test")
        first = crawl(tmp_path, ["http://a.test/"], network=reached)
        assert first.ended.code == 0, first.ended.err
        with looking(first.folder):
            second = crawl(tmp_path, ["http://a.test/"], network=reached)
            until(lambda: lent_at(first.folder / FRONTIER) is not None)
            checked = aah("archive", "repair", first.folder)
    assert second.ended.code == 0, second.ended.err
    assert second.summary["crawl"] == 2
    assert checked.code == 0, checked.err


def test_a_folder_is_waited_for_although_the_server_of_those_who_look_is_gone_already(folder: Path, icd: Icd) -> None:
    assert icd.output == folder
    looks, may_leave = threading.Event(), threading.Event()

    def look() -> None:
        with kept_out(folder, alone=False):
            looks.set()
            may_leave.wait(PATIENCE)

    looking = threading.Thread(target=look)
    looking.start()
    looks.wait(PATIENCE)
    assert lent_at(folder / FRONTIER) is None
    threading.Timer(0.5, may_leave.set).start()
    with kept_out(folder, alone=True):
        assert may_leave.is_set()
    looking.join()


def test_nobody_waits_for_a_folder_that_a_crawl_has(folder: Path, icd: Icd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "_PATIENCE", 3600.0)
    opened = CrawlFolder.open(icd)
    try:
        with pytest.raises(FrontierUnavailableError, match="just starting or ending"), kept_out(folder, alone=True):
            pass
    finally:
        opened.close()


def test_a_folder_is_had_when_who_looked_lets_go_just_after_the_first_attempt(tmp_path: Path) -> None:
    attempts = iter([False, True])
    assert lending.take_back(tmp_path, lambda: next(attempts))
    assert next(attempts, None) is None


def test_a_server_that_another_uses_stays(reach: CrawlRegistry, folder: Path) -> None:
    with reach.frontier(reach.crawl("test")):
        pass
    with server_of(folder) as address:
        assert address == lent_at(folder / FRONTIER)


def test_a_server_that_is_just_ending_is_lent_to_nobody(reach: CrawlRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl, ends, goes_on = reach.crawl("test"), threading.Event(), threading.Event()
    end = LentServers._end

    def slowly(self: LentServers, folder: Path, lent: object) -> None:
        ends.set()
        goes_on.wait(PATIENCE)
        end(self, folder, lent)  # type: ignore[arg-type]

    monkeypatch.setattr(LentServers, "_end", slowly)
    with reach.frontier(crawl):
        pass
    assert ends.wait(PATIENCE)
    asked: list[int] = []

    def ask() -> None:
        with reach.frontier(crawl) as frontier:
            asked.append(frontier.counts().queues)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.3)
    assert not asked, "the server that ends was asked"
    goes_on.set()
    asking.join(PATIENCE)
    assert asked == [1]
