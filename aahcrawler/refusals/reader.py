"""Reads a refusal log."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from aahcrawler.frontier.protocol import Offer
from aahcrawler.refusals.entries import FORMAT, Begin, Page
from aahcrawler.refusals.log import EXTENSION
from aahcrawler.segments import SegmentError, open_segment, segments
from aahcrawler.urls import queue_of


class RefusalLogError(Exception):
    """Raised for a damaged file of a refusal log; the message tells the file and the remedy."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A link that was refused for a reason; ``language`` is that of the page that has it, None if not known."""

    offer: Offer
    reason: str
    language: str | None


def read(folder: Path, crawl: int) -> Iterator[Refused]:
    """Yield the refused links of a crawl, in the order in which the files were begun.

    A link may come several times. A folder that does not exist has none. Files that are being written are read up to
    their last whole line. Raise ``RefusalLogError`` for damage, after the links before it.
    """
    for path in segments(folder, EXTENSION):
        yield from _file(path, crawl)


def _file(path: Path, crawl: int) -> Iterator[Refused]:
    try:
        with closing(open_segment(path)) as raw, gzip.GzipFile(fileobj=raw) as lines:
            first = next(lines, None)
            if first is None or not _is_of(path, Begin.model_validate_json(first), crawl):
                return
            for line in lines:
                yield from _links(Page.model_validate_json(line))
    except (OSError, EOFError, zlib.error, SegmentError, ValidationError) as error:
        what = type(error).__name__ if isinstance(error, ValidationError) else error
        raise RefusalLogError(f"{path}: is damaged ({what}); move it elsewhere, the rest can still be read") from error


def _is_of(path: Path, begin: Begin, crawl: int) -> bool:
    if begin.format != FORMAT:
        raise RefusalLogError(f"{path}: is of another version; move it elsewhere")
    return begin.crawl == crawl


def _links(page: Page) -> Iterator[Refused]:
    for reason, links in page.refused.items():
        for url, score, depth, kind, path in links:
            yield Refused(Offer(url, queue_of(url), score, depth, kind, page.via, path), reason, page.language)
