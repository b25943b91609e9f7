"""A small world to crawl, and the definitions that crawl it."""
