"""The cases, a module a kind or two."""

from benchmarks.wildweb.kinds import contents, sessions

CASES = (*sessions.CASES, *contents.CASES)
"""All cases, those aside among them."""
