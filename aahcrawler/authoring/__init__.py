"""Tools for authors of the knowledge base: check it, try it on pages, add applications."""
