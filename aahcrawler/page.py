"""A fetched page, parsed once and shared by detection, actions, text and links."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from lxml.html import HtmlElement


@dataclass(frozen=True)
class Headers:
    """Response header fields in their order; names are looked up without regard to case."""

    fields: tuple[tuple[str, str], ...] = ()

    def get(self, name: str, default: str = "") -> str:
        """Return the first field of that name."""
        return next(self.all(name), default)

    def all(self, name: str) -> Iterator[str]:
        """Yield every field of that name, in order."""
        wanted = name.lower()
        return (value for key, value in self.fields if key.lower() == wanted)


@dataclass(frozen=True)
class Page:
    """One response as the helper and the analysers see it.

    ``body`` is after transfer and content decoding and may have been cut at the crawl's size limit
    (``complete`` is False then). ``fetched_at`` is aware and in UTC. The instance keeps its parsed tree; treat the
    tree as read-only, everybody shares it.
    """

    url: str
    status: int
    headers: Headers
    body: bytes
    fetched_at: datetime
    complete: bool = True

    @cached_property
    def media_type(self) -> str:
        """Type and subtype in lower case, sniffed where the header is missing: ``text/html``."""
        raise NotImplementedError

    @cached_property
    def encoding(self) -> str:
        """The encoding a browser would use (WHATWG): BOM, header, meta, then a guess; a Python codec name."""
        raise NotImplementedError

    @property
    def is_html(self) -> bool:
        """Whether the page can be parsed as HTML."""
        raise NotImplementedError

    @cached_property
    def tree(self) -> HtmlElement:
        """The document element; an empty document for a body that holds no markup. Never raises on hostile input."""
        raise NotImplementedError

    @cached_property
    def base_url(self) -> str:
        """What relative links resolve against: the first ``base`` element's address, else the page's."""
        raise NotImplementedError


__all__ = ["Headers", "Page"]
