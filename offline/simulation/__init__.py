"""Crawls simulated on archived pages, to find out in which order a crawl should fetch (ARCOMEM, section 5.1)."""
