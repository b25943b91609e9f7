"""Crawls small sites that use the web in unusual ways, and judges what was requested, read and reported."""
