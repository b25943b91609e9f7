"""Statistics of a crawl, and its log."""
