"""The folder of a work, which contains all of it at any moment, even after a crash.

``steps.jsonl`` gets a line for each step, which is on disk before anything else of the step. ``entry.xml`` is the text,
``doubts.json`` and ``pages.json`` hold doubts and expectations of pages, ``pages/`` the bodies of pages by digest,
``origin.json`` what the work began with. After a crash, the last step is repeated from its line.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.editor.drafts.draft_state import (
    DraftEditError,
    DraftState,
    DraftStep,
    KeptDoubt,
    Origin,
    PageState,
    parsed_text,
)
from aahcrawler.editor.entries.entry_files import digest
from aahcrawler.editor.text.entry_text import EditError
from aahcrawler.segments import append_line, no_link

MAX_STEPS: Final = 1_000
"""Steps that are kept; beyond, the oldest half is forgotten and cannot be taken back any more."""
MAX_STEPS_SIZE: Final = 32 << 20
"""Bytes of steps that are kept."""
WAITING: Final = 20.0
"""Seconds to wait for another process that changes the work."""

_ORIGIN, _ENTRY, _DOUBTS, _PAGES, _STEPS = "origin.json", "entry.xml", "doubts.json", "pages.json", "steps.jsonl"
_BODIES = "pages"


class _Doubts(BaseModel):
    model_config = ConfigDict(frozen=True)

    revision: int
    doubts: tuple[KeptDoubt, ...]


class _Pages(BaseModel):
    model_config = ConfigDict(frozen=True)

    revision: int
    pages: Mapping[str, PageState]


class DraftFolder:
    """Reads and writes one work. Changes are made within ``locked``; several processes may do so."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def is_there(self) -> bool:
        """Whether there is a work in the folder."""
        return (self.path / _ORIGIN).is_file()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other writers out. Raises `DraftEditError` where another one does not end, or nothing can be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.parent / f".{self.path.name}.lock", timeout=WAITING):
                yield
        except Timeout as error:
            raise DraftEditError(f"another program is changing {self.path.name}; try again in a moment") from error
        except OSError as error:
            raise DraftEditError(f"{self.path} cannot be written to: {error.strerror or error}") from error

    def begin(self, state: DraftState, bodies: Mapping[str, bytes]) -> None:
        """Write a new work; ``origin.json``, by which it is there, comes last."""
        self.path.mkdir(parents=True, exist_ok=True)
        for name in (_ENTRY, _DOUBTS, _PAGES, _STEPS):
            (self.path / name).unlink(missing_ok=True)
        for body in bodies.values():
            self.keep_body(body)
        self._write_state(state)
        _write(self.path / _ORIGIN, state.origin.model_dump_json().encode())

    def read(self) -> DraftState:
        """Return the work as it is, after finishing what a crash interrupted. Raises `DraftEditError` if damaged."""
        try:
            state, is_written = self._read()
        except (OSError, ValidationError, ValueError, EditError) as error:
            raise DraftEditError(
                f"the work in {self.path} cannot be read ({_in_short(error)}); bring its files back from a copy, or "
                "discard it and begin anew"
            ) from error
        if not is_written:
            # Only one step may be ahead of what is written: the next one needs this one on disk.
            self._write_state(state)
        return state

    def origin(self) -> Origin:
        """Return what the work began with. Raises `DraftEditError` where that cannot be read."""
        try:
            return Origin.model_validate_json((self.path / _ORIGIN).read_bytes())
        except (OSError, ValidationError) as error:
            raise DraftEditError(f"the work in {self.path} cannot be read ({_in_short(error)})") from error

    def append(self, before: DraftState, step: DraftStep) -> DraftState:
        """Add a step to a work that is in the state ``before``; return the state after it."""
        state = before.after(step)
        size = append_line(self.path / _STEPS, step.model_dump_json())
        self._write_state(state)
        if len(state.steps) > MAX_STEPS or size > MAX_STEPS_SIZE:
            return self._shortened(state)
        return state

    def keep_body(self, body: bytes) -> str:
        """Keep the body of a page; return its digest."""
        name = digest(body) or "empty"
        file = self.path / _BODIES / name
        if not file.is_file():
            file.parent.mkdir(exist_ok=True)
            _write(file, body)
        return name

    def body(self, name: str) -> bytes:
        """Return the body of a page by its digest. Raises OSError."""
        return (self.path / _BODIES / name).read_bytes()

    def kept_bytes(self) -> int:
        """Return how many bytes the bodies of pages take."""
        return sum(file.stat().st_size for file in (self.path / _BODIES).glob("*"))

    def remove(self) -> None:
        """Remove the work; what is left after a crash is no work any more."""
        (self.path / _ORIGIN).unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def _read(self) -> tuple[DraftState, bool]:
        """Return the work after its last step, and whether all files hold what that step led to."""
        origin = self.origin()
        steps = tuple(_steps(self.path / _STEPS))
        doubts = _Doubts.model_validate_json((self.path / _DOUBTS).read_bytes())
        pages = _Pages.model_validate_json((self.path / _PAGES).read_bytes())
        text = parsed_text((self.path / _ENTRY).read_bytes(), _ENTRY)
        state = DraftState(origin, text, doubts.doubts, pages.pages, steps)
        if pages.revision == state.revision and (not steps or digest(text.data) == steps[-1].text):
            return state, True
        return self._made_again(state, doubts.revision, pages.revision), False

    def _made_again(self, state: DraftState, doubts_written: int, written: int) -> DraftState:
        """Return the state after the last step, of which a crash prevented that all was written."""
        *earlier, last = state.steps
        if written not in (last.number, last.number - 1):
            raise ValueError(f"{_PAGES} is of another step than {_STEPS}")
        text = state.text
        if digest(text.data) == last.text:
            for patch in reversed(last.patches):
                text = patch.reverse.applied(text)
        made = replace(state, text=text, steps=tuple(earlier)).after(last)
        return replace(made, kept_doubts=state.kept_doubts) if doubts_written == last.number else made

    def _write_state(self, state: DraftState) -> None:
        """Write what the steps led to; ``pages.json``, which says of which step all is, comes last."""
        doubts = _Doubts(revision=state.revision, doubts=state.kept_doubts)
        pages = _Pages(revision=state.revision, pages=state.pages)
        _write(self.path / _ENTRY, state.text.data)
        _write(self.path / _DOUBTS, doubts.model_dump_json().encode())
        _write(self.path / _PAGES, pages.model_dump_json().encode())

    def _shortened(self, state: DraftState) -> DraftState:
        """Forget the older half of the steps, and bodies that neither a page nor a step needs any more."""
        kept = state.steps[len(state.steps) // 2 :]
        # The step that saved the entry last may be among those that are forgotten.
        origin = state.origin.model_copy(update={"base": state.base})
        _write(self.path / _ORIGIN, origin.model_dump_json().encode())
        _write(self.path / _STEPS, b"".join(each.model_dump_json().encode() + b"\n" for each in kept))
        needed = {page.body for page in state.pages.values()}
        changes = (change for step in kept for change in step.pages.values())
        needed |= {page.body for change in changes for page in (change.before, change.after) if page is not None}
        for file in (self.path / _BODIES).glob("*"):
            if file.name not in needed:
                file.unlink()
        return replace(state, origin=origin, steps=kept)


def _steps(file: Path) -> Iterator[DraftStep]:
    """Yield the steps; a line that a crash has cut short is passed over."""
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for number, line in enumerate(lines):
        try:
            yield DraftStep.model_validate_json(line)
        except ValidationError:
            # A torn line is the last, or the last before the program went on.
            if line.endswith(b"}") and number + 1 < len(lines):
                raise


def _write(file: Path, data: bytes) -> None:
    """Write a file whole, so that a crash leaves the old one or the new one."""
    part = file.with_name(f".{file.name}.part")
    with open(part, "wb", opener=no_link) as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    part.replace(file)


def _in_short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
