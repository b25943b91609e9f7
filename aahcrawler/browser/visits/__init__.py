"""Visits of pages: a page is loaded, behaviours act on it, and its state is captured."""
