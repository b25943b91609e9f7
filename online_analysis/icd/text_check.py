"""Check the text of an ICD while it is being written, with the results of ``aah icd check`` by field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final

from online_analysis.icd.definition import Icd
from online_analysis.icd.form import YAML_ONLY, form_fields
from online_analysis.icd.mistakes import IcdError, Mistake
from online_analysis.icd.part_loading import Place, UnreadFileError
from online_analysis.icd.reference_files import plugin_names
from online_analysis.icd.scoring import ANALYSERS

MAX_BYTES: Final = 256_000
"""The most bytes of a text that is checked while somebody waits; longer ones need ``aah icd check``."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The mistakes in a text, by the path of the form's field, and those that belong to no such field.

    ``icd`` is the definition, None if there are mistakes. ``unread`` are files that it names and that were not opened:
    their contents are not part of ``icd``, and may have mistakes.
    """

    by_field: Mapping[str, tuple[Mistake, ...]] = field(default_factory=dict)
    elsewhere: tuple[Mistake, ...] = ()
    icd: Icd | None = None
    unread: tuple[str, ...] = ()

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """All mistakes, by line."""
        every = (*self.elsewhere, *(each for mistakes in self.by_field.values() for each in mistakes))
        return tuple(sorted(every, key=lambda each: (each.line, each.field, each.problem)))


def checked_definition(text: str, folder: Path | None = None, name: str = "icd.yaml") -> Checked:
    """Check the text of an ICD from any source; ``name`` is the name of its file in mistakes.

    Only files in ``folder`` are opened, whatever the text names; without a folder, none. Nothing is fetched, and no
    secret is read.
    """
    content = text.encode("utf-8", "surrogatepass")
    if len(content) > MAX_BYTES:
        problem = f"is larger than {MAX_BYTES:,} bytes, and is not checked here"
        return Checked(elsewhere=(Mistake(name, 1, "", problem, "edit the file, and run `aah icd check`"),))
    place = _nowhere if folder is None else within(folder)
    try:
        icd = Icd.parse(content, (folder or Path()) / name, _analysers(), place)
    except IcdError as error:
        return _sorted(_without_folder(mistake, folder) for mistake in error.mistakes)
    return Checked(icd=icd, unread=icd.unread_files)


def within(folder: Path) -> Place:
    """Return a ``Place`` for the files of an ICD that only allows files in a folder to be opened."""

    def place(called: str) -> Path:
        parts = (*PurePosixPath(called).parts, *PureWindowsPath(called).parts)
        if ".." in parts or PurePosixPath(called).is_absolute() or PureWindowsPath(called).drive or "\0" in called:
            raise UnreadFileError
        found = folder / called
        if not _is_inside(found, folder):
            raise UnreadFileError
        return found

    return place


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def _without_folder(mistake: Mistake, folder: Path | None) -> Mistake:
    """Return a mistake without the path of its file on this machine."""
    if folder is None or not Path(mistake.file).is_relative_to(folder):
        return mistake
    return replace(mistake, file=str(Path(mistake.file).relative_to(folder)))


def _nowhere(_: str) -> Path:
    raise UnreadFileError


@cache
def _analysers() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*ANALYSERS, *plugin_names())))


def _sorted(mistakes: Iterable[Mistake]) -> Checked:
    by_field: dict[str, list[Mistake]] = {}
    elsewhere = []
    for mistake in mistakes:
        path = field_of(mistake.field)
        if path:
            by_field.setdefault(path, []).append(mistake)
        else:
            elsewhere.append(mistake)
    return Checked({path: tuple(found) for path, found in by_field.items()}, tuple(elsewhere))


def field_of(name: str) -> str:
    """Return the path of the form's field that contains a mistake's field; empty if there is none.

    >>> field_of("topic.keywords[2]"), field_of("network.proxy"), field_of("scope.dney")
    ('topic.keywords', 'network.proxy.url', '')
    """
    fields = (*form_fields(), *YAML_ONLY)
    found = [path for path in fields if name == path or name.startswith((f"{path}.", f"{path}["))]
    if found:
        return max(found, key=len)
    return f"{name}.url" if f"{name}.url" in form_fields() else ""
