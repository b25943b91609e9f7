"""Find where an answer sends its readers on to: by ``Location``, by a ``Refresh`` header, or by ``meta``.

Whoever follows or shows that asks here, so that crawl, replay and simulation go the same ways.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from lxml.html import HtmlElement

from aahcrawler.urls import from_header, resolve

MAX_REDIRECTS: Final = 20
"""How many redirects in a row are followed, as by browsers (WHATWG Fetch, section 4.4)."""
_BLANK: Final = r"[\t\n\f\r ]"
_REFRESH: Final = re.compile(
    rf"{_BLANK}*+(?:([0-9]++)[0-9.]*+|\.[0-9.]*+)"
    rf"(?:(?:{_BLANK}++[;,]?+|[;,]){_BLANK}*+(?:url{_BLANK}*+={_BLANK}*+)?+(.*))?+",
    re.IGNORECASE | re.DOTALL,
)
"""Time and place of a declarative refresh (HTML, "shared declarative refresh steps")."""


class Fields(Protocol):
    """The header fields of an answer, each byte a character."""

    def get(self, name: str) -> str:
        """Return the first field of that name, empty where there is none."""


class OnwardResponse(Protocol):
    """An answer with its document."""

    @property
    def url(self) -> str:
        """Its canonical URL."""

    @property
    def headers(self) -> Fields:
        """Its header fields."""

    @property
    def is_html(self) -> bool:
        """Whether it has elements of HTML."""

    @property
    def tree(self) -> HtmlElement:
        """Its document element."""

    @property
    def base_url(self) -> str:
        """The base of its links."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """The page that a page sends its readers on to by itself, after so many seconds."""

    url: str
    delay: int


def location(url: str, status: int, headers: Fields) -> str | None:
    """Return where an answer redirects to, which may be its own URL; None for one that does not, or names no place.

    The body of a 300 or a 302 that names no place is what there is to be read.
    """
    if not 300 <= status < 400 or status == HTTPStatus.NOT_MODIFIED:
        return None
    reference = headers.get("Location").strip()
    return resolve(url, from_header(reference)) if reference else None


def refresh(page: OnwardResponse) -> Refresh | None:
    """Return where a page sends its readers on to; None where that is nowhere, or the page itself once more.

    The header counts before ``meta``, and of several elements the first that says when, as in browsers. One within
    ``noscript`` counts as well: this reader runs no scripts.
    """
    for content, base in _contents(page):
        match = _REFRESH.fullmatch(content)
        if match is None:
            continue
        reference = _unquoted(match[2] or "")
        url = resolve(base, reference) if reference else page.url
        if url is not None:
            return None if url == page.url else Refresh(url, int((match[1] or "0")[:9]))
    return None


def _contents(page: OnwardResponse) -> Iterator[tuple[str, str]]:
    """Yield what may say when and where to go, each with the base of its URL."""
    if field := page.headers.get("Refresh"):
        yield from_header(field), page.url
    if page.is_html:
        for meta in page.tree.iter("meta"):
            if (meta.get("http-equiv") or "").lower() == "refresh":
                yield meta.get("content") or "", page.base_url


def _unquoted(reference: str) -> str:
    """Return a URL out of its quotes, whatever stands behind them.

    >>> _unquoted("'next.html' x"), _unquoted("next.html ")
    ('next.html', 'next.html')
    """
    if reference[:1] in ("'", '"'):
        return reference[1:].partition(reference[0])[0].strip()
    return reference.strip()
