"""Decide when a page is worth another visit, by what its visits so far have found."""
