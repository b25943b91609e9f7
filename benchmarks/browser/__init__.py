"""Crawls sites that scripts make, by http, as it decides, and in the browser, and compares with what a person sees."""
