"""Archives of other programs, imported."""
