"""Says why none of a page's links is followed, and what to do about it."""

from collections.abc import Mapping
from typing import Final

from aahcrawler.scope import RULE, Refusal, SourceRefusal
from knowledge_base.url_rules import Reason

ROBOTS: Final = "robots"
FEWEST_JUNK: Final = 3
"""Forms and the like stand on every page; so many that nothing stands beside look like a mistake."""
_JUNK: Final = frozenset(Reason)
_WISHED: Final = frozenset({Refusal.SCHEME, Refusal.TOO_DEEP, Refusal.LANGUAGE})
"""What the definition is meant to end at, what is no page, and what has a verdict of its own."""
_WORDS: Final[Mapping[str, str]] = {
    Refusal.SCHEME: "no http or https URL",
    Refusal.TOO_LONG: "too long an address",
    Refusal.TAKEN_DOWN: "taken down",
    Refusal.FORM: "a form",
    Refusal.SPAM: "a spam host",
    Refusal.DENIED: "denied by scope.deny",
    Refusal.OTHER_SITE: "on another site than the seeds",
    Refusal.NOT_ALLOWED: "not in scope.allow",
    Refusal.TOO_DEEP: "too many links from a seed",
    Refusal.LANGUAGE: "on a page in another language",
    SourceRefusal.NOFOLLOW: "marked as not to be followed",
    SourceRefusal.SOURCE: "of a source that is off",
    ROBOTS: "forbidden by robots.txt",
    "register": "a registration",
    "api": "an interface for programs",
    "help": "a page of help",
}
_REMEDIES: Final[Mapping[str, str]] = {
    Refusal.OTHER_SITE: "set scope.sites to anywhere, or add seeds on the sites they lead to",
    Refusal.NOT_ALLOWED: "add patterns to scope.allow that cover them",
    Refusal.FORM: "set sources.forms to safe, where the file of its application calls the form safe",
    Refusal.DENIED: "make the patterns of scope.deny narrower",
    Refusal.TOO_DEEP: "raise scope.depth",
    Refusal.LANGUAGE: "add the language to scope.languages",
    SourceRefusal.NOFOLLOW: "set politeness.nofollow to ignore",
    SourceRefusal.SOURCE: "set sources.feeds to linked",
    ROBOTS: "ask the site's owner, or decide on politeness.robots in the definition",
}


def main_reason(refused: Mapping[str, int], *, has_objects: bool) -> str:
    """Return why a page leads nowhere of which all links are ``refused``, by their number for each reason.

    Empty where that is as it should be: a page has links to forms and, where it ``has_objects``, to other sites, and
    may have none of its own.
    """
    counts = {
        reason: number for reason, number in refused.items() if not (has_objects and reason == Refusal.OTHER_SITE)
    }
    reason = max(counts, key=lambda each: counts[each], default="")
    is_junk = reason in _JUNK and counts[reason] < FEWEST_JUNK
    return "" if is_junk or reason in _WISHED else reason


def none_followed(reason: str) -> str:
    """Return in words that no link of a page is followed, and why.

    >>> none_followed("denied")
    'none of its links is followed, most of them since they are denied by scope.deny'
    """
    return f"none of its links is followed, most of them since they are {links_in_words(reason)}"


def remedy(reason: str) -> str:
    """Return what to do about links that are refused."""
    if reason.startswith(RULE):
        return "look at scope.rules in the definition"
    return _REMEDIES.get(reason, "give scope.allow *://HOST/* and a pattern that names the word, such as *rev=*")


def links_in_words(reason: str) -> str:
    """Return why a link is avoided in words that complete "the link is ...".

    >>> links_in_words("other_site"), links_in_words("rule:near"), links_in_words("reply-form")
    ('on another site than the seeds', 'refused by the rule near', 'a reply form')
    """
    if reason.startswith(RULE):
        return f"refused by the rule {reason.removeprefix(RULE)}"
    plain = reason.replace("-", " ").replace("_", " ")
    return _WORDS.get(reason) or f"{'an' if plain[:1] in 'aeiou' else 'a'} {plain}"
