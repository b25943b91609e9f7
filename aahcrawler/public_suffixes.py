"""Public suffixes: the ends of host names under which anybody may register one, such as ``co.uk``.

The list is that which comes with ``publicsuffixlist``, which asks no network and imports no HTTP client.
"""

from functools import lru_cache
from pathlib import Path

from publicsuffixlist import PSLFILE, PublicSuffixList

_HOSTING_SUFFIXES = ("dreamwidth.org", "livejournal.com", "substack.com", "tumblr.com", "typepad.com", "wordpress.com")
"""Hosts of independent sites that are missing from the list."""


def registered_domain(name: str) -> str:
    """Return what was registered of a host's name in small letters: its public suffix with one label before it.

    A name that is a public suffix itself is returned whole. A top-level domain that the list does not have is one.

    >>> registered_domain("forums.bbc.co.uk"), registered_domain("co.uk"), registered_domain("a.b.unheard")
    ('bbc.co.uk', 'co.uk', 'b.unheard')
    """
    return _suffixes().privatesuffix(name) or name


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList([*Path(PSLFILE).read_text("utf-8").splitlines(), *_HOSTING_SUFFIXES])
