"""Repair actions that fail: strategies label the content of a page by other means, and actions are learned from it."""
