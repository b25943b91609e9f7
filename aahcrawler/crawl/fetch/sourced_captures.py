"""Takes responses from the sources of a definition, in the place of the sites of today."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final, TypeVar

from aahcrawler.crawl.fetch.client_settings import request_headers, wire_settings
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.exchange import Exchange, Memento
from aahcrawler.layout import SPOOL
from aahcrawler.page import Page
from aahcrawler.sources.archive_client import TROUBLE, ArchiveClient, Pause
from aahcrawler.sources.late_lookups import LateLookups
from aahcrawler.sources.source import LateError, Resolution, SnapshotChoice, Source, captures
from aahcrawler.tallies import NO_CAPTURE, SOURCES_UNAVAILABLE
from aahcrawler.wire.client import WireClient
from aahcrawler.wire.replay import replayed
from aahcrawler.wire.settings import Limits, Timeouts
from online_analysis.icd import Icd

_MAX_REMEMBERED: Final = 10_000
T = TypeVar("T")
IN_LINE: Final = 4.0
"""Seconds that a look-up stays for the response of archives that let one wait, where no other source could tell."""
WORTH, SHARE_WORTH = 60.0, 0.5
"""Seconds, and part of the crawl's time, that a capture of such an archive may take at most by what it gave so far.

Then it is worth being waited for.
"""
MAX_IN_VAIN, SHARE_IN_VAIN = 60.0, 0.5
"""Seconds, and part of the crawl's time, for which one that is worth it is waited for while nothing else comes up."""
SHARE_NOT_WORTH: Final = 0.02
"""The part of the crawl's time for one that is not."""
CONNECT_PATIENCE: Final = 15.0
"""Seconds that an archive has to accept a connection, at most."""
PATIENCE: Final = 30.0
"""Seconds that it may be silent, at most: others wait for their turn meanwhile."""
TOTAL_PATIENCE: Final = 120.0
"""Seconds for a whole response of an archive."""


class NotTakenError(Exception):
    """None of the sources has a URL, for ``reason``.

    ``failed`` says what became of it where archives could not be asked. ``seconds`` is for how long they want to be
    left in peace, ``rest`` for how long those that failed are asked nothing; ``is_answered`` says whether others could
    tell that they have nothing.
    """

    def __init__(self, reason: str, failed: Resolution | None = None) -> None:
        troubles = () if failed is None else failed.troubles
        super().__init__(f"none of the sources has it ({'; '.join(troubles) or reason})")
        self.reason = reason
        self.seconds = 0.0 if failed is None else failed.seconds
        self.rest = 0.0 if failed is None else failed.rest
        self.is_answered = failed is None or bool(failed.have_nothing)


def _nothing(_: str) -> bool:
    return False


