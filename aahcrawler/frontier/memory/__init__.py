"""The frontier in memory, for short crawls that need no server."""
