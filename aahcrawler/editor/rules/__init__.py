"""What rules find on the pages of a crawl, and rules for what people point at there."""
