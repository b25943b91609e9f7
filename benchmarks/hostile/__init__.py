"""Hostile responses: how reading them grows with their size, and mutations of real ones."""
