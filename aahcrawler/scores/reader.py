"""Reads a score log: the files of all workers, as one sequence of entries."""

import heapq
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from pydantic import ValidationError
from pydantic_core import to_json

from aahcrawler.layout import SCORE_LOG
from aahcrawler.scores.entries import ENTRY, FORMAT, Batched, Begin, Ended, Entry, Judged, unpacked
from aahcrawler.segments import OPEN, DamageError, lines, segments
from online_analysis.batching import BatchScore

_LESSON = b'"lesson":{'
_BEGUN = re.compile(r"-(\d{14})-\d+\.[^-]*$")


@dataclass(frozen=True, slots=True)
class Read:
    """An entry, and the settings of its file."""

    begin: Begin
    entry: Entry


def read_scores(folder: Path, *, crawl: int | None = None, about: str | None = None) -> Iterator[Read]:
    """Yield the entries of a log by time; those of one worker come in the order in which it wrote them.

    With ``crawl``, only the crawl of that number is read; with ``about``, only entries that mention that URL. A folder
    that does not exist has no entries. Files that are being written are read up to their last whole entry. Raises
    ``DamageError`` for damage, after the entries before it.
    """
    files = segments(folder, SCORE_LOG)
    needle = None if about is None else to_json(about)
    pending: list[tuple[int, int, Read, Iterator[Read]]] = []
    for number, (begun, path) in enumerate((_begun(path), path) for path in files):
        while pending and pending[0][0] < begun:
            yield _step(pending)
        _take(pending, number, _file(path, crawl, needle))
    while pending:
        yield _step(pending)


def begin_of(path: Path, line: bytes) -> Begin:
    """Parse the first line of a file. Raises ``DamageError`` where it is not that of a score log."""
    return _begin(path, line)


def entry_of(path: Path, line: bytes) -> Entry:
    """Parse a line that is not the first. Raises ``DamageError`` where it is no entry of a score log."""
    return cast("Entry", _parsed(path, line))


def begins(folder: Path, crawl: int) -> Iterator[Begin]:
    """Yield the first entry of each file of a crawl, in the order in which they were begun. Raises ``DamageError``."""
    for path in segments(folder, SCORE_LOG):
        with closing(lines(path)) as text:
            first = next(text, None)
            if first is not None and (begin := _begin(path, first)).crawl == crawl:
                yield begin


def count_lessons(folder: Path, crawl: int) -> int:
    """Return the number of pages of a crawl that a ranker learned from. Raises ``DamageError``."""
    found = 0
    for path in segments(folder, SCORE_LOG):
        with closing(lines(path)) as text:
            first = next(text, None)
            if first is not None and _begin(path, first).crawl == crawl:
                found += sum(_LESSON in line for line in text)
    return found


def _step(pending: list[tuple[int, int, Read, Iterator[Read]]]) -> Read:
    _, number, found, rest = heapq.heappop(pending)
    _take(pending, number, rest)
    return found


def _take(pending: list[tuple[int, int, Read, Iterator[Read]]], number: int, rest: Iterator[Read]) -> None:
    found = next(rest, None)
    if found is not None:
        heapq.heappush(pending, (found.entry.at, number, found, rest))


def _file(path: Path, crawl: int | None, needle: bytes | None) -> Iterator[Read]:
    found = lines(path)
    first = next(found, None)
    if first is None:
        return
    begin = _begin(path, first)
    if crawl is not None and begin.crawl != crawl:
        return
    for line in found:
        if needle is None or needle in line:
            yield Read(begin, cast("Entry", _parsed(path, line)))


def _begin(path: Path, line: bytes) -> Begin:
    begin = _parsed(path, line)
    if not isinstance(begin, Begin) or begin.format != FORMAT:
        raise DamageError(f"{path}: does not begin as a score log of this version does; move it elsewhere")
    return begin


def _parsed(path: Path, line: bytes) -> Begin | Entry:
    try:
        return ENTRY.validate_json(line)
    except ValidationError as error:
        raise DamageError(f"{path}: holds a line that is no entry of a score log; move it elsewhere") from error


def _begun(path: Path) -> int:
    """Return the time at which a file was begun, in milliseconds since 1970; no entry in it is older."""
    match = _BEGUN.search(path.name.removesuffix(OPEN))
    if match is None:
        return 0
    return round(datetime.strptime(match[1], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()) * 1000


@dataclass(slots=True)
class Leftover:
    """A URL of a batch that was never completed: the scores of each link to it, and its smallest depth."""

    depth: int
    scores: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    pages: set[str] = field(default_factory=set)

    @property
    def score(self) -> BatchScore:
        """The mean of the links' scores."""
        parts = {analyser: sum(values) / len(values) for analyser, values in self.parts.items()}
        return BatchScore(sum(self.scores) / len(self.scores), parts, len(self.pages))


def left_over(folder: Path, crawl: int) -> dict[str, Leftover]:
    """Return the URLs linked to in a crawl that have neither been scored in a batch nor ended.

    Raises ``DamageError`` where the log is damaged.
    """
    found: dict[str, Leftover] = {}
    for each in read_scores(folder, crawl=crawl):
        match each.entry:
            case Judged():
                found.pop(each.entry.url, None)
                _take_in(found, each.entry)
            case Batched(url=urls):
                for url in urls:
                    found.pop(url, None)
            case Ended(url=url):
                found.pop(url, None)
    return found


def _take_in(found: dict[str, Leftover], page: Judged) -> None:
    links = page.links
    if links is None or not links.unscored:
        return
    refused = {position for positions in links.refused.values() for position in positions}
    columns = {analyser: unpacked(column, len(links.url)) for analyser, column in links.parts.items()}
    for position, (url, score) in enumerate(zip(links.url, links.score, strict=True)):
        if position in refused:
            continue
        known = found.setdefault(url, Leftover(page.depth + 1))
        known.depth = min(known.depth, page.depth + 1)
        known.scores.append(score)
        known.pages.add(page.url)
        for analyser, column in columns.items():
            value = column[position]
            if value is not None:
                known.parts.setdefault(analyser, []).append(value)
