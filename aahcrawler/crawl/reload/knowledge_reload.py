"""The knowledge base of a crawl: which folders it is read from, and how it is read anew while the crawl runs."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.store.learned import Learned
from aahcrawler.adaptation.store.overlay import Overlay
from aahcrawler.adaptation.wiring import adaptation, strategies
from aahcrawler.crawl.directory.files import LOOK_EVERY, Stamps, stamps
from aahcrawler.crawl.reload.validated_files import ValidatedFiles
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.links.requests import Values
from aahcrawler.helper.site_memory.sites import Sites
from aahcrawler.layout import LEARNED
from knowledge_base.file_selection import files_of
from knowledge_base.loader import LoadError, load
from knowledge_base.model import KnowledgeBase
from knowledge_base.selectors import BadExpressionError

logger = logging.getLogger(__name__)


HEAD_START = 0.05
"""Seconds after which a crawl reads files that are known to be valid: its first requests go out before."""


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
        self._sites = Sites()
        self._adaptation: Adaptation | None = None
        self._overlay: Overlay | None = None
        self._overlay_read: object = None
        self._loading = Lock()
        self._loaded: ApplicationAwareHelper | None = None
        files = ValidatedFiles(folders)
        if not files.are_valid:
            self._load()
            files.note()

    @property
    def helper(self) -> ApplicationAwareHelper:
        """The helper; where it is not there yet, this waits for it. Raise ``LoadError`` as the constructor does."""
        with self._loading:
            return self._loaded or self._load()

    def share(self, folder: Path) -> None:
        """Keep what is learned in a crawl's folder, and use what was learned there before or is by others."""
        with self._loading:
            self._overlay = Overlay(folder / LEARNED)
            if self._loaded is not None:
                self._adopt(self._loaded.knowledge_base)

    async def watch(self, changed: Callable[[ApplicationAwareHelper], None], fail: Callable[[Exception], None]) -> None:
        """Have the files loaded, and look at them again and again, off the event loop; hand on each new helper.

        A change counts when two looks in a row see the same files: one that is being written is left in peace. ``fail``
        is told of mistakes in files that were valid when the crawl was opened.
        """
        await asyncio.sleep(HEAD_START)
        try:
            await asyncio.to_thread(lambda: self.helper)
        except LoadError as error:
            fail(error)
            return
        last = self._read
        while True:
            await asyncio.sleep(LOOK_EVERY)
            now = await asyncio.to_thread(lambda: stamps(files_of(self._folders)))
            if now != self._read and now == last and await self._reload(now):
                changed(self.helper)
            last = now
            self._adopt(self.helper.knowledge_base)

    def _load(self) -> ApplicationAwareHelper:
        knowledge_base = load(*self._folders)
        self._adaptation = adaptation(knowledge_base, self._keep, self._keep) if self._adapt else None
        self._loaded = self._helper(knowledge_base, self._sites)
        self._adopt(knowledge_base)
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
        if self._adaptation is not None:
            self._adaptation.ask(strategies(knowledge_base), knowledge_base)
        self._loaded = await asyncio.to_thread(self._helper, knowledge_base, sites)
        self._sites = sites
        logger.info("knowledge base replaced (%s): %d applications", difference, len(knowledge_base.applications))
        return True

    def _helper(self, knowledge_base: KnowledgeBase, sites: Sites) -> ApplicationAwareHelper:
        return ApplicationAwareHelper(knowledge_base, sites, values=self._values, adapter=self._adaptation)

    def _keep(self, learned: Learned) -> None:
        """Log what was learned and keep it; a disk that refuses costs the file, not the crawl."""
        logger.info("%s", learned)
        if self._overlay is None:
            return
        try:
            self._overlay.keep(learned)
        except OSError as error:
            logger.warning("what was learned cannot be kept (%s): it serves this process only", error)

    def _adopt(self, knowledge_base: KnowledgeBase) -> None:
        """Learn from the files of the crawl's folder where they have changed."""
        if self._adaptation is None or self._overlay is None or self._overlay.stamp() == self._overlay_read:
            return
        self._overlay_read = self._overlay.stamp()
        learnt, problems = self._overlay.learned(knowledge_base)
        for problem in problems:
            logger.error("%s", problem)
        for learned in learnt:
            try:
                self._adaptation.adopt(learned)
            except BadExpressionError as error:
                logger.error("%s of %s cannot be used: %s", learned.name, learned.site, error)


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
