"""Report a crawl's progress and its end: ``crawl.json``, the live display, exit codes."""
