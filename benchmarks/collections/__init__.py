"""Worlds with dates, servers of archives, and what event collections are worth on them."""
