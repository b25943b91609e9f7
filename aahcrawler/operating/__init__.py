"""What an operator does to the frontier of a crawl, while it runs or not: ``aah frontier``."""
