"""Runs ``scrapy`` beside a test."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scrapy_running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``scrapy`` in the project beside the block; it is killed at the end if it has not ended by then."""
    command = [sys.executable, "-m", "scrapy", *arguments]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()
