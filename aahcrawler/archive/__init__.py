"""WARC files: writing them during a crawl, recovering, checking and reading them."""
