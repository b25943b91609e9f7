"""Select pages from a crawl's archive (ARCOMEM, sections 3.3 and 4)."""
