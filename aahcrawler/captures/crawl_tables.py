"""Pages, objects and scores of a crawl's folder as tables: row by row, or as a data frame for notebooks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from aahcrawler.layout import SCORES
from aahcrawler.objects.capture_statements import ObjectRow, PageRow
from aahcrawler.scores.entries import Judged
from aahcrawler.scores.reader import read_scores


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """The score of a page. ``judged_at`` is ISO 8601 in UTC; ``crawl`` is the number of the crawl run.

    ``score`` is None if the page could not be read; ``priority`` is the score in the frontier when it was fetched.
    ``parts`` are the scores by analyser; ``links`` counts the links scored with the page.
    """

    url: str
    crawl: int
    judged_at: str
    score: float | None
    priority: float
    depth: int
    parts: Mapping[str, float]
    links: int


def scores(crawl: Path, number: int | None = None) -> Iterator[ScoreRow]:
    """Yield a row for each page that was scored, in the order of time. Raises ``DamageError``."""
    for begin, entry in ((each.begin, each.entry) for each in read_scores(crawl / SCORES, crawl=number)):
        if isinstance(entry, Judged):
            yield ScoreRow(
                url=entry.url,
                crawl=begin.crawl,
                judged_at=datetime.fromtimestamp(entry.at / 1000, UTC).isoformat(timespec="milliseconds"),
                score=entry.score,
                priority=entry.priority,
                depth=entry.depth,
                parts=dict(entry.parts or {}),
                links=0 if entry.links is None else len(entry.links.url),
            )


def columns(rows: Iterable[PageRow | ObjectRow | ScoreRow]) -> dict[str, list[object]]:
    """Return rows of one kind as a dictionary of columns by name; without rows, an empty dictionary.

    ``pandas.DataFrame`` and ``polars.DataFrame`` take such a dictionary.
    """
    found: dict[str, list[object]] = {}
    for row in rows:
        if not found:
            found = {each.name: [] for each in fields(row)}
        for name, column in found.items():
            column.append(getattr(row, name))
    return found


def data_frame(rows: Iterable[PageRow | ObjectRow | ScoreRow]) -> Any:
    """Return rows of one kind as a pandas data frame. Raises ``ImportError`` if pandas is not installed."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ImportError("a data frame needs pandas: pip install 'aahcrawler[notebooks]'") from error
    return pandas.DataFrame(columns(rows))
