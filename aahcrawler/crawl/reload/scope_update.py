"""Judge queued, blocked and refused URLs again when the scope, or the settings of traps, have changed."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.lease.lease_source import LeaseSource
from aahcrawler.frontier.control import Blocking, Revisiting
from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import Offer, Offered, State
from aahcrawler.refusals import Refused, read_refusals
from aahcrawler.scope import RULE, SCOPE, Refusal
from aahcrawler.scores import Source
from aahcrawler.segments import DamageError
from aahcrawler.traps.path_shape import Trap

logger = logging.getLogger(__name__)

AT_ONCE = 500

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
    return list(islice(items, AT_ONCE))
