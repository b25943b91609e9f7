"""Workers that share a server: who fetches what, who joins, who leaves, who is killed."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import copy2, copytree
from signal import SIGKILL

import pytest

from aahcrawler.crawl.cluster.submission import submit
from aahcrawler.frontier.redis.registry import Server, connected
from aahcrawler.frontier.registry import CrawlState
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.crawl.articles import article, english, path
from tests.crawl.crawling import PATIENT, Running, aah, rows, running, summary, until
from tests.crawl.gate import Gate
from tests.crawl.site import Reply, Site, links, serving
from tests.crawl.verifying import assert_counts, assert_whole

ICD = """\
id: {name}
contact: test@example.org
seeds: {seeds}
topic: {{keywords: [harbour, flood, dike, storm surge]}}
politeness: {{delay: 0, delay_factor: 0, timeout: 10 min}}
scope: {{sites: seeds}}
network: {{allow_private: true, resolve: {resolve}}}
"""
HASTY = "from aahcrawler import cli, crawls; crawls.lease_seconds = lambda icd: 20.0; cli.main()"
"""Runs ``aah`` with leases that run out soon."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with EmbeddedServer(tmp_path / "server") as embedded, connected(embedded.url) as server:
        yield server


class World:
    """Sites by their hosts, each on a loopback address of its own."""

    def __init__(self, sites: dict[str, Site]) -> None:
        self.sites = sites

    @property
    def fetched(self) -> list[tuple[str, str]]:
        """Host and path of every request, in no order, robots.txt apart."""
        return [(host, at) for host, site in self.sites.items() for at in site.paths()]

    def define(self, folder: Path, name: str, *hosts: str) -> Path:
        """Write a definition that crawls some of the hosts."""
        file = folder / f"{name}.yaml"
        resolve = {host: f"127.0.0.{number + 2}:{site.port}" for number, (host, site) in enumerate(self.sites.items())}
        seeds = json.dumps([f"http://{host}/" for host in hosts])
        file.write_text(ICD.format(name=name, seeds=seeds, resolve=json.dumps(resolve)), "utf-8")
        return file


@contextmanager
def world(hosts: int, pages: int, gate: Gate, pause: float = 0.0) -> Iterator[World]:
    """Serve some hosts; each has a front page, and articles that link to one another. All pages pass the gate."""
    sites = {f"site{number}.test": site_of(f"site{number}.test", pages, gate, pause) for number in range(hosts)}
    with ExitStack() as stack:
        for number, site in enumerate(sites.values()):
            stack.enter_context(serving(site, f"127.0.0.{number + 2}"))
        yield World(sites)


def site_of(host: str, pages: int, gate: Gate, pause: float) -> Site:
    site = Site()
    replies = {"/": english("Floods", links(path(1), path(2)))}
    for here in range(1, pages):
        near = [to for to in (2 * here + 1, 2 * here + 2) if to < pages]
        replies[path(here)] = article(here, "/", *map(path, near))
    for at, reply in replies.items():
        body = reply.body.replace(b"</body>", f"<p>{host} {at}</p></body>".encode())
        site.pages[at] = gate.holding(Reply(body, reply.status, reply.headers, pause))
    return site


def submitted(server: Server, *files: Path) -> None:
    for file in files:
        submit(file, server.address, server.registry, server.presence)


@contextmanager
def worker(server: Server, folder: Path, *more: str, code: str = "") -> Iterator[Running]:
    with running("worker", "--redis", server.address, "--folder", folder, *more, code=code) as process:
        yield process


def states(server: Server) -> dict[str, CrawlState]:
    return {crawl.id: crawl.state for crawl in server.registry.crawls()}


def fetched_by(server: Server) -> dict[str, str]:
    """Return which worker logged each page."""
    return {
        event.message.partition(" ")[0]: event.worker
        for _, event in server.events.read()
        if event.subsystem == "crawl.response.handler" and " 200 " in event.message
    }


