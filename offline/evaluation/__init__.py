"""Comparing crawls by what they hold (ARCOMEM, section 5.2)."""
