"""Reads documents, from PDF to RDF and tables, in a separate process, so that none can hang or exhaust the crawl."""

from aahcrawler.documents.formats import is_data, is_document, is_rdf
from aahcrawler.documents.reader import DocumentReader, NotComparedError, Statements, rdf_alternates

__all__ = ["DocumentReader", "NotComparedError", "Statements", "is_data", "is_document", "is_rdf", "rdf_alternates"]
