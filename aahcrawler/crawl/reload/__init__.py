"""Changes of the definition and of the knowledge base while the crawl runs."""
