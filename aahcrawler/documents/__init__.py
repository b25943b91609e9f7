"""Documents such as PDF and DOCX, read in a process of their own: no file can hang or exhaust the crawl."""

from aahcrawler.documents.reader import DocumentReader, is_document

__all__ = ["DocumentReader", "is_document"]
