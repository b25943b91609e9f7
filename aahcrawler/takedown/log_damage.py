"""Finds the damaged places in the logs beside an archive, and the URLs they belong to."""

import json
import re
from collections.abc import Iterator, Set
from pathlib import Path

from aahcrawler.archive.gzip_members import Member
from aahcrawler.layout import NQUADS, OBJECTS, REFUSAL_LOG, REFUSED, SCORE_LOG, SCORES
from aahcrawler.segments import segments
from aahcrawler.takedown.archive_reading import STATEMENTS, Archived, Owned, captures_in, graph
from aahcrawler.takedown.rewriting import RecordPlace, damaged, walk

_LOGS = ((SCORES, SCORE_LOG), (REFUSED, REFUSAL_LOG))
ENTRIES = b"{"
"""What the text of each member of the logs of scores and refusals begins with."""
_NAMED = re.compile(rb'"(?:url|via|failed)":\s*("(?:[^"\\]|\\.)*")')


def log_damage(crawl: Path, known: Archived) -> Iterator[Owned]:
    """Yield each damaged place of statements, scores and refusals. Raises ``OSError``."""
    urls = set(known.urls.values())
    for path in segments(crawl / OBJECTS, NQUADS):
        for gap in walk(path, STATEMENTS, read_whole):
            for piece in damaged(crawl, gap, STATEMENTS):
                yield from _owned(piece.place, _captures(piece.text, known), urls)
    for folder, extension in _LOGS:
        for path in segments(crawl / folder, extension):
            for gap in walk(path, ENTRIES, read_whole):
                for piece in damaged(crawl, gap, ENTRIES):
                    yield from _owned(piece.place, _pages(piece.text), urls)


def read_whole(member: Member) -> None:
    """Read a member to its end. Raise ``MemberError`` where it is damaged."""
    while member.read():
        pass


def _owned(place: RecordPlace, named: tuple[str, ...], known: Set[str]) -> Iterator[Owned]:
    """Yield a place for each URL that it names; it is sure where the archive has that URL."""
    for url in named:
        yield Owned(place, url, url in known)
    if not named:
        yield Owned(place, "", is_sure=False)


def _captures(text: bytes, known: Archived) -> tuple[str, ...]:
    lines = text[: text.rfind(b"\n") + 1].splitlines()
    graphs = {graph(line) for line in lines}
    named = {known.urls[each] for each in graphs if each in known.urls}
    return tuple(named | {url for _, url in captures_in(text)})


def _pages(text: bytes) -> tuple[str, ...]:
    return tuple(filter(None, map(_unquoted, _NAMED.findall(text))))


def _unquoted(quoted: bytes) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return ""
