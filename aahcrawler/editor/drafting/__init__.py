"""Draft application files from pages: patterns, levels, URLs and expressions, with every guess marked."""
