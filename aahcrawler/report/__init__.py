"""The report of a crawl for people: one self-contained HTML file."""

from aahcrawler.report.report_page import (
    ReportError,
    ReportNotWrittenError,
    read_collection,
    read_failed,
    read_missing,
    read_seeds,
    write_report,
)
from aahcrawler.report.report_sections import failed_lines, seed_lines

__all__ = [
    "ReportError",
    "ReportNotWrittenError",
    "failed_lines",
    "read_collection",
    "read_failed",
    "read_missing",
    "read_seeds",
    "seed_lines",
    "write_report",
]
