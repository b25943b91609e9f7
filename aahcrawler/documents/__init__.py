"""Documents such as PDF, read in a process of their own: no file can hang or exhaust the crawl."""

from aahcrawler.documents.reader import PDF, DocumentReader

__all__ = ["PDF", "DocumentReader"]
