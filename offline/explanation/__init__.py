"""Explains a URL of a crawl: its state, the parts of its score, and its history."""
