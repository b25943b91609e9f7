"""Base classes for SQLite indexes that are derived from a crawl's append-only files and can be rebuilt at any time.

The append-only files, the index's sources, are authoritative. An index records up to which byte it has read each
source, so that it catches up by reading what was added. It may be deleted at any time.
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
