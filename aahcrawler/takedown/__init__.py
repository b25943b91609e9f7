"""Takes pages out of an archive, whole or not at all, and keeps them from being fetched again."""
