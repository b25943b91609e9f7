"""Definitions of collections about events, made from the pages that Wikipedia has on them."""
