"""Writes the report of a simulation."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from offline.simulation.built_in_judges import BUILT_IN
from offline.simulation.gaps import gap_rows
from offline.simulation.judge import JudgedRow, judged_rows
from offline.simulation.measures import Row, rows, write_orders
from offline.simulation.plot import chart
from offline.simulation.result_tables import all_cells, as_text, missed_rows, missed_text, tables
from offline.simulation.simulation import Finished, Simulation
from offline.simulation.strategies import FIRST, ORACLE


@dataclass(frozen=True, slots=True)
class Targets:
    """The files to write; None for those not wanted."""

    orders: Path | None = None
    json: Path | None = None
    plot: Path | None = None


def report(finished: Finished, simulation: Simulation, targets: Targets, say: Callable[[str], object]) -> None:
    """Write the files that are wanted and say the rest, line by line. Raises ``WorldError`` where the judge fails.

    Where the world has a ``reference.json``, the judge's own program judges the orders as well. With a judge that
    ships, the gap is that between the paper's FIRST and the oracle, where both were simulated.
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
    """Return what was missed, where that was asked: its table, and each page with its cause."""
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
