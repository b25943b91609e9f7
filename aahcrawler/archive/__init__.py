"""WARC files: writing them while crawling, recovering and reading them."""

from aahcrawler.archive.records import UNIDENTIFIED, CrawlInfo, Identified, Original
from aahcrawler.archive.writer import Identity, WarcWriter, WrittenCapture

__all__ = [
    "UNIDENTIFIED",
    "CrawlInfo",
    "Identified",
    "Identity",
    "Original",
    "WarcWriter",
    "WrittenCapture",
]
