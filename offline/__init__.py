"""Jobs over what a crawl has written: tables, reports, evaluation."""
