"""Reads documents such as PDF, DOCX and RDF in a separate process, so that no file can hang or exhaust the crawl."""

from aahcrawler.documents.reader import DocumentReader, NotComparedError, is_document, is_rdf, rdf_alternates

__all__ = ["DocumentReader", "NotComparedError", "is_document", "is_rdf", "rdf_alternates"]
