"""Shows in the report where the archive is, and its files."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from aahcrawler.layout import ARCHIVE, INDEX, INDEXES, LOG, OBJECTS, SUMMARY, WARC
from aahcrawler.segments import is_open, segments

MOST_FILES = 50
"""WARC files that are listed, the last ones."""
_PLACES = {
    f"{ARCHIVE}/": "the archive",
    f"{INDEXES}/{INDEX}": "its index",
    f"{OBJECTS}/": "web objects as N-Quads",
    SUMMARY: "every count",
    LOG: "the log",
}


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A WARC file of the folder, and its size in bytes."""

    name: str
    size: int
    is_open: bool = False


def read_files(crawl: Path) -> Sequence[ArchiveFile]:
    """Return the WARC files of a crawl's folder, oldest first. Raise ``OSError``."""
    return tuple(ArchiveFile(path.name, path.stat().st_size, is_open(path)) for path in segments(crawl / ARCHIVE, WARC))


def archive_files(files: Sequence[ArchiveFile]) -> str:
    """Return links to what is in the folder, and a list of WARC files, as HTML; links are relative to the report."""
    places = ", ".join(f'<a href="{place}">{words}</a>' for place, words in _PLACES.items())
    total = sum(file.size for file in files)
    told = f"<p>In this folder: {places}. WARC files: {len(files):,}, of {total / 1e6:,.1f} MB in all.</p>"
    rows = "".join(map(_row, files[-MOST_FILES:]))
    left = len(files) - MOST_FILES
    return f"{told}<table>{rows}</table>{f'<p>{left:,} older ones are not listed.</p>' if left > 0 else ''}"


def _row(file: ArchiveFile) -> str:
    still = ", still written" if file.is_open else ""
    link = f'<a href="{ARCHIVE}/{quote(file.name)}">{escape(file.name)}</a>'
    return f"<tr><th>{link}{still}</th><td>{file.size / 1e6:,.1f} MB</td></tr>"
