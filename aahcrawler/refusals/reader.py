"""Reads a refusal log."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from aahcrawler.frontier.protocol import Offer
from aahcrawler.layout import REFUSAL_LOG
from aahcrawler.refusals.entries import FORMAT, Begin, Entry, Failed, Page
from aahcrawler.segments import DamageError, lines, segments
from aahcrawler.urls import queue_of


@dataclass(frozen=True, slots=True)
class Refused:
    """A link that was refused for a reason; ``language`` is that of the page that has it, None if not known."""

    offer: Offer
    reason: str
    language: str | None


def read(folder: Path, crawl: int) -> Iterator[Refused]:
    """Yield the refused links of a crawl, in the order in which the files were begun.

    A link may come several times. A folder that does not exist has none. Files that are being written are read up to
    their last whole line. Raise ``DamageError`` for damage, after the links before it.
    """
    for entry in _entries(folder, crawl):
        if isinstance(entry, Page):
            yield from _links(entry)


def failures(folder: Path, crawl: int) -> Iterator[Failed]:
    """Yield the URLs of a crawl that failed, like ``read``; one may come several times, the last reason holds."""
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
