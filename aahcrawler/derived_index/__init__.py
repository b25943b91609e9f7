"""Indexes that can be built again: the base of all that is derived from files of a crawl that only grow.

The files, its sources, are what is kept. An index is a SQLite file that remembers up to which byte each of them was
taken in, so that it catches up by reading what was added. It may be removed at any time.
"""

from aahcrawler.derived_index.catching_up import DerivedIndex, Standing
from aahcrawler.derived_index.index_file import IndexFile, connection, remove_base, transaction
from aahcrawler.derived_index.index_sources import (
    Coverage,
    Known,
    Source,
    coverage,
    known_sources,
    opened_segment,
    segment_members,
    segment_sources,
)

__all__ = [
    "Coverage",
    "DerivedIndex",
    "IndexFile",
    "Known",
    "Source",
    "Standing",
    "connection",
    "coverage",
    "known_sources",
    "opened_segment",
    "remove_base",
    "segment_members",
    "segment_sources",
    "transaction",
]
