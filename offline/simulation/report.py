"""Write the report of a simulation."""

import csv
import json
import tempfile
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from random import Random
from statistics import fmean, median

from aahcrawler.frontier.protocol import Update
from offline.simulation.built_in_judges import BUILT_IN
from offline.simulation.judge import Bench, JudgedRow, judged_rows
from offline.simulation.label_judge import LABELS
from offline.simulation.sample import Sample, WorldError
from offline.simulation.simulation import Cause, Finished, Missed, Order, Simulation
from offline.simulation.strategies import FIRST, ORACLE, SHIPPED, WIDE, update_name
from offline.simulation.world import key

STEPS = 100
"""Points of a course, at equal shares of each sample's budget."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The quality of a strategy, as the mean over its samples (ARCOMEM, section 5.1).

    ``harvest`` is the share of relevant pages among the first R pages, R being the number of relevant ones, ``early``
    among the first R/3; ``similarity`` is the mean relevance of the fetched pages; ``subtopics`` the share of the
    subtopics with a relevant page of which a page was fetched, None if the world has none. ``course`` is the share of
    the relevant pages that had been fetched after each hundredth of the budget.
    """

    harvest: float
    early: float
    similarity: float
    subtopics: float | None
    course: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A strategy and how many pages it fetched in all; ``measures`` is None without a judge.

    ``by_sample`` has its harvest ratios at R and at R/3 by the name of the sample; it is empty without a judge.
    """

    strategy: str
    samples: int
    fetched: int
    measures: Measures | None
    by_sample: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def rows(finished: Finished, world: Path) -> tuple[Row, ...]:
    """Return a row for each strategy, in the order of the simulation. Raises ``WorldError`` for invalid subtopics."""
    subtopics = read_subtopics(world, finished.urls) if finished.bench is not None else None
    measured: dict[str, list[Measures]] = {}
    for sample, orders in _by_sample(finished.orders):
        for order, measures in _measured(sample, orders, finished.bench, subtopics):
            measured.setdefault(order.strategy, []).extend(measures)
    return tuple(_row(name, finished.orders, found) for name, found in measured.items())


def write_orders(finished: Finished, target: Path) -> None:
    """Write a line of JSON for each crawl, in the format that judges of simulations read."""
    with target.open("w", encoding="utf-8") as file:
        for order in finished.orders:
            line = {
                "topic": order.sample.topic,
                "sample": order.sample.number,
                "strategy": order.strategy,
                "urls": [finished.urls[page] for page in order.pages],
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_subtopics(world: Path, urls: Sequence[str]) -> Sequence[str] | None:
    """Return the subtopic of each page from ``topics.tsv``, empty for none; None if the world has no such file."""
    path = world / LABELS
    if not path.exists():
        return None
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            known = {key(line["url"]): line["topic"] or "" for line in lines}
    except (OSError, ValueError, KeyError) as error:
        raise WorldError(f"{path}: cannot be read as a table with the columns url and topic ({error!r})") from error
    return [known.get(key(url), "") for url in urls]


def _by_sample(orders: Sequence[Order]) -> Iterator[tuple[Sample, list[Order]]]:
    grouped: dict[str, list[Order]] = {}
    for order in orders:
        grouped.setdefault(order.sample.name, []).append(order)
    for group in grouped.values():
        yield group[0].sample, group


def _measured(
    sample: Sample, orders: Sequence[Order], bench: Bench | None, subtopics: Sequence[str] | None
) -> Iterator[tuple[Order, list[Measures]]]:
    if bench is None:
        yield from ((order, []) for order in orders)
        return
    relevance, relevant = bench.relevance(sample), max(1, bench.relevant(sample))
    flags = [bench.harvest([page], relevance, 1) for page in range(len(relevance))]
    wanted = _with_relevant(flags, subtopics) if subtopics is not None else None
    for order in orders:
        fetched = order.pages[:relevant]
        reached = len(wanted & {subtopics[page] for page in fetched}) if wanted and subtopics else 0
        yield (
            order,
            [
                Measures(
                    harvest=bench.harvest(fetched, relevance, relevant),
                    early=bench.harvest(fetched, relevance, max(1, relevant // 3)),
                    similarity=fmean(relevance[page] for page in fetched),
                    subtopics=reached / len(wanted) if wanted else None,
                    course=_course(fetched, flags, relevant),
                )
            ],
        )


def _with_relevant(flags: Sequence[float], subtopics: Sequence[str]) -> frozenset[str]:
    return frozenset(topic for topic, flag in zip(subtopics, flags, strict=True) if flag and topic)


def _course(fetched: Sequence[int], flags: Sequence[float], relevant: int) -> tuple[float, ...]:
    found = array("d", [0.0])
    for page in fetched:
        found.append(found[-1] + flags[page])
    return tuple(found[min(len(fetched), relevant * step // STEPS)] / relevant for step in range(STEPS + 1))


def _row(name: str, orders: Sequence[Order], measured: Sequence[Measures]) -> Row:
    own = [order for order in orders if order.strategy == name]
    fetched = sum(len(order.pages) for order in own)
    if not measured:
        return Row(name, len(own), fetched, None)
    by_sample = {order.sample.name: (each.harvest, each.early) for order, each in zip(own, measured, strict=True)}
    return Row(name, len(own), fetched, _mean(measured), by_sample)


def _mean(measured: Sequence[Measures]) -> Measures:
    subtopics = [each.subtopics for each in measured if each.subtopics is not None]
    return Measures(
        harvest=fmean(each.harvest for each in measured),
        early=fmean(each.early for each in measured),
        similarity=fmean(each.similarity for each in measured),
        subtopics=fmean(subtopics) if subtopics else None,
        course=tuple(map(fmean, zip(*(each.course for each in measured), strict=True))),
    )


@dataclass(frozen=True, slots=True)
class Targets:
    """The files to write; None for those not wanted."""

    orders: Path | None = None
    json: Path | None = None
    plot: Path | None = None


def report(finished: Finished, simulation: Simulation, targets: Targets, say: Callable[[str], object]) -> None:
    """Write the wanted files and pass the rest to ``say``, line by line. Raises ``WorldError`` if the judge fails.

    If the world has a ``reference.json``, the judge's own program judges the orders as well. With a built-in judge, the
    gap is that between the paper's FIRST and the oracle, if both were simulated.
    """
    if targets.orders is not None:
        write_orders(finished, targets.orders)
    found = rows(finished, simulation.world)
    built_in = simulation.judge in BUILT_IN.values()
    judged = gap_rows(found, FIRST, ORACLE) if built_in else _judged(finished, simulation, targets.orders)
    if targets.json is not None:
        targets.json.write_text(_as_json(finished, simulation, found, judged), "utf-8")
    if targets.plot is not None:
        targets.plot.write_text(chart(found), "utf-8")
    for line in as_text(found, judged):
        say(line)
    if finished.missed:
        say("")
        for line in missed_text(finished.missed):
            say(line)
    say("")
    say(_speed(finished))
    for line in finished.raised.lines():
        say(line)
    if simulation.judge is None:
        say("The fetched pages were not judged: with --judge cosine there are harvest ratios, the oracle, and a plot.")


def _judged(finished: Finished, simulation: Simulation, orders: Path | None) -> Sequence[JudgedRow]:
    if simulation.judge is None or not (simulation.world / "reference.json").exists():
        return ()
    if orders is not None:
        return judged_rows(simulation.judge, simulation.world, orders)
    with tempfile.TemporaryDirectory(prefix="aah-orders-") as folder:
        written = Path(folder) / "orders.jsonl"
        write_orders(finished, written)
        return judged_rows(simulation.judge, simulation.world, written)


def _as_json(finished: Finished, simulation: Simulation, found: Sequence[Row], judged: Sequence[JudgedRow]) -> str:
    document = {
        "world": str(simulation.world),
        "pages": len(finished.urls),
        "samples": len({order.sample.name for order in finished.orders}),
        "seed": simulation.seed,
        "pages_per_second": round(finished.pages_per_second, 1),
        "cpu_seconds": {"reading": round(finished.cost.reading, 1), "crawling": round(finished.cost.crawling, 1)},
        "rows": all_cells(found, judged),
        "tables": [{"title": title, "rows": cells} for title, cells in tables(found)],
        "failed_stages": dict(finished.raised.pages),
        **_missed(finished),
        "courses": {row.strategy: row.measures.course for row in found if row.measures is not None},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _missed(finished: Finished) -> Mapping[str, object]:
    """Return what was missed, if that was requested: its table, and each page with its cause."""
    if not finished.missed:
        return {}
    pages = [
        {"strategy": each.strategy, "sample": each.sample, "url": finished.urls[page], "cause": cause}
        for each in finished.missed
        for page, cause in each.causes
    ]
    return {"causes": missed_rows(finished.missed), "missed": pages}


def _speed(finished: Finished) -> str:
    fetched, cost = sum(len(order.pages) for order in finished.orders), finished.cost
    pages = f"{cost.pages:,} of {len(finished.urls):,} pages"
    return (
        f"{fetched:,} pages fetched, {finished.pages_per_second:,.0f} in each second of processor time: "
        f"{cost.reading:,.0f} s for reading {pages} once, {cost.crawling:,.0f} s for the crawls"
    )


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
    """Return every strategy with all of its measures, followed by those of the judge's own program."""
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
    """Return the paper's tables by their titles, for both ways of scoring; tables without rows are left out."""
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

    ``rank`` is the median final place of queued ones.
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


