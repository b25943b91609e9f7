"""Writes the results of simulated crawls, as tables for people and as JSON for programs."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from aahcrawler.frontier.protocol import Update
from offline.simulation.judge import JudgedRow
from offline.simulation.measures import Measures, Row
from offline.simulation.missed_pages import Cause, Missed
from offline.simulation.strategies import WIDE, update_name

Cell = str | int | float | None
Cells = Mapping[str, Cell]

_UPDATES = (Update.FIRST, Update.AVG, Update.MAX, Update.SUM, Update.LAST)
_SCORINGS = (("", "scores of the crawler's analysers"), ("paper-", "mean of page and anchor cosine, as in the paper"))
_BATCHES = (
    (False, 1, Update.FIRST),
    (False, WIDE, Update.FIRST),
    (False, 1, Update.AVG),
    (False, WIDE, Update.AVG),
    (True, 1, Update.AVG),
    (True, WIDE, Update.AVG),
)


def all_cells(rows: Sequence[Row], judged: Sequence[JudgedRow]) -> Sequence[Mapping[str, object]]:
    """Return every strategy with all of its measures; those of the judge's own program come last."""
    by_strategy = {row["strategy"]: row for row in judged}
    return [{**_row_cells(row), **by_strategy.get(row.strategy, {})} for row in rows]


def first_table(rows: Sequence[Row], prefix: str) -> Sequence[Cells]:
    """Return the update functions side by side: the paper's table 1."""
    found = {row.strategy: row.measures for row in rows}
    names = [(update, found.get(prefix + update_name(update, 1))) for update in _UPDATES]
    return [{"update": update.name, **_measures(measures)} for update, measures in names if measures]


def second_table(rows: Sequence[Row], prefix: str) -> Sequence[Cells]:
    """Return batches and balance side by side: the paper's table 2."""
    found = {row.strategy: row.measures for row in rows}
    names = [
        (batch, balance, update, found.get(prefix + update_name(update, balance, batch=batch)))
        for batch, balance, update in _BATCHES
    ]
    return [
        {"batch": "yes" if batch else "no", "balance": balance, "update": update.name, **_measures(measures)}
        for batch, balance, update, measures in names
        if measures
    ]


def tables(rows: Sequence[Row]) -> Sequence[tuple[str, Sequence[Cells]]]:
    """Return the paper's tables by their titles, for both ways to score; those without rows are left out."""
    made = [
        *((f"Table 1, {about}", first_table(rows, prefix)) for prefix, about in _SCORINGS),
        *((f"Table 2, {about}", second_table(rows, prefix)) for prefix, about in _SCORINGS),
    ]
    return [(title, cells) for title, cells in made if cells]


def as_text(rows: Sequence[Row], judged: Sequence[JudgedRow]) -> Iterator[str]:
    """Yield the lines of a report: all strategies, then the paper's tables."""
    yield from _text("Strategies", [_short(cells) for cells in all_cells(rows, judged)])
    for title, cells in tables(rows):
        yield ""
        yield from _text(title, cells)


def missed_rows(missed: Sequence[Missed]) -> Sequence[Cells]:
    """Return for each strategy and sample how many pages it missed by cause, then over all samples of a strategy.

    ``rank`` is the median place that queued ones had at the end.
    """
    strategies = dict.fromkeys(each.strategy for each in missed)
    return [
        cells
        for strategy in strategies
        for own in [[each for each in missed if each.strategy == strategy]]
        for cells in [
            *(_missed_cells(strategy, each.sample, [each]) for each in own),
            _missed_cells(strategy, "all", own),
        ]
    ]


def missed_text(missed: Sequence[Missed]) -> Iterator[str]:
    """Yield the lines of the table of what was missed and why."""
    yield from _text("Relevant pages that the oracle fetched, by what became of them", missed_rows(missed))


def _missed_cells(strategy: str, sample: str, missed: Sequence[Missed]) -> Cells:
    ranks = [rank for each in missed for rank in each.ranks]
    return {
        "strategy": strategy,
        "sample": sample,
        "found": sum(each.found for each in missed),
        **{cause.value: sum(each.count(cause) for each in missed) for cause in Cause},
        "rank": int(median(ranks)) if ranks else None,
    }


def _row_cells(row: Row) -> Cells:
    cells: Cells = {"strategy": row.strategy, "samples": row.samples, "fetched": row.fetched}
    if row.measures is None:
        return cells
    return {**cells, "harvest@R": row.measures.harvest, "harvest@R/3": row.measures.early, **_measures(row.measures)}


def _measures(measures: Measures) -> Cells:
    return {"harvest": measures.harvest, "similarity": measures.similarity, "subtopics": measures.subtopics}


_SHOWN = ("strategy", "fetched", "harvest@R", "harvest@R/3", "similarity", "subtopics")


def _short(cells: Mapping[str, object]) -> Cells:
    """Keep the cells that fit on a line; numbers and texts are cells as they are."""
    shown: dict[str, Cell] = {}
    for name in _SHOWN:
        value = cells.get(name)
        if isinstance(value, str | int | float):
            shown[name] = value
    for at in ("R", "R/3"):
        gap, interval = cells.get(f"gap@{at}"), cells.get(f"gap95@{at}")
        if isinstance(gap, float) and isinstance(interval, list):
            shown[f"gap@{at}"] = f"{gap:+.3f} [{interval[0]:+.3f}, {interval[1]:+.3f}]"
    return shown


def _text(title: str, rows: Sequence[Cells]) -> Iterator[str]:
    yield title
    headings = list(rows[0])
    lines = [headings, *([_cell(row[name]) for name in headings] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)),
        ]
        yield f"  {'  '.join(cells)}".rstrip()


def _cell(value: Cell) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