def test_two_workers_of_one_folder_share_two_crawls(server: Server, tmp_path: Path) -> None:
    gate = Gate()
    with world(4, 8, gate, pause=0.05) as there:
        submitted(server, there.define(tmp_path, "a", "site0.test", "site1.test", "site2.test"))
        submitted(server, there.define(tmp_path, "b", "site3.test", "site2.test"))
        here, what = tmp_path / "here", ("--until-finished", "--at-once", "2")
        with worker(server, here, *what) as ann, worker(server, here, *what) as bob:
            until(lambda: gate.held > 2 or not ann.runs or not bob.runs)  # More than one of them alone asks for.
            gate.open()
            ended = [each.ended() for each in (ann, bob)]
        assert [each.code for each in ended] == [0, 0], [each.err for each in ended]
        asked = Counter(there.fetched)
        assert set(asked.values()) == {1, 2}
        assert {host for (host, _), times in asked.items() if times == 2} == {"site2.test"}, "it is of both crawls"
        assert {site.busiest[host] for host, site in there.sites.items()} == {1}
    assert len(set(fetched_by(server).values())) == 2
    for name, pages in (("a", 24), ("b", 16)):
        assert_whole(here / name)
        assert_counts(here / name)
        assert summary(here / name)["pages"] == pages
        assert summary(here / name)["state"] == "finished"
        assert len(rows(here / name)) == pages
        index = (here / name / "indexes" / "index.cdxj").read_text("utf-8")
        assert len([line for line in index.splitlines() if "robots.txt" not in line]) == pages
        assert (here / name / "report.html").exists()
        log = (here / name / "crawl.log").read_text("utf-8")
        own, other = ("site0.test", "site3.test") if name == "a" else ("site3.test", "site0.test")
        assert f"http://{own}/ 200" in log
        assert other not in log, "the events of each crawl are in its own log"
    assert set(states(server).values()) == {CrawlState.ENDED}
    assert server.presence.workers() == ()
    assert {event.crawl for _, event in server.events.read()} == {"", "a", "b"}


def test_a_killed_workers_urls_are_fetched_by_one_that_has_joined(server: Server, tmp_path: Path) -> None:
    gate = Gate()
    with world(6, 6, gate, pause=0.1) as there:
        submitted(server, there.define(tmp_path, "a", *there.sites))
        with worker(server, tmp_path / "ann", "--at-once", "1", code=HASTY) as ann:
            ann.until(lambda: gate.held == 1)
            with worker(server, tmp_path / "bob", "--until-finished", "--at-once", "1", code=HASTY) as bob:
                bob.until(lambda: gate.held == 2 or not ann.runs)
                gate.let_pass()
                bob.until(lambda: (len(set(fetched_by(server).values())) == 2 and gate.held == 2) or not ann.runs)
                ann.kill()
                assert ann.ended().code == -SIGKILL
                gate.open()
                ended = bob.ended()
        assert ended.code == 0, ended.err
        asked = Counter(there.fetched)
        assert len(asked) == 36
        assert sum(asked.values()) <= 36 + 1, "what the killed one was fetching is fetched again"
        assert {site.busiest[host] for host, site in there.sites.items()} == {1}
    assert len(set(fetched_by(server).values())) == 2, "both took part"
    assert summary(tmp_path / "bob" / "a")["pages"] == 36
    assert_brought_together([tmp_path / name / "a" for name in ("bob", "ann")], tmp_path / "all", set(asked))


def assert_brought_together(folders: list[Path], whole: Path, pages: set[tuple[str, str]]) -> None:
    """See that folders of several machines become one by copying, as the documentation says."""
    copytree(folders[0], whole)
    for folder in folders[1:]:
        for part in ("archive", "objects", "scores"):
            for file in (folder / part).iterdir():
                assert not (whole / part / file.name).exists()
                copy2(file, whole / part / file.name)
    mended = aah("archive", "repair", whole)
    assert mended.code == 0, mended.err
    checked = aah("archive", "check", whole)
    assert checked.code == 0, checked.out
    assert {row["url"] for row in rows(whole)} == {f"http://{host}{at}" for host, at in pages}


