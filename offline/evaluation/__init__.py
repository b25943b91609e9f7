"""Compares crawls by their contents (ARCOMEM, section 5.2)."""
