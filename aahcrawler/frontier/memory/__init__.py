"""The frontier in memory, for crawls of seconds that need no server."""
