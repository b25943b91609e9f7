"""Which URLs a crawl may fetch."""

from aahcrawler.scope.canonical import Spelling
from aahcrawler.scope.scope import RULE, Address, Candidate, Refusal, Scope, SourceRefusal

__all__ = ["RULE", "Address", "Candidate", "Refusal", "Scope", "SourceRefusal", "Spelling"]
