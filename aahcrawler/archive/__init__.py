"""WARC files: writing them while crawling, recovering and reading them."""

from aahcrawler.archive.reader import captures
from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.writer import Capture, Identity, WarcWriter, recover_archive

__all__ = ["Capture", "CrawlInfo", "Identity", "WarcWriter", "captures", "recover_archive"]
