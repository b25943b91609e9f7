"""The reasons why links were not followed and URLs not fetched: their names in files, and words for people."""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.scope import Refusal, SourceRefusal
from aahcrawler.seeds import in_words as failure_in_words
from aahcrawler.streams import StreamNote
from aahcrawler.traps.patterns import Trap

ROLES: Final[Mapping[str, str]] = {"intermediate": "leads to content", "terminal": "has content"}
"""What a level of pages is for, by the name of its role in the knowledge base."""
_WORDS: Final[Mapping[str, str]] = {
    **{each.value: each.words for each in chain(Refusal, SourceRefusal, Trap)},
    "robots": "robots.txt forbids it",
    "address": "in a private network",
    "domain_pages": "beyond the pages that politeness.domains grants",
    "domain_bytes": "beyond the bytes that politeness.domains grants",
    "ignored": "a Scrapy middleware does not want it",
    "redirects": "behind too many redirects in a row",
    "requisites_per_page": "images, styles and other files of one page beyond limits.requisites_per_page",
    "requisites_per_style_sheet": "files of one style sheet beyond limits.requisites_per_style_sheet",
    "parts_per_stream": "parts of one stream of film or sound beyond limits.parts_per_stream",
    "requisite_file_bytes": "files larger than limits.requisite_file_bytes",
    "requisite_bytes": "images, styles and other files beyond limits.requisite_bytes",
    "blacklisted": "posted to this crawl as not to be fetched",
    "private_address": "in a private network",
    "lease ran out": "its worker was lost, again and again",
    "retries used up": "given up after the last attempt",
}
_RULES: Final = frozenset({"url", "prefix", "host", "pattern"})
_STREAMS: Final[Mapping[str, str]] = {each.value: each.words for each in StreamNote}


class Reason(BaseModel):
    """A reason: its name in ``crawl.json``, and words for people."""

    model_config = ConfigDict(frozen=True)

    name: str
    words: str

    def __str__(self) -> str:
        """Return the words, followed by the name if it differs."""
        return self.name if self.words == self.name else f"{self.words} ({self.name})"


class CountedReason(Reason):
    """A reason with the number of links or URLs to which it applies."""

    count: int


def worded(name: str) -> Reason:
    """Return a reason with its words; a reason without words gets its name.

    >>> worded("too_deep").words, worded("host example.org").words, worded("login").words
    ('too many links away from a seed', 'blocked by the rule host example.org', 'login')
    >>> str(worded("scheme:ftp")), str(worded("rule:no calendars"))
    ('by ftp, which the crawler does not speak (scheme:ftp)', 'rule:no calendars')
    """
    group, _, scheme = name.partition(":")
    if group == Refusal.SCHEME and scheme:
        return Reason(name=name, words=f"by {scheme}, which the crawler does not speak")
    if name.partition(" ")[0] in _RULES and " " in name:
        return Reason(name=name, words=f"blocked by the rule {name}")
    return Reason(name=name, words=_WORDS.get(name, name))


def worded_failure(name: str) -> Reason:
    """Return the reason why a URL failed, with its words.

    >>> worded_failure("status 503").words, worded_failure("robots").words
    ('server error (503)', 'robots.txt forbids it')
    """
    return Reason(name=name, words=_WORDS.get(name) or failure_in_words(name))


def worded_stream(name: str) -> Reason:
    """Return a note on a stream (``streams.StreamNote``) with its words."""
    return Reason(name=name, words=_STREAMS.get(name, name))


def counted(counts: Mapping[str, float], words: Callable[[str], Reason] = worded) -> tuple[CountedReason, ...]:
    """Return reasons with their counts, the most frequent first, without zeros.

    >>> [(each.name, each.count) for each in counted({"robots": 2, "copy": 7, "spam": 0})]
    [('copy', 7), ('robots', 2)]
    """
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        CountedReason(name=name, words=words(name).words, count=int(number)) for name, number in ordered if number >= 1
    )
