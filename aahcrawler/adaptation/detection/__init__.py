"""Detects what fails on a site: actions, and signs of levels and applications that pages no longer show."""
