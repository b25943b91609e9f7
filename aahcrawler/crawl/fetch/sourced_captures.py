"""Takes answers from the sources of a definition, in the place of the sites of today."""

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.layout import SOURCES
from aahcrawler.sources.local_archives import open_archives
from aahcrawler.sources.resolution import Resolution, captures
from aahcrawler.sources.snapshots import SnapshotChoice
from aahcrawler.sources.source import Source
from aahcrawler.wire.replay import replayed
from aahcrawler.wire.settings import Limits
from online_analysis.icd import Icd

TROUBLE: Final = "source_trouble"
"""The counts of what went wrong with sources, by archive and reason."""
_MAX_REMEMBERED: Final = 1_000


@dataclass(slots=True)
class SourcedCaptures:
    """The sources of a definition beside the live web.

    Sources of ``preferred`` are asked before a site, those of ``others`` where the site has a page no more; without
    ``has_live`` no site is asked at all. A page is read up to ``page_bytes``.
    """

    preferred: Sequence[Source] = ()
    others: Sequence[Source] = ()
    has_live: bool = True
    page_bytes: int = 10_000_000
    _counts: Counter[str] = field(default_factory=Counter)
    _unavailable: OrderedDict[str, None] = field(default_factory=OrderedDict)

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
            self._unavailable[url] = None
            while len(self._unavailable) > _MAX_REMEMBERED:
                self._unavailable.popitem(last=False)

    def may_pass(self, url: str) -> bool:
        """Return whether a URL was not found because a source could not be asked, and forget that."""
        if url not in self._unavailable:
            return False
        del self._unavailable[url]
        return True

    def counts(self) -> Mapping[str, float]:
        """Return what there is to be counted since the last call."""
        counts, self._counts = self._counts, Counter()
        return counts

    async def close(self) -> None:
        """Release files and connections."""
        for source in (*self.preferred, *self.others):
            source.close()


def open_sources(icd: Icd, folder: Path, choice: SnapshotChoice) -> SourcedCaptures:
    """Open the sources of a definition whose crawl is in ``folder``. Raise ``ArchiveFolderError``."""
    given = icd.captures
    if given.is_live:
        return SourcedCaptures()
    live = next((at for at, each in enumerate(given.sources) if each.live), len(given.sources))
    opened = [
        open_archives(each.name, each.archive, folder / SOURCES, choice, lambda: datetime.now(UTC))
        for each in given.sources
        if each.archive
    ]
    return SourcedCaptures(opened[:live], opened[live:], given.has_live, icd.limits.page_bytes)
