"""Jobs over the output of a crawl: tables, reports, selection, export, evaluation."""
