"""Drafts application files: from pages to patterns, levels, URLs and expressions, every guess marked."""
