"""The URLs that the crawls of a folder have fetched, read from the index of its archive."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from aahcrawler.archive.index import LINES, SORTED
from aahcrawler.layout import INDEXES

_LONGEST_LINE = 1 << 22


def fetched_urls(folder: Path) -> Iterator[str]:
    """Yield the URL of each capture in a crawl's folder, in no particular order; one may come several times.

    Lines that cannot be read are passed over. A file that is put into the index meanwhile may be missing.
    """
    indexes = folder / INDEXES
    for path in chain(indexes.glob(f"*{SORTED}"), indexes.glob(f"*{LINES}")):
        try:
            with path.open("rb") as file:
                yield from (url for line in iter(lambda: file.readline(_LONGEST_LINE), b"") if (url := _url(line)))
        except FileNotFoundError:  # It was put into the index just now.
            continue


def _url(line: bytes) -> str:
    try:
        return str(json.loads(line.split(b" ", 2)[2])["url"])
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""
