"""A definition that changes while its crawl runs.

What may change (``online_analysis.icd.redefinition``) is taken over at once: from the next request, page, link and call
of the frontier on all goes by it. What is queued already is then brought into line, and that is noted in
``redefining.json`` before anything else happens: a crawl that is killed meanwhile goes on with it. A crawl that is
started again with another definition does the same (``mark_pending``).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from aahcrawler.crawl.core.context import CrawlContext, CurrentContext
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.directory.definition_source import DefinitionSource
from aahcrawler.crawl.directory.files import LOOK_EVERY, write_whole
from aahcrawler.crawl.health.error_classification import is_local
from aahcrawler.crawl.reload.scope_update import BlockControl, ScopeUpdate
from aahcrawler.crawl.reload.score_update import ScoreUpdate
from aahcrawler.crawls import frontier_settings
from aahcrawler.layout import REDEFINING
from aahcrawler.scope import Scope
from aahcrawler.scores import Lessons
from online_analysis.aggregation import OnlineAnalyser
from online_analysis.analysers import analysers
from online_analysis.icd import Icd, IcdError, Part, Redefinition, redefined
from online_analysis.ranking import link_ranker

logger = logging.getLogger(__name__)

"""In the crawl's folder: the parts of a changed definition that what is queued is not in line with yet."""

_NOTED: TypeAdapter[frozenset[Part]] = TypeAdapter(frozenset[Part])

Action = Callable[[], Awaitable[None]]
"""Brings what is queued into line with a changed part of the definition; it does no harm when it is done again."""


def mark_pending(folder: Path, changed: Iterable[Part]) -> None:
    """Note that what is queued is not in line with these parts of a definition, beside what was noted before."""
    pending = pending_parts(folder) | frozenset(changed)
    if pending:
        write_whole(folder / REDEFINING, _NOTED.dump_json(pending).decode() + "\n")


def clear_pending(folder: Path) -> None:
    """Forget what was noted: what is queued is in line with the definition."""
    (folder / REDEFINING).unlink(missing_ok=True)


def pending_parts(folder: Path) -> frozenset[Part]:
    """Return the parts that were noted; of a file that is damaged, all there are."""
    try:
        return _NOTED.validate_json((folder / REDEFINING).read_bytes())
    except FileNotFoundError:
        return frozenset()
    except ValidationError:
        return frozenset(Part)


@dataclass(frozen=True, slots=True)
class RunningCrawl:
    """The parts of a running crawl that a changed definition acts on; ``fail`` stops the crawl."""

    context: CurrentContext
    writer: StoreWriter
    fetching: FetchControl
    fail: Callable[[Exception], None]


class ConfigReload:
    """Looks at a crawl's definition again and again, and has the crawl go by what changes.

    ``understood_by`` returns the fingerprint of all that pages are understood by under a definition; ``actions`` bring
    into line what is queued.
    """

    def __init__(
        self,
        crawl: RunningCrawl,
        source: DefinitionSource,
        understood_by: Callable[[Icd], str],
        actions: Mapping[Part, Action],
    ) -> None:
        self._context, self._writer, self._fetching = crawl.context, crawl.writer, crawl.fetching
        self._fail = crawl.fail
        self._source = source
        self._understood_by = understood_by
        self._actions = actions
        self._root = self._writer.stores.folder.root
        self._left: tuple[str, ...] = ()
        # What is not wanted any more is not fetched before that has been found out.
        self._fetching.leases.held = Part.SCOPE in self._pending()

    async def watch(self) -> None:
        """Go on with what is pending, then look at the definition until cancelled; a full disk is the job's error."""
        try:
            await self._apply_pending()
            while True:
                await asyncio.sleep(LOOK_EVERY)
                await self._check()
        except Exception as error:
            if not is_local(error):
                logger.exception("the definition is not looked at again in this crawl, which goes on")
                return
            self._fail(error)

    async def _check(self) -> None:
        try:
            wanted = await asyncio.to_thread(self._source.newer)
            if wanted is not None:
                await self._apply(redefined(self._context.now.icd, wanted))
        except IcdError as error:
            for mistake in error.mistakes:
                logger.error("%s", mistake)
            logger.error("the changed definition is not used; the one before it stays in use")

    async def _apply(self, change: Redefinition) -> None:
        self._warn_of_ignored(change.left)
        if not change.taken:
            return
        analysed_by = await self._analysers(change.icd)

        if Part.WEIGHTS in change.parts and self._fetching.leases.backlog:
            await self._fetching.leases.backlog.end()
        await self._writer.write(self._keep, change)
        self._use(self._changed(change.icd, analysed_by))
        await self._writer.call(self._writer.stores.frontier.go_by, frontier_settings(change.icd))
        logger.info("the crawl goes by a changed definition from now on: %s", ", ".join(change.taken))
        await self._apply_pending()

    def _keep(self, change: Redefinition) -> None:
        """Write down what the crawl goes by, and what is to be done; of several workers of a folder one does that."""
        if self._writer.stores.folder.is_first:
            mark_pending(self._root, change.parts)
            self._writer.stores.folder.keep_definition(change.icd)

    async def _analysers(self, icd: Icd) -> tuple[OnlineAnalyser, ...]:
        """Return what scores pages under a definition, for the topic that they are scored by at the end of that."""
        while (topic := self._context.now.topic) is not None:
            found = await asyncio.to_thread(analysers, icd, topic)
            if topic is self._context.now.topic:
                return found
        return self._context.now.analysers

    def _use(self, context: CrawlContext) -> None:
        """Go by another context from the next request and page on; the frontier has to be told (``go_by``)."""
        self._context.use(context)
        self._fetching.use(context.icd)
        context.traps.use(context.icd.traps)
        scores = self._writer.stores.scores
        if context.icd.scoring.weights != scores.weights:
            scores.go_by(context.icd.scoring)

    def _changed(self, icd: Icd, analysed_by: tuple[OnlineAnalyser, ...]) -> CrawlContext:
        known = self._context.now
        ranker = known.ranker
        if icd.relevant_at is None:
            ranker = None
        elif ranker is None or not icd.scoring.weights[ranker.name]:
            another = link_ranker(icd.scoring)
            ranker = None if another is None else Lessons(another)
        fingerprint, scope = self._understood_by(icd), Scope(icd, taken_down=known.scope.taken_down)
        return replace(known, icd=icd, analysers=analysed_by, scope=scope, ranker=ranker, fingerprint=fingerprint)

    def _warn_of_ignored(self, left: tuple[str, ...]) -> None:
        if left and left != self._left:
            logger.warning(
                "changes of %s are left aside while the crawl runs: stop it, and start it with --accept-changes",
                ", ".join(left),
            )
        self._left = left

    def _pending(self) -> frozenset[Part]:
        return pending_parts(self._root) if self._writer.stores.folder.is_first else frozenset()

    async def _apply_pending(self) -> None:
        pending = self._pending()
        for part in sorted(pending):
            if part in self._actions:
                await self._actions[part]()
        if pending:
            clear_pending(self._root)


def actions(crawl: RunningCrawl, control: BlockControl) -> Mapping[Part, Action]:
    """Return what brings a crawl into line with each part of its definition that has changed."""
    context, writer = crawl.context, crawl.writer

    async def go_by() -> None:
        await writer.call(writer.stores.frontier.go_by, frontier_settings(context.now.icd))

    return {
        Part.LIMITS: go_by,
        Part.POLITENESS: go_by,
        Part.SCOPE: ScopeUpdate(context, writer, crawl.fetching.leases, control).run,
        Part.WEIGHTS: ScoreUpdate(context, writer).run,
    }
