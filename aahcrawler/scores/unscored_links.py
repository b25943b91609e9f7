"""Finds the links that a killed worker left unscored, with the scores of each that the linking pages gave."""

from dataclasses import dataclass, field
from pathlib import Path

from aahcrawler.scores.entries import Batched, Ended, Judged, unpacked
from aahcrawler.scores.reader import read_scores
from online_analysis.batching import BatchScore


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