_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 900, 480, 56, 230, 48, 48
_HUE_STEP = 137.5
"""Degrees between the hues of neighbours in the list, so that they differ clearly."""


def chart(rows: Sequence[Row]) -> str:
    """Return an SVG file: the share of relevant pages found (up) by the share of the budget spent (to the right).

    The names are in the order in which the lines end. Strategies that were not judged are left out.
    """
    courses = [
        (row.strategy, row.measures.course, f"hsl({position * _HUE_STEP % 360:.0f},70%,38%)")
        for position, row in enumerate(rows)
        if row.measures is not None
    ]
    ranked = sorted(courses, key=lambda course: -course[1][-1])
    lines = "".join(_line(*course) for course in reversed(ranked))
    names = "".join(_name(position, *course) for position, course in enumerate(ranked))
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">'
        f'<title>Relevance over time</title><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
        f'<text x="{_LEFT}" y="24" font-size="16">Relevant pages found by pages fetched</text>'
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#555"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">all</text>'
        f'<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end">0</text>'
        f'<text x="{right}" y="{bottom + 20}" text-anchor="end">as many pages as are relevant</text>'
        f"{lines}{names}</svg>\n"
    )


def _line(name: str, course: Sequence[float], colour: str) -> str:
    across, up = (_WIDTH - _RIGHT - _LEFT) / max(1, len(course) - 1), _HEIGHT - _BOTTOM - _TOP
    points = " ".join(f"{_LEFT + x * across:.1f},{_HEIGHT - _BOTTOM - y * up:.1f}" for x, y in enumerate(course))
    width = 3 if name == SHIPPED else 1.2
    return f'<polyline fill="none" stroke-width="{width}" stroke="{colour}" points="{points}"/>'


