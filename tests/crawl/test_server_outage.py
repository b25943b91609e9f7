"""The frontier's server goes away, or refuses to serve, while a crawl runs."""

import asyncio
import logging
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
from redis import Redis

from aahcrawler.crawl.health import outages
from aahcrawler.crawl.health.outages import ServerOutage
from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.crawl.lease.lease_source import LeaseRenewer, LeaseSource
from aahcrawler.frontier.protocol import FrontierAwayError, FrontierUnavailableError, Lease
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.server_process import served_at
from tests.crawl.articles import article_site
from tests.crawl.crawling import Running, aah, running, summary, until, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Site, serving
from tests.crawl.verifying import assert_counts, assert_whole

PAGES = 40
IMPATIENT = """
from aahcrawler import cli
from aahcrawler.crawl.health import outages

outages.SILENCE = outages.GRACE = 1.0
cli.main()
"""
"""Runs ``aah`` so that it soon notices a server that does not answer."""


class Calls:
    """A server that is away for the first calls, and what was done to it, in order."""

    def __init__(self, away: int) -> None:
        self.away = away
        self.done: list[str] = []

    def make(self, name: str) -> str:
        if self.away:
            self.away -= 1
            raise FrontierAwayError(f"away for {name}")
        self.done.append(name)
        return name

    def mend(self) -> None:
        self.done.append("mended")


@pytest.fixture(autouse=True)
def _briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "FIRST_SERVER_REST", 0.01)
    monkeypatch.setattr(outages, "SILENCE", 0.1)
    monkeypatch.setattr(outages, "GRACE", 0.1)


def test_calls_wait_in_their_order_and_the_pause_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    calls = Calls(away=3)
    server_outage = ServerOutage(calls.mend)
    told: list[str] = []
    server_outage.changed.append(lambda: told.append(server_outage.why))

    async def crawl() -> list[str]:
        executor = FrontierExecutor(server_outage=server_outage)
        answers = await asyncio.gather(*(executor.call(calls.make, name) for name in "abc"))
        executor.close()
        return answers

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(crawl()) == ["a", "b", "c"]
    assert calls.done == ["mended", "mended", "mended", "a", "b", "c"]
    assert told == ["away for a", ""]
    assert [record.getMessage().partition(" after")[0] for record in caplog.records] == [
        "paused: away for a",
        "the frontier's server is back",
    ]


def test_a_crawl_that_ends_makes_one_more_try_and_no_other() -> None:
    calls = Calls(away=100)
    server_outage = ServerOutage(calls.mend)
    server_outage.give_up()
    for name in "ab":
        with pytest.raises(FrontierAwayError, match="away for a"):
            server_outage.retry(partial(calls.make, name))
    assert calls.away == 98
    assert calls.done == ["mended"]


def test_what_waiting_does_not_mend_is_raised_at_once() -> None:
    def refuse() -> None:
        raise FrontierUnavailableError("wrong password")

    server_outage = ServerOutage()
    with pytest.raises(FrontierUnavailableError, match="wrong password"):
        server_outage.retry(refuse)
    assert server_outage.why == ""

    beyond_repair = ServerOutage(refuse)
    with pytest.raises(FrontierUnavailableError, match="wrong password"):
        beyond_repair.retry(lambda: Calls(1).make("a"))


