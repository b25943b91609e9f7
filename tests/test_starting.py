"""Which tests are marked as starting something, and what becomes of one that is not marked and does."""

from pathlib import Path

from tests.crawl.crawling import PATIENCE
from tests.forking import forked

RUN = """
import sys
import pytest
from tests import starting

sys.exit(pytest.main(sys.argv[1:], plugins=[starting]))
"""
TESTS = """
import socket
import subprocess
import sys
from contextlib import contextmanager
from os import getcwd

import pytest

NOTHING = [sys.executable, "-S", "-c", ""]


@contextmanager
def running():
    yield subprocess.run(NOTHING)


class Server:
    def __enter__(self):
        return socket.create_server(("127.0.0.1", 0))

    def __exit__(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as started:
        yield started


def test_named():
    with running():
        pass


def test_by_a_fixture(server):
    server.close()


@pytest.mark.starts
def test_marked_by_hand():
    __import__("subprocess").run(NOTHING)


def test_nothing():
    assert getcwd()


def test_hidden_process():
    __import__("subprocess").run(NOTHING)


def test_hidden_worker():
    __import__("multiprocessing").get_context("spawn").Process(target=getcwd).start()


def test_hidden_socket():
    with socket.socket() as opened:
        getattr(opened, "bi" + "nd")(("127.0.0.1", 0))
"""


def outcomes(folder: Path, *options: str) -> dict[str, str]:
    """Return what became of each test."""
    (folder / "test_some.py").write_text(TESTS, "utf-8")
    options = (*options, "-rA", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(folder))
    with forked(RUN, *options, folder) as process:
        out, _ = process.communicate(PATIENCE)
    lines = (line.split(" - ")[0].split() for line in out.splitlines() if "test_some.py::" in line)
    return {words[1].partition("::test_")[2]: words[0] for words in lines if words[0] in ("PASSED", "FAILED", "ERROR")}


def test_what_starts_something_is_marked_and_what_hides_it_fails(tmp_path: Path) -> None:
    started = {"named": "PASSED", "by_a_fixture": "PASSED", "marked_by_hand": "PASSED"}
    hidden = {"hidden_process": "FAILED", "hidden_worker": "FAILED", "hidden_socket": "FAILED"}
    assert outcomes(tmp_path, "-m", "starts") == started
    assert outcomes(tmp_path, "-m", "not starts") == {"nothing": "PASSED", **hidden}
    assert outcomes(tmp_path) == {"nothing": "PASSED", **started, **hidden}
