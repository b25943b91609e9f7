"""How far a crawl is and how it ended: ``crawl.json``, the live display, exit codes."""
