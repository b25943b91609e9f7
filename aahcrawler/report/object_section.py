"""Shows in the report the web objects of a crawl: how complete they are, and samples."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from aahcrawler.objects.capture_statements import ObjectRow, PageRow

SAMPLES_OF_A_TYPE = 3
MOST_SAMPLES = 15
LONGEST_TEXT = 240
"""Characters of an object's text that are shown."""
SAMPLED_PAGES = 5
"""Pages of each level of an application whose objects may be shown."""
_FIELDS = ("title", "author", "date")


def sampled_captures(pages: Iterable[PageRow]) -> frozenset[str]:
    """Return the captures that state the objects of the first pages of each level; those of list pages are left out."""
    found: dict[tuple[str | None, str | None], list[str]] = {}
    for page in pages:
        if page.level != "intermediate":
            found.setdefault((page.application, page.level_name), []).append(page.unchanged or page.capture)
    return frozenset(capture for captures in found.values() for capture in captures[:SAMPLED_PAGES])


def sampled(rows: Iterable[ObjectRow]) -> Sequence[ObjectRow]:
    """Return the first few objects of each type."""
    found: dict[str, list[ObjectRow]] = {}
    for row in rows:
        found.setdefault(row.type, []).append(row)
    return [row for of_a_type in found.values() for row in of_a_type[:SAMPLES_OF_A_TYPE]][:MOST_SAMPLES]


def completeness(counts: Mapping[str, int], complete: Mapping[tuple[str, str], int]) -> str:
    """Return a table of the objects by type, and how many of them have a title, an author and a date."""
    if not counts:
        return "<p>No web object was found.</p>"
    rows = "".join(_row(name, number, complete) for name, number in counts.items())
    head = "".join(f"<td>{words}</td>" for words in ("number", *_FIELDS))
    return (
        f'<div class="wide"><table><tr><th>type</th>{head}</tr>{rows}</table></div>'
        "<p>So many have a title, an author and a date.</p>"
    )


def _row(name: str, number: int, complete: Mapping[tuple[str, str], int]) -> str:
    cells = "".join(f"<td>{complete.get((name, each), 0):,}</td>" for each in _FIELDS)
    return f"<tr><th>{escape(name)}</th><td>{number:,}</td>{cells}</tr>"


def samples(rows: Sequence[ObjectRow]) -> str:
    """Return some objects as people read them."""
    return "".join(map(_sample, rows)) or "<p>None is shown.</p>"


def _sample(row: ObjectRow) -> str:
    facts = (row.type, row.author, row.date)
    title = f"<b>{escape(_short(row.title))}</b><br>" if row.title else ""
    body = f"<p>{escape(_short(row.body))}</p>" if row.body else ""
    told = escape(_short(", ".join(filter(None, facts))))
    return f'<div class="sample">{title}<small>{told}<br>{escape(row.url)}</small>{body}</div>'


def _short(text: str) -> str:
    words = " ".join(text[: 4 * LONGEST_TEXT].split())
    return words if len(words) <= LONGEST_TEXT else f"{words[:LONGEST_TEXT]} \N{HORIZONTAL ELLIPSIS}"
