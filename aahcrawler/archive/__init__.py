"""WARC files: write them during a crawl, recover, check and read them."""
