"""Prove an entry on saved pages, its own and those of all others, in a process that may be killed."""

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from aahcrawler.authoring.own_entries.entry_files import Entry
from aahcrawler.authoring.own_entries.staging import Staged, staged
from aahcrawler.authoring.saved_pages import SavedPage, SavedPageError
from aahcrawler.authoring.trial import Trial
from knowledge_base.file_selection import filled
from knowledge_base.loader import LoadError, load
from knowledge_base.matching import Sight
from knowledge_base.model import Application, KnowledgeBase, Pattern, Strength

SECONDS = 300.0
"""Seconds after which the proof is ended."""
MOST_LINES = 100
"""Lines that are told of what fails."""


@dataclass(frozen=True, slots=True)
class Task:
    """An entry to be proved in the last of some folders."""

    entry: Entry
    folders: tuple[Path, ...]


def failures(task: Task, seconds: float = SECONDS) -> tuple[str, ...]:
    """Return what fails with an entry, a line each; nothing if it may be saved.

    It fails where the knowledge base would not load, where a saved page of the entry is read differently than expected,
    where one of another entry is read differently than before, and where it has a sign that others' pages show.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_prove, args=(theirs, task, seconds), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            return (f"trying its saved pages did not end within {seconds:g} s; it may be made to hang",)
        found: tuple[str, ...] = ours.recv()
        return found
    except EOFError:
        return ("the process that tries its saved pages broke down; it may be made to break programs",)
    finally:
        process.kill()
        process.join()
        ours.close()


def _prove(connection: Connection, task: Task, seconds: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent hears it too, and ends us.
    signal.setitimer(signal.ITIMER_REAL, seconds + 5)  # The parent may be gone.
    with suppress(BrokenPipeError):
        connection.send(tuple(line for line, _ in zip(told(task), range(MOST_LINES), strict=False)))


def told(task: Task) -> Iterator[str]:
    """Yield what fails with an entry, a line each."""
    try:
        before = load(*filled(task.folders))
        with staged(task.entry, task.folders) as stage:
            yield from _failing(stage, before)
    except LoadError as error:
        yield from (str(problem) for problem in error.problems)
    except SavedPageError as error:
        yield str(error)


def _failing(stage: Staged, before: KnowledgeBase) -> Iterator[str]:
    after, earlier = Trial(stage.knowledge_base), Trial(before)
    own = {page.name for page in stage.own_pages()}
    (application,) = (each for each in stage.knowledge_base.applications if each.name == stage.application)
    for page in stage.own_pages():
        yield from (f"its saved page {page.name}: {difference}" for difference in after.outcome(page).differences)
    for page in stage.pages():
        if page.name in own:
            continue
        yield from _changed(page, after, earlier)
        if page.expected.application != application.name:
            yield from _shared(page, application)


def _changed(page: SavedPage, after: Trial, before: Trial) -> Iterator[str]:
    """Say how a page of another entry is read differently than before."""
    differences = after.outcome(page).differences
    former = before.outcome(page).differences if differences else ()
    for difference in differences:
        if difference not in former:
            yield f"{page.name}, a saved page of another entry, would be read differently: {difference}"


def _shared(page: SavedPage, application: Application) -> Iterator[str]:
    """Say which signs that suffice alone are on a page of another application."""
    sight = Sight(page.page)
    for pattern in application.patterns:
        if pattern.strength > Strength.HINT and sight.shows(pattern):
            yield (
                f"its sign {_written(pattern)} is on {page.name} too, a page of "
                f"{page.expected.application or 'no known application'}; it is no sign of {application.name} alone"
            )


def _written(pattern: Pattern) -> str:
    """Return a sign much as its file writes it."""
    if pattern.selector is not None:
        return f'css="{pattern.selector.css}"' if pattern.selector.css else f'xpath="{pattern.selector.source}"'
    if pattern.rule is not None:
        return f'path="{pattern.rule.path.source}"' if pattern.rule.path is not None else "about its URL"
    return f'{pattern.signal}="{pattern.name}{": " if pattern.name else ""}{pattern.value}"'
