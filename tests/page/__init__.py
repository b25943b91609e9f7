"""Tests of what is read from a page, whatever made it."""
