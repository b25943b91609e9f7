"""Files that only grow: gzip members appended to size-rotated segments, as WARC and N-Quads output both need.

A segment is called ``<crawl>-<14-digit UTC time>-<serial>.<extension>``. While it is being written its name ends in
``.open`` and its writer holds a lock on it; closing it takes the suffix off.

Durability: when ``append`` returns, its bytes are with the operating system: killing the process loses nothing. They
are forced to the disk (fsync) by ``sync``, every 64 MiB (``Series.checkpoint``), on rotation and on close: a power
failure loses at most the bytes appended after the last of these. An append that fails, for want of space say, is cut
off again, so that the file always ends with a complete member; a process killed in the middle of one leaves a torn
member, which ``recover`` cuts.
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
