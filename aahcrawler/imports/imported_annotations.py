"""Takes the annotations of an imported package into a crawl's folder, as far as they are of captures that it has."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from aahcrawler.annotations import AnnotationIndex, CaptureAnnotations
from aahcrawler.annotations.annotation_lock import annotating
from aahcrawler.annotations.annotation_statements import read_annotations
from aahcrawler.archive.gzip_members import Member, MemberError, members
from aahcrawler.layout import NQUADS
from aahcrawler.segments import SegmentWriter, Series, recover

_MAX_GRAPH: Final = 64 << 20
"""Bytes of the statements of the largest graph that is taken."""
_HAS: Final = "SELECT 1 FROM unit WHERE annotator = ? AND capture = ? AND run = ?"
_BEGINNING: Final = b"<"


def take_annotations(root: Path, crawl: str, file: BinaryIO, has: Callable[[str], bool]) -> list[str]:
    """Take over the annotations of a file, and return what is wrong with others.

    ``has`` tells whether the folder has a capture. What the folder has already said itself stays as it is: a capture is
    annotated once by an annotator, and what was made of many captures together is taken where the folder has nothing of
    that kind. Raises ``AnnotationsBusyError``, ``SegmentError``, ``OSError`` and ``sqlite3.Error``.
    """
    wrong: list[str] = []
    with (
        annotating(root) as folder,
        AnnotationIndex(root) as index,
        closing(SegmentWriter(Series(folder, crawl, NQUADS), lambda: datetime.now(UTC))) as writer,
    ):
        recover(folder, NQUADS)
        index.catch_up()
        own_runs = {name for (name,) in index.base.execute("SELECT annotator FROM run")}
        for member in members(file, beginning=_BEGINNING):
            try:
                unit = _annotations(member)
            except (KeyError, ValueError, MemberError) as error:
                wrong.append(f"at byte {member.offset}: no annotations ({error})")
                continue
            is_known = index.base.execute(_HAS, (unit.annotator, unit.capture, unit.run)).fetchone() is not None
            is_wanted = unit.annotator not in own_runs if unit.run else not is_known
            if is_wanted and (has(unit.capture) if unit.capture else unit.run):
                writer.append((bytes(unit),))
        writer.sync()
    return wrong


def _annotations(member: Member) -> CaptureAnnotations:
    """Return the annotations of a member. Raise ``KeyError``, ``ValueError`` or ``MemberError`` where it has none."""
    unit = read_annotations(_whole(member))
    if not unit.annotator:
        raise ValueError("nothing says what made them")
    if not all(0.0 <= each.confidence <= 1.0 for each in unit.annotations):
        raise ValueError("a confidence that is not between 0 and 1")
    return unit


def _whole(member: Member) -> bytes:
    text = bytearray()
    while piece := member.read():
        text += piece
        if len(text) > _MAX_GRAPH:
            raise ValueError(f"more than {_MAX_GRAPH:,} bytes")
    return bytes(text)
