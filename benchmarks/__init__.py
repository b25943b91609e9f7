"""Benchmarks; each prints a table and writes a JSON file of rows."""
