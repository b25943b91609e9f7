"""The log of refused links. A changed definition that wants such links can offer them from here.

It consists of segments in ``refused/``: gzip-compressed lines of JSON. The first line of a file says of which crawl it
is. Each other line is either a page with its refused links, by reason, or a URL that failed, which is kept for people
to see.
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


class RefusedLink(NamedTuple):
    """A refused link as the log keeps it, without its page and the reason."""

    url: str
    score: float
    depth: int
    kind: Literal["page", "requisite"]
    path: str


class LogHeader(BaseModel):
    """The first line of each file. ``crawl`` is the number of the crawl."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    crawl: int


class PageRefusals(BaseModel):
    """A page with its refused links by reason. ``language`` is the page's, None if unknown."""

    model_config = ConfigDict(frozen=True)

    via: str
    language: str | None = None
    refused: dict[str, list[RefusedLink]]


class Failed(BaseModel):
    """A URL that was not fetched, or whose response was an error, with the reason.

    ``via`` is the page that linked to it.
    """

    model_config = ConfigDict(frozen=True)

    failed: str
    reason: str
    kind: Literal["page", "requisite"] = "page"
    via: str = ""


Entry: TypeAdapter[PageRefusals | Failed] = TypeAdapter(PageRefusals | Failed)
"""Parses the lines after the first."""


MAX_A_PAGE = 1_000
"""Refused links of one page that are written; links written before do not count."""
MAX_REMEMBERED = 1 << 16
"""Latest refused links that are remembered, so as not to be written again: some 10 MB."""
_DECIMALS = 4


class RefusalLog(SegmentedOutput):
    """Append the refused links of pages to segments in a crawl's folder, each page as a gzip member of its own.

    A link is written once for each reason while it is remembered, however many pages have it. When a method returns,
    the operating system has its data (``aahcrawler.segments``). Not safe for concurrent use by two threads.
    """

    def __init__(
        self, folder: Path, crawl: str, number: int, clock: Callable[[], datetime], *, size: int = 1 << 30
    ) -> None:
        series = Series(folder, crawl, REFUSAL_LOG, limit=size)
        super().__init__(SegmentWriter(series, clock, lambda _: (_line(LogHeader(crawl=number)),)))
        self._remembered: dict[int, None] = {}

    def refused(self, via: str, language: str | None, refused: Mapping[str, Sequence[Offer]]) -> None:
        """Append the refused links of a page, by reason. ``language`` is the page's, None if unknown.

        Raise ``DiskFullError`` if the disk is full, ``SegmentError`` for its other errors. Nothing was changed then,
        and the call may be repeated.
        """
        new: dict[int, None] = {}
        found: dict[str, list[RefusedLink]] = {}
        for reason, offers in refused.items():
            fresh = self._fresh(reason, offers, MAX_A_PAGE - len(new))
            if fresh:
                new |= dict.fromkeys(fresh)
                found[reason] = [
                    RefusedLink(each.url, round(each.score, _DECIMALS), each.depth, each.kind, each.path)
                    for each in fresh.values()
                ]
        if found:
            self._segments.append((_line(PageRefusals(via=via, language=language, refused=found)),))
            self._remember(new)

    def failed(self, url: str, reason: str, kind: Kind, via: str) -> None:
        """Append a URL that failed; ``via`` is the page that linked to it, if any. Raise as ``refused`` does."""
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


def _line(entry: BaseModel) -> bytes:
    return entry.model_dump_json(exclude_none=True).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused link as an offer, with the reason and the language of its page, None if unknown."""

    offer: Offer
    reason: str
    language: str | None


def read_refusals(folder: Path, crawl: int) -> Iterator[Refused]:
    """Yield the refused links of a crawl, file by file in the order in which the files were begun.

    A link may come several times. A missing folder yields nothing. A file that is still being written is read up to its
    last complete line. Raise ``DamageError`` for a damaged file, after the links before the damage.
    """
    for entry in _entries(folder, crawl):
        if isinstance(entry, PageRefusals):
            yield from _links(entry)


def failures(folder: Path, crawl: int) -> Iterator[Failed]:
    """Yield the URLs of a crawl that failed, in the order of ``read_refusals``.

    A URL may come several times; the reason given last holds.
    """
    return (entry for entry in _entries(folder, crawl) if isinstance(entry, Failed))


def _entries(folder: Path, crawl: int) -> Iterator[PageRefusals | Failed]:
    for path in segments(folder, REFUSAL_LOG):
        yield from _file(path, crawl)


def _file(path: Path, crawl: int) -> Iterator[PageRefusals | Failed]:
    try:
        with closing(lines(path)) as text:
            first = next(text, None)
            if first is None or not _is_of(path, LogHeader.model_validate_json(first), crawl):
                return
            for line in text:
                yield Entry.validate_json(line)
    except ValidationError as error:
        raise DamageError(
            f"{path}: is damaged (a line is no entry); move it elsewhere, the rest can still be read"
        ) from error


def _is_of(path: Path, begin: LogHeader, crawl: int) -> bool:
    if begin.format != FORMAT:
        raise DamageError(f"{path}: is of another version; move it elsewhere")
    return begin.crawl == crawl


def _links(page: PageRefusals) -> Iterator[Refused]:
    for reason, links in page.refused.items():
        for url, score, depth, kind, path in links:
            yield Refused(Offer(url, queue_of(url), score, depth, kind, page.via, path), reason, page.language)
