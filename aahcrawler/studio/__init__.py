"""The studio: edit an entry of the knowledge base on the pages of a crawl. Knows nothing of HTTP."""
