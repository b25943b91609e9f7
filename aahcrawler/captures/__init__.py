"""Captures of any archive as values, for jobs and notebooks."""

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
from aahcrawler.captures.crawl_tables import ScoreRow, columns, data_frame, scores
from aahcrawler.captures.record_scan import Damage
from aahcrawler.objects.reader import object_rows as objects
from aahcrawler.objects.reader import page_rows as pages

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
