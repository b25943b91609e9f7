"""Simulate crawls of archived pages, to compare the orders in which strategies fetch them (ARCOMEM, section 5.1)."""
