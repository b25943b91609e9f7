"""Definitions of collections about events, made from Wikipedia's pages about them."""
