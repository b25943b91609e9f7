"""The frontier in memory, for crawls that take seconds and need no server."""
