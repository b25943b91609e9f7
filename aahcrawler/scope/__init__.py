"""The scope of a crawl: the URLs that it may fetch."""

from aahcrawler.scope.canonical import Spelling
from aahcrawler.scope.scope import RULE, Address, Candidate, Refusal, Scope, SourceRefusal

__all__ = ["RULE", "Address", "Candidate", "Refusal", "Scope", "SourceRefusal", "Spelling"]
