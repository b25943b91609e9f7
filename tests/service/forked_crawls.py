"""Crawls that a service starts, forked: what a crawl imports costs more than what most of these tests have it do."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path

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


@contextmanager
def crawls_forked() -> Iterator[None]:
    """Have what a service of this process starts be forked, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crawl_process, "Popen", _Begun)
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
