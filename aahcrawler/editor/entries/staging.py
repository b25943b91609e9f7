"""A knowledge base with an unsaved entry, in a temporary folder, so that the entry can be proved before it is saved."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aahcrawler.editor.entries.entry_files import Change, Entry, file_part
from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.editor.pages.saved_pages import SavedPage, pages_folder, saved_pages
from aahcrawler.editor.text.file_lines import FileLines, read_files
from knowledge_base.file_selection import chosen_files, filled
from knowledge_base.loader import LoadError, load
from knowledge_base.model import KnowledgeBase


@dataclass(frozen=True, slots=True)
class Staged:
    """A knowledge base with an unsaved entry.

    ``folders`` replace the real ones; the last is temporary and ``stands_for`` the real one. It has the file and saved
    pages of the entry, and the files, but not the pages, of all other entries.
    """

    name: str
    folders: tuple[Path, ...]
    stands_for: Path
    knowledge_base: KnowledgeBase

    @property
    def file(self) -> Path:
        """The XML file of the entry."""
        return self.folders[-1] / "applications" / f"{self.name}.xml"

    @property
    def application(self) -> str:
        """The name of the application that the entry describes."""
        return next(file.name for file in read_files((self.file,)))

    def pages(self) -> tuple[SavedPage, ...]:
        """Return the saved pages of all folders, those of the entry as they would be. Raises `SavedPageError`."""
        found = {page.name: page for folder in self.folders[:-1] for page in saved_pages(pages_folder(folder))}
        others = saved_pages(pages_folder(self.stands_for))
        found |= {page.name: page for page in others if page.file.parent.name != self.name}
        found |= {page.name: page for page in self.own_pages()}
        return tuple(found[name] for name in sorted(found))

    def own_pages(self) -> tuple[SavedPage, ...]:
        """Return the saved pages of the entry itself. Raises `SavedPageError`."""
        return saved_pages(pages_folder(self.folders[-1]))

    def really(self, file: Path) -> Path:
        """Return the future path of a file in the temporary folder."""
        return self.stands_for / file.relative_to(self.folders[-1])

    def entry(self) -> Entry:
        """Return the entry as it is in the temporary folder, with the pages that were saved there."""
        applications = self.folders[-1] / "applications"
        files = (file for file in applications.rglob(f"{self.name}*") if file.is_file() and file.stem == self.name)
        pages = (applications / "pages" / self.name).glob("*")
        parts = {file.relative_to(applications).as_posix(): file.read_bytes() for file in (*files, *pages)}
        return Entry.of(self.name, parts)


@contextmanager
def staged(entry: Entry, folders: Sequence[Path]) -> Iterator[Staged]:
    """Load a knowledge base with an entry in the place of the one of its name in the last folder.

    Raises `LoadError`, with the places in the real files.
    """
    with tempfile.TemporaryDirectory(prefix="aah-") as temporary:
        folder = Path(temporary) / "own"
        _fill(folder, folders[-1], entry)
        every = (*folders[:-1], folder)
        try:
            knowledge_base = load(*every)
        except LoadError as error:
            raise LoadError(
                replace(problem, file=problem.file.replace(str(folder), str(folders[-1]))) for problem in error.problems
            ) from error
        yield Staged(entry.name, every, folders[-1], knowledge_base)


def brought_back(name: str, number: int, folders: Sequence[Path], who: str) -> Change:
    """Bring back an entry of the last folder as it was after a change, if the knowledge base loads with it.

    Raises `OwnFolderError` and `LoadError`; nothing is changed then.
    """
    own = OwnFolder(folders[-1])
    with staged(own.at(name, number), folders):
        return own.restore(name, number, who)


def write_alone(entry: Entry, extends: str, folders: Sequence[Path], target: Path) -> Path:
    """Write an entry to an empty folder with all kinds and the files that it extends; return its own file.

    So it can be checked without other entries. ``extends`` is the application that it extends, or empty. The extended
    files get other names, since one of them may have the entry's name.
    """
    chosen = chosen_files(filled(folders))
    for sort in ("kinds", "applications"):
        (target / sort).mkdir(parents=True)
    for kind in chosen.kinds:
        shutil.copyfile(kind, target / "kinds" / kind.name)
    for number, file in enumerate(FileLines(read_files(chosen.applications)).chain(extends)):
        shutil.copyfile(file.path, target / "applications" / f"_{number}.xml")
    _write(entry, target)
    return target / "applications" / file_part(entry.name)


def _fill(folder: Path, real: Path, entry: Entry) -> None:
    applications = folder / "applications"
    applications.mkdir(parents=True)
    if (real / "kinds").is_dir():
        shutil.copytree(real / "kinds", folder / "kinds")
    for file in (real / "applications").glob("*.xml"):
        shutil.copyfile(file, applications / file.name)
    _write(entry, folder)


def _write(entry: Entry, folder: Path) -> None:
    for part, data in entry.parts().items():
        target = folder / "applications" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
