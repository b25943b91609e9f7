"""The knowledge base of a crawl: which folders it is read from, and how it is read anew while the crawl runs."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from scrapy.settings import BaseSettings

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.requests import Values
from aahcrawler.helper.sites import Sites
from knowledge_base.folders import files_of, named_folders
from knowledge_base.loader import LoadError, load

logger = logging.getLogger(__name__)

KNOWLEDGE_BASE = "AAH_KNOWLEDGE_BASE"
"""The Scrapy setting, and else the environment variable, that names the folders, separated by ``os.pathsep``."""

LOOK_EVERY = 1.5
"""Seconds between two looks at the files."""

Stamps = Mapping[Path, tuple[int, int]]
"""When each file was changed last (nanoseconds), and its size."""


def knowledge_folders(settings: BaseSettings) -> tuple[Path, ...]:
    """Return the folders that settings or environment name, the one that ships where neither does."""
    return named_folders(str(settings.get(KNOWLEDGE_BASE) or os.environ.get(KNOWLEDGE_BASE, "")))


def stamps(folders: Sequence[Path]) -> Stamps:
    """Return the stamps of all files of the folders; files that vanish meanwhile are left out."""
    found = {}
    for file in files_of(folders):
        try:
            status = file.stat()
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size)
    return found


class Knowledge:
    """The folders of a knowledge base, and the helper that knows what was read from them last.

    The helper's knowledge base is always whole and valid: a changed one replaces it, a broken one is reported and
    leaves it in use, until the next change.
    """

    def __init__(self, folders: tuple[Path, ...], values: Values | None = None) -> None:
        """Load the folders. Raise ``LoadError`` with every mistake of every file.

        ``values`` are what requests and forms of the knowledge base are filled with.
        """
        self._folders = folders
        self._values = values
        self._read = stamps(folders)
        self._sites = Sites()
        self.helper = ApplicationAwareHelper(load(*folders), self._sites, values=values)

    async def watch(self, changed: Callable[[ApplicationAwareHelper], None]) -> None:
        """Look at the files again and again, off the event loop, and hand on the new helper after each change.

        A change counts when two looks in a row see the same files: one that is being written is left in peace.
        """
        last = self._read
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = await asyncio.to_thread(stamps, self._folders)
            if now != self._read and now == last and await self._reload(now):
                changed(self.helper)
            last = now

    async def _reload(self, now: Stamps) -> bool:
        difference = _difference(self._read, now)
        self._read = now
        try:
            knowledge_base = await asyncio.to_thread(load, *self._folders)
        except LoadError as error:
            for problem in error.problems:
                logger.error("%s", problem)
            logger.error("the changed knowledge base (%s) is not used; the one before it stays in use", difference)
            return False
        sites = self._sites.under(knowledge_base)
        self.helper = await asyncio.to_thread(ApplicationAwareHelper, knowledge_base, sites, values=self._values)
        self._sites = sites
        logger.info("knowledge base replaced (%s): %d applications", difference, len(knowledge_base.applications))
        return True


def _difference(before: Stamps, after: Stamps) -> str:
    shared = before.keys() & after.keys()
    parts = {
        "new": after.keys() - before.keys(),
        "changed": {file for file in shared if before[file] != after[file]},
        "gone": before.keys() - after.keys(),
    }
    return "; ".join(f"{what}: {_names(files)}" for what, files in parts.items() if files)


def _names(files: Iterable[Path]) -> str:
    names = sorted(file.name for file in files)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more
