"""The knowledge base of a crawl: which folders it is read from, and how it is read anew while the crawl runs."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Protocol

import cssselect
from lxml import etree

from aahcrawler.crawl.directory.crawl_runs import LOOK_EVERY, Stamps, stamps
from aahcrawler.crawl.health.disk_space import spare, uncollected
from aahcrawler.fingerprint import KnowledgeUsed
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.adaptation_protocol import Adapter
from aahcrawler.helper.links.requests import Values
from aahcrawler.helper.site_memory import Sites
from knowledge_base.file_selection import SHIPPED, files_of
from knowledge_base.loader import LoadError, load
from knowledge_base.model import KnowledgeBase
from online_analysis.private_cache import is_noted, note

logger = logging.getLogger(__name__)

HEAD_START = 0.05
"""Seconds after which a crawl reads files that are known to be valid: its first requests go out before."""


class Repair(Protocol):
    """What mends actions that fail. Its module takes as long to import as the files to read, and with them."""

    @property
    def adapter(self) -> Adapter:
        """What the helper asks where an action fails."""

    def share(self, folder: Path) -> None:
        """Keep what is learned in a crawl's folder from now on."""

    def renew(self, knowledge_base: KnowledgeBase) -> None:
        """Go by a changed knowledge base."""

    def adopt(self, knowledge_base: KnowledgeBase) -> None:
        """Learn from the files of the crawl's folder where they have changed."""


class LiveKnowledgeBase:
    """The folders of a knowledge base, and the helper that knows what was read from them last.

    The helper's knowledge base is always whole and valid: a changed one replaces it, a broken one is reported and
    leaves it in use, until the next change. What the helper learns of sites outlives such changes; with ``share`` it
    outlives the crawl, and other workers of the crawl use it as well.
    """

    def __init__(self, folders: tuple[Path, ...], values: Values | None = None, *, adapt: bool = True) -> None:
        """Load the folders, unless their files are known to be valid: then they are loaded while the crawl begins.

        ``values`` are what requests and forms of the knowledge base are filled with. Without ``adapt`` an action that
        fails stays as it is. Raise ``LoadError`` with every mistake of every file.
        """
        self._folders = folders
        self._values = values
        self._adapt = adapt
        self._read = stamps(files_of(folders))
        self._used = KnowledgeUsed.of(folders)
        self._sites = Sites()
        self._repair: Repair | None = None
        self._shared: Path | None = None
        self._loading = Lock()
        self._loaded: ApplicationAwareHelper | None = None
        files = ValidatedFiles(folders)
        if not files.are_valid:
            self._load()
            files.note()

    @property
    def used(self) -> KnowledgeUsed:
        """What pages are read by now."""
        return self._used

    @property
    def helper(self) -> ApplicationAwareHelper:
        """The helper; where it is not there yet, this waits for it. Raise ``LoadError`` as the constructor does."""
        with self._loading:
            return self._loaded or self._load()

    def share(self, folder: Path) -> None:
        """Keep what is learned in a crawl's folder, and use what was learned there before or is by others."""
        with self._loading:
            self._shared = folder
            if self._repair is not None and self._loaded is not None:
                self._repair.share(folder)
                self._repair.adopt(self._loaded.knowledge_base)

    async def watch(self, changed: Callable[[ApplicationAwareHelper], None], fail: Callable[[Exception], None]) -> None:
        """Have the files loaded, and look at them again and again, off the event loop; hand on each new helper.

        A change counts when two looks in a row see the same files: one that is being written is left in peace. ``fail``
        is told of mistakes in files that were valid when the crawl was opened.
        """
        await asyncio.sleep(HEAD_START)
        try:
            with uncollected():
                await asyncio.to_thread(lambda: self.helper)
        except LoadError as error:
            fail(error)
            return
        spare()
        last = self._read
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = await asyncio.to_thread(lambda: stamps(files_of(self._folders)))
            if now != self._read and now == last and await self._reload(now):
                changed(self.helper)
            last = now
            if self._repair is not None:
                self._repair.adopt(self.helper.knowledge_base)

    def _load(self) -> ApplicationAwareHelper:
        knowledge_base = load(*self._folders)
        if self._adapt:
            from aahcrawler.crawl.reload.self_repair import SelfRepair  # noqa: PLC0415 - see ``Repair``

            self._repair = SelfRepair(knowledge_base)
        self._loaded = self._helper(knowledge_base, self._sites)
        if self._repair is not None and self._shared is not None:
            self._repair.share(self._shared)
            self._repair.adopt(knowledge_base)
        return self._loaded

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
        if self._repair is not None:
            self._repair.renew(knowledge_base)
        self._used = await asyncio.to_thread(KnowledgeUsed.of, self._folders)
        self._loaded = await asyncio.to_thread(self._helper, knowledge_base, sites)
        self._sites = sites
        logger.info("knowledge base replaced (%s): %d applications", difference, len(knowledge_base.applications))
        return True

    def _helper(self, knowledge_base: KnowledgeBase, sites: Sites) -> ApplicationAwareHelper:
        adapter = self._repair.adapter if self._repair is not None else None
        helper = ApplicationAwareHelper(knowledge_base, sites, values=self._values, adapter=adapter)
        return helper.comparing_drafts()


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


_NAME = "valid-knowledge-base"


class ValidatedFiles:
    """The files of a knowledge base as they were when this was made, and whether they are known to be valid."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._digest = _digest(self._folders)

    @property
    def are_valid(self) -> bool:
        """Whether this software has found them valid before."""
        return self._digest is not None and is_noted(_NAME, self._digest)

    def note(self) -> None:
        """Remember that they are valid, unless they have changed meanwhile: then others were read."""
        if self._digest is not None and _digest(self._folders) == self._digest:
            note(_NAME, self._digest)


def _digest(folders: Sequence[Path]) -> str | None:
    """Return a digest of the files and of what reads them, None where one of them cannot be read."""
    readers = f"{sys.version} {etree.LXML_VERSION} {etree.LIBXML_VERSION} {cssselect.VERSION}"
    digest = sha256(readers.encode())
    try:
        for part in (*_of_readers(), *_of_folders(folders)):
            digest.update(part)
    except OSError:
        return None
    return digest.hexdigest()


def _of_readers() -> Iterator[bytes]:
    """Yield what the sources of the loader say, and the files that ship: some folders use their kinds."""
    for pattern in ("*.py", "parsing/*.py", "schema/*.xsd", "kinds/*.xml"):
        for file in sorted(SHIPPED.glob(pattern)):
            yield from _said(file, SHIPPED)


def _of_folders(folders: Sequence[Path]) -> Iterator[bytes]:
    for folder in folders:
        parts = [(folder / name).is_dir() for name in ("kinds", "applications")]
        yield f"folder {parts}\n".encode()
        for file in files_of((folder,)):
            yield from _said(file, folder)


def _said(file: Path, folder: Path) -> Iterator[bytes]:
    content = file.read_bytes()
    yield f"{file.relative_to(folder)} {len(content)}\n".encode("utf-8", "surrogateescape")
    yield content
