"""Shows on a terminal how far a long run has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def counting(*what: str) -> Iterator[Callable[[str, int], None]]:
    """Show counts of ``what`` as long as it runs; the function adds to one of them. Nothing is shown elsewhere."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}: {task.completed:,.0f}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks = {name: progress.add_task(name, total=None) for name in what}
        yield lambda name, more: progress.advance(tasks[name], more)
