"""Writes what crawls hold as packages that other programs show."""
