"""An index of the pages and objects of a crawl's folder, so that people can look through 100,000 pages at once.

The segments of ``objects/`` and ``scores/`` are what is kept, and the index is derived from them (SQLite): it takes in
what was added, step by step, also while the crawl runs, and may be removed at any time.
"""

from aahcrawler.page_index.index_builder import (
    Coverage,
    IndexBuilder,
    Standing,
    coverage,
    member_at,
    standing,
    url_key,
)
from aahcrawler.page_index.index_file import IndexFile
from aahcrawler.page_index.page_tallies import Course, Point

__all__ = [
    "Course",
    "Coverage",
    "IndexBuilder",
    "IndexFile",
    "Point",
    "Standing",
    "coverage",
    "member_at",
    "standing",
    "url_key",
]
