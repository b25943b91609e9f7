"""Reads documents such as PDF and DOCX in a separate process, so that no file can hang or exhaust the crawl."""

from aahcrawler.documents.reader import DocumentReader, is_document

__all__ = ["DocumentReader", "is_document"]