def test_a_server_that_does_not_answer_is_told_and_cut_off_when_the_crawl_ends() -> None:
    answered = threading.Event()
    server_outage = ServerOutage(cut=answered.set)
    errors: list[Exception] = []

    def wait() -> None:
        try:
            server_outage.retry(lambda: answered.wait() and 1 // 0)
        except FrontierAwayError as error:
            errors.append(error)

    call = threading.Thread(target=wait)
    call.start()

    def looked(condition: Callable[[], bool]) -> bool:
        server_outage.look()
        return condition()

    until(lambda: looked(lambda: server_outage.why == outages.SILENT))
    assert not answered.is_set()
    server_outage.give_up()
    until(lambda: looked(answered.is_set))
    call.join()
    assert str(errors) == str([FrontierAwayError(outages.SILENT)])
    with pytest.raises(FrontierAwayError):
        server_outage.retry(lambda: None)


# Leases


def lease(number: int) -> Lease:
    return Lease(f"http://a.test/{number}", "a.test", 0.5, 0, "page", "", 1, "1-1")


class Ledger:
    """A frontier with some leases that share a connection, of which some are lost when they are renewed."""

    def __init__(self, lost: Sequence[int] = ()) -> None:
        self.lost = [lease(number).url for number in lost]
        self.renewals: list[int] = []

    def lease(self, _: str, n: int) -> tuple[Lease, ...]:
        return tuple(lease(number) for number in range(n))

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        self.renewals.append(len(leases))
        return tuple(each.url not in self.lost for each in leases)

    def next_ready(self) -> None:
        return None

    def release(self, leases: Sequence[Lease]) -> None:
        """Take leases back."""


def sources(ledger: Ledger, executor: FrontierExecutor, now: Callable[[], float]) -> LeaseSource:
    source = LeaseSource(ledger, executor, "worker", 4)  # type: ignore[arg-type]
    source.clock = now
    source.renewed((), (), now())
    return source


def test_a_lease_is_asked_about_after_the_worker_was_held_up_and_not_used_when_it_was_lost() -> None:
    ledger, time_now = Ledger(lost=(0, 2)), [time.monotonic()]

    async def crawl() -> list[str]:
        executor = FrontierExecutor()
        source = sources(ledger, executor, lambda: time_now[0])
        seen: list[str] = []
        async for each in source:
            if len(seen) == 0:
                assert await source.holds(each)
                assert ledger.renewals == []
                time_now[0] += 16
            seen.append(f"{each.url[-1]} {await source.holds(each)}")
            source.finished(each)
            if len(seen) == 3:
                source.stop()
        executor.close()
        return seen

    assert asyncio.run(crawl())[:3] == ["0 False", "1 True", "3 True"]
    assert ledger.renewals == [4]


def test_leases_are_renewed_while_the_event_loop_is_held_up() -> None:
    ledger = Ledger(lost=(1,))

    async def crawl() -> list[Lease]:
        executor = FrontierExecutor()
        source = sources(ledger, executor, time.monotonic)
        await anext(aiter(source))
        keeper = LeaseRenewer(ledger, source, every=0.05)  # type: ignore[arg-type]
        keeper.start()
        until(lambda: len(ledger.renewals) >= 2)  # Nothing else runs in the loop meanwhile.
        await asyncio.sleep(0)
        keeper.close()
        executor.close()
        return list(source.leases)

    assert asyncio.run(crawl()) == [lease(0), lease(2), lease(3)]


# Whole crawls


@contextmanager
def crawling(icd: Path, server: EmbeddedServer) -> Iterator[Running]:
    with running("crawl", icd, environment={**os.environ, REDIS_URL: server.url}) as crawler:
        yield crawler


def kill(server: EmbeddedServer) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: server.pid is None)


def is_paused(crawl: Path, why: str) -> bool:
    """Whether it pauses for this reason; that a server takes long to answer is another one."""
    found = summary(crawl) if (crawl / "crawl.json").exists() else {"state": ""}
    return found["state"] == "paused" and why in found["reason"]


def assert_everything_once(site: Site, crawl: Path) -> None:
    assert Counter(Counter(site.paths()).values()) == {1: PAGES + 1}
    assert_whole(crawl)
    assert_counts(crawl)


def test_a_crawl_waits_for_its_server_and_asks_for_nothing_twice(tmp_path: Path) -> None:
    crawl, gate = tmp_path / "crawl", Gate(free=8)
    with serving(article_site(PAGES, gate=gate)) as site, EmbeddedServer(tmp_path / "server") as server:
        icd = write_icd(tmp_path, site.url)
        with crawling(icd, server) as crawler:
            crawler.until(lambda: gate.held > 0)
            Redis.from_url(server.url).script_flush()
            gate.let_pass(5)
            crawler.until(lambda: gate.held > 0)
            kill(server)
            gate.open()
            crawler.until(lambda: is_paused(crawl, "cannot be reached"))
            asked = len(site.paths())
            with pytest.raises(AssertionError, match="did not come to pass"):
                until(lambda: len(site.paths()) > asked + 1, 1.0)
            server.revive()
            ended = crawler.ended()
        assert ended.code == 0, ended.err
        assert_everything_once(site, crawl)
    log = (crawl / "crawl.log").read_text("utf-8")
    told = [
        line.partition(" crawl.health.outages ")[2]
        for line in log.splitlines()
        if " WARNING crawl.health.outages " in line
    ]
    (begun,) = (n for n, said in enumerate(told) if said.startswith("paused: the frontier's server cannot be reached"))
    assert told[begun + 1].startswith("the frontier's server is back after")


