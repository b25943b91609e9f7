"""Writes a refusal log: one file or more a worker, a page at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from pydantic import BaseModel

from aahcrawler.frontier.protocol import Kind, Offer
from aahcrawler.layout import REFUSAL_LOG
from aahcrawler.refusals.entries import Begin, Failed, Link, Page
from aahcrawler.segments import SegmentedOutput, SegmentWriter, Series

MOST_A_PAGE = 1_000
"""Refused links of one page that are kept, the first ones that are new."""
MOST_REMEMBERED = 1 << 16
"""The most links remembered, those refused last, so as not to be written again: some 10 MB."""
_DECIMALS = 4


class RefusalLog(SegmentedOutput):
    """Appends the refused links of pages to segments of a crawl's folder; each page is a gzip member of its own.

    A link is written once for each reason, however many pages have it, as long as it is remembered. When a method
    returns, its links are with the operating system (``aahcrawler.segments``). Not for two threads at once.
    """

    def __init__(
        self, folder: Path, crawl: str, number: int, clock: Callable[[], datetime], *, size: int = 1 << 30
    ) -> None:
        series = Series(folder, crawl, REFUSAL_LOG, limit=size)
        super().__init__(SegmentWriter(series, clock, lambda _: (_line(Begin(crawl=number)),)))
        self._remembered: dict[int, None] = {}

    def refused(self, via: str, language: str | None, refused: Mapping[str, Sequence[Offer]]) -> None:
        """Keep links of a page that were refused, by reason. ``language`` is that of the page, None if not known.

        Raise ``DiskFullError`` when there is no room, ``SegmentError`` for other troubles of the disk; nothing was
        changed then, and the same call may be made again.
        """
        new: dict[int, None] = {}
        found: dict[str, list[Link]] = {}
        for reason, offers in refused.items():
            fresh = dict(islice(self._fresh(reason, offers), MOST_A_PAGE - len(new)))
            if fresh:
                new |= dict.fromkeys(fresh)
                found[reason] = [_link(offer) for offer in fresh.values()]
        if found:
            self._segments.append((_line(Page(via=via, language=language, refused=found)),))
            self._remember(new)

    def failed(self, url: str, reason: str, kind: Kind, via: str) -> None:
        """Keep a URL that failed, in the way of ``refused``; ``via`` is the page that linked to it, if any."""
        self._segments.append((_line(Failed(failed=url, reason=reason, kind=kind, via=via)),))

    def _fresh(self, reason: str, offers: Sequence[Offer]) -> Iterator[tuple[int, Offer]]:
        keyed = ((hash((reason, offer.url)), offer) for offer in offers)
        return ((key, offer) for key, offer in keyed if key not in self._remembered)

    def _remember(self, new: Mapping[int, None]) -> None:
        self._remembered.update(new)
        excess = len(self._remembered) - MOST_REMEMBERED
        if excess > 0:
            self._remembered = dict.fromkeys(list(self._remembered)[excess + MOST_REMEMBERED // 8 :])


def _link(offer: Offer) -> Link:
    return Link(offer.url, round(offer.score, _DECIMALS), offer.depth, offer.kind, offer.path)


def _line(entry: BaseModel) -> bytes:
    return entry.model_dump_json(exclude_none=True).encode() + b"\n"
