"""Drafts application files: from pages to patterns, levels, addresses and expressions, every guess marked."""
