"""Where a URL stands in a crawl, what its score is made of, and how it came about."""
