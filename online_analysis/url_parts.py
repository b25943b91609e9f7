"""Splits canonical URLs, without the cost of a full parser."""

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit


class UrlParts(NamedTuple):
    """The host of a URL in small letters, without user and port; its path, and its query."""

    host: str
    path: str
    query: str


@lru_cache(1_000)
def split(url: str) -> UrlParts:
    """Take a URL apart. Canonical ones, which links have, need no parser; others get one.

    >>> split("http://a.test:8080/b/c?d=e")
    UrlParts(host='a.test', path='/b/c', query='d=e')
    """
    scheme, _, rest = url.partition("://")
    beside, _, query = rest.partition("?")
    host, slash, path = beside.partition("/")
    name, _, port = host.partition(":")
    is_plain = scheme in ("http", "https") and "#" not in rest and (port.isdigit() or name == host)
    if not (is_plain and name.replace(".", "").replace("-", "").isalnum() and url.isascii() and url.isprintable()):
        parts = urlsplit(url)
        return UrlParts(parts.hostname or "", parts.path, parts.query)
    return UrlParts(name.lower(), slash + path, query)
