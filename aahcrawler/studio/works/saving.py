"""Save the entry of a work to the own folder, once it is valid and its pages are read as expected."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from aahcrawler.authoring.own_entries.entry_files import Entry, PageParts
from aahcrawler.authoring.own_entries.own_folder import ChangedMeanwhileError, OwnFolder, OwnFolderError
from aahcrawler.studio.works.entry_examination import SECONDS, Examined, Wanted, examined
from aahcrawler.studio.works.work_errors import NotSavedError, StaleError, WorkError
from aahcrawler.studio.works.work_state import WorkState
from aahcrawler.studio.works.work_steps import StepKind

MOST_SAID: Final = 900
"""Characters of what is told of the steps in the history of the entry."""


def prove(
    state: WorkState, entry: Entry, folders: Sequence[Path], *, force: bool, is_given_up: Callable[[], bool]
) -> None:
    """Examine an entry as a work has it. Raises `NotSavedError` with the reasons against saving it, and `WorkError`.

    With ``force`` warnings are none.
    """
    found = examined(Wanted(state.revision, entry, tuple(folders)), SECONDS, is_given_up)
    if found is None:
        raise WorkError("the entry was not examined to the end; save again")
    errors = tuple(_errors(found))
    if errors:
        raise NotSavedError(errors, can_force=False)
    warnings = tuple(_warnings(found, len(state.doubts)))
    if warnings and not force:
        raise NotSavedError(warnings, can_force=True)


def write(state: WorkState, entry: Entry, folders: Sequence[Path], who: str) -> None:
    """Write an entry to the last of the folders.

    Pages that an earlier folder has are left out. Raises `WorkError`, and `StaleError` where somebody else saved the
    entry since the work began.
    """
    inherited = _inherited(entry, folders[:-1])
    kept = [page for page in entry.pages if page.stem not in inherited]
    own = OwnFolder(folders[-1])
    try:
        present = own.entry(entry.name)
        # A crash may have come between the entry and the note of it in the work.
        expected = entry.digest if present is not None and present.xml == entry.xml else state.base
        own.save(entry.name, entry.xml, kept, who, _said(state), expected=expected)
    except ChangedMeanwhileError as error:
        if error.change is not None:
            raise StaleError(error.change.who, error.change.when, error.change.what) from error
        raise WorkError(str(error)) from error
    except OwnFolderError as error:
        raise WorkError(str(error)) from error


def _errors(found: Examined) -> Iterator[str]:
    """Yield what forbids saving, in words."""
    if found.unfinished:
        yield f"it was not examined to the end: {found.unfinished}"
    for each in found.errors:
        yield f"line {each.line}: {each.message}" if each.line else each.message


def _warnings(found: Examined, guesses: int) -> Iterator[str]:
    """Yield what a person may overrule, in words."""
    if guesses:
        left = "1 guess is" if guesses == 1 else f"{guesses} guesses are"
        yield f"{left} left; until nothing is left to confirm, crawls read each page without the entry as well"
    for each in (each for each in found.warnings if not each.is_guess):
        yield f"line {each.line}: {each.message}" if each.line else each.message
    for page in found.failed:
        more = f", and {len(page.differences) - 1} more" if len(page.differences) > 1 else ""
        yield f"the page {page.page} is read differently than expected: {page.differences[0]}{more}"


def _said(state: WorkState) -> str:
    """Return what the steps since the last saving did, in words."""
    said: list[str] = []
    for step in reversed(state.steps):
        if step.kind is StepKind.SAVE:
            break
        said.append(step.said)
    if not said:
        return state.origin.source
    told = "; ".join(dict.fromkeys(reversed(said)))
    return told if len(told) <= MOST_SAID else f"{told[:MOST_SAID]}..."


def _inherited(entry: Entry, folders: Sequence[Path]) -> set[str]:
    """Return the pages that an earlier folder has in the same words, so that they need not be saved again."""
    return {
        page.stem
        for page in entry.pages
        for folder in folders
        if _holds(folder / "applications" / "pages" / entry.name, page)
    }


def _holds(folder: Path, page: PageParts) -> bool:
    try:
        body, expected = (folder / f"{page.stem}{ending}" for ending in (".html", ".json"))
        return body.read_bytes() == page.html and expected.read_bytes() == page.expectation
    except OSError:
        return False
