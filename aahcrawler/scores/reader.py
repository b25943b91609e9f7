"""Reads a score log: the files of all workers, as one sequence of entries."""

import heapq
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from pydantic import ValidationError
from pydantic_core import to_json

from aahcrawler.layout import SCORE_LOG
from aahcrawler.scores.entries import ENTRY, FORMAT, Begin, Entry
from aahcrawler.segments import OPEN, DamageError, lines, segments

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
