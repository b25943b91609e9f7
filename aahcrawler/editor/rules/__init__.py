"""What rules find on the pages of a crawl, and rules for elements that people mark there."""
