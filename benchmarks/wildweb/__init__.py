"""Crawls small sites that spell the web in their own way, and judges what was asked for, read and said of them."""
