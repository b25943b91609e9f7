"""The knowledge base that ships, which nothing changes: all tests of a process share it."""

from functools import cache

from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase


@cache
def shipped() -> KnowledgeBase:
    """Return it, loaded at the first call."""
    return load()
