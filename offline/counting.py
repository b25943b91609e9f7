"""Show the progress of a long run on a terminal, or report it to other programs."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

TOLD_EVERY: Final = 5.0
"""Seconds between lines about progress."""


@contextmanager
def telling() -> Iterator[Callable[[str, int], None]]:
    """Report counts as lines of JSON on standard output within the context.

    The yielded function adds to a count, given its name.
    """
    counts: Counter[str] = Counter()
    told_at = time.monotonic()

    def count(name: str, more: int) -> None:
        nonlocal told_at
        counts[name] += more
        now = time.monotonic()
        if now - told_at >= TOLD_EVERY:
            told_at = now
            sys.stdout.write(json.dumps(counts) + "\n")
            sys.stdout.flush()

    yield count


@contextmanager
def counting(*what: str) -> Iterator[Callable[[str, int], None]]:
    """Show counts of ``what`` on a terminal within the context; the yielded function adds to a count.

    Shows nothing if there is no terminal. If standard output is a terminal as well, what is written to it meanwhile
    appears above the counts.
    """
    console, aside = Console(stderr=True), sys.stdout.isatty()
    columns = (SpinnerColumn(), TextColumn("{task.description}: {task.completed:,.0f}"), TimeElapsedColumn())
    is_shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not is_shown, redirect_stdout=aside) as progress:
        tasks = {name: progress.add_task(name, total=None) for name in what}
        yield lambda name, more: progress.advance(tasks[name], more)
