"""Public suffixes: the ends of host names under which anybody may register one, such as ``co.uk``.

The list is that which comes with tldextract. It is read by itself: the package imports an HTTP client for a list of the
network, which is never asked for, and that takes as long as a small crawl's first page.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

_RULE = re.compile(r"^[.*!]*\w\S*", re.MULTILINE)
_HOSTING_SUFFIXES = ("dreamwidth.org", "livejournal.com", "substack.com", "tumblr.com", "typepad.com", "wordpress.com")
"""Hosts of independent sites that are missing from snapshots of the public suffix list."""


@dataclass(frozen=True, slots=True)
class _Suffixes:
    """The rules of the list, and the ends of rules at which there is a dot, the rules themselves among them."""

    rules: frozenset[str]
    ends: frozenset[str]


def registered_domain(name: str) -> str:
    """Return what was registered of a host's name: its public suffix with one label before it.

    A name that is a public suffix itself is returned whole. A top-level domain that the list does not have is one.

    >>> registered_domain("forums.bbc.co.uk"), registered_domain("co.uk"), registered_domain("a.b.unheard")
    ('bbc.co.uk', 'co.uk', 'b.unheard')
    """
    labels = name.split(".")
    return ".".join(labels[max(_suffix_start(labels) - 1, 0) :])


def _suffix_start(labels: list[str]) -> int:
    """Return the place of the first label of the public suffix."""
    suffixes, end, found = _suffixes(), "", len(labels) - 1
    for place in range(len(labels) - 1, -1, -1):
        label = labels[place].lower()
        longer = f"{label}.{end}" if end else label
        if longer not in suffixes.ends:
            if f"*.{end}" in suffixes.ends:
                return place + 1 if f"!{longer}" in suffixes.ends else place
            break
        end = longer
        if end in suffixes.rules:
            found = place
    return found


@lru_cache(maxsize=1)
def _suffixes() -> _Suffixes:
    found = find_spec("tldextract")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("tldextract is not installed; it has the list of public suffixes", name="tldextract")
    text = (Path(found.origin).parent / ".tld_set_snapshot").read_text("utf-8")
    written = {*_RULE.findall(text), *_HOSTING_SUFFIXES}
    rules = frozenset(written | {_in_ascii(rule) for rule in written if not rule.isascii()})
    ends = set(rules)
    for rule in rules:
        end = rule.partition(".")[2]
        while end and end not in ends:
            ends.add(end)
            end = end.partition(".")[2]
    return _Suffixes(rules, frozenset(ends))


def _in_ascii(rule: str) -> str:
    """Return a rule as host names have it."""
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}" for label in rule.split(".")
    )
