"""Crawls that are run again and again: when each is due, one process that starts what is due, whom it tells."""
