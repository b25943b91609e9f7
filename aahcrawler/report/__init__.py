"""The report of a crawl for people: one HTML file that needs nothing else."""

from aahcrawler.report.report_page import ReportError, write_report

__all__ = ["ReportError", "write_report"]
