"""Read the definition of a crawl again while it runs, and judge what is queued, blocked and refused by it."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.stores import CrawlContext, CurrentContext, StoreWriter
from aahcrawler.crawl.directory.crawl_runs import LOOK_EVERY, Stamps, stamps, write_whole
from aahcrawler.crawl.health.outages import is_local
from aahcrawler.crawl.lease.lease_source import LeaseSource
from aahcrawler.crawls import frontier_settings
from aahcrawler.frontier.control import Blocking, Revisiting, UrlStatus
from aahcrawler.frontier.protocol import Offer, Offered, Rescore, State
from aahcrawler.layout import REDEFINING
from aahcrawler.refusals import Refused, read_refusals
from aahcrawler.scope import RULE, SCOPE, Refusal, Scope
from aahcrawler.scores import Lessons, Share, Source, weighed
from aahcrawler.segments import DamageError
from aahcrawler.traps.patterns import Trap
from online_analysis.aggregation import OnlineAnalyser, Revision, Weighed
from online_analysis.analysers import analysers
from online_analysis.icd import Icd, IcdError, Part, Redefinition, redefined
from online_analysis.ranking import link_ranker

logger = logging.getLogger(__name__)

JUDGED_AT_ONCE = 500

_JUDGED = frozenset({*Refusal, *Trap})

_LEARNED = frozenset({Trap.NOVELTY, Trap.BARREN, Trap.REPEATED})
"""Reasons that pages fetched later may take back."""

_T = TypeVar("_T")


class BlockControl(Blocking, Revisiting, Protocol):
    """Blocks and unblocks known URLs."""


class ScopeUpdate:
    """Brings a frontier into line with a crawl's scope.

    Queued URLs that are refused now are blocked, with the scope's reason; those that were blocked for such a reason
    and are admitted now are queued again, with the score that they had; and links that were refused are offered if
    they are admitted now. It may be done again without harm. Nothing is leased meanwhile.
    """

    def __init__(
        self, context: CurrentContext, writer: StoreWriter, leases: LeaseSource, control: BlockControl
    ) -> None:
        self._context = context
        self._writer = writer
        self._leases = leases
        self._control = control

    async def run(self) -> None:
        """Judge everything again."""
        self._leases.held = True
        try:
            done = await self._judge_known() + await self._judge_refused()
        finally:
            self._leases.held = False
        counts = ", ".join(f"{what}: {n:,}" for what, n in done.items())
        logger.info(
            "what is queued has been brought into line with the scope; %s", counts or "nothing was to be changed"
        )

    async def readmit(self) -> bool:
        """Offer links that were refused for what pages like theirs had brought, if these brought something later.

        Return whether that was anything. It is to be called when nothing is left to be leased.
        """
        traps = self._context.now.traps
        if not traps.reopened:
            return False
        traps.reopened = False
        offered = (await self._judge_refused()).total() + await self._judge_blocked()
        if offered:
            logger.info("%d links are followed after all: pages like theirs have brought something", offered)
        return offered > 0

    async def _judge_blocked(self) -> int:
        """Queue pages again that were blocked when they were leased, for what pages like theirs had brought till then.

        Return how many.
        """
        statuses = self._control.scan((State.BLOCKED,))
        count = 0
        while part := await self._writer.call(_part, statuses):
            judged = [each.offer for each in part if each.offer is not None and each.reason in _LEARNED]
            back = [offer.url for offer in judged if self._context.now.link_rules.trap(offer) is None]
            count += sum(await self._writer.call(self._control.unblock_urls, back)) if back else 0
        return count

    async def _judge_known(self) -> Counter[str]:
        done: Counter[str] = Counter()
        statuses = self._control.scan((State.QUEUED, State.BLOCKED))
        while part := await self._writer.call(_part, statuses):
            blocked: dict[str, list[str]] = {}
            back: list[str] = []
            for each in part:
                self._judge(each, blocked, back)
            for reason, urls in blocked.items():
                answers = await self._writer.call(self._control.block_urls, urls, SCOPE + reason)
                done[f"blocked for {reason}"] += sum(answers)
            done["queued again"] += sum(await self._writer.call(self._control.unblock_urls, back)) if back else 0
        return +done

    def _judge(self, status: UrlStatus, blocked: dict[str, list[str]], back: list[str]) -> None:
        offer = status.offer
        if offer is None:
            return
        refusal = self._context.now.scope.admit(offer)
        if status.state is State.BLOCKED:
            if refusal is None and status.reason.startswith(SCOPE):
                back.append(offer.url)
        elif refusal is not None:
            blocked.setdefault(refusal, []).append(offer.url)

    async def _judge_refused(self) -> Counter[str]:
        folder = self._writer.stores.folder
        refused = read_refusals(folder.refused, folder.run.number)
        done: Counter[str] = Counter()
        try:
            while part := await asyncio.to_thread(_part, refused):
                done["offered after all"] += await self._offer(part)
        except DamageError as error:
            logger.error("%s; what it held stays refused", error)
        return +done

    async def _offer(self, part: Sequence[Refused]) -> int:
        """Offer what is admitted now; return how many URLs were new."""
        wanted = [each.offer for each in part if self._is_wanted(each)]
        answers = await self._writer.call(self._writer.stores.frontier.offer, wanted) if wanted else ()
        new = [offer for offer, answer in zip(wanted, answers, strict=True) if answer is Offered.ADDED]
        await self._log(new)
        return len(new)

    def _is_wanted(self, refused: Refused) -> bool:
        known, offer = self._context.now, refused.offer
        if known.scope.admit(offer, refused.language) is not None:
            return False
        match refused.reason:
            case Trap.NEAR_DUPLICATE:  # Of the page that the link stands on, as is the next one.
                return self._context.now.icd.traps.duplicates == "follow"
            case Trap.SOFT_404:
                return self._context.now.icd.traps.soft_404 == "ignore"
            case reason if reason in _JUDGED or reason.startswith(RULE):
                return known.link_rules.trap(offer) is None
        return False

    async def _log(self, new: Sequence[Offer]) -> None:
        pages = [(offer.url, offer.score) for offer in new if offer.kind == "page"]
        await self._writer.write(self._writer.stores.scores.offered, Source.READMITTED, pages)


def _part(items: Iterator[_T]) -> list[_T]:
    return list(islice(items, JUDGED_AT_ONCE))


class DefinitionSource(Protocol):
    """A place that holds the definition of one crawl. It blocks while it looks."""

    def load(self) -> Icd:
        """Return the definition. Raise ``IcdError`` with every mistake in it."""
        ...

    def newer(self) -> Icd | None:
        """Return the definition if it has changed since it was last looked at, None where it has not.

        Raise ``IcdError`` for one with mistakes, once for each that there is.
        """
        ...


class DefinitionFile:
    """The file of an ICD, and the files that it names.

    A change counts when two looks in a row see the same files: one that is being written is left in peace.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: tuple[Path, ...] = (path,)
        self._read: Stamps = {}
        self._last: Stamps = {}

    def load(self) -> Icd:
        """See ``DefinitionSource.load``."""
        before = stamps((self._path,))
        self._read = self._last = stamps(self._files)
        icd = Icd.load(self._path)
        self._files = (self._path, *(self._path.parent / name for name in icd.file_names))
        self._read = self._last = {**stamps(self._files), **before}
        return icd

    def newer(self) -> Icd | None:
        """See ``DefinitionSource.newer``."""
        now, before = stamps(self._files), self._last
        self._last = now
        if now == self._read or now != before or self._path not in now:
            return None
        return self.load()


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
class ReloadedCrawl:
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
        crawl: ReloadedCrawl,
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
        fingerprint = self._understood_by(icd)
        was = known.scope
        scope = Scope(icd, taken_down=was.taken_down, exclusions=was.exclusions, resting=was.resting)
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


