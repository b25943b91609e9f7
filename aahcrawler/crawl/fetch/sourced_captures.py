"""Takes answers from the sources of a definition, in the place of the sites of today."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.crawl.fetch.client_settings import request_headers, wire_settings
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.layout import SOURCES, SPOOL, TIME_MAPS
from aahcrawler.sources.archive_client import ArchiveClient, Pause
from aahcrawler.sources.local_archives import open_archives
from aahcrawler.sources.memento_source import MementoSource
from aahcrawler.sources.remote_captures import RemoteCaptures
from aahcrawler.sources.resolution import Resolution, captures
from aahcrawler.sources.snapshots import SnapshotChoice
from aahcrawler.sources.source import Source
from aahcrawler.sources.time_map_cache import TimeMapCache
from aahcrawler.wire.client import WireClient
from aahcrawler.wire.replay import replayed
from aahcrawler.wire.settings import Limits, Timeouts
from online_analysis.icd import CaptureSource, Icd

TROUBLE: Final = "source_trouble"
"""The counts of what went wrong with sources, by archive and reason."""
_MAX_REMEMBERED: Final = 1_000
CONNECT_PATIENCE: Final = 15.0
"""Seconds that an archive has to accept a connection, at most."""
PATIENCE: Final = 30.0
"""Seconds that it may be silent, at most: others wait for their turn meanwhile."""
TOTAL_PATIENCE: Final = 120.0
"""Seconds for a whole answer of an archive."""


@dataclass(slots=True)
class SourcedCaptures:
    """The sources of a definition beside the live web.

    Sources of ``preferred`` are asked before a site, those of ``others`` where the site has a page no more; without
    ``has_live`` no site is asked at all. A page is read up to ``page_bytes``. ``client`` asks archives over the
    network, None where none is asked.
    """

    preferred: Sequence[Source] = ()
    others: Sequence[Source] = ()
    has_live: bool = True
    page_bytes: int = 10_000_000
    client: ArchiveClient | None = None
    _counts: Counter[str] = field(default_factory=Counter)
    _unavailable: OrderedDict[str, float] = field(default_factory=OrderedDict)

    async def captures(self, url: str, sources: Sequence[Source], most: int | None) -> AsyncIterator[CapturedResponse]:
        """Yield the captures of a URL from the first of the sources that has any; whoever takes one closes it.

        One with more than ``most`` bytes counts as none; None is as many as are taken of a site.
        """
        resolution = Resolution()
        async for exchange in captures(url, sources, most or Limits().body_bytes, resolution):
            page = replayed(exchange, self.page_bytes, as_sent=True)
            if page is None:
                exchange.close()
                continue
            yield CapturedResponse.recorded(exchange.url, exchange, page)
        self._counts.update({f"{TROUBLE}:{what}": number for what, number in resolution.troubles.items()})
        if resolution.may_pass:
            self._unavailable[url] = resolution.seconds
            while len(self._unavailable) > _MAX_REMEMBERED:
                self._unavailable.popitem(last=False)

    def unavailable(self, url: str) -> float | None:
        """Return for how many seconds sources ask to be left in peace because of which a URL was not found.

        That is 0 where they said nothing, and None where all of them were asked; it is forgotten then.
        """
        return self._unavailable.pop(url, None)

    def wait_by(self, pause: Pause, ending: asyncio.Event) -> None:
        """Wait between requests by ``pause``, which raises when the crawl ends; end what is under way then."""
        if self.client is not None:
            self.client.pause, self.client.ending = pause, ending

    def counts(self) -> Mapping[str, float]:
        """Return what there is to be counted since the last call."""
        counts, self._counts = self._counts, Counter()
        return {**counts, **({} if self.client is None else self.client.take_counts())}

    async def close(self) -> None:
        """Release files and connections."""
        for source in (*self.preferred, *self.others):
            source.close()
        if self.client is not None:
            await self.client.close()


def open_sources(icd: Icd, folder: Path, choice: SnapshotChoice) -> SourcedCaptures:
    """Open the sources of a definition, whose imports and TimeMaps are kept in ``folder``.

    Raise ``ArchiveFolderError``.
    """
    given = icd.captures
    if given.is_live:
        return SourcedCaptures()
    client = None
    if any(each.memento for each in given.sources):
        settings = wire_settings(icd, folder / SPOOL)
        patience = min(PATIENCE, icd.politeness.timeout.total_seconds())
        timeouts = Timeouts(min(CONNECT_PATIENCE, patience), patience, patience, TOTAL_PATIENCE)
        wire = WireClient(replace(settings, timeouts=timeouts))
        client = ArchiveClient(wire, icd.politeness, request_headers(icd))
    live = next((at for at, each in enumerate(given.sources) if each.live), len(given.sources))
    before, behind = (
        [_opened(each, folder, choice, client) for each in sources if not each.live]
        for sources in (given.sources[:live], given.sources[live:])
    )
    return SourcedCaptures(before, behind, given.has_live, icd.limits.page_bytes, client)


def _opened(given: CaptureSource, folder: Path, choice: SnapshotChoice, client: ArchiveClient | None) -> Source:
    if given.memento is None or client is None:
        return open_archives(given.name, given.archive, folder / SOURCES, choice, _now)
    address = given.memento.timegate or given.memento.timemap or ""
    name = given.name or urlsplit(address).netloc
    cache = TimeMapCache(folder / SOURCES / TIME_MAPS)
    return MementoSource(name, given.memento, choice, RemoteCaptures(client, name, _now), cache)


def _now() -> datetime:
    return datetime.now(UTC)
