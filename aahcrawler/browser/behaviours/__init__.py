"""What is done on a page: scrolled, opened, dismissed, played, as the knowledge base says."""
