"""The folder of own entries: each is saved as a whole or not at all, and every change is recorded."""

import getpass
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from aahcrawler.editor.entries.entry_files import (
    MAX_NAME_LENGTH,
    Change,
    ChangeLog,
    Entry,
    PageParts,
    contents_of,
    digest,
    file_part,
    is_name,
    kept_parts,
    licence_part,
)
from aahcrawler.editor.text.printable_text import plain_line
from aahcrawler.segments import no_link
from aahcrawler.segments.reader import sync_folder
from knowledge_base.file_selection import SHIPPED

_READY = "ready.json"
BY_HAND = "found changed by hand, or by a program that notes nothing"
WAITING = 20.0
"""Seconds to wait for another process that is saving."""


class Replacement:
    """The atomic replacement of files below ``root``, prepared in a ``folder`` on the same disk.

    New files are written to the folder, then a note that all are complete. Then the files named in the note are moved
    into place; after a crash, that is repeated.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder

    @property
    def is_there(self) -> bool:
        """Whether a replacement was begun and not completed."""
        return self._folder.is_dir()

    @property
    def is_ready(self) -> bool:
        """Whether all files are written, so that they can be moved into their places."""
        return (self._folder / _READY).is_file()

    def prepare(self, written: Mapping[str, bytes], removed: Sequence[str], message: str) -> None:
        """Write files beside those that they replace, by their paths below the root; ``message`` comes back later."""
        self._folder.mkdir(parents=True)
        numbered = dict(enumerate(written))
        for number, part in numbered.items():
            _write(self._folder / str(number), written[part])
        note = {"written": {str(number): part for number, part in numbered.items()}, "removed": list(removed)}
        unready = self._folder / "unready"
        _write(unready, json.dumps({**note, "message": message}).encode())
        unready.replace(self._folder / _READY)
        sync_folder(self._folder)

    def perform(self, last: str) -> str:
        """Move the files into their places, that called ``last`` as the last one; return the message."""
        note = json.loads((self._folder / _READY).read_bytes())
        for number, part in sorted(note["written"].items(), key=lambda item: (item[1] == last, item[1])):
            target = self._root / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if (self._folder / number).is_file():
                (self._folder / number).replace(target)
        for part in note["removed"]:
            (self._root / part).unlink(missing_ok=True)
        for folder in {(self._root / part).parent for part in (*note["written"].values(), *note["removed"])}:
            if folder.is_dir():
                sync_folder(folder)
        return str(note["message"])

    def clear(self) -> None:
        """Forget the replacement."""
        if self.is_there:
            # The note goes first: what lies in a folder without one counts for nothing.
            (self._folder / _READY).unlink(missing_ok=True)
            shutil.rmtree(self._folder)


def _write(file: Path, data: bytes) -> None:
    with open(file, "wb", opener=no_link) as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())


class OwnFolderError(Exception):
    """An entry cannot be read or saved; the message says why and what to do."""


class ChangedMeanwhileError(OwnFolderError):
    """Somebody else changed the entry; ``change`` says who and when, None where that was not noted."""

    def __init__(self, name: str, change: Change | None) -> None:
        self.change = change
        by = f"by {change.who or 'somebody'} on {change.when:%Y-%m-%d at %H:%M} UTC ({change.what})" if change else ""
        super().__init__(
            f"{name} was changed meanwhile{f' {by}' if by else ', by hand'}; load it again, then make your change anew"
        )


def _now() -> datetime:
    return datetime.now(UTC)


class OwnFolder:
    """The entries of one's own, in a folder of the knowledge base.

    ``applications/NAME.xml`` is the file of an entry, ``applications/pages/NAME/`` its saved pages,
    ``applications/licences/NAME.txt`` its licence, ``applications/history/NAME.jsonl`` its history. Safe for several
    processes at once.
    """

    def __init__(self, path: Path, now: Callable[[], datetime] = _now) -> None:
        self.path = path
        self._applications = path / "applications"
        self._history = self._applications / "history"
        self._now = now

    def names(self) -> tuple[str, ...]:
        """Return the names of all entries."""
        return tuple(sorted(file.stem for file in self._applications.glob("*.xml") if is_name(file.stem)))

    def entry(self, name: str) -> Entry | None:
        """Return an entry as it is now, None if there is none. Raises `OwnFolderError`."""
        _check_name(name, "entry")
        self._finish(name)
        parts = self._present(name)
        return Entry.of(name, parts) if file_part(name) in parts else None

    def save(
        self,
        name: str,
        xml: bytes,
        pages: Sequence[tuple[str, bytes, bytes]] | None,
        who: str,
        what: str,
        *,
        licence: bytes | None = None,
        expected: str | None = None,
    ) -> Change:
        """Save an entry as a whole, and note who changed what.

        ``pages`` are all of its saved pages: stem, HTML and expectation of each; None leaves them as they are, and so
        does None for the ``licence``. ``expected`` is the digest of the XML file that the change was made from, empty
        where there must be none yet; None does not ask. A crash leaves either the old entry or the new one. Raises
        `ChangedMeanwhileError` and `OwnFolderError`; nothing is changed then.
        """
        _check_name(name, "entry")
        for stem, _, _ in pages or ():
            _check_name(stem, "saved page")
        with self._locked(name):
            present = self._present(name)
            self._check_digest(name, present, expected)
            text = present.get(licence_part(name), b"") if licence is None else licence
            wanted = Entry(name, xml, tuple(PageParts(*page) for page in pages or ()), text).parts()
            if pages is None:
                wanted |= {part: data for part, data in present.items() if part.startswith("pages/")}
            return self._replaced(name, present, wanted, who, what)

    def note(self, name: str, who: str, what: str, touched: Collection[Path] = ()) -> Change | None:
        """Record a change that was already made; ``touched`` are the files that it wrote, empty for all.

        Other differences to the last recorded state are recorded before it as changes by hand. Return None if nothing
        differs. Raise `OwnFolderError`.
        """
        _check_name(name, "entry")
        names = {file.resolve().relative_to(self._applications.resolve()).as_posix() for file in touched}
        with self._locked(name):
            present = self._present(name)
            last = _last_parts(self._log(name))
            before = {part: data for part, data in present.items() if names and part not in names}
            if last and names:
                self._note_by_hand(
                    name, {part: digest for part, digest in last.items() if part in names} | _digests(before), before
                )
            if _digests(present) == _last_parts(self._log(name)):
                return None
            return self._noted(name, _digests(present), present, who, what)

    def history(self, name: str) -> tuple[Change, ...]:
        """Return the changes of an entry, the first one first; empty if nothing was noted. Raises `OwnFolderError`."""
        _check_name(name, "entry")
        return self._log(name).changes()

    def unreadable(self, name: str) -> int:
        """Return how many lines of an entry's history cannot be read."""
        _check_name(name, "entry")
        return self._log(name).unreadable()

    def at(self, name: str, number: int) -> Entry:
        """Return an entry as it was after a change. Raises `OwnFolderError` where that is not known any more."""
        changes = self.history(name)
        change = next((each for each in changes if each.number == number), None)
        if change is None:
            raise OwnFolderError(f"{name} has no change {number}; aah kb history {name} lists them")
        parts = kept_parts(change, changes)
        if parts is None or not change.after:
            raise OwnFolderError(
                f"what {name} was after change {number} is not kept any more; take a newer one: aah kb history {name}"
            )
        return Entry.of(name, parts)

    def restore(self, name: str, number: int, who: str, *, expected: str | None = None) -> Change:
        """Bring back an entry as it was after a change, and note that. Raises `OwnFolderError`."""
        wanted = self.at(name, number)
        with self._locked(name):
            present = self._present(name)
            self._check_digest(name, present, expected)
            what = f"brought back as it was after change {number}"
            return self._replaced(name, present, wanted.parts(), who, what)

    def _replaced(
        self, name: str, present: Mapping[str, bytes], wanted: Mapping[str, bytes], who: str, what: str
    ) -> Change:
        """Record changes made by hand, then replace the present files by the wanted ones."""
        self._note_by_hand(name, _digests(present), present)
        change = self._change(name, _digests(wanted), wanted, who, what)
        replacement = self._replacement(name)
        replacement.prepare(
            {part: data for part, data in wanted.items() if present.get(part) != data},
            [part for part in present if part not in wanted],
            change.model_dump_json(),
        )
        self._complete(name, replacement)
        return change

    def _note_by_hand(self, name: str, parts: Mapping[str, str], contents: Mapping[str, bytes]) -> None:
        last = _last_parts(self._log(name))
        if parts != last:
            self._noted(name, parts, contents, "", BY_HAND if last else "was there before its history began")

    def _noted(self, name: str, parts: Mapping[str, str], contents: Mapping[str, bytes], who: str, what: str) -> Change:
        change = self._change(name, parts, contents, who, what)
        self._log(name).append(change)
        return change

    def _change(
        self, name: str, parts: Mapping[str, str], contents: Mapping[str, bytes], who: str, what: str
    ) -> Change:
        known = self._log(name).changes()
        return Change(
            number=known[-1].number + 1 if known else 1,
            when=self._now(),
            who=plain_line(who),
            what=plain_line(what),
            before=known[-1].after if known else "",
            after=parts.get(file_part(name), ""),
            parts=dict(parts),
            contents=contents_of(contents, known),
        )

    def _check_digest(self, name: str, present: Mapping[str, bytes], expected: str | None) -> None:
        found = digest(present.get(file_part(name), b""))
        if expected is None or expected == found:
            return
        last = next((change for change in reversed(self.history(name)) if change.after == found), None)
        raise ChangedMeanwhileError(name, last)

    def _present(self, name: str) -> dict[str, bytes]:
        """Return the files of an entry that are there."""
        folder = self._applications / "pages" / name
        pages = sorted(file for file in folder.glob("*") if file.suffix in (".html", ".json") and is_name(file.stem))
        files = (self._applications / file_part(name), *pages, self._applications / licence_part(name))
        return {file.relative_to(self._applications).as_posix(): file.read_bytes() for file in files if file.is_file()}

    def _log(self, name: str) -> ChangeLog:
        return ChangeLog(self._history / f"{name}.jsonl")

    def _replacement(self, name: str) -> Replacement:
        return Replacement(self._applications, self._history / f".saving-{name}")

    def _finish(self, name: str) -> None:
        """Finish what a crash interrupted."""
        if self._replacement(name).is_there:
            with self._locked(name):
                pass

    def _complete(self, name: str, replacement: Replacement) -> None:
        change = Change.model_validate_json(replacement.perform(file_part(name)))
        if not any(each.number == change.number for each in self.history(name)):
            self._log(name).append(change)
        replacement.clear()

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        """Keep other writers out, and finish first what a crash interrupted."""
        try:
            self._history.mkdir(parents=True, exist_ok=True)
            with FileLock(self._history / ".lock", timeout=WAITING):
                replacement = self._replacement(name)
                if replacement.is_ready:
                    self._complete(name, replacement)
                replacement.clear()
                yield
        except Timeout as error:
            raise OwnFolderError(f"another program is saving in {self.path}; try again in a moment") from error
        except OSError as error:
            raise OwnFolderError(f"{self.path} cannot be written to: {error.strerror or error}") from error


def own_folder(folders: Sequence[Path]) -> OwnFolder | None:
    """Return the last folder of a knowledge base as the own folder; None if it is the shipped one."""
    return OwnFolder(folders[-1]) if folders and folders[-1].resolve() != SHIPPED.resolve() else None


def note(folders: Sequence[Path], name: str, who: str, what: str, touched: Collection[Path]) -> None:
    """Record a change that was already made, if the last folder is an own folder. Raise `OwnFolderError`."""
    own = own_folder(folders)
    if own is not None and is_name(name):
        own.note(name, who, what, touched)


def login_name() -> str:
    """Return the user name of the person at the terminal, empty if the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _check_name(name: str, what: str) -> None:
    if not is_name(name):
        raise OwnFolderError(
            f"{plain_line(name)[:MAX_NAME_LENGTH]!r} is no name for a {what}; write letters, digits and hyphens"
        )


def _digests(parts: Mapping[str, bytes]) -> dict[str, str]:
    return {part: digest(data) for part, data in parts.items()}


def _last_parts(log: ChangeLog) -> dict[str, str]:
    changes = log.changes()
    return changes[-1].parts if changes else {}
