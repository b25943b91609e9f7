"""The captures of archives as values, whatever they come from: one way to all of them, for jobs and for notebooks."""

from aahcrawler.captures.archived_captures import ArchivedCaptures
from aahcrawler.captures.capture_source import (
    BEGINNING,
    Capture,
    CaptureContents,
    CaptureSource,
    Origin,
    Position,
    Provenance,
    RecordPlace,
    shown_pages,
)
from aahcrawler.captures.crawl_tables import ScoreRow, columns, data_frame, objects, pages, scores
from aahcrawler.captures.record_scan import Damage

__all__ = [
    "BEGINNING",
    "ArchivedCaptures",
    "Capture",
    "CaptureContents",
    "CaptureSource",
    "Damage",
    "Origin",
    "Position",
    "Provenance",
    "RecordPlace",
    "ScoreRow",
    "columns",
    "data_frame",
    "objects",
    "pages",
    "scores",
    "shown_pages",
]
