"""Captures taken out of archives."""