@dataclass(slots=True)
class SourcedCaptures:
    """The sources of a definition beside the live web.

    Sources of ``preferred`` are asked before a site, those of ``others`` where the site has a page no more; without
    ``has_live`` no site is asked at all. A page is read up to ``page_bytes``. ``client`` asks archives over the
    network, None where none is asked. A capture may be of another URL than was asked for, such as one with ``www.``;
    one that ``excludes`` is true of is not taken.
    """

    preferred: Sequence[Source] = ()
    others: Sequence[Source] = ()
    has_live: bool = True
    page_bytes: int = 10_000_000
    client: ArchiveClient | None = None
    excludes: Callable[[str], bool] = _nothing
    _counts: Counter[str] = field(default_factory=Counter)
    _unavailable: OrderedDict[str, Resolution] = field(default_factory=OrderedDict)
    _came_up_at: float = 0.0
    _opened_at: float = field(default_factory=monotonic)
    _late: LateLookups = field(default_factory=LateLookups)
    _have_nothing: OrderedDict[str, list[Source]] = field(default_factory=OrderedDict)

    async def captures(
        self, url: str, sources: Sequence[Source], most: int | None, *, is_patient: bool = False
    ) -> AsyncGenerator[CapturedResponse, None]:
        """Yield the captures of a URL from the first of the sources that has any; whoever takes one closes it.

        One with more than ``most`` bytes counts as none; None is as many as are taken of a site. Sources that have said
        before that they have nothing are not asked again, as far as is remembered. Those that let one wait are asked
        while others are looked up, and what they have is yielded when a URL is looked up again; who is patient waits.
        """
        known = self._have_nothing.pop(url, None)
        if known is None:
            self._came_up_at = monotonic()
        resolution = Resolution(have_nothing=known or [])
        sources = [each for each in sources if each not in resolution.have_nothing]
        late = partial(self._late_captures, is_patient=is_patient)
        async for exchange in captures(url, sources, most or Limits().body_bytes, resolution, late):
            page = None if self.excludes(exchange.url) else replayed(exchange, self.page_bytes, as_sent=True)
            if page is None:
                exchange.close()
                continue
            yield CapturedResponse.recorded(exchange.url, exchange, page)
        if resolution.has_any or self.has_live or not resolution.seconds:
            await self._late.withdraw(url)  # It is not looked up again.
        self._counts.update({f"{TROUBLE}:{what}": number for what, number in resolution.troubles.items()})
        if resolution.may_pass:
            _remember(self._unavailable, url, resolution)
            _remember(self._have_nothing, url, resolution.have_nothing)

    async def _late_captures(
        self,
        url: str,
        late: Sequence[tuple[Source, LateError]],
        most: int,
        resolution: Resolution,
        *,
        is_patient: bool,
    ) -> AsyncIterator[Exchange]:
        """Yield what archives that let one wait have of a URL; note where they have not answered yet.

        Who stayed for them would hold the lease of a site meanwhile, and the place of what other archives have.
        """
        self._late.ask(url, late, most)
        if is_patient or self.has_live or not resolution.have_nothing:
            await self._late.ended(url, None if is_patient else IN_LINE)
        pending = [(source, lateness) for source, lateness in late if not self._late.has_answered(url, source)]
        for source, _ in late:
            async for exchange in self._late.captures(url, source, resolution):
                self._came_up_at = monotonic()
                resolution.has_any = True
                yield exchange
            if resolution.has_any:
                return
        for source, lateness in pending:
            lateness.seconds = lateness.seconds if self._is_waited_for(source) else 0.0
            resolution.note(url, lateness)

    def _is_waited_for(self, source: Source) -> bool:
        """Return whether URLs that only a source may have that lets one wait are looked up again until it answers."""
        now = monotonic()
        is_worth = self._late.is_worth(source, min(WORTH, SHARE_WORTH * (now - self._opened_at)))
        least, share = (MAX_IN_VAIN, SHARE_IN_VAIN) if is_worth else (0.0, SHARE_NOT_WORTH)
        return now - self._came_up_at <= max(least, share * (now - self._opened_at))

    def take_late_answers(self) -> Sequence[str]:
        """Return the URLs of which captures came since the last call from archives that let one wait."""
        return self._late.take_told()

    async def page(self, url: str, sources: Sequence[Source]) -> tuple[Page, Memento | None] | None:
        """Return the first capture of a URL as a page, with where it is from; None where none of the sources has it."""
        async with aclosing(self.captures(url, sources, None, is_patient=True)) as responses:
            async for response in responses:
                with closing(response.exchange) as exchange:
                    page = replayed(exchange, self.page_bytes, as_sent=True)
                    return None if page is None else (page, exchange.memento)
        return None

    def require_live(self, url: str) -> None:
        """Raise ``NotTakenError`` for a URL that was not found, where the live web is no source."""
        if not self.has_live:
            failed = self.unavailable(url)
            if failed is None:
                raise NotTakenError(NO_CAPTURE)
            raise NotTakenError(SOURCES_UNAVAILABLE, failed)

    def unavailable(self, url: str) -> Resolution | None:
        """Return what became of a URL that was not found because a source could not say what it has, and forget it.

        That is None where all sources could.
        """
        return self._unavailable.pop(url, None)

    def wait_by(self, pause: Pause, ending: asyncio.Event) -> None:
        """Wait between requests by ``pause``, which raises when the crawl ends; end what is under way then."""
        if self.client is not None:
            self.client.pause, self.client.ending = pause, ending

    def counts(self) -> Mapping[str, float]:
        """Return what there is to be counted since the last call."""
        counts, self._counts = self._counts, Counter()
        return counts + Counter({} if self.client is None else self.client.take_counts())

    async def close(self) -> None:
        """Release files and connections."""
        await self._late.close()
        for source in (*self.preferred, *self.others):
            source.close()
        if self.client is not None:
            await self.client.close()


def _remember(known: OrderedDict[str, T], url: str, value: T) -> None:
    """Remember something of a URL; of too many, what was remembered first is forgotten."""
    known[url] = value
    if len(known) > _MAX_REMEMBERED:
        known.popitem(last=False)


def open_sources(
    icd: Icd, folder: Path, choice: SnapshotChoice, excludes: Callable[[str], bool] = _nothing
) -> SourcedCaptures:
    """Open the sources of a definition, whose imports and TimeMaps are kept in ``folder``.

    Raise ``ArchiveFolderError``.
    """
    given = icd.captures
    if given.is_live:
        return SourcedCaptures(excludes=excludes)
    client = None
    if any(each.memento or each.cdx for each in given.sources):
        settings = wire_settings(icd, folder / SPOOL)
        patience = min(PATIENCE, icd.politeness.timeout.total_seconds())
        timeouts = Timeouts(min(CONNECT_PATIENCE, patience), patience, patience, TOTAL_PATIENCE)
        wire = WireClient(replace(settings, timeouts=timeouts))
        client = ArchiveClient(wire, icd.politeness, request_headers(icd))
    from aahcrawler.sources.opening import open_source  # noqa: PLC0415 - no crawl of the live web waits for it

    live = next((at for at, each in enumerate(given.sources) if each.live), len(given.sources))
    before, behind = (
        [open_source(each, folder, choice, client) for each in sources if not each.live]
        for sources in (given.sources[:live], given.sources[live:])
    )
    return SourcedCaptures(before, behind, given.has_live, icd.limits.page_bytes, client, excludes)
