"""Replay: what was captured, shown from the archive alone."""
