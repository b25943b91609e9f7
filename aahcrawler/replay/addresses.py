"""The addresses of replayed captures: ``/{crawl}/{14 digits}{modifier}/{URL}``.

Words to be marked on the page stand before the URL, as one percent-encoded part of the path.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote

from aahcrawler.replay.capture_lookup import is_moment
from aahcrawler.urls import canonicalize

_PATH: Final = re.compile(r"/([^/]+)/([0-9]{4,14})([a-z]{2}_)/(.*)", re.DOTALL)
_ONE_SLASH: Final = re.compile(r"(?i)(https?):/+")
_UNSAFE: Final = re.compile(r"[^!-~]")
_PADDING: Final = "00000101000000"


class Modifier(StrEnum):
    """How a capture is shown."""

    PAGE = "mp_"
    """A page with its banner."""
    OBJECTS = "ob_"
    """A page with its web objects outlined."""
    LINKS = "li_"
    """A page with its links coloured by their scores."""
    BOTH = "ol_"
    """A page with both."""
    WORDS = "wo_"
    """A page on which the words are marked that a reader looked for."""
    SENT = "as_"
    """A page with its banner as its server sent it, although the archive also has a document made by scripts or of
    data.
    """
    FRAME = "if_"
    """A document within a page, without a banner."""
    STYLE = "cs_"
    """A style sheet."""
    IMAGE = "im_"
    """A picture or a font."""
    MEDIA = "oe_"
    """Sound or film."""
    FILE = "id_"
    """The bytes as they came, to be kept as a file."""


PAGES: Final = frozenset(
    {Modifier.PAGE, Modifier.OBJECTS, Modifier.LINKS, Modifier.BOTH, Modifier.WORDS, Modifier.SENT}
)
"""The modifiers of pages with a banner. Links on such a page lead to pages with a banner, too."""


@dataclass(frozen=True, slots=True)
class Address:
    """A request for the capture of a URL in a crawl that is nearest to ``moment``, a time in 14 digits.

    ``words`` are those to be marked on the page; empty for none.
    """

    crawl: str
    moment: str
    modifier: Modifier
    url: str
    words: str = ""

    @property
    def path(self) -> str:
        """The path and query of the address, in ASCII."""
        url = _UNSAFE.sub(lambda sign: quote(sign[0], errors="replace"), self.url)
        words = f"{quote(self.words, safe='', errors='replace')}/" if self.modifier is Modifier.WORDS else ""
        return f"/{quote(self.crawl, safe='')}/{self.moment}{self.modifier}/{words}{url}"

    @classmethod
    def parse(cls, path: str, query: str) -> "Address | None":
        """Return the address in a path, as it was sent, and a query; None where they are no address of a capture.

        A time of fewer than 14 digits stands for the first moment of its year, month, day, hour or minute.

        >>> Address.parse("/a%2Fb/2026mp_/http://a.test/x", "y=1")
        Address(crawl='a/b', moment='20260101000000', modifier=<Modifier.PAGE: 'mp_'>, url='http://a.test/x?y=1', \
words='')
        """
        match = _PATH.fullmatch(path)
        if match is None or match[3] not in set(Modifier):
            return None
        moment = match[2] + _PADDING[len(match[2]) :]
        words, written = "", match[4]
        if match[3] == Modifier.WORDS:
            words, _, written = written.partition("/")
        # Some clients and proxies make one slash of two.
        written = _ONE_SLASH.sub(r"\1://", written, count=1)
        url = canonicalize(f"{written}?{query}" if query else written)
        if url is None or not is_moment(moment):
            return None
        return cls(unquote(match[1]), moment, Modifier(match[3]), url, unquote(words))