def _name(position: int, name: str, course: Sequence[float], colour: str) -> str:
    weight = ' font-weight="bold"' if name == SHIPPED else ""
    x, y = _WIDTH - _RIGHT + 12, _TOP + 8 + 16 * position
    return f'<text x="{x}" y="{y}" fill="{colour}"{weight}>{course[-1]:.3f} {escape(name)}</text>'


ROUNDS = 2000
"""How many samples of samples an interval is computed from."""


def closed(found: Sequence[float], first: Sequence[float], oracle: Sequence[float]) -> float | None:
    """Return the share of the gap that is closed, over the summed harvests of all samples; None if there is no gap.

    >>> closed([0.5, 0.7], [0.4, 0.4], [0.8, 0.8])
    0.5
    """
    gap = sum(oracle) - sum(first)
    return round((sum(found) - sum(first)) / gap, 4) if gap > 0 else None


def interval(found: Sequence[float], first: Sequence[float], oracle: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of that share by a paired bootstrap over samples (fixed seed); None without a gap."""
    random, samples, shares = Random(0), range(len(found)), []
    for _ in range(ROUNDS):
        drawn = [random.choice(samples) for _ in samples]
        share = closed(*([values[at] for at in drawn] for values in (found, first, oracle)))
        if share is not None:
            shares.append(share)
    shares.sort()
    return (shares[len(shares) // 40], shares[-1 - len(shares) // 40]) if shares else None


def gap_rows(rows: Sequence[Row], first: str, oracle: str) -> Sequence[JudgedRow]:
    """Return the gap at R and R/3 of each strategy, in the format of judges of worlds; none if it is unknown."""
    harvests = {row.strategy: [list(at) for at in zip(*row.by_sample.values(), strict=True)] for row in rows}
    if not harvests.get(first) or not harvests.get(oracle):
        return ()
    return [{"strategy": name, **_cells(own, harvests[first], harvests[oracle])} for name, own in harvests.items()]


def _cells(
    own: Sequence[Sequence[float]], first: Sequence[Sequence[float]], oracle: Sequence[Sequence[float]]
) -> Mapping[str, float | list[float]]:
    cells: dict[str, float | list[float]] = {}
    for at, *triple in zip(("R", "R/3"), own, first, oracle, strict=True):
        gap, around = closed(*triple), interval(*triple)
        if gap is not None and around is not None:
            cells |= {f"gap@{at}": gap, f"gap95@{at}": list(around)}
    return cells
