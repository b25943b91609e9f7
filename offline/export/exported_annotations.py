"""Selects the annotations that go along with exported captures, as they lie in a crawl's folder."""

from collections.abc import Iterator
from pathlib import Path

from aahcrawler.annotations import SAID_BY, AnnotationIndex, CaptureAnnotations
from aahcrawler.annotations.annotation_statements import read_annotations
from aahcrawler.layout import ANNOTATIONS, NQUADS
from aahcrawler.segments import Members, open_segment, segments
from offline.selection.warc_selection import Names


def exported_annotations(crawl: Path, captures: Names) -> Iterator[bytes]:
    """Yield the gzip members of the annotations that count and that rest on exported captures alone.

    What was made of many captures together goes along where all captures do that were annotated: elsewhere it may tell
    of others. Raises ``DamageError``, ``OSError`` and ``sqlite3.Error``.
    """
    if not (crawl / ANNOTATIONS).is_dir():
        return
    with AnnotationIndex(crawl) as index:
        index.catch_up()
        annotated = index.base.execute("SELECT DISTINCT capture FROM unit WHERE is_shown")
        has_all = all(capture in captures for (capture,) in annotated)
        for path in segments(crawl / ANNOTATIONS, NQUADS):
            with open_segment(path) as file, path.open("rb") as packed:
                members = Members(file)
                while members.end < members.size:
                    begin, text = members.end, members.member()
                    try:
                        unit = read_annotations(text)
                    except (KeyError, ValueError):
                        continue  # What cannot be read counts nowhere.
                    is_end = not unit.capture and index.has_run(unit.annotator, unit.version, unit.run)
                    is_shown = index.is_shown(f"{ANNOTATIONS}/{path.name}", begin) or is_end
                    if is_shown and (has_all if unit.run else _rests_on(unit, captures)):
                        packed.seek(begin)
                        yield packed.read(members.end - begin)


def _rests_on(unit: CaptureAnnotations, captures: Names) -> bool:
    others = (value for each in unit.annotations for name, value in each.values if name == SAID_BY)
    return unit.capture in captures and all(other in captures for other in others)
