"""Records the files of a crawl that were copied to each target, so that nothing is copied twice.

A file of the crawl's folder with a line for each copy. It can be thrown away at any time: the sizes at the target are
compared then.
"""

import json
import logging
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aahcrawler.layout import DELIVERED

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ready:
    """A file that can be copied. ``name`` is its path below the crawl's folder, with slashes.

    ``grows_no_more`` is whether a file of this name never changes again: size then tells whether a copy is whole.
    """

    name: str
    path: Path
    size: int
    changed: int
    grows_no_more: bool


@dataclass(slots=True)
class Delivered:
    """The files known to be at ``target``; ``crawl`` is the name of the crawl's folder there."""

    path: Path
    target: str = ""
    crawl: str = ""
    _known: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _torn: bool = False
    _unwritable: bool = False

    @classmethod
    def read(cls, folder: Path) -> "Delivered":
        """Read the record in a crawl's folder, the target that was used last included."""
        delivered = cls(folder / DELIVERED)
        with suppress(OSError):
            lines = delivered.path.read_bytes().split(b"\n")
            delivered._torn = bool(lines.pop())
            for line in lines:
                delivered._take(line)
        return delivered

    def aim(self, target: str, crawl: str) -> None:
        """Set the target of copies from now on."""
        if (target, crawl) != (self.target, self.crawl):
            self.target, self.crawl = target, crawl
            self._append({"target": target, "crawl": crawl})

    def has(self, ready: Ready) -> bool:
        """Return whether this very file was copied to the target."""
        return self._known.get((self._place, ready.name)) == (ready.size, ready.changed)

    def add(self, ready: Ready) -> None:
        """Note that a file was copied to the target."""
        self._known[self._place, ready.name] = ready.size, ready.changed
        self._append({"name": ready.name, "size": ready.size, "changed": ready.changed})

    @property
    def _place(self) -> str:
        return f"{self.target}\n{self.crawl}"

    def _take(self, line: bytes) -> None:
        try:
            match json.loads(line):
                case {"target": str(target), "crawl": str(crawl)}:
                    self.target, self.crawl = target, crawl
                case {"name": str(name), "size": int(size), "changed": int(changed)}:
                    self._known[self._place, name] = size, changed
        except (ValueError, RecursionError):
            return

    def _append(self, fields: dict[str, object]) -> None:
        line = (b"\n" if self._torn else b"") + json.dumps(fields).encode("ascii") + b"\n"
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
            try:
                self._torn = os.write(fd, line) != len(line)
            finally:
                os.close(fd)
        except OSError as error:
            if not self._unwritable:
                _logger.warning("%s: %s; copied files will be compared by size", self.path, error)
            self._unwritable = True
