"""How relevant a page and its links are to what an Intelligent Crawl Definition asks for."""
