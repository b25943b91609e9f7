"""Count the links of a page to what no HTTP client can fetch."""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Final

from aahcrawler.page.page import Page

MOST_LINKS: Final = 5_000
"""The most links of one page that are looked at."""
_FOREIGN: Final = re.compile(
    r"(ftps?|sftp|tftp|gophers?|gemini|spartan|titan|nex|finger|wais|dict|s?news|nntp|magnet|ed2k|ip[fn]s|dat|hyper|dweb"
    r"|file|smb|nfs|rsync|svn|git|rtsps?|rtmp|mmsh?|telnet):(.+)",
    re.IGNORECASE | re.DOTALL,
)
"""Links whose schemes name documents, files and places (IANA's registry of URI schemes, and what is common without it).

Others name people, programs and actions, such as ``mailto`` and ``javascript``, or are no schemes: ``Talk:Harbour``.
"""


def foreign_links(page: Page) -> Mapping[str, int]:
    """Return by scheme how many different links, and frames, of a page lead to documents by other ways than HTTP."""
    found = set()
    for element in islice(page.tree.iter("a", "area", "frame", "iframe"), MOST_LINKS):
        match = _FOREIGN.fullmatch((element.get("href") or element.get("src") or "").strip())
        if match is not None:
            found.add((match[1].lower(), match[2]))
    return Counter(scheme for scheme, _ in found)
