"""Say that there is no browser to be had, and what helps."""


class BrowserUnavailableError(Exception):
    """No browser could be started. The text says why, and what to do; it is meant for people."""
