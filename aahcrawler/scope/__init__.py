"""The scope of a crawl: the URLs that it may fetch."""

from aahcrawler.scope.canonical import Spelling
from aahcrawler.scope.scope import RULE, SCOPE, Candidate, ExternalUrl, Refusal, Scope, SourceRefusal

__all__ = ["RULE", "SCOPE", "Candidate", "ExternalUrl", "Refusal", "Scope", "SourceRefusal", "Spelling"]
