"""Running ``aah`` as its users do, in a process of its own (``tests.forking``)."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.core import TyperGroup
from typer.main import get_command

from aahcrawler import cli
from aahcrawler.objects.reader import object_rows, page_rows
from offline.tables import write_jsonl
from tests.forking import Forked

ICD = """\
id: test
title: A test
operator: Test archive
contact: test@example.org
seeds: {seeds}
topic: {{keywords: [harbour, flood, dike, storm surge]}}
politeness: {{delay: 0, delay_factor: 0, timeout: 10 min}}
network: {{allow_private: true}}
traps: {{pages: 0, duplicates: follow, soft_404: ignore}} # The pages of made-up sites look alike.
output: {output}
"""
PATIENT = """
from aahcrawler import cli
from aahcrawler.crawl.fetch import download_handler
from aahcrawler.crawl import peers
from aahcrawler.crawl.cluster import worker

download_handler.GRACE = worker.GRACE = peers.LAST_SECONDS = 600.0
cli.main()
"""
"""Runs ``aah`` so that what is under way when it is told to end has more than seconds to do so."""
PROJECT = Path(__file__).parents[2]
SCRAPY = """
import sys

sys.path.insert(0, "")
sys.argv[0] = "scrapy"
from scrapy.cmdline import execute

execute()
"""
"""Runs ``scrapy`` as ``python -m scrapy`` does: modules of the folder that it is run in can be imported."""
READING = {"archive", "explain-score", "icd", "missing", "objects", "off-topic", "pages", "select"}
"""Commands that end as soon as they have read files, and leave nothing in their process, but for those of ``DOING``."""
DOING = {("archive", "deliver"), ("archive", "repair"), ("icd", "try")}
PATIENCE = 300.0
"""Seconds that anything may take which ends or comes to pass by itself: a busy machine starts a process slowly."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A command that ended."""

    code: int
    out: str
    err: str


def aah(*arguments: str | Path, timeout: float = PATIENCE) -> EndedRun:
    """Run ``aah`` to its end, which is waited for ``timeout`` seconds.

    A command that reads alone (``READING``) is run in this process, without a bound: it is had for less than a process.
    """
    if arguments[0] in READING and arguments[:2] not in DOING:
        return _here(*map(str, arguments))
    with running(*arguments) as process:
        return process.ended(timeout)


@cache
def _app() -> TyperGroup:
    made = get_command(cli.app)  # To make all commands takes longer than most of them.
    assert isinstance(made, TyperGroup)
    return made


def _here(*arguments: str) -> EndedRun:
    written = BytesIO(), BytesIO()
    out, err = (TextIOWrapper(file, "utf-8", write_through=True) for file in written)
    code: object = 0
    with patch.object(sys, "argv", ["aah", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            with patch.object(cli, "app", _app()):
                cli.main()
        except SystemExit as ended:
            code = ended.code or 0
    assert isinstance(code, int)
    return EndedRun(code, *(file.getvalue().decode() for file in written))


@dataclass(frozen=True, slots=True)
class Running:
    """A command that runs in a process group of its own, as what a shell starts does."""

    process: Forked

    @property
    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.poll() is None

    def interrupt(self) -> None:
        """Send what a terminal sends to its whole foreground group on Ctrl-C."""
        os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """End the process, and no other, without a chance to do anything about it."""
        self.process.kill()

    def until(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait for a condition to hold; fail when the command ends before, or when it takes too long."""
        until(lambda: condition() or not self.runs, seconds)
        assert self.runs, self.ended()

    def ended(self, timeout: float = PATIENCE) -> EndedRun:
        """Wait for the end."""
        out, err = self.process.communicate(timeout=timeout)
        return EndedRun(self.process.returncode, out, err)


@contextmanager
def running(
    *arguments: str | Path, environment: Mapping[str, str] = os.environ, cwd: Path | None = None, code: str = ""
) -> Iterator[Running]:
    """Run ``aah`` beside the block, or ``code`` in its place; it is killed at the end if it has not ended by then."""
    with Forked(list(map(str, arguments)), environment, cwd, code) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait for a condition to hold; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    asked = time.monotonic()
    while not condition():
        now = time.monotonic()
        assert now < deadline, "it did not come to pass"
        time.sleep(min(max(0.005, 3 * (now - asked)), 0.2))  # What is waited for needs the processor more.
        asked = time.monotonic()


def command(*arguments: str | Path) -> list[str]:
    """Return the command line of ``aah``."""
    return [sys.executable, "-m", "aahcrawler.cli", *map(str, arguments)]


def scrapy(*arguments: str | Path, cwd: Path = PROJECT, timeout: float = PATIENCE) -> EndedRun:
    """Run ``scrapy`` in a folder, that of this project unless another is given, to its end."""
    with running(*arguments, cwd=cwd, code=SCRAPY) as process:
        return process.ended(timeout)


def write_icd(folder: Path, *seeds: str, text: str = ICD, more: str = "") -> Path:
    """Write a definition that crawls the seeds into ``folder/crawl``; return its path."""
    path = folder / "icd.yaml"
    output = json.dumps(str(folder / "crawl"))
    path.write_text(text.format(seeds=json.dumps(seeds), output=output) + more, "utf-8")
    return path


def rows(crawl: Path, table: str = "pages") -> list[dict[str, Any]]:
    """Return what ``aah pages`` or ``aah objects`` prints."""
    printed = StringIO()
    write_jsonl(page_rows(crawl) if table == "pages" else object_rows(crawl), printed)
    return [json.loads(line) for line in printed.getvalue().splitlines()]


def summary(crawl: Path) -> dict[str, Any]:
    """Return ``crawl.json``."""
    found: dict[str, Any] = json.loads((crawl / "crawl.json").read_text("utf-8"))
    return found