def test_workers_leave_in_good_order_and_go_on(server: Server, tmp_path: Path) -> None:
    gate = Gate(free=4)
    with world(2, 12, gate, pause=0.2) as there:
        sent = aah("submit", there.define(tmp_path, "a", *there.sites), "--redis", server.address)
        assert (sent.code, sent.out) == (0, "a: crawl 1 is active\n"), sent.err
        with worker(server, tmp_path / "here", code=PATIENT) as ann:
            ann.until(lambda: gate.held > 0 and any(each.crawls for each in server.presence.workers()))
            ann.interrupt()
            gate.open()
            ended = ann.ended()
        assert ended.code == 0, ended.err
        assert states(server) == {"a": CrawlState.ACTIVE}
        assert server.presence.workers() == ()
        listed = aah("crawls", "--redis", server.address).out
        assert listed.startswith("a  crawl 1, version 1: active, ")
        assert listed.endswith(" queued, 0 leased, 0 workers\n")
        assert summary(tmp_path / "here" / "a")["state"] == "stopped"
        ended = aah("worker", "--redis", server.address, "--folder", tmp_path / "here", "--until-finished")
        assert ended.code == 0, ended.err
        assert len(there.fetched) == len(set(there.fetched)) == 24
    assert_whole(tmp_path / "here" / "a")
    assert_counts(tmp_path / "here" / "a")


def test_one_display_tells_what_a_crew_waits_for(tmp_path: Path) -> None:
    with world(1, 3, Gate(free=9)) as there:
        icd = there.define(tmp_path, "a", *there.sites)
        text = icd.read_text("utf-8").replace("delay: 0,", "delay: 10 min, robots: ignore,")
        icd.write_text(f"{text}output: {json.dumps(str(tmp_path / 'a'))}\n", "utf-8")
        (site,) = there.sites
        with running("crawl", icd, "--workers", "2") as supervisor:
            lines = iter(supervisor.process.stderr.readline, "")
            until(lambda: _tells(next(lines, ""), f"now: next fetch from {site} in ", "; pages: 1 ("))
            supervisor.interrupt()
            ended = supervisor.ended()
    assert ended.code == 0, ended.err


def _tells(line: str, *said: str) -> bool:
    """Return whether a line of the display says all of that: a worker that has just begun does not say it yet."""
    return all(each in line for each in said)


def test_a_crew_of_two_crawls_as_one_does(tmp_path: Path) -> None:
    gate = Gate(free=6)
    with world(3, 6, gate, pause=0.1) as there:
        icd = there.define(tmp_path, "a", *there.sites)
        icd.write_text(f"{icd.read_text('utf-8')}output: {json.dumps(str(tmp_path / 'a'))}\n", "utf-8")
        with running("crawl", icd, "--workers", "2") as supervisor:
            supervisor.until(lambda: gate.held > 0)
            supervisor.interrupt()
            gate.open()
            ended = supervisor.ended()
        assert ended.code == 0, ended.err
        assert "stopped; the same command goes on from here" in ended.err
        assert summary(tmp_path / "a")["state"] == "stopped"
        ended = aah("crawl", icd, "--workers", "2")
        assert ended.code == 0, ended.err
        assert ended.err.splitlines()[-1].startswith(f"{tmp_path / 'a'}: 18 pages, 15 web objects; finished. See ")
        asked = Counter(there.fetched)
        assert len(asked) == 18
        assert sum(asked.values()) <= 18 + 3, "what is not answered soon after the end is asked for again"
        assert_whole(tmp_path / "a")
        assert_counts(tmp_path / "a")
        again = aah("crawl", icd)
        assert again.code == 0, again.err
        assert "crawl 2 begun anew, knowing 18 pages" in again.err
    assert (summary(tmp_path / "a")["state"], summary(tmp_path / "a")["pages"]) == ("finished", 18)
    assert summary(tmp_path / "a")["unchanged"] == 18
