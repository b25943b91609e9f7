"""The report of a crawl for people: one HTML file that needs nothing else."""

from aahcrawler.report.report_page import ReportError, read_seeds, write_report
from aahcrawler.report.seed_section import seed_lines

__all__ = ["ReportError", "read_seeds", "seed_lines", "write_report"]
