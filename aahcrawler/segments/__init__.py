"""Append-only files of gzip members, split by size into segments; WARC files and N-Quads files are written this way.

A segment is called ``<crawl>-<14-digit UTC time>-<serial>.<extension>``. While it is being written, its name ends in
``.open`` and its writer holds a lock on it. Closing the segment removes the suffix.

Durability: when ``append`` returns, the operating system has the bytes, so killing the process loses nothing. Bytes are
forced to disk (fsync) by ``sync``, after every 64 MiB (``Series.checkpoint``), on rotation and on close. A power
failure loses at most the bytes appended since then. An append that fails, for example on a full disk, is cut off again,
so that the file ends with a complete member. A process that is killed within an append leaves a torn member, which
``recover`` cuts off.
"""

from aahcrawler.segments.reader import (
    OPEN,
    DamageError,
    DiskFullError,
    Members,
    Recovered,
    SegmentError,
    Series,
    append_line,
    extent,
    identity,
    is_open,
    lines,
    no_link,
    open_segment,
    private,
    recover,
    segments,
)
from aahcrawler.segments.writer import Clock, SegmentedOutput, SegmentWriter, Span, packed_member

__all__ = [
    "OPEN",
    "Clock",
    "DamageError",
    "DiskFullError",
    "Members",
    "Recovered",
    "SegmentError",
    "SegmentWriter",
    "SegmentedOutput",
    "Series",
    "Span",
    "append_line",
    "extent",
    "identity",
    "is_open",
    "lines",
    "no_link",
    "open_segment",
    "packed_member",
    "private",
    "recover",
    "segments",
]
