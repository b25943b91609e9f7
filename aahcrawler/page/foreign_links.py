"""Count the links of a page to what no HTTP client can fetch."""

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Final

from aahcrawler.page.page import Page

MOST_LINKS: Final = 5_000
"""The most links of one page that are looked at."""
_LONGEST: Final = 12
"""Characters of the longest scheme, with its colon."""
_SCHEMES: Final = frozenset(
    [
        "ftp",
        "ftps",
        "sftp",
        "tftp",
        "gopher",
        "gophers",
        "gemini",
        "spartan",
        "titan",
        "nex",
        "finger",
        "wais",
        "dict",
        "nntp",
        "news",
        "snews",
        "magnet",
        "ed2k",
        "ipfs",
        "ipns",
        "dat",
        "hyper",
        "dweb",
        "file",
        "smb",
        "nfs",
        "rsync",
        "svn",
        "git",
        "rtsp",
        "rtsps",
        "rtmp",
        "mms",
        "mmsh",
        "telnet",
    ]
)
"""Schemes that name documents, files and places (IANA's registry of URI schemes, and what is common without it).

Others name people, programs and actions, such as ``mailto`` and ``javascript``, or are no schemes: ``Talk:Harbour``.
"""


def foreign_links(page: Page) -> Mapping[str, int]:
    """Return by scheme how many different links, and frames, of a page lead to documents by other ways than HTTP."""
    found = set()
    for element in islice(page.tree.iter("a", "area", "frame", "iframe"), MOST_LINKS):
        reference = (element.get("href") or element.get("src") or "").strip()
        if ":" in reference[:_LONGEST] and not reference.startswith("http"):
            scheme, _, rest = reference.partition(":")
            if rest and scheme.lower() in _SCHEMES:
                found.add((scheme.lower(), rest))
    return Counter(scheme for scheme, _ in found)
