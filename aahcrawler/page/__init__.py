"""A fetched page and what can be read from any page, whatever application made it."""

from aahcrawler.page.page import PARSED_BYTES, Headers, Page, sniff

__all__ = ["PARSED_BYTES", "Headers", "Page", "sniff"]
