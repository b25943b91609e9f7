"""The journal of posts that changed a crawl: a file in its folder that only grows."""

import json
import logging
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from aahcrawler.layout import POSTED
from aahcrawler.segments import private

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_logger = logging.getLogger(__name__)


class Journal:
    """Appends lines of JSON. A crawl takes posts although its journal cannot be written; that is reported.

    The posts to a crawl that has no folder on this machine are kept in the log alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def keep(self, folder: Path | None, entries: Iterable[Mapping[str, object]]) -> None:
        """Append entries to the journal of a crawl's folder."""
        lines = "".join(_ENCODE(entry) + "\n" for entry in entries)
        if not lines:
            return
        if folder is None:
            _logger.info("posted: %s", lines.rstrip().replace("\n", " "))
            return
        try:
            with self._lock, open(folder / POSTED, "a", encoding="utf-8", opener=private) as file:
                file.write(lines)
        except OSError as error:
            _logger.error("%s cannot be written: %s; the posts were applied", folder / POSTED, error.strerror)
