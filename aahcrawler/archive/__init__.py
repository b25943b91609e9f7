"""WARC files: writing them while crawling, recovering and reading them."""

from aahcrawler.archive.records import UNIDENTIFIED, CrawlInfo, Identified, Original
from aahcrawler.archive.writer import Capture, Identity, WarcWriter

__all__ = [
    "UNIDENTIFIED",
    "Capture",
    "CrawlInfo",
    "Identified",
    "Identity",
    "Original",
    "WarcWriter",
]
