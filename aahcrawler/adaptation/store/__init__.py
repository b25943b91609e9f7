"""Keeps what was learned, in memory and in the files of a crawl."""
