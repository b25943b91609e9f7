"""Entries that travel: packed into one file, and taken in only after their tests ran."""
