"""A browser in its sandbox, without a network, under an account of its own, that ends when it should."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from aahcrawler.browser.process.browser_process import EndCause, _ending, start_browser
from aahcrawler.browser.process.chromium_executable import (
    BrowserSettings,
    BrowserUnavailableError,
    Isolation,
    find_chromium,
)
from aahcrawler.browser.process.process_tree import descendants
from tests.browser.process.piped import ATTEMPTS, Piped, Proxy, browser
from tests.browsing import sandboxed_chromium
from tests.crawl.crawling import PATIENCE, until

pytestmark = pytest.mark.starts


@pytest.fixture(autouse=True)
def _needs_a_sandbox() -> None:
    sandboxed_chromium()


def test_every_process_that_a_page_reaches_is_in_the_sandbox_and_under_another_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AAH_SECRET", "hidden")

    async def run() -> None:
        async with browser(tmp_path) as piped:
            Proxy(piped.process)
            session = await piped.page("http://localhost/", piped.process.listeners[0])
            assert await piped.value(session, "navigator.onLine")
            folder = _folder(piped.process.pid)
            assert folder.stat().st_uid == piped.process.account
            _look_at_sandbox(piped)
            assert 50 << 20 < piped.process.memory_bytes() < 1_500_000_000
            processes = descendants(piped.process._launched.launcher.pid)
            piped.process.kill()
            ending = await piped.process.ended()
            assert ending.cause is EndCause.STOPPED
            assert not folder.exists()
            assert not [process for process in processes if _runs(process)]

    asyncio.run(run())


def test_a_browser_starts_however_long_the_path_of_its_folder_is(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a folder of a crawl that has a long name"] * 4)

    async def run() -> None:
        async with browser(deep) as piped:
            assert piped.process.version
            before = set(_sockets_folders())
            piped.process.kill()
            await piped.process.ended()
        assert len(before) == 1 + len(set(_sockets_folders()) & before)

    asyncio.run(run())
    assert not any(deep.iterdir())


def _sockets_folders() -> Iterator[Path]:
    """Yield the folders for sockets of browsers that run, which have a socket each."""
    for singleton in Path(tempfile.gettempdir()).glob("aahcrawler-browser-*/*/SingletonSocket"):
        yield singleton.parents[1]


def _look_at_sandbox(piped: Piped) -> None:
    """Look at the processes by their kind: those that read what sites send have a filter of system calls."""
    kinds, environments = {}, b""
    for process in descendants(piped.process._launched.launcher.pid):
        words = _words(process)
        assert "--no-sandbox" not in words
        kinds[next((word for word in words if word.startswith("--type=")), "browser")] = process
        assert _status(process, "Uid") == [str(piped.process.account)] * 4
        environments += Path(f"/proc/{process}/environ").read_bytes()
    assert b"HOME=" in environments
    assert b"AAH_SECRET" not in environments
    assert {"browser", "--type=renderer", "--type=gpu-process"} <= kinds.keys()
    for kind in ("--type=renderer", "--type=gpu-process"):
        assert _status(kinds[kind], "Seccomp") == ["2"], kind
        assert _status(kinds[kind], "NoNewPrivs") == ["1"], kind
        assert int(_status(kinds[kind], "CapEff")[0], 16) == 0, kind
    renderer, own = Path(f"/proc/{kinds['--type=renderer']}/ns"), Path("/proc/self/ns")
    for space in ("user", "pid", "net"):
        assert (renderer / space).readlink() != (own / space).readlink(), space
    if os.geteuid() == 0:
        assert piped.process.account != 0
        assert _status(piped.process.pid, "Groups") == []


def _status(process: int, name: str) -> list[str]:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{name}:")).split()[1:]


def _words(process: int) -> list[str]:
    """Return a command line's words. Chromium's processes write their own, with spaces in between."""
    return re.split("[\0 ]", Path(f"/proc/{process}/cmdline").read_text())


def _folder(process: int) -> Path:
    words = _words(process)
    return Path(next(word for word in words if word.startswith("--user-data-dir=")).partition("=")[2]).parent


@pytest.mark.parametrize("isolation", ["namespace", "rules"])
def test_a_page_reaches_the_listener_and_nothing_else(tmp_path: Path, isolation: Literal["namespace", "rules"]) -> None:
    async def run(tcp: socket.socket, udp: socket.socket) -> None:
        ports = {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1]}
        async with browser(tmp_path, isolation) as piped:
            listener = piped.process.listeners[0]
            proxy = Proxy(piped.process)
            session = await piped.page("http://localhost/", listener)
            tried = await piped.value(session, ATTEMPTS % {"host": "127.0.0.1", **ports})
            assert (tried["fetch"], tried["name"]) == ("done", "done")
            assert f"GET http://127.0.0.1:{ports['tcp']}/fetched HTTP/1.1" in proxy.asked
            assert "GET http://name.example.org/named HTTP/1.1" in proxy.asked
            assert all(tried[name] != "done" for name in ("websocket", "webtransport", "webrtc")), tried
            assert proxy.strangers == 0
            for unasked in (tcp.accept, lambda: udp.recv(1)):
                with pytest.raises(BlockingIOError):
                    unasked()
            _look_for_strangers(piped, isolation)

    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        tcp.setblocking(False)
        udp.setblocking(False)
        asyncio.run(run(tcp, udp))


def _look_for_strangers(piped: Piped, isolation: str) -> None:
    """Connect to a listener as somebody else: in a namespace that is impossible, else it is known."""
    listener = piped.process.listeners[1]
    address = listener.socket.getsockname()
    if isolation == "namespace":
        assert piped.process.isolation is Isolation.NAMESPACE
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)
        return
    assert piped.process.isolation is Isolation.RULES
    with socket.create_connection(address), listener.socket.accept()[0] as accepted:
        assert piped.process.may_connect(accepted.getpeername()) is (os.geteuid() == piped.process.account)
    assert not piped.process.may_connect(("127.0.0.1", 1))


def test_rules_alone_let_no_packet_out(tmp_path: Path) -> None:
    said = json.loads(_run("watched_network", tmp_path))
    assert said["control"] > 0
    assert said["others"] == []
    # No address comes late: a browser would take it for another network, and end what it loads.
    assert set(said["addresses"]) <= {"lo"}
    assert "GET http://192.0.2.9:4433/fetched HTTP/1.1" in said["asked"]


def test_nothing_is_left_when_the_crawler_is_killed(tmp_path: Path) -> None:
    sandboxed_chromium()
    command = [sys.executable, "-m", "tests.browser.process.left_alone", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as crawler:
        try:
            assert crawler.stdout is not None
            processes = json.loads(crawler.stdout.readline())
            assert len(processes) > 3
            folder = _folder(processes[1])
            assert folder.is_dir()
        finally:
            crawler.kill()
    _wait_until_gone(processes)
    assert not folder.exists()


def test_nothing_is_left_when_the_launcher_is_killed_and_the_next_start_removes_the_folder(tmp_path: Path) -> None:
    async def run() -> None:
        settings = BrowserSettings(str(sandboxed_chromium()), tmp_path)
        process = await start_browser(settings, "")
        processes = [process.pid, *descendants(process.pid)]
        folder = _folder(process.pid)
        os.kill(process._launched.launcher.pid, signal.SIGKILL)
        ending = await process.ended()
        assert ending.cause is EndCause.EXIT
        await asyncio.to_thread(_wait_until_gone, processes)
        assert folder.is_dir()
        for end in process.pipe:
            os.close(end)
        async with browser(tmp_path):
            assert not folder.exists()

    asyncio.run(run())


def _wait_until_gone(processes: list[int]) -> None:
    until(lambda: not any(map(_runs, processes)))


def _runs(process: int) -> bool:
    with contextlib.suppress(OSError):
        return _status(process, "State")[0] != "Z"
    return False


def test_of_a_browser_that_takes_too_much_memory_the_largest_page_is_ended_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with browser(tmp_path, memory_bytes=600 << 20) as piped:
            Proxy(piped.process)
            session = await piped.page("http://localhost/", piped.process.listeners[0])
            grow = "for (let i = 0; i < 1000; i++) kept.push(new Uint8Array(1 << 20).fill(i))"
            await piped.value(session, f"const kept = []; setTimeout(() => {{ {grow} }}, 0); 1")
            async with asyncio.timeout(60):
                while "MiB of memory, with which the browser had more than it may, and was ended" not in caplog.text:
                    assert (await piped.ask("Browser.getVersion"))["product"] == piped.process.version

    asyncio.run(run())


def test_who_waits_for_a_browser_is_told_that_it_took_too_much_memory() -> None:
    ending = _ending({"ended": "memory", "bytes": 1_600 << 20})
    assert ending.cause is EndCause.MEMORY
    assert "1600 MiB of memory, more than it may" in ending.text


def test_what_is_no_browser_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(BrowserUnavailableError, match="apt-get install chromium"):
        find_chromium(environment={"PATH": str(tmp_path)})
    with pytest.raises(BrowserUnavailableError, match="nowhere is no executable"):
        find_chromium(environment={"PATH": str(tmp_path), "AAH_CHROMIUM": "nowhere"})
    for executable, said in _no_browsers(tmp_path):
        with pytest.raises(BrowserUnavailableError, match=said):
            asyncio.run(start_browser(BrowserSettings(executable, tmp_path), ""))


def test_a_browser_that_is_killed_while_it_starts_is_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)  # The browser runs under another account.
        begun = Path(place) / "begun"
        kill = f"for n in 1 2; do /bin/mkdir {place}/$n 2>/dev/null && kill -9 $$; done"
        begun.write_text(f'#!/bin/sh\n{kill}\nexec {find_chromium(str(sandboxed_chromium()))} "$@"\n')
        begun.chmod(0o755)

        async def run() -> None:
            process = await start_browser(BrowserSettings(str(begun), tmp_path), "")
            assert process.version.startswith("Chrome/")
            process.kill()
            await process.ended()
            for end in process.pipe:
                os.close(end)

        asyncio.run(run())
    assert caplog.text.count("was ended by signal 9. It is started again.") == 2


def _no_browsers(folder: Path) -> Iterator[tuple[str, str]]:
    yield "true", r"true is no browser, or does not work here: it ended by itself \(status 0\)"
    yield "cat", r"cat is no browser.*status 1.*unrecognized option"
    nothing = folder / "nothing"
    nothing.write_bytes(b"\0\0\0\0")
    nothing.chmod(0o755)
    if os.geteuid() == 0:
        # Where a test's files are, root alone may go.
        yield str(nothing), "have it where every account may run it"
    else:
        yield str(nothing), "Exec format error"


def test_no_browser_is_started_without_its_sandbox(tmp_path: Path) -> None:
    assert "has no sandbox here, and is not started without" in _run("without_sandbox", tmp_path)


def _run(module: str, folder: Path) -> str:
    sandboxed_chromium()
    command = [sys.executable, "-m", f"tests.browser.process.{module}", str(folder)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=PATIENCE).stdout
