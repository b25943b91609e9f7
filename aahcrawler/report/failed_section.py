"""Which URLs failed and why, for the report and for a terminal."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from html import escape
from itertools import islice
from pathlib import Path

from aahcrawler.layout import REFUSED
from aahcrawler.refusals import Failed, failures
from aahcrawler.seeds import in_words

MOST_ROWS = 500
"""URLs that the report lists; ``aah report --failed`` lists all."""
MOST_OF_A_REASON = 50
"""URLs that the report lists of one reason, so that a common one does not hide the others."""
_FILE = "image, style or other file of a page"


def read_failed(crawl: Path, number: int, fetched: Collection[str]) -> Sequence[Failed]:
    """Return the URLs of a crawl that failed, each once, without those that were ``fetched`` after all.

    Raise ``DamageError`` or ``OSError``.
    """
    last = {entry.failed: entry for entry in failures(crawl / REFUSED, number)}
    return tuple(entry for entry in last.values() if entry.failed not in fetched)


def failed_lines(failed: Sequence[Failed]) -> Iterator[str]:
    """Yield a head and a line for each URL, with tabs between columns."""
    yield "url\treason\tkind\tlinked from"
    for entry in failed:
        yield "\t".join((entry.failed, in_words(entry.reason), entry.kind, entry.via or "-"))


def failed_table(failed: Sequence[Failed]) -> str:
    """Return a table of URLs as HTML, pages first, bounded in all and for each reason."""
    if not failed:
        return "<p>No URL failed.</p>"
    ordered = sorted(failed, key=lambda entry: (entry.kind != "page", entry.reason))
    shown = list(islice(_shown(ordered), MOST_ROWS))
    rows = "".join(map(_row, shown))
    left = len(failed) - len(shown)
    others = f"<p>{left:,} others: <code>aah report --failed</code> lists all.</p>" if left else ""
    return (
        '<div class="wide"><table class="rows"><thead><tr><th>URL</th><th>Why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{others}"
    )


def _shown(failed: Sequence[Failed]) -> Iterator[Failed]:
    """Yield the first URLs of each reason."""
    counts = Counter[str]()
    for entry in failed:
        counts[entry.reason] += 1
        if counts[entry.reason] <= MOST_OF_A_REASON:
            yield entry


def _row(entry: Failed) -> str:
    via = f"<br><small>linked from {escape(entry.via)}</small>" if entry.via else ""
    kind = f"<br><small>{_FILE}</small>" if entry.kind == "requisite" else ""
    return f"<tr><td>{escape(entry.failed)}{via}</td><td>{escape(in_words(entry.reason))}{kind}</td></tr>"
