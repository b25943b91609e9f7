"""Scores the relevance of a page and of its links to an Intelligent Crawl Definition."""
