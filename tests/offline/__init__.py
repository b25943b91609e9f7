"""Jobs over what a crawl has written."""
