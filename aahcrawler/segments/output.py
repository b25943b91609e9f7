"""A base of those who write one kind of thing to segments."""

from typing import Self

from aahcrawler.segments.writer import SegmentWriter


class SegmentedOutput:
    """Writes to the segments of one series, and closes the last one at the end of its ``with`` statement."""

    def __init__(self, segments: SegmentWriter) -> None:
        self._segments = segments

    def sync(self) -> None:
        """Force what was written to disk; in any thread."""
        self._segments.sync()

    def close(self) -> None:
        """Force the current segment to disk and give it its final name. Calling it twice does no harm."""
        self._segments.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
