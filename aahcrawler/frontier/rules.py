"""Which of a crawl's rules names a URL, in time that depends little on how many rules there are."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from aahcrawler.frontier.control import Rule, RuleKind


class RuleBook:
    """The rules of a crawl as they were at some ``version``; every change of them has a version of its own.

    >>> RuleBook([Rule(RuleKind.HOST, "example.org")]).naming("http://www.example.org/a").reason
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

    def naming(self, url: str) -> Rule | None:
        """Return the first rule that names a canonical URL, in the order of ``RuleKind``; None where none does."""
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
