"""The log of refused links, from which they can be offered when a changed definition wants them.

Files of a crawl that only grow, in ``refused/``: gzip-compressed lines of JSON. The first line of each file says which
crawl it is of; each other one is of a page, and has the links of it that were refused, by reason, or of a URL that
failed, for people to see.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from aahcrawler.frontier.protocol import Kind, Offer
from aahcrawler.layout import REFUSAL_LOG
from aahcrawler.segments import DamageError, SegmentedOutput, SegmentWriter, Series, lines, segments
from aahcrawler.urls import queue_of

FORMAT = 1


class Link(NamedTuple):
    """A refused link, and the page it is on."""

    url: str
    score: float
    depth: int
    kind: Literal["page", "requisite"]
    path: str


class Begin(BaseModel):
    """The first line of each file. ``crawl`` counts the crawls of a definition."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    crawl: int


class Page(BaseModel):
    """A page and those of its links that were refused, by reason; ``language`` is that of the page, if known."""

    model_config = ConfigDict(frozen=True)

    via: str
    language: str | None = None
    refused: dict[str, list[Link]]


class Failed(BaseModel):
    """A URL that was not fetched, or answered with an error, and the reason; ``via`` is the page that linked to it."""

    model_config = ConfigDict(frozen=True)

    failed: str
    reason: str
    kind: Literal["page", "requisite"] = "page"
    via: str = ""


Entry: TypeAdapter[Page | Failed] = TypeAdapter(Page | Failed)
"""Reads a line that is not the first."""


MAX_A_PAGE = 1_000
"""Refused links of one page that are kept, the first ones that are new."""
MAX_REMEMBERED = 1 << 16
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
            fresh = self._fresh(reason, offers, MAX_A_PAGE - len(new))
            if fresh:
                new |= dict.fromkeys(fresh)
                found[reason] = [_link(offer) for offer in fresh.values()]
        if found:
            self._segments.append((_line(Page(via=via, language=language, refused=found)),))
            self._remember(new)

    def failed(self, url: str, reason: str, kind: Kind, via: str) -> None:
        """Keep a URL that failed, in the way of ``refused``; ``via`` is the page that linked to it, if any."""
        self._segments.append((_line(Failed(failed=url, reason=reason, kind=kind, via=via)),))

    def _fresh(self, reason: str, offers: Sequence[Offer], most: int) -> Mapping[int, Offer]:
        """Return the first offers that are not remembered, by what they are remembered by."""
        found: dict[int, Offer] = {}
        for offer in offers if most > 0 else ():
            key = hash((reason, offer.url))
            if key not in self._remembered:
                found[key] = offer
                most -= 1
                if not most:
                    break
        return found

    def _remember(self, new: Mapping[int, None]) -> None:
        self._remembered.update(new)
        excess = len(self._remembered) - MAX_REMEMBERED
        if excess > 0:
            self._remembered = dict.fromkeys(list(self._remembered)[excess + MAX_REMEMBERED // 8 :])


def _link(offer: Offer) -> Link:
    return Link(offer.url, round(offer.score, _DECIMALS), offer.depth, offer.kind, offer.path)


def _line(entry: BaseModel) -> bytes:
    return entry.model_dump_json(exclude_none=True).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Refused:
    """A link that was refused for a reason; ``language`` is that of the page that has it, None if not known."""

    offer: Offer
    reason: str
    language: str | None


def read_refusals(folder: Path, crawl: int) -> Iterator[Refused]:
    """Yield the refused links of a crawl, in the order in which the files were begun.

    A link may come several times. A folder that does not exist has none. Files that are being written are read up to
    their last whole line. Raise ``DamageError`` for damage, after the links before it.
    """
    for entry in _entries(folder, crawl):
        if isinstance(entry, Page):
            yield from _links(entry)


def failures(folder: Path, crawl: int) -> Iterator[Failed]:
    """Yield the URLs of a crawl that failed, in the order of ``read_refusals``.

    One may come several times; its last reason holds.
    """
    return (entry for entry in _entries(folder, crawl) if isinstance(entry, Failed))


def _entries(folder: Path, crawl: int) -> Iterator[Page | Failed]:
    for path in segments(folder, REFUSAL_LOG):
        yield from _file(path, crawl)


def _file(path: Path, crawl: int) -> Iterator[Page | Failed]:
    try:
        with closing(lines(path)) as text:
            first = next(text, None)
            if first is None or not _is_of(path, Begin.model_validate_json(first), crawl):
                return
            for line in text:
                yield Entry.validate_json(line)
    except ValidationError as error:
        raise DamageError(
            f"{path}: is damaged (a line is no entry); move it elsewhere, the rest can still be read"
        ) from error


def _is_of(path: Path, begin: Begin, crawl: int) -> bool:
    if begin.format != FORMAT:
        raise DamageError(f"{path}: is of another version; move it elsewhere")
    return begin.crawl == crawl


def _links(page: Page) -> Iterator[Refused]:
    for reason, links in page.refused.items():
        for url, score, depth, kind, path in links:
            yield Refused(Offer(url, queue_of(url), score, depth, kind, page.via, path), reason, page.language)
