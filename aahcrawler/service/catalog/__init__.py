"""The crawls that a service knows, their rules for URLs, and connections to their frontiers."""
