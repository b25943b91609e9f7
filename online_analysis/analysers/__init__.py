"""Analysers that ship with the crawler, one a module."""