def test_sigterm_ends_a_crawl_in_good_order_while_its_server_is_away(tmp_path: Path) -> None:
    crawl, gate = tmp_path / "crawl", Gate(free=8)
    with (
        serving(article_site(PAGES, gate=gate)) as site,
        EmbeddedServer(tmp_path / "server") as server,
        crawling(write_icd(tmp_path, site.url), server) as crawler,
    ):
        crawler.until(lambda: gate.held > 0)
        kill(server)
        gate.open()
        crawler.until(lambda: is_paused(crawl, "cannot be reached"))
        crawler.process.terminate()
        ended = crawler.ended()
    assert (ended.code, summary(crawl)["state"]) == (1, "stopped")
    assert "stopped: the frontier's server cannot be reached" in ended.err
    assert_whole(crawl)


@pytest.mark.parametrize("command", ["crawl", "worker"])
def test_sigterm_ends_a_crawl_in_good_order_while_its_server_does_not_answer(command: str, tmp_path: Path) -> None:
    gate = Gate(free=8)
    with serving(article_site(PAGES, gate=gate)) as site, EmbeddedServer(tmp_path / "server") as server:
        icd = write_icd(tmp_path, site.url)
        crawl = tmp_path / "crawl" if command == "crawl" else tmp_path / "test"
        what: list[str | Path] = ["crawl", icd]
        if command == "worker":
            assert aah("submit", icd, "--redis", server.url).code == 0
            what = ["worker", "--redis", server.url, "--folder", tmp_path]
        with running(*what, environment={**os.environ, REDIS_URL: server.url}, code=IMPATIENT) as crawler:
            crawler.until(lambda: gate.held > 0)
            assert server.pid is not None
            os.kill(server.pid, signal.SIGSTOP)
            gate.open()
            try:
                crawler.until(lambda: is_paused(crawl, "does not answer"))
                crawler.process.terminate()
                ended = crawler.ended()
            finally:
                os.kill(server.pid, signal.SIGCONT)
    assert (ended.code, summary(crawl)["state"]) == (1, "stopped")
    assert "Traceback" not in ended.err
    if command == "crawl":
        assert_whole(crawl)


def test_a_server_that_is_out_of_memory_ends_a_crawl_which_goes_on_later(tmp_path: Path) -> None:
    crawl, gate = tmp_path / "crawl", Gate(free=8)
    with serving(article_site(PAGES, gate=gate)) as site:
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd) as crawler:
            crawler.until(lambda: gate.held > 0)
            address = served_at(crawl / "frontier")
            assert address is not None
            with closing(connect(address)) as operator:
                operator.config_set("maxmemory", 1)
            gate.open()
            ended = crawler.ended()
        assert ended.code == 1
        assert "stopped: the frontier's server has used up its memory (maxmemory); give it more" in ended.err
        again = aah("crawl", icd)
        assert again.code == 0, again.err
        assert set(site.paths()) == set(site.pages)
        assert sum(Counter(site.paths()).values()) <= PAGES + 2
    assert_whole(crawl)
    assert_counts(crawl)


def test_a_server_with_another_password_ends_a_crawl(tmp_path: Path) -> None:
    gate = Gate(free=8)
    with (
        serving(article_site(PAGES, gate=gate)) as site,
        EmbeddedServer(tmp_path / "server") as server,
        crawling(write_icd(tmp_path, site.url), server) as crawler,
        closing(connect(server.url)) as operator,
    ):
        crawler.until(lambda: gate.held > 0)
        operator.config_set("requirepass", "another")
        operator.client_kill_filter(_type="normal", skipme=True)
        gate.open()
        ended = crawler.ended()
    assert (ended.code, summary(tmp_path / "crawl")["state"]) == (1, "stopped")
    assert "stopped: the frontier's server accepts no user name and password" in ended.err
    assert_whole(tmp_path / "crawl")


def test_a_crawl_whose_frontier_was_damaged_goes_on_and_says_what_it_lost(tmp_path: Path) -> None:
    crawl, gate = tmp_path / "crawl", Gate(free=8)
    with serving(article_site(PAGES, gate=gate)) as site:
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd) as crawler:
            crawler.until(lambda: gate.held > 0)
            crawler.process.kill()
        gate.open()
        (commands,) = (crawl / "frontier" / "appendonlydir").glob("*.incr.aof")
        data = bytearray(commands.read_bytes())
        data[len(data) * 2 // 3 : len(data) * 2 // 3 + 200] = bytes(200)  # No command has them.
        commands.write_bytes(data)
        again = aah("crawl", icd)
        assert again.code == 0, again.err
        assert set(site.paths()) == set(site.pages)
    (damage,) = summary(crawl)["frontier_damage"]
    said = f"{commands.name} was damaged from byte {damage['offset']} on: {damage['bytes']} bytes were cut off and are"
    assert said in again.err
    assert said in (crawl / "crawl.log").read_text("utf-8")
    assert (crawl / "frontier" / damage["kept"]).stat().st_size == damage["bytes"]
