"""The score of a URL, with its parts and how it came about, read from the score log bit by bit.

The log of a large crawl takes seconds to be read, and nothing in it can be found but by reading. So each look at a URL
reads on for a short time, and what was found so far is kept until the whole log has been read.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic_core import to_json

from aahcrawler.layout import POSTED, SCORE_LOG, SCORES
from aahcrawler.scores.entries import Begin
from aahcrawler.scores.reader import Read, begin_of, entry_of
from aahcrawler.segments import DamageError, open_segment, segments
from aahcrawler.segments.members import Members
from aahcrawler.segments.series import OPEN
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.refused_links import Coverage
from aahcrawler.service.web.problems import DAMAGED, ProblemError, Shown
from offline.explanation.ranker_part import Ranked
from offline.explanation.score_explanation import made_of
from offline.explanation.url_events import Event, Part, events_of, posted_events, queued_events

READ_SECONDS: Final = 0.15
"""Seconds for which the log is read on for one request."""
_KEPT = 32
"""URLs whose search is kept, those that were asked for last."""
_MAX_EVENTS = 2_000
_SHOWN = 200
_STEP = 1 << 20
"""Bytes of text that are looked through between two looks at the clock."""


class ScorePart(Shown):
    """What one analyser says, with its weight, and its ``share`` in the score."""

    analyser: str
    weight: float
    value: float
    share: float


class ScoreEvent(Shown):
    """Something that happened to a URL: when (ISO 8601), in which crawl, what, and the score that it was given.

    ``queued`` is the score that it then had in the queue, ``source`` the page or program that it comes from.
    """

    at: str
    crawl: int
    what: str
    score: float | None = None
    queued: float | None = None
    source: str = ""
    note: str = ""
    parts: tuple[ScorePart, ...] = ()


class ScoreHistory(Shown):
    """The history of a URL in all crawls of a folder, the last events of it, as far as the log was read.

    ``parts`` make up its score: they are known only when the whole log was read, and lack the ranker's own part, for
    which it would have to be trained anew (``aah explain-score``).
    """

    url: str
    events: tuple[ScoreEvent, ...]
    of: int
    parts: tuple[ScorePart, ...]
    coverage: Coverage


@dataclass(slots=True)
class _Search:
    """A search for a URL: how far each file was read, what each begins with, and what was found."""

    url: str
    needle: bytes
    read: dict[str, int] = field(default_factory=dict)
    begins: dict[str, Begin] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def go_on(self, folder: Path, ends: float) -> Coverage:
        """Read on until a time; return how far it came."""
        sizes: dict[str, int] = {}
        for path in segments(folder, SCORE_LOG):
            try:
                with closing(open_segment(path)) as file:
                    members = Members(file, self.read.get(_name(path), 0))
                    sizes[_name(path)] = members.size
                    while members.end < members.size and time.monotonic() < ends:
                        self._take(path, members)
            except FileNotFoundError:
                continue  # It was removed, or closed and named anew twice meanwhile.
        return Coverage(read=sum(self.read.get(name, 0) for name in sizes), of=sum(sizes.values()))

    def _take(self, path: Path, members: Members) -> None:
        name, looked_at = _name(path), 0
        while looked_at < _STEP and members.end < members.size:
            text = members.member()
            looked_at += len(text) + 1
            if name not in self.begins:
                first, _, text = text.partition(b"\n")
                self.begins[name] = begin_of(path, first)
            if self.needle in text and len(self.events) < _MAX_EVENTS:
                lines = (line for line in text.splitlines() if self.needle in line)
                for line in lines:
                    self.events += events_of(Read(self.begins[name], entry_of(path, line)), self.url)
            self.read[name] = members.end


class ScoreHistories:
    """Finds the histories of URLs. For several threads."""

    def __init__(self, seconds: float = READ_SECONDS) -> None:
        self._seconds = seconds
        self._searches: OrderedDict[tuple[Path, str], _Search] = OrderedDict()
        self._lock = threading.Lock()

    def history(self, crawl: Crawl, url: str) -> ScoreHistory:
        """Return what is known so far of the score of a canonical URL. Raise ``ProblemError`` for a damaged log."""
        if crawl.folder is None:
            return ScoreHistory(url=url, events=(), of=0, parts=(), coverage=Coverage(read=0, of=0))
        search = self._search(crawl.folder, url)
        with search.lock:
            try:
                coverage = search.go_on(crawl.folder / SCORES, time.monotonic() + self._seconds)
            except DamageError as error:
                told = str(error).replace(f"{crawl.folder}/", "")
                raise ProblemError(DAMAGED, f"the score log cannot be read on: {told}") from error
            logged = list(search.events)
        posted = posted_events(crawl.folder / POSTED, url)
        events = tuple(queued_events(sorted((*logged, *posted), key=lambda event: (event.crawl, event.at))))
        own = [event for event in events if event.crawl == crawl.number]
        parts = made_of(own, Ranked()) if coverage.is_whole else ()
        shown = tuple(map(_event, events[-_SHOWN:]))
        return ScoreHistory(url=url, events=shown, of=len(events), parts=tuple(_parts(parts)), coverage=coverage)

    def _search(self, folder: Path, url: str) -> _Search:
        with self._lock:
            key = folder, url
            search = self._searches.setdefault(key, _Search(url, to_json(url)))
            self._searches.move_to_end(key)
            while len(self._searches) > _KEPT:
                self._searches.popitem(last=False)
            return search


def _event(event: Event) -> ScoreEvent:
    return ScoreEvent(
        at=event.at.isoformat(timespec="milliseconds"),
        crawl=event.crawl,
        what=str(event.what),
        score=event.score,
        queued=event.queued,
        source=event.source,
        note=event.note,
        parts=tuple(_parts(event.parts)),
    )


def _parts(parts: Sequence[Part]) -> Iterator[ScorePart]:
    weight = sum(part.weight for part in parts)
    for part in parts:
        share = round(part.weight * part.value / weight, 6) if weight else 0.0
        yield ScorePart(analyser=part.analyser, weight=part.weight, value=part.value, share=share)


def _name(path: Path) -> str:
    return path.name.removesuffix(OPEN)
