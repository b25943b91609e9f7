"""Compare crawls by the relevance of their pages (ARCOMEM, section 5.2)."""
