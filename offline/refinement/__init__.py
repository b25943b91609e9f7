"""Refine a definition by what a reference crawl has found, as approved by the archivist (ARCOMEM, section 3)."""
