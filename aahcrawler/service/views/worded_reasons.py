"""Reasons why URLs are not fetched, as programs know them and in words for people."""

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict

from aahcrawler.report.reason_words import in_words
from aahcrawler.seeds import in_words as error_in_words


class Reason(BaseModel):
    """A reason: its name in ``crawl.json``, and what it means in words for people."""

    model_config = ConfigDict(frozen=True)

    name: str
    words: str


class CountedReason(Reason):
    """A reason and how many links or URLs it holds for."""

    count: int


def worded(name: str) -> Reason:
    """Return a reason with its words, those of its name where there are no others.

    >>> worded("too_deep").words, worded("host example.org").words, worded("login").words
    ('too many links away from a seed', 'blocked by the rule host example.org', 'login')
    """
    told = next(iter(in_words({name: 0})))
    if told != name:
        return Reason(name=name, words=told.removesuffix(f" ({name})"))
    if name.partition(" ")[0] in _RULES and " " in name:
        return Reason(name=name, words=f"blocked by the rule {name}")
    return Reason(name=name, words=_OTHERS.get(name, name))


def worded_error(name: str) -> Reason:
    """Return the reason of a URL that failed with its words.

    >>> worded_error("status 503").words, worded_error("robots").words
    ('server error (503)', 'robots.txt forbids it')
    """
    known = worded(name)
    return known if known.words != name else Reason(name=name, words=error_in_words(name))


def counted(counts: Mapping[str, float], words: Callable[[str], Reason] = worded) -> tuple[CountedReason, ...]:
    """Return reasons with their counts, the commonest first; none that counts nothing.

    >>> [(each.name, each.count) for each in counted({"robots": 2, "copy": 7, "spam": 0})]
    [('copy', 7), ('robots', 2)]
    """
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        CountedReason(name=name, words=words(name).words, count=int(number)) for name, number in ordered if number >= 1
    )


_RULES = frozenset({"url", "prefix", "host", "pattern"})
_OTHERS = {
    "blacklisted": "posted to this crawl as not to be fetched",
    "private_address": "in a private network",
    "lease ran out": "its worker was lost, again and again",
    "retries used up": "given up after the last attempt",
}
