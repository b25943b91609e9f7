"""Removes pages from an archive, either whole or not at all, and keeps them from being fetched again."""
