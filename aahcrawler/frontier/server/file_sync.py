"""Files that another process writes, forced to the disk by this one."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from aahcrawler.frontier.server.file_sums import FileSums

_SECONDS = 1.0
_logger = logging.getLogger(__name__)


class FileSync:
    """Forces to the disk what has been written to the files of a folder whose names begin alike.

    Of those whose names end as given, checksums are noted beside them. What cannot be forced to the disk is said in
    the log, once for each reason.
    """

    def __init__(self, folder: Path, name: str, summed: str) -> None:
        self._folder = folder
        self._name = name
        self._summed = summed
        self._sums = FileSums(folder)
        self._synced: dict[Path, int] = {}
        self._said = ""

    def sync(self) -> None:
        """Force the files to the disk that have grown since the last time."""
        try:
            for path in self._folder.rglob(f"{self._name}*"):
                size = path.stat().st_size
                if self._synced.get(path) != size:
                    with path.open("rb") as file:
                        os.fsync(file.fileno())
                    if path.name.endswith(self._summed):
                        self._sums.note(path, size)
                    self._synced[path] = size
        except FileNotFoundError:
            return  # The server removes a file that it has written anew; there is a next time.
        except OSError as error:
            if str(error) != self._said:
                self._said = str(error)
                _logger.warning("a power failure may lose more than the last second of the frontier: %s", error)

    def start(self, until: Callable[[float], bool]) -> threading.Thread:
        """Sync once a second in a thread of its own; ``until`` waits so many seconds and returns whether to end."""

        def run() -> None:
            while not until(_SECONDS):
                self.sync()
            self.sync()

        thread = threading.Thread(target=run, name="frontier-sync", daemon=True)
        thread.start()
        return thread