def actions(crawl: ReloadedCrawl, control: BlockControl) -> Mapping[Part, Action]:
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


MAX_IN_MEMORY = 200_000
"""URLs that are re-scored with one reading of the score log: some 100 MB."""
RESCORED_AT_ONCE = 200
"""How many URLs are re-scored in one call of the frontier."""


class ScoreUpdate:
    """Brings a frontier, and the ranker, into line with a crawl's weights.

    Every queued URL gets the score that it would have, had the weights been what they are from the beginning; what the
    ranker has said stays. What was posted from outside is left alone. It may be done again without harm.
    """

    def __init__(self, context: CurrentContext, writer: StoreWriter) -> None:
        self._context = context
        self._writer = writer

    async def run(self) -> None:
        """Score everything again that the score log has the parts of."""
        queued = (await self._writer.call(self._writer.stores.frontier.counts)).pages.get(State.QUEUED, 0)
        shares = 1 + queued // MAX_IN_MEMORY
        changed = 0
        try:
            for number in range(shares):
                changed += await self._score(await self._weighed(Share(number, shares)))
        except DamageError as error:
            logger.error("%s; what waits is scored by the former weights", error)
        logger.info("by the changed weights %d of the pages that wait have been scored", changed)

    async def _weighed(self, share: Share) -> Mapping[str, Weighed]:
        folder, weights = self._writer.stores.folder, self._context.now.icd.scoring.weights
        return await asyncio.to_thread(weighed, folder.scores, folder.run.number, weights, share)

    async def _score(self, waiting: Mapping[str, Weighed]) -> int:
        context, frontier = self._context.now, self._writer.stores.frontier
        changed, left = 0, iter(waiting.items())
        while part := list(islice(left, RESCORED_AT_ONCE)):
            rescores = [Rescore(url, now.score) for url, now in part]
            answers = await self._writer.call(frontier.rescore, rescores)
            taken = [Revision(each.url, each.score) for each, was in zip(rescores, answers, strict=True) if was]
            await self._log(taken)
            changed += len(taken)
        if (ranker := context.ranker) is not None:
            ranker.reweigh(context.icd.scoring.weights[ranker.name], waiting)
        return changed

    async def _log(self, taken: list[Revision]) -> None:
        if taken:
            await self._writer.write(self._writer.stores.scores.rescored, taken, "weights")
