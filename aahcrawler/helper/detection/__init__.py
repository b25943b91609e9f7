"""Recognise the application and the level of a page."""
