"""A crawl whose processes are killed at random points, and the same command after each end."""

import json
import os
import random
import re
import signal
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.crawl.startup.store_opening import FrontierConnection
from aahcrawler.crawls import frontier_name, frontier_settings
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.wire.admission import machine
from online_analysis.icd import Icd
from tests.crawl.articles import article_site
from tests.crawl.crawling import EndedRun, Running, aah, rows, running, summary, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Site, html, serving
from tests.crawl.verifying import archived, assert_counts, assert_whole
from tests.crawl.world import define, network

PAGES = 110
PAUSE = 0.1
CONNECTIONS = 4
ICD = """\
id: killed
contact: test@example.org
seeds: {seeds}
topic: {{keywords: [harbour, flood, dike, storm surge]}}
politeness: {{delay: 0, delay_factor: 0, timeout: 10 min, connections: 4}}
network: {{allow_private: true}}
traps: {{pages: 0, duplicates: follow, soft_404: ignore}}
output: {output}
"""
GZIP_MAGIC = b"\x1f\x8b\x08"


@dataclass(frozen=True, slots=True)
class Server:
    """The frontier's server of a crawl that runs."""

    pid: int
    socket: Path


def server_of(crawl: Path) -> Server:
    known = json.loads((crawl / "frontier" / "server.json").read_text("utf-8"))
    return Server(known["server"], Path(known["socket"]))


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class Rounds:
    """Rounds of one crawl; each is begun by the same command."""

    def __init__(self, site: Site, gate: Gate, folder: Path, seed: int) -> None:
        self.icd = write_icd(folder, site.url, text=ICD)
        self.crawl = folder / "crawl"
        self.site = site
        self.gate = gate
        self.chance = random.Random(seed)
        self.sockets: list[Path] = []
        self.begun: list[int] = []

    def kill(self, after: int = 1, within: float = 0.5, servers: int = 0, *, both: bool = False) -> EndedRun:
        """Begin a round, kill the crawler some time after it asked for some pages, and wait for its end.

        Before that its server is killed some times, and with ``both`` together with it. It gets so few pages that many
        are left for the rounds to come, however late it is killed.
        """
        asked = len(self.site.paths())
        self.begun.append(asked)
        self.gate.let_pass(after + 3 * CONNECTIONS)
        with running("crawl", self.icd) as crawler:
            crawler.until(lambda: len(self.site.paths()) >= asked + after)
            for _ in range(servers):
                self._outlive_server(crawler)
            time.sleep(self.chance.uniform(0, within))
            server = server_of(self.crawl)
            self.sockets.append(server.socket)
            if both:
                crawler.process.send_signal(signal.SIGSTOP)  # It is to see nothing of its server's end.
                os.kill(server.pid, signal.SIGKILL)
            crawler.kill()
            return crawler.ended()

    def _outlive_server(self, crawler: Running) -> None:
        """Kill the server, and wait until the crawler goes on with another one."""
        time.sleep(self.chance.uniform(0, 0.2))
        os.kill(server_of(self.crawl).pid, signal.SIGKILL)
        asked = len(self.site.paths())
        self.gate.let_pass(3 * CONNECTIONS)
        crawler.until(lambda: len(self.site.paths()) > asked + CONNECTIONS)

    def kill_early(self) -> EndedRun:
        """Begin a round and kill the crawler while it opens its stores."""
        self.begun.append(len(self.site.paths()))
        self.gate.let_pass(CONNECTIONS)
        with running("crawl", self.icd) as crawler:
            lock = self.crawl / "frontier" / "server.json"
            held = lock.stat().st_mtime_ns if lock.exists() else 0
            crawler.until(lambda: lock.exists() and lock.stat().st_mtime_ns != held)
            time.sleep(self.chance.uniform(0, 0.05))
            self.sockets.append(server_of(self.crawl).socket)
            crawler.kill()
            return crawler.ended()

    def finish(self) -> EndedRun:
        self.begun.append(len(self.site.paths()))
        self.gate.open()
        return aah("crawl", self.icd)


