"""Rules that block URLs of a crawl, and the search for the rule that matches a URL."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from aahcrawler.urls import canonicalize
from online_analysis.url_patterns import UrlPattern, UrlPatternError


class RuleKind(StrEnum):
    """The kinds of rules, by the URLs that they match."""

    URL = "url"
    PREFIX = "prefix"
    """All URLs that begin with the text."""
    HOST = "host"
    """All URLs of a host and of every host below it."""
    PATTERN = "pattern"
    """All URLs that a pattern with ``*`` matches, or a text that occurs in them (``UrlPattern``)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for URLs that a crawl must not fetch. Raises ValueError, with a reason, for a text that matches none.

    >>> Rule(RuleKind.HOST, "example.org").reason
    'host example.org'
    """

    kind: RuleKind
    text: str

    def __post_init__(self) -> None:
        if self.kind is RuleKind.URL and canonicalize(self.text) != self.text:
            raise ValueError(f"{self.text!r} is no canonical URL")
        if self.kind is RuleKind.PREFIX and not self.text.startswith(("http://", "https://")):
            raise ValueError(f"{self.text!r} begins no URL; prefixes begin with http:// or https://")
        if self.kind in (RuleKind.HOST, RuleKind.PATTERN):
            self.pattern()

    @property
    def reason(self) -> str:
        """The reason given for URLs that this rule blocks."""
        return f"{self.kind} {self.text}"

    @classmethod
    def parse(cls, reason: str) -> "Rule":
        """Return the rule with this ``reason``; raise ValueError where none can have it."""
        kind, _, text = reason.partition(" ")
        return cls(RuleKind(kind), text)

    def pattern(self) -> UrlPattern:
        """Return the URL pattern of a rule by host or pattern."""
        if self.kind is RuleKind.PATTERN and self.text.lower().startswith("host:"):
            raise ValueError(f"{self.text!r} names a host; make it a rule of the kind host")
        try:
            return UrlPattern.parse(f"host:{self.text}" if self.kind is RuleKind.HOST else self.text)
        except UrlPatternError as error:
            raise ValueError(f"the {self.kind} {self.text!r} {error}") from error


class RuleBook:
    """The rules of a crawl at some ``version``; every change of them has a version of its own.

    >>> RuleBook([Rule(RuleKind.HOST, "example.org")]).matching("http://www.example.org/a").reason
    'host example.org'
    """

    def __init__(self, rules: Iterable[Rule] = (), version: int = 0) -> None:
        self.version = version
        self.rules = frozenset(rules)
        of = {kind: sorted(rule.text for rule in self.rules if rule.kind is kind) for kind in RuleKind}
        self._urls = frozenset(of[RuleKind.URL])
        self._prefixes = frozenset(of[RuleKind.PREFIX])
        self._lengths = sorted(set(map(len, self._prefixes)))
        self._hosts = {Rule(RuleKind.HOST, text).pattern().host: text for text in of[RuleKind.HOST]}
        self._patterns = [(Rule(RuleKind.PATTERN, text).pattern(), text) for text in of[RuleKind.PATTERN]]

    def __bool__(self) -> bool:
        return bool(self.rules)

    def matching(self, url: str) -> Rule | None:
        """Return the first rule that matches a canonical URL, in the order of ``RuleKind``; None where none does."""
        if url in self._urls:
            return Rule(RuleKind.URL, url)
        for length in self._lengths:
            if url[:length] in self._prefixes:
                return Rule(RuleKind.PREFIX, url[:length])
        host = (urlsplit(url).hostname or "") if self._hosts else ""
        while host:
            if host in self._hosts:
                return Rule(RuleKind.HOST, self._hosts[host])
            host = host.partition(".")[2]
        text = next((text for pattern, text in self._patterns if pattern.matches(url)), None)
        return None if text is None else Rule(RuleKind.PATTERN, text)
