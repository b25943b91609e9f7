"""AAHCrawler: an application-aware, focused, archiving web crawler."""

__version__ = "0.2.0"
