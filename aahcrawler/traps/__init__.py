"""Detect crawler traps: parts of sites that are endless, or that repeat the same content.

Pure functions of URLs and texts: nothing here does I/O or uses a clock.
"""
