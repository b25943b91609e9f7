"""Replace several files as a whole: a crash leaves all of the old ones, or a note by which the rest is done."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from aahcrawler.segments import no_link
from aahcrawler.segments.series import sync_folder

_READY = "ready.json"


class Replacement:
    """Files below ``root`` that are to be replaced, prepared in a ``folder`` of the same disk.

    They are written there first, then a note that says that all are; what the note names is moved into its place, and
    moved again if a crash came between.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder

    @property
    def is_there(self) -> bool:
        """Whether a replacement was begun and not ended."""
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
