"""An operator's actions on the frontier of a crawl, while it runs or not: ``aah frontier``."""
