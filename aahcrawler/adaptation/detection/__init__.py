"""Detect failures on a site: of actions, and of the signs of levels and applications."""
