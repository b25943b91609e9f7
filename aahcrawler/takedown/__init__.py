"""Remove pages from an archive, either wholly or not at all, and keep them from being fetched again."""
