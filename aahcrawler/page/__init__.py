"""A fetched page, and readers that work on the pages of any application."""

from aahcrawler.page.page import PARSED_BYTES, Headers, Page
from aahcrawler.page.sniffing import sniff

__all__ = ["PARSED_BYTES", "Headers", "Page", "sniff"]
