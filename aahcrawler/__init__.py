"""AAHCrawler: an application-aware, focused, archiving web crawler."""

__version__ = "0.1.0"
