"""Tools for people who write the knowledge base: check it, see what it does with a page, add an application."""
