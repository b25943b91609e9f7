"""Shows in the report the web objects of a crawl: how complete they are, and samples."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from aahcrawler.objects.reader import ObjectRow
from aahcrawler.report.chart import bars

MOST_READ = 100_000
"""Web objects of a crawl up to which they are looked at one by one: of more, that takes minutes and gigabytes."""
SAMPLES_OF_A_TYPE = 3
MOST_SAMPLES = 15
LONGEST_TEXT = 240
"""Characters of an object's text that are shown."""
_FIELDS = ("title", "author", "date")


@dataclass(slots=True)
class ObjectsFound:
    """How many of the web objects of each type were looked at, how many have what, and the first of them."""

    looked_at: Counter[str] = field(default_factory=Counter)
    complete: Counter[tuple[str, str]] = field(default_factory=Counter)
    samples: list[ObjectRow] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Iterable[ObjectRow]) -> "ObjectsFound":
        """Look at the objects that are not deleted."""
        found = cls()
        for row in rows:
            if row.deleted is None:
                found._add(row)
        return found

    def _add(self, row: ObjectRow) -> None:
        self.looked_at[row.type] += 1
        self.complete.update((row.type, name) for name in _FIELDS if getattr(row, name))
        if self.looked_at[row.type] <= SAMPLES_OF_A_TYPE and len(self.samples) < MOST_SAMPLES:
            self.samples.append(row)


def completeness(counts: Mapping[str, int], found: ObjectsFound) -> str:
    """Return a table of the objects by type, and how many of them have a title, an author and a date."""
    if not counts:
        return "<p>No web object was found.</p>"
    if not found.looked_at:
        told = f"These are more than {MOST_READ:,}: <code>aah objects</code> tells which have a title, author and date."
        return f"{bars(counts)}<p>{told}</p>"
    rows = "".join(_row(name, number, found) for name, number in counts.items())
    head = "".join(f"<td>{words}</td>" for words in ("number", *_FIELDS))
    return (
        f'<div class="wide"><table><tr><th>type</th>{head}</tr>{rows}</table></div>'
        "<p>So many have a title, an author and a date.</p>"
    )


def _row(name: str, number: int, found: ObjectsFound) -> str:
    cells = "".join(f"<td>{found.complete[name, each]:,}</td>" for each in _FIELDS)
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