def assert_nothing_lost(rounds: Rounds, site: Site) -> None:
    """Every page is captured, and those of the rounds' ends only more than once."""
    pages = Counter(row["url"] for row in rows(rounds.crawl))
    everything = {site.url.rstrip("/") + path for path in site.pages}
    assert set(pages) == everything
    assert {row["status"] for row in rows(rounds.crawl)} == {200}
    asked = Counter(site.paths())
    again = sum(asked.values()) - len(asked)
    kills = len(rounds.begun) - 1
    assert again <= CONNECTIONS * kills
    for path, times in asked.items():
        url = site.url.rstrip("/") + path
        assert pages[url] <= archived(rounds.crawl)[url] <= times
    assert_repeats_were_in_flight(rounds, site)


def assert_repeats_were_in_flight(rounds: Rounds, site: Site) -> None:
    """Of each round only what it asked for last, while leases were out, was asked for again."""
    paths = site.paths()
    for begin, end in zip(rounds.begun, rounds.begun[1:], strict=False):
        repeated = set(paths[begin:end]) & set(paths[end:])
        assert len(repeated) <= CONNECTIONS
        assert repeated <= set(paths[begin:end][-2 * CONNECTIONS :])


def tear(crawl: Path) -> list[Path]:
    """Let each open segment end as a process leaves it that dies while it writes."""
    torn = [*crawl.glob("archive/*.open"), *crawl.glob("objects/*.open")]
    for path in torn:
        content = path.read_bytes()
        begin = content.rindex(GZIP_MAGIC)
        with path.open("ab") as file:
            file.write(content[begin : begin + (len(content) - begin) // 2])
    return torn


def test_nothing_is_lost_whatever_is_killed_and_whenever(tmp_path: Path) -> None:
    gate = Gate()
    with serving(article_site(PAGES, PAUSE, gate)) as site:
        rounds = Rounds(site, gate, tmp_path, seed=1)
        assert rounds.kill().code == -signal.SIGKILL
        assert rounds.kill(after=2 * CONNECTIONS, servers=2).code == -signal.SIGKILL
        torn = tear(rounds.crawl)
        assert len(torn) == 2
        assert rounds.kill(both=True).code == -signal.SIGKILL
        rounds.kill_early()
        assert len(set(site.paths())) < len(site.pages), "much is left to be done"
        ended = rounds.finish()
        assert ended.code == 0, ended.err
        assert_nothing_lost(rounds, site)
    assert_whole(rounds.crawl)
    assert_counts(rounds.crawl)
    assert summary(rounds.crawl)["state"] == "finished"
    log = (rounds.crawl / "crawl.log").read_text("utf-8")
    for path in torn:
        assert re.search(rf"WARNING .*{re.escape(path.stem)}: a torn end of [1-9]\d* bytes was cut off", log)
    assert "URLs were being fetched when the crawl ended; they are queued again" in log
    assert len(re.findall("has died .*; starting it again", log)) == 2
    assert [socket for socket in rounds.sockets if socket.parent.exists()] == []


DELAY = 60.0


def test_a_site_is_left_in_peace_after_a_kill_while_it_was_asked(tmp_path: Path) -> None:
    """Nothing has been answered yet: all that is known of the site's pause was said before it was asked."""
    gate = Gate()
    with serving(Site(other=gate.holding(html("Page")))) as site:
        icd = define(tmp_path, ["http://a.test/"], politeness={"delay": f"{DELAY} s"}, network=network(site, "a.test"))
        with running("crawl", icd) as crawler:
            crawler.until(lambda: gate.held > 0)
            os.kill(server_of(tmp_path / "crawl").pid, signal.SIGKILL)
            crawler.kill()
            crawler.ended()
        gate.open()
        known = Icd.load(icd)
        with ExitStack() as opening:
            server = opening.enter_context(EmbeddedServer(tmp_path / "crawl" / "frontier"))
            frontier = RedisControl(connect(server.url), frontier_name(known.id, 1), frontier_settings(known))
            opening.callback(frontier.close)
            assert frontier.recover() == 1
            assert 0.9 * DELAY < (frontier.next_ready() or 0) <= DELAY
            locks = FrontierConnection(frontier, server.url, is_shared=False).ip_locks(opening)
            assert locks.claim(machine("127.0.0.1", site.port), "next", DELAY, 600.0) > 0.9 * DELAY
