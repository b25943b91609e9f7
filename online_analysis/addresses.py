"""Addresses taken apart, at less cost than any address could be."""

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit


class Address(NamedTuple):
    """The host of an address in small letters, without user and port; its path, and its query."""

    host: str
    path: str
    query: str


@lru_cache(1_000)
def split(url: str) -> Address:
    """Take a URL apart. Canonical ones, which links have, need no parser; others get one.

    >>> split("http://a.test:8080/b/c?d=e")
    Address(host='a.test', path='/b/c', query='d=e')
    """
    scheme, _, rest = url.partition("://")
    beside, _, query = rest.partition("?")
    host, slash, path = beside.partition("/")
    name, _, port = host.partition(":")
    is_plain = scheme in ("http", "https") and "#" not in rest and (port.isdigit() or name == host)
    if not (is_plain and name.replace(".", "").replace("-", "").isalnum() and url.isascii() and url.isprintable()):
        parts = urlsplit(url)
        return Address(parts.hostname or "", parts.path, parts.query)
    return Address(name.lower(), slash + path, query)
