"""Commands of ``aah`` that read what may be hostile for the service, each in a process of its own that is bounded."""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

MAX_SECONDS: Final = 900.0
"""Seconds after which a process is ended."""
MAX_MEMORY: Final = 4 << 30
"""Bytes of address space that a process may take."""
MAX_LINES: Final = 5_000
MAX_LINE_LENGTH: Final = 4 << 20
"""Bytes of one line; a process that writes a longer one is ended."""
_MAX_ERROR_LENGTH: Final = 4_000


class ReportingProcess:
    """A command that tells what it finds in lines of JSON, begun when this is made.

    It is ended after a quarter of an hour, unless ``seconds`` says another time, and where it takes or says too much.
    Any thread may end it.
    """

    def __init__(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float | None = None
    ) -> None:
        """Begin ``aah`` with these arguments in a folder, with an environment beside that of the service."""
        self._seconds = MAX_SECONDS if seconds is None else seconds
        self._process = subprocess.Popen(
            [sys.executable, "-m", "aahcrawler.cli", *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with suppress(ProcessLookupError):  # It may have ended already.
            resource.prlimit(self._process.pid, resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        self._problem = ""

    @property
    def problem(self) -> str:
        """What was said that is no JSON, or why the process was ended; empty where nothing was."""
        return self._problem

    @property
    def exit_code(self) -> int | None:
        """The code with which it ended, None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """End it now."""
        self._process.kill()

    def told(self) -> Iterator[Mapping[str, Any]]:
        """Yield what it tells, object by object, and wait for its end. It is ended where nobody listens any more."""
        guard = threading.Timer(self._seconds, self._give_up, (f"it took longer than {self._seconds:g} seconds",))
        guard.daemon = True
        guard.start()
        try:
            with self._process:
                try:
                    yield from self._objects()
                finally:
                    self._process.kill()
        finally:
            guard.cancel()

    def _objects(self) -> Iterator[Mapping[str, Any]]:
        assert self._process.stdout is not None  # noqa: S101 (it was asked for)
        for _ in range(MAX_LINES):
            line = self._process.stdout.readline(MAX_LINE_LENGTH)
            if not line:
                self._process.wait()
                return
            if len(line) == MAX_LINE_LENGTH:
                return self._give_up("it wrote a line that is too long")
            told = _object(line)
            if told is not None:
                yield told
            else:
                self._note(line.decode("utf-8", "replace"))
        self._give_up("it wrote too many lines")

    def _give_up(self, why: str) -> None:
        self._note(why)
        self._process.kill()

    def _note(self, said: str) -> None:
        self._problem = f"{self._problem} {said.strip()}"[:_MAX_ERROR_LENGTH].strip()


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None
