"""An index of the pages and objects of a crawl's folder, so that people can look through 100,000 pages at once.

The segments of ``objects/`` and ``scores/`` are what is kept, and the index is derived from them (SQLite): it takes in
what was added, step by step, also while the crawl runs, and may be removed at any time.
"""

from aahcrawler.page_index.page_index import PageIndex, captures_in, member_at, url_key
from aahcrawler.page_index.page_tallies import Course, Point

__all__ = [
    "Course",
    "PageIndex",
    "Point",
    "captures_in",
    "member_at",
    "url_key",
]
