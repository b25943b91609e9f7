"""Replay: shows captures from the archive alone."""
