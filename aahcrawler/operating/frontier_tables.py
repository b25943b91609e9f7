"""Shows the content of a frontier, as tables for people or as JSON for programs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TextIO

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from aahcrawler.frontier.control import Blocking, Pausing
from aahcrawler.frontier.protocol import Counts, Offer, State

_CONTROLS = {code: " " if chr(code).isspace() else "�" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


class Withheld(Pausing, Blocking, Protocol):
    """The queues and rules that keep URLs from being fetched."""


def counts_of(counts: Counts, control: Withheld) -> Mapping[str, object]:
    """Return the counts of a frontier in the form of the JSON output."""
    return {
        "paused": control.is_paused(),
        "paused_queues": sorted(control.paused_queues()),
        "pages": {str(state): counts.pages.get(state, 0) for state in State},
        "requisites": {str(state): counts.requisites.get(state, 0) for state in State},
        "queues": counts.queues,
        "reasons": dict(counts.reasons),
        "rules": sorted(rule.reason for rule in control.rules()),
    }


def offers_of(offers: Sequence[Offer]) -> Sequence[Mapping[str, object]]:
    """Return queued URLs as JSON has them; the score of one that has none is null."""
    return [
        {
            "url": offer.url,
            "queue": offer.queue,
            "score": offer.score if offer.score >= 0 else None,
            "depth": offer.depth,
            "kind": offer.kind,
            "via": offer.via or None,
            "path": offer.path,
        }
        for offer in offers
    ]


def write_json(value: object, out: TextIO) -> None:
    """Write a value as JSON."""
    out.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_counts(found: Mapping[str, object], out: TextIO) -> None:
    """Write the result of ``counts_of`` as tables."""
    console = Console(file=out, highlight=False)
    pages, requisites, reasons = (_numbers(found[name]) for name in ("pages", "requisites", "reasons"))
    table = _table("", "state", "pages", "requisites")
    for state in pages:
        _row(table, state, f"{pages[state]:,}", f"{requisites[state]:,}")
    console.print(table)
    if reasons:
        table = _table("Why URLs are blocked or have failed", "reason", "URLs")
        for reason, number in sorted(reasons.items(), key=lambda item: -item[1]):
            _row(table, reason, f"{number:,}")
        console.print(table)
    for line in _lines(found):
        console.print(Text(line.translate(_CONTROLS)), soft_wrap=True)


def write_offers(offers: Sequence[Offer], out: TextIO) -> None:
    """Write queued URLs, each on a line that ends with it."""
    for offer in offers:
        score = "unscored" if offer.score < 0 else f"{offer.score:8.4f}"
        out.write(f"{score:>8}  {offer.depth:>3}  {offer.kind:<9}  {offer.url}\n")


def _lines(found: Mapping[str, object]) -> Iterable[str]:
    if found["paused"]:
        yield "paused: nothing is leased of this crawl"
    for name, what in (("paused_queues", "paused in all crawls"), ("rules", "blocked by rule")):
        listed = found[name]
        if isinstance(listed, list) and listed:
            yield f"{what}: {', '.join(map(str, listed))}"


def _numbers(value: object) -> Mapping[str, int]:
    return {str(name): int(number) for name, number in value.items()} if isinstance(value, Mapping) else {}


def _table(title: str, *names: str) -> Table:
    columns = (Column(name, justify="left" if n == 0 else "right", overflow="fold") for n, name in enumerate(names))
    return Table(*columns, title=title or None, title_justify="left", box=box.SIMPLE_HEAD)


def _row(table: Table, *cells: str) -> None:
    """Add a row of cells, none of which is markup or reaches the terminal as a command."""
    table.add_row(*(Text(cell.translate(_CONTROLS)) for cell in cells))
