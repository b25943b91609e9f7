"""Crawler traps: parts of sites that are endless, or that show the same again and again.

Pure logic over URLs and texts: nothing here reads, writes or tells the time.
"""
