"""Refines a definition by what a reference crawl has found, as far as the archivist agrees (ARCOMEM, section 3)."""
