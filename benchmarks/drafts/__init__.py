"""Crawls sites with drafts of their applications' files: without a file, with a draft, with a mended draft."""
