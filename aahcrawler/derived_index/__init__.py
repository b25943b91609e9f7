"""Indexes that can be rebuilt: the base of all indexes derived from append-only files of a crawl.

Those files, the sources, are authoritative. An index is a SQLite file that records up to which byte each source was
read, so that it catches up by reading what was added. It may be deleted at any time.
"""

from aahcrawler.derived_index.catching_up import (
    Coverage,
    DerivedIndex,
    Known,
    Source,
    Standing,
    coverage,
    known_sources,
    opened_segment,
    segment_members,
    segment_sources,
)
from aahcrawler.derived_index.index_file import IndexFile, connection, remove_base, transaction

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
