"""The private server under what happens to processes and disks."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from redis import Redis

from aahcrawler.frontier.protocol import FrontierAwayError, FrontierSettings, FrontierUnavailableError, Offer, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server import embedded
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.file_mending import FileSync
from aahcrawler.frontier.server.server_process import Ownership, claim
from tests.crawl.crawling import PATIENCE, until
from tests.forking import forked

CRAWLER = """
import sys
from pathlib import Path
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.file_mending import FileSync
from aahcrawler.frontier.protocol import FrontierSettings, Offer
from aahcrawler.frontier.redis.frontier import RedisFrontier
folder, start = Path(sys.argv[1]), int(sys.argv[2])
with EmbeddedServer(folder) as server:
    frontier = RedisFrontier(server.url, "crawl", FrontierSettings())
    print(server.pid, flush=True)
    for i in range(start, start + 100_000):
        frontier.offer([Offer(f"http://a.test/{i}", "a.test", 0.5)])
        print(i, flush=True)
"""


def frontier_of(server: EmbeddedServer) -> RedisFrontier:
    return RedisFrontier(server.url, "crawl", FrontierSettings())


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def wait_until_gone(pid: int) -> None:
    until(lambda: gone(pid))


def crawl_until_killed(folder: Path, start: int, seconds: float, *, victim: str) -> int:
    """Return the last URL number that was acknowledged before crawler or server was killed."""
    with forked(CRAWLER, folder, start) as crawler:
        server = int(crawler.stdout.readline())
        first = crawler.stdout.readline()
        time.sleep(seconds)
        os.kill(crawler.pid if victim == "crawler" else server, signal.SIGKILL)
        lines = [line for line in (first + crawler.stdout.read()).split("\n")[:-1] if line]
    return int(lines[-1])


def test_nothing_acknowledged_is_lost_when_processes_are_killed(folder: Path) -> None:
    chance, last = random.Random(7), -1
    for victim in ("crawler", "server") * 3:
        last = crawl_until_killed(folder, last + 1, chance.uniform(0.0, 0.25), victim=victim)
    with EmbeddedServer(folder) as server:
        frontier = frontier_of(server)
        counts = frontier.counts().pages[State.QUEUED]
        assert last > 0
        assert all(frontier.state(f"http://a.test/{i}") is State.QUEUED for i in range(last + 1))
        assert counts in (last + 1, last + 2)
        frontier.close()


def test_the_file_is_forced_to_the_disk_by_the_process_that_uses_the_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    synced: list[int] = []

    def fsync(number: int) -> None:
        synced.append(os.fstat(number).st_size)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with EmbeddedServer(folder) as server, Redis.from_url(server.url) as client:
        assert client.config_get("appendfsync") == {"appendfsync": "no"}, "else it puts writing off"
        for _ in range(2):
            client.set("key", bytes(50_000))
            until(lambda: any(size > 50_000 for size in synced))
            synced.clear()
    said = "a power failure may lose more than the last second of the frontier: [Errno 5] Input/output error"
    assert [record.getMessage() for record in caplog.records] == [said]


def test_what_is_in_the_disk_is_not_forced_there_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    file_sync = FileSync(tmp_path, "a", ".2")
    file_sync.sync()
    (tmp_path / "a.1").write_bytes(b"x")
    (tmp_path / "b").write_bytes(b"x")
    file_sync.sync()
    file_sync.sync()
    assert len(synced) == 1
    (tmp_path / "a.1").write_bytes(b"xy")
    file_sync.sync()
    assert len(synced) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells a process of its parent's death")
def test_the_server_ends_with_a_killed_crawler(folder: Path) -> None:
    with forked(CRAWLER, folder, 0) as crawler:
        server = int(crawler.stdout.readline())
        crawler.kill()
    wait_until_gone(server)


def test_the_server_outlives_the_thread_that_started_it_and_ctrl_c(folder: Path) -> None:
    server = EmbeddedServer(folder)
    starter = threading.Thread(target=server.__enter__)
    starter.start()
    starter.join()
    try:
        time.sleep(0.1)
        assert server.pid is not None
        assert os.getsid(server.pid) != os.getsid(0)
        frontier_of(server).close()
    finally:
        server.stop()
    assert server.pid is None


def test_a_server_that_died_is_started_again_at_the_same_address(folder: Path) -> None:
    with EmbeddedServer(folder) as server:
        frontier, url, first = frontier_of(server), server.url, server.pid
        frontier.offer([Offer("http://a.test/", "a.test", 0.5)])
        server.revive()
        assert server.pid == first is not None
        os.kill(first, signal.SIGKILL)
        wait_until_gone(first)
        with pytest.raises(FrontierAwayError):
            frontier.counts()
        until(lambda: server.pid is None)
        server.revive()
        assert (server.url, server.pid != first) == (url, True)
        assert frontier.state("http://a.test/") is State.QUEUED
        frontier.close()
    server.revive()
    assert server.pid is None


def test_an_orphan_is_ended_before_a_new_server_starts(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.mkdir()
    socket = folder.parent / "aah-orphan" / "s"
    socket.parent.mkdir()
    code = "import time; time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code, str(socket)]) as orphan:
        claim(folder, Ownership(orphan.pid, crawler=2**22 + 1, socket=str(socket)))
        with EmbeddedServer(folder) as server:
            assert server.pid is not None
        assert orphan.wait(PATIENCE) == -signal.SIGTERM
    assert "left behind" in caplog.text
    assert not socket.parent.exists()


def test_a_process_that_only_inherited_the_number_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as stranger:
        claim(folder, Ownership(stranger.pid, crawler=2**22 + 1, socket="/nowhere/aah-x/s"))
        with EmbeddedServer(folder):
            assert stranger.poll() is None
        stranger.kill()


def test_a_folder_in_use_is_refused(folder: Path) -> None:
    with EmbeddedServer(folder) as first:
        with pytest.raises(FrontierUnavailableError, match="in use by another crawl"), EmbeddedServer(folder):
            pass
        frontier_of(first).close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FrontierUnavailableError, match="cannot be started in"), EmbeddedServer(tmp_path / "file" / "x"):
        pass


def test_only_this_user_reaches_a_socket_of_bearable_length(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    with EmbeddedServer(folder) as server:
        socket = Path(server.url.removeprefix("unix://"))
        assert len(os.fsencode(socket)) <= embedded._SOCKET_BYTES
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        assert not (Path.cwd() / "frontier.log").exists()
    assert not socket.parent.exists()
    assert not (folder / "server.json").exists()
