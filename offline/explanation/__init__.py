"""Explains the state of a URL in a crawl, the parts of its score, and its history."""
