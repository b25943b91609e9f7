"""Making the N-Quads segments of a killed crawl whole again."""

from pathlib import Path

from aahcrawler import segments
from aahcrawler.objects.writer import EXTENSION
from aahcrawler.segments import Recovered


def recover_objects(folder: Path) -> tuple[Recovered, ...]:
    """Close the segments of a crawl that was killed: torn captures are cut off, untouched files removed.

    Segments whose writer lives are left alone. Raises ``SegmentError`` where the folder cannot be written to.
    """
    return segments.recover(folder, EXTENSION)
