"""Recomputes the scores in a score log under other weights."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Protocol

from aahcrawler.scores.entries import (
    Batched,
    Begin,
    Column,
    Ended,
    Judged,
    Lesson,
    Links,
    Offered,
    Rescored,
    unpacked,
    updated,
)
from aahcrawler.scores.reader import Read, read_scores
from online_analysis.aggregation import Weighed
from online_analysis.ranking import LearningRanker

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Share:
    """One of ``of`` shares of all URLs, counted from 0, so that only one share is in memory at a time."""

    number: int = 0
    of: int = 1

    def holds(self, url: str) -> bool:
        """Return whether a URL belongs to this share; each URL belongs to exactly one."""
        return self.of == 1 or zlib.crc32(url.encode()) % self.of == self.number


class Chosen(Protocol):
    """Selects the URLs of a log that are wanted."""

    def holds(self, url: str) -> bool:
        """Return whether a URL is wanted."""
        ...


@dataclass(slots=True)
class _Waits:
    """A queued URL: its score so far, and the scores of links to it by the analysers except the ranker.

    ``analyser_mean`` and ``weight`` are under the new weights, ``former_mean`` and ``former_weight`` under those of the
    time.
    """

    total: float = 0.0
    offers: int = 0
    links: int = 0
    analyser_mean: float = 0.0
    weight: float = 0.0
    former_mean: float = 0.0
    former_weight: float = 0.0

    def offer(self, update: str, score: float) -> None:
        self.total, self.offers = updated(update, self.total, self.offers, score)

    def link(self, now: tuple[float, float], then: tuple[float, float]) -> None:
        self.links += 1
        self.analyser_mean += (now[0] - self.analyser_mean) / self.links
        self.former_mean += (then[0] - self.former_mean) / self.links
        self.weight, self.former_weight = max(self.weight, now[1]), max(self.former_weight, then[1])

    def rescore(self, score: float, ranker: float, ranker_then: float) -> None:
        """Add the ranker's part: its prediction is the part of the score that the other analysers do not explain."""
        if not self.links or not ranker_then:
            self.total, self.offers = score, 1
            return
        others = self.former_mean * self.former_weight
        prediction = max(0.0, (score * (self.former_weight + ranker_then) - others) / ranker_then)
        weight = self.weight + ranker
        self.total, self.offers = (
            ((self.analyser_mean * self.weight + prediction * ranker) / weight if weight else 0.0),
            1,
        )


def weighed(folder: Path, crawl: int, weights: Weights, share: Chosen = Share()) -> dict[str, Weighed]:
    """Return the scores that a share's queued URLs would have if these weights had held from the crawl's beginning.

    A URL that was offered without scores of analysers keeps its score. Reads the whole log of the crawl. Raises
    ``DamageError`` for damage.
    """
    weighing = _Weighing(weights, share)
    for found in read_scores(folder, crawl=crawl):
        weighing.take(found)
    offered = ((url, each) for url, each in weighing.waiting.items() if each.offers)
    return {url: Weighed(each.analyser_mean, each.weight, each.total / each.offers) for url, each in offered}


def reweighted_lesson(page: Judged, kept: Lesson, weights: Weights) -> Lesson:
    """Return a page's lesson for a ranker as it would have been under other weights."""
    urls = page.links.url if page.links is not None else []
    parts = page.links.parts if page.links is not None else {}
    averages = [_average(row, weights) for row in _rows(parts, len(urls))] if parts else []
    return kept.model_copy(
        update={
            "worth": _average(page.parts, weights)[0] if page.parts else kept.worth,
            "score": [score for score, _ in averages] if averages else kept.score,
            "weight": [weight for _, weight in averages] if averages else kept.weight,
        }
    )


class _Weighing:
    """The queued URLs of a share, updated entry by entry."""

    def __init__(self, weights: Weights, share: Chosen) -> None:
        self._weights = weights
        self._share = share
        self.waiting: dict[str, _Waits] = {}

    def take(self, found: Read) -> None:
        begin, entry = found.begin, found.entry
        match entry:
            case Offered():
                self._offer(begin, zip(entry.url, entry.score, repeat({})))
            case Judged():
                self.waiting.pop(entry.url, None)
                self._judged(begin, entry)
            case Batched():
                self._offer(begin, zip(entry.url, entry.score, _rows(entry.parts, len(entry.url)), strict=True))
            case Rescored(by=None):
                self._rescored(begin, entry)
            case Ended():
                self.waiting.pop(entry.url, None)

    def _offer(self, begin: Begin, offers: Iterable[tuple[str, float, Mapping[str, float]]]) -> None:
        """Add URLs that are offered with a score, and the analysers' scores of each."""
        for url, score, parts in offers:
            if self._share.holds(url):
                now = _average(parts, self._weights, ranker=True)[0] if parts else score
                self._of(url).offer(begin.update, now)

    def _judged(self, begin: Begin, page: Judged) -> None:
        if page.redirect is not None:
            self._offer(begin, [(page.redirect, page.priority, {})])
        links = page.links
        if links is None:
            return
        offered = [link for link in _links(links) if self._share.holds(link[0])]
        for url, _, parts in offered:
            self._of(url).link(_average(parts, self._weights), _average(parts, begin.weights))
        if not links.unscored:
            self._offer(begin, offered)

    def _rescored(self, begin: Begin, entry: Rescored) -> None:
        now, then = (weights.get(LearningRanker.name, 0.0) for weights in (self._weights, begin.weights))
        for url, score in zip(entry.url, entry.score, strict=True):
            if self._share.holds(url):
                self._of(url).rescore(score, now, then)

    def _of(self, url: str) -> _Waits:
        return self.waiting.setdefault(url, _Waits())


def _links(links: Links) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    """Yield the links that were not refused: URL, score, and the analysers' scores."""
    refused = {position for positions in links.refused.values() for position in positions}
    rows = _rows(links.parts, len(links.url))
    for position, link in enumerate(zip(links.url, links.score, rows, strict=True)):
        if position not in refused:
            yield link


def _rows(parts: Mapping[str, Column], n: int) -> Sequence[Mapping[str, float]]:
    columns = {name: unpacked(column, n) for name, column in parts.items()}
    return [
        {name: value for name, column in columns.items() if (value := column[position]) is not None}
        for position in range(n)
    ]


def _average(parts: Mapping[str, float], weights: Weights, *, ranker: bool = False) -> tuple[float, float]:
    """Return the weighted average of scores and their total weight, with or without the ranker."""
    counted = [
        (weights.get(name, 1.0), value) for name, value in parts.items() if ranker or name != LearningRanker.name
    ]
    total = sum(weight for weight, _ in counted)
    return (sum(weight * value for weight, value in counted) / total if total else 0.0), total
