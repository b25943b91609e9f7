"""An explanation as tables for people, or as JSON for programs."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from aahcrawler.urls import MAX_LENGTH
from offline.explanation.score_explanation import Event, Explanation, Happened, Part
from online_analysis.aggregation import Reason

_CONTROLS = {code: " " if chr(code).isspace() else "�" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}
_NUMBER = "{:.4f}"
_WIDTH = 4 * MAX_LENGTH
"""Characters of a line if the output is no terminal."""


def write_json(explained: Explanation, out: TextIO) -> None:
    """Write everything as one JSON object; unknown values are null."""
    offer = explained.present.offer if explained.present is not None else None
    fetched = explained.fetched
    fields = {
        "url": explained.url,
        "crawl": explained.crawl.id,
        "number": explained.crawl.number,
        "state": explained.state or None,
        "score": explained.score,
        "immediate": explained.present is not None and explained.present.at_front,
        "depth": offer.depth if offer is not None else None,
        "via": offer.via if offer is not None else None,
        "reason": (explained.present.reason if explained.present is not None else "") or None,
        "frontier": explained.unasked or None,
        "worth": fetched.score if fetched is not None else None,
        "worth_parts": _parts_json(fetched.parts) if fetched is not None else [],
        "parts": _parts_json(explained.parts),
        "reasons": [_reason_json(reason) for reason in explained.reasons],
        "history": [_event_json(event) for event in explained.events],
    }
    out.write(json.dumps(fields, ensure_ascii=False, indent=1) + "\n")


def write_tables(explained: Explanation, out: TextIO) -> None:
    """Write the most important facts first: the state and score of the URL, the parts of the score, and the events."""
    console = Console(file=out, highlight=False)
    if not console.is_terminal:
        # In a file or a pipe a URL can be searched for and copied if it is on one line.
        console.width = _WIDTH
    for line in _head(explained):
        console.print(Text(line.translate(_CONTROLS)), soft_wrap=True)
    if explained.parts:
        console.print(_parts("Parts of the score", explained.parts))
    if explained.reasons:
        console.print(_reasons(explained.reasons))
    if explained.fetched is not None and explained.fetched.parts:
        console.print(_parts("Scores of the page", explained.fetched.parts))
    if explained.events:
        console.print(_history(explained))


def _head(explained: Explanation) -> Iterator[str]:
    yield explained.url
    yield f"{explained.crawl.id}, crawl {explained.crawl.number}: {', '.join(_standing(explained))}"
    if explained.unasked:
        yield f"the frontier cannot be asked: {explained.unasked}"
    fetched = explained.fetched
    if fetched is not None:
        worth = f"worth {_NUMBER.format(fetched.score)}" if fetched.score is not None else "without a score"
        yield f"fetched {_time(fetched)}: {worth}"


def _standing(explained: Explanation) -> Iterator[str]:
    present = explained.present
    known = explained.state or "not in the frontier"
    yield known if not explained.unasked else f"{known} by the score log"
    if present is not None and present.at_front:
        yield "at the front"
    if present is not None and present.reason:
        yield present.reason
    if explained.score is not None:
        yield f"score {_NUMBER.format(explained.score)}"
    if present is not None and present.offer is not None:
        yield f"depth {present.offer.depth}"
        if present.offer.via:
            yield f"first found on {present.offer.via}"


def _parts(title: str, parts: Sequence[Part]) -> Table:
    table = _table(title, "analyser", "weight", "value", "share")
    for part, share in zip(parts, _shares(parts), strict=True):
        _row(table, part.analyser, f"{part.weight:g}", _NUMBER.format(part.value), _NUMBER.format(share))
    table.add_section()
    weight = sum(part.weight for part in parts)
    _row(table, "average", f"{weight:g}", "", _NUMBER.format(sum(_shares(parts))))
    return table


def _reasons(reasons: Sequence[Reason]) -> Table:
    table = _table("Parts of the ranker's prediction", "reason", "value", "effect")
    for reason in reasons:
        _row(table, reason.name, f"{reason.value:.4g}", f"{reason.effect:+.4f}")
    table.add_section()
    _row(table, "prediction", "", f"{sum(reason.effect for reason in reasons):+.4f}")
    return table


def _history(explained: Explanation) -> Table:
    several = len({event.crawl for event in explained.events}) > 1
    table = _table("History", *(("crawl",) if several else ()), "when", "what", "score", "queued with", "by")
    for alike in _folded(explained.events):
        event, last = alike[0], alike[-1]
        crawl = (str(event.crawl),) if several else ()
        what, by = str(event.what), _by(event)
        if len(alike) > 1:
            what = f"{event.what} {len(alike):,} times"
            by = f"first {event.source}, last {last.source} {_time(last)} ({event.note})"
        score, queued = _common(each.score for each in alike), _common(each.queued for each in alike)
        _row(table, *crawl, _time(event), what, score, queued, by)
    return table


def _common(numbers: Iterable[float | None]) -> str:
    """Return the number that all events share; empty if they differ."""
    first, *others = map(_number, numbers)
    return first if all(each == first for each in others) else ""


def _folded(events: Sequence[Event]) -> Iterable[Sequence[Event]]:
    """Return events in order; refusals of one crawl for one reason are grouped at the place of the first.

    A URL in the menu of a site is refused once for each of the site's pages.
    """
    groups: dict[tuple[object, ...], list[Event]] = {}
    for at, event in enumerate(events):
        key = (event.crawl, event.note) if event.what is Happened.REFUSED else (at,)
        groups.setdefault(key, []).append(event)
    return groups.values()


def _by(event: Event) -> str:
    if event.what is Happened.RESCORED:
        return "the ranker"
    if event.what is Happened.REWEIGHED:
        return "other weights"
    if event.what is Happened.ENDED:
        return ": ".join(filter(None, (event.state, event.note)))
    note = f" ({event.note})" if event.note and event.source else event.note
    return event.source + note + (", to the front" if event.immediate else "")


def _table(title: str, *names: str) -> Table:
    numeric = {"weight", "value", "share", "effect", "score", "queued with"}
    columns = (Column(name, justify="right" if name in numeric else "left", overflow="fold") for name in names)
    return Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD)


def _shares(parts: Sequence[Part]) -> list[float]:
    """Return the share of each part in the average."""
    weight = sum(part.weight for part in parts)
    return [part.weight * part.value / weight if weight else 0.0 for part in parts]


def _parts_json(parts: Sequence[Part]) -> list[dict[str, object]]:
    shares = _shares(parts)
    return [
        {"analyser": part.analyser, "weight": part.weight, "value": part.value, "share": round(share, 6)}
        for part, share in zip(parts, shares, strict=True)
    ]


def _reason_json(reason: Reason) -> dict[str, object]:
    return {"name": reason.name, "value": reason.value, "effect": reason.effect}


def _event_json(event: Event) -> dict[str, object]:
    return {
        "at": event.at.isoformat(timespec="milliseconds"),
        "crawl": event.crawl,
        "what": event.what,
        "score": event.score,
        "queued": event.queued,
        "source": event.source or None,
        "note": event.note or None,
        "state": event.state,
        "immediate": event.immediate,
        "parts": _parts_json(event.parts),
    }


def _time(event: Event) -> str:
    return f"{event.at:%Y-%m-%d %H:%M:%S}"


def _number(value: float | None) -> str:
    return "" if value is None else _NUMBER.format(value)


def _row(table: Table, *cells: str) -> None:
    """Add a row of cells as plain text: no markup, and no control characters that reach the terminal."""
    table.add_row(*(Text(cell.translate(_CONTROLS)) for cell in cells))
