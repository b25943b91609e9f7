"""The private Redis-protocol server of one crawl."""
