"""URLs as browsers see them (WHATWG), as archives name them (canonical), and as politeness groups them (queues)."""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from ada_url import URL

from aahcrawler.public_suffixes import registered_domain
from aahcrawler.query_encoding import in_encoding

MAX_LENGTH = 4096
"""The longest canonical URL, in characters; a longer one is a trap more often than a page."""

_MAX_INPUT = 4 * MAX_LENGTH
_AUTHORITY = re.compile(r"[^/?#]*")
_DEFAULT_PORTS = {"http": "80", "https": "443"}

_PATH_START = re.compile(r"[./_~%-]|[a-zA-Z0-9](?![^/?#]*:)")
_PLAIN = re.compile(
    r"(?:\./)?([a-zA-Z0-9_][a-zA-Z0-9_-]*+(?:[./][a-zA-Z0-9_-]++)*+(?:\?[a-zA-Z0-9_.&=+-]*+)?+)(?:#[a-zA-Z0-9_.-]*+)?+"
)
"""References to files of the same folder and those below it that are in canonical form as they are written."""
_UNUSUAL = re.compile(r"[\\#\s]|/\.|%2e", re.IGNORECASE)
_RAW_BYTE = re.compile("[\x80-\xff]")


class DocumentBase(str):
    """The base of a document's URLs, with the Python codec of the document: their queries are in its encoding."""

    __slots__ = ("codec",)

    codec: str

    def __new__(cls, url: str, codec: str) -> "DocumentBase":
        """Make a base of a URL and a codec as `aahcrawler.page.markup` names it."""
        base = super().__new__(cls, url)
        base.codec = codec
        return base

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return what a copy is made of."""
        return str(self), self.codec


def resolve(base: str, reference: str) -> str | None:
    """Return the absolute http(s) URL a browser would go to, canonical; None for another scheme or nonsense.

    Never raises. A base that is no URL serves for absolute references only. Letters beyond ASCII are percent-encoded in
    UTF-8, those of the query in the encoding of the document where the base is that of one (``DocumentBase``).

    >>> resolve("http://a.test/wiki/page;", "?action=raw;#top")
    'http://a.test/wiki/page;?action=raw;'
    >>> resolve("http://a.test/", "mailto:me@a.test") is None
    True
    """
    if len(reference) > _MAX_INPUT:
        return None
    plain = _PLAIN.fullmatch(reference)
    if plain is not None:
        folder = _folder(base)
        if folder:
            url = folder + plain[1]
            return url if len(url) <= MAX_LENGTH else None
    if not reference.isascii() and isinstance(base, DocumentBase):
        reference = in_encoding(reference, base.codec)
    if reference.startswith(("http://", "https://")):
        return _resolved("", reference)
    return _resolved(_directory(base) if _PATH_START.match(reference) else base, reference)


def canonicalize(url: str) -> str | None:
    """Return the one spelling of an http(s) URL: WHATWG serialisation without fragment; None if it is not one.

    User name and password are left out, and so is a URL of more than ``MAX_LENGTH`` characters. Canonicalizing
    twice changes nothing. Never raises.

    >>> canonicalize("HTTP://Bücher.test:80/a/../b;#c")
    'http://xn--bcher-kva.test/b;'
    """
    if len(url) > _MAX_INPUT:
        return None
    try:
        parsed = URL(url)
    except ValueError:
        return None
    return _serialise(parsed)


def from_header(value: str) -> str:
    r"""Return a reference as a header field has it, whose bytes stand as Latin-1: those beyond ASCII percent-encoded.

    So browsers send them as they came, whatever encoding they are in.

    >>> from_header("/caf\xc3\xa9"), from_header("/caf\xe9")
    ('/caf%C3%A9', '/caf%E9')
    """
    return value if value.isascii() else _RAW_BYTE.sub(lambda match: f"%{ord(match[0]):02X}", value)


def queue_of(url: str) -> str:
    """Return the pay-level domain a canonical URL belongs to, the name of its frontier queue.

    Public suffixes include private ones, so ``a.wordpress.com`` is its own, and every top-level domain, whether or not
    it is listed. A host that is a public suffix is the queue itself, as an IP address is, and on loopback the host and
    port. User information is no part of it. A string that is no canonical URL has the empty queue.

    >>> queue_of("https://www.forum.example.co.uk/t/1"), queue_of("http://127.0.0.1/")
    ('example.co.uk', '127.0.0.1:80')
    """
    scheme, _, rest = url.partition("://")
    if scheme not in _DEFAULT_PORTS:
        return ""
    host, port = _host_and_port(rest)
    if _is_loopback(host):
        return f"{host}:{port or _DEFAULT_PORTS[scheme]}"
    return _pay_level_domain(host)


def origin(url: str) -> str:
    """Return scheme, host and port of a canonical URL: what a robots.txt speaks for.

    >>> origin("https://a.test:8443/b?c")
    'https://a.test:8443'
    """
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{_authority(rest)}" if separator else ""


@lru_cache(maxsize=16_384)
def _resolved(base: str, reference: str) -> str | None:
    try:
        parsed = URL(reference, base) if base else URL(reference)
    except ValueError:
        return canonicalize(reference) if base else None
    return _serialise(parsed)


@lru_cache(maxsize=1_024)
def _directory(base: str) -> str:
    """Cut a base to what matters to a path: so the menus of a site's pages are resolved once.

    A base that is written in an unusual way is left as it is.
    """
    if not base.startswith(("http://", "https://")) or _UNUSUAL.search(base):
        return base
    path = base.partition("?")[0]
    directory = path[: path.rindex("/") + 1]
    return directory if directory.count("/") > 2 else base


@lru_cache(maxsize=1_024)
def _folder(base: str) -> str:
    """Return the folder of a canonical base, up to its last slash; empty for a base of another form."""
    path = base.partition("?")[0]
    return path[: path.rindex("/") + 1] if "#" not in path and canonicalize(path) == path else ""


def _serialise(parsed: URL) -> str | None:
    href: str = parsed.href
    if not href.startswith(("http://", "https://")):
        return None
    if "@" in href and (parsed.username or parsed.password):
        parsed.username = parsed.password = ""
        href = parsed.href
    href = href.partition("#")[0]
    return href if len(href) <= MAX_LENGTH else None


def _authority(rest: str) -> str:
    found = _AUTHORITY.match(rest)
    # Imported URLs may have user information; those of crawls are canonical and have none.
    return found[0].rpartition("@")[2] if found else ""


def _host_and_port(rest: str) -> tuple[str, str]:
    authority = _authority(rest)
    if authority.startswith("["):
        host, _, port = authority.partition("]")
        return f"{host}]", port.removeprefix(":")
    host, _, port = authority.partition(":")
    return host, port


@lru_cache(maxsize=65_536)
def _is_loopback(host: str) -> bool:
    name = host.rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address is not None and address.is_loopback


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


@lru_cache(maxsize=65_536)
def _pay_level_domain(host: str) -> str:
    name = host.rstrip(".")
    if not name or _address(name) is not None:
        return host
    return registered_domain(name)
