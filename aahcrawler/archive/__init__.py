"""WARC files: writing them while crawling, recovering and reading them."""
