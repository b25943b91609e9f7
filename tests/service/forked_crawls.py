"""What a service starts, forked: what ``aah`` imports costs more than what most of these tests have it do."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path
from threading import Lock
from types import SimpleNamespace

import pytest

from aahcrawler.service.steering import crawl_process
from tests.forking import Forked

_REDIRECTED = """
import os
from aahcrawler import cli

with open({path!r}, "ab") as log:
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
cli.main()
"""
_TOGETHER = """
import os
from aahcrawler import cli

os.dup2(1, 2)
cli.main()
"""

FORKING = """
from aahcrawler import cli
from tests.forking import serve_forks
from tests.service.forked_crawls import crawls_forked

serve_forks()
with crawls_forked():
    cli.main()
"""
"""Runs ``aah`` so that what its service starts is forked."""


@contextmanager
def crawls_forked() -> Iterator[None]:
    """Have the crawls and the reporting commands that a service of this process starts be forked, too."""
    reporting = SimpleNamespace(Popen=_Reporting, DEVNULL=None, PIPE=None, STDOUT=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crawl_process, "Popen", _Begun)
        patch.setattr(crawl_process, "subprocess", reporting)
        yield


class _Begun:
    """A process of ``aah`` that writes to the end of a file. It has what the service uses of ``subprocess.Popen``."""

    returncode: int | None = None

    def __init__(
        self, command: Sequence[str], *, stdout: BufferedWriter, cwd: Path, env: Mapping[str, str], **_: object
    ) -> None:
        redirected = _REDIRECTED.format(path=stdout.name)
        self._forked = Forked(command[command.index("aahcrawler.cli") + 1 :], env, cwd, redirected)
        self._forked.stdout.close()
        self._forked.stderr.close()
        self.pid = self._forked.pid

    def wait(self) -> int:
        self.returncode = self._forked.wait()
        return self.returncode


class _Reporting:
    """A process of ``aah`` that writes all to one pipe. It has what the service uses of ``subprocess.Popen``."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], **_: object) -> None:
        self._forked = Forked(command[command.index("aahcrawler.cli") + 1 :], env, cwd, _TOGETHER)
        self._lock = Lock()
        self.pid = self._forked.pid
        self.stdout = self._forked.stdout.buffer

    def __enter__(self) -> "_Reporting":
        return self

    def __exit__(self, *_: object) -> None:
        self._forked.stdout.close()
        self._forked.stderr.close()
        self.wait()

    def poll(self) -> int | None:
        with self._lock:  # Of two threads that ask at its end, one would find nothing to read.
            return self._forked.poll()

    def wait(self) -> int | None:
        self._forked.await_end()
        return self.poll()

    def kill(self) -> None:
        self._forked.kill()
