"""URLs as browsers see them (WHATWG), as archives name them (canonical), and as politeness groups them (queues).

Public suffixes come from the list in the package ``publicsuffixlist``; no network is used.

Session ids that documented software writes into links carry no content: the names of their parameters are listed here,
each with the form of its values. Heritrix drops such ids too (``StripSessionIDs``, ``StripSessionCFIDs``). Names that
as often belong to content, such as ``sid`` and ``s``, are judged by their effect in
``aahcrawler/traps/session_ids.py``.

A page that a form sent with method post leads to has the posted data in its URL's query, as in pywb and other replay
software: ``/search?__wb_method=POST&q=flood`` is the response of ``/search`` to a post of ``q=flood``. Only the
crawler's own reading of a form makes such a URL. One from a page, a list or any other source is not fetched, since its
author would choose what is posted.
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final, NamedTuple

from ada_url import URL
from publicsuffixlist import PSLFILE, PublicSuffixList

from aahcrawler.query_encoding import in_encoding
from aahcrawler.request_queries import lookup_url

MAX_LENGTH = 4096
"""The longest canonical URL, in characters; a longer one is a trap more often than a page."""

_MAX_INPUT = 4 * MAX_LENGTH
_AUTHORITY = re.compile(r"[^/?#]*")
_DEFAULT_PORTS = {"http": "80", "https": "443"}

_PATH_START = re.compile(r"[./_~%-]|[a-zA-Z0-9](?![^/?#]*:)")
_PLAIN = re.compile(
    r"(?:\./)?([a-zA-Z0-9_][a-zA-Z0-9_-]*+(?:[./][a-zA-Z0-9_-]++)*+(?:\?[a-zA-Z0-9_.&=+-]*+)?+)(?:#[a-zA-Z0-9_.-]*+)?+"
)
"""References that are canonical as written, to files of the same folder or below it."""
_UNUSUAL = re.compile(r"[\\#\s]|/\.|%2e", re.IGNORECASE)
_RAW_BYTE = re.compile("[\x80-\xff]")


class DocumentBase(str):
    """The base URL of a document's links, with the Python codec of the document, which encodes the links' queries."""

    __slots__ = ("codec",)

    codec: str

    def __new__(cls, url: str, codec: str) -> "DocumentBase":
        """Make a base from a URL and a codec as `aahcrawler.page.markup` names it."""
        base = super().__new__(cls, url)
        base.codec = codec
        return base

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return the arguments from which pickle and copy make an equal base."""
        return str(self), self.codec


def resolve(base: str, reference: str) -> str | None:
    """Return the canonical absolute http(s) URL of a reference, as a browser resolves it; None if there is none.

    Never raises. If the base is no URL, only absolute references are resolved. Non-ASCII characters are percent-encoded
    in UTF-8; those in the query are encoded in the document's encoding if the base is a ``DocumentBase``.

    >>> resolve("http://a.test/wiki/page;", "?action=raw;#top")
    'http://a.test/wiki/page;?action=raw;'
    >>> resolve("http://a.test/", "mailto:me@a.test") is None
    True
    """
    if len(reference) > _MAX_INPUT:
        return None
    if reference.isascii():
        return _of_ascii(base, reference)
    if isinstance(base, DocumentBase):
        reference = in_encoding(reference, base.codec)
    return _of_any(base, reference)


@lru_cache(maxsize=4_096)
def _of_ascii(base: str, reference: str) -> str | None:
    """Resolve a reference in ASCII, on which the encoding has no effect; results are cached."""
    plain = _PLAIN.fullmatch(reference)
    folder = _folder(base) if plain is not None else ""
    if plain is None or not folder:
        return _of_any(base, reference)
    url = folder + plain[1]
    return url if len(url) <= MAX_LENGTH else None


def _of_any(base: str, reference: str) -> str | None:
    if reference.startswith(("http://", "https://")):
        return _resolved("", reference)
    return _resolved(_directory(base) if _PATH_START.match(reference) else base, reference)


def canonicalize(url: str) -> str | None:
    """Return the canonical form of an http(s) URL: its WHATWG serialisation without fragment, user name and password.

    Return None for anything else, and for more than ``MAX_LENGTH`` characters. Canonicalizing twice changes nothing.
    Never raises.

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
    r"""Percent-encode the non-ASCII bytes of a reference in a header field, which is given as Latin-1.

    Browsers send those bytes as they came, whatever their encoding.

    >>> from_header("/caf\xc3\xa9"), from_header("/caf\xe9")
    ('/caf%C3%A9', '/caf%E9')
    """
    return value if value.isascii() else _RAW_BYTE.sub(lambda match: f"%{ord(match[0]):02X}", value)


@lru_cache(maxsize=16_384)
def queue_of(url: str) -> str:
    """Return the pay-level domain of a canonical URL: the name of its frontier queue.

    Private public suffixes count, so ``a.wordpress.com`` is a pay-level domain of its own, as do unlisted top-level
    domains. For a host that is itself a public suffix, or is an IP address, the queue is that host; on loopback it is
    host and port. User information is ignored. A string that is no canonical URL has the empty queue.

    >>> queue_of("https://www.forum.example.co.uk/t/1"), queue_of("http://127.0.0.1/")
    ('example.co.uk', '127.0.0.1:80')
    """
    scheme, _, rest = url.partition("://")
    return _queue_at(scheme, _authority(rest)) if scheme in _DEFAULT_PORTS else ""


@lru_cache(maxsize=65_536)
def _queue_at(scheme: str, authority: str) -> str:
    host, port = _host_and_port(authority)
    if _is_loopback(host):
        return f"{host}:{port or _DEFAULT_PORTS[scheme]}"
    return _pay_level_domain(host)


def origin(url: str) -> str:
    """Return scheme, host and port of a canonical URL, for which one robots.txt holds.

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
    """Shorten a base to the part that relative paths depend on, so that all pages of a folder share cached results.

    A base of unusual form is returned as it is.
    """
    if not base.startswith(("http://", "https://")) or _UNUSUAL.search(base):
        return base
    path = base.partition("?")[0]
    directory = path[: path.rindex("/") + 1]
    return directory if directory.count("/") > 2 else base


@lru_cache(maxsize=1_024)
def _folder(base: str) -> str:
    """Return a canonical base up to its last slash; empty for a base of another form."""
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


def _host_and_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, _, port = authority.partition("]")
        return f"{host}]", port.removeprefix(":")
    host, _, port = authority.partition(":")
    return host, port


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


def _pay_level_domain(host: str) -> str:
    name = host.rstrip(".")
    if not name or _address(name) is not None:
        return host
    return registered_domain(name)


_HOSTING_SUFFIXES = ("dreamwidth.org", "livejournal.com", "substack.com", "tumblr.com", "typepad.com", "wordpress.com")
"""Hosts of independent sites that are missing from the list."""


def registered_domain(name: str) -> str:
    """Return the registered domain of a lower-case host name: its public suffix with one label before it.

    A name that is itself a public suffix is returned whole. An unlisted top-level domain is a public suffix.

    >>> registered_domain("forums.bbc.co.uk"), registered_domain("co.uk"), registered_domain("a.b.unheard")
    ('bbc.co.uk', 'co.uk', 'b.unheard')
    """
    return _suffixes().privatesuffix(name) or name


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList([*Path(PSLFILE).read_text("utf-8").splitlines(), *_HOSTING_SUFFIXES])


_SESSION_NAMES = (
    (r"phpsessid|cgisessid|zenid|oscsid|osadminid|xtcsid|mscssid|bv_sessionid|bv_engineid", r"[0-9a-z,._@!-]{8,256}"),
    (r"jsessionid", r"[0-9a-z._!:*~+-]{8,256}"),
    (r"cftoken", r"[0-9a-f-]{3,80}"),
    (r"___sid", r"[us]"),
)
_SESSION_PARAMETER = re.compile(
    r"(?:^\?|[&;])(?:" + "|".join(f"(?:{names})={value}" for names, value in _SESSION_NAMES) + r")(?=[&;]|$)",
    re.IGNORECASE,
)
_COLDFUSION = re.compile(r"(?:^\?|[&;])cfid=[0-9a-f-]{1,80}(?=[&;]|$)", re.IGNORECASE)
"""Half of an id, where the other half stands beside it."""
_IN_PATH = re.compile(r";jsessionid=[^/?;]*", re.IGNORECASE)
_COOKIELESS = re.compile(r"(?<=/)(?:\((?:[a-z]\([0-9a-z_-]+\))+\)/)", re.IGNORECASE)
_SESSION_SIGN = re.compile(
    r"sessid=|sessionid=|zenid=|csid=|_sid=|ssid=|cftoken=|engineid=|adminid=|/\(", re.IGNORECASE | re.ASCII
)
"""One of these is in every URL that holds an id."""


@lru_cache(maxsize=16_384)
def without_session(url: str) -> str:
    """Remove from a canonical URL the session ids that documented software writes; the rest is unchanged.

    Applying it twice changes nothing.

    >>> without_session("http://a.test/topic.php?t=7&PHPSESSID=0123456789abcdef0123456789abcdef")
    'http://a.test/topic.php?t=7'
    >>> without_session("http://a.test/cart;jsessionid=1A2B3C4D5E?item=1")
    'http://a.test/cart?item=1'
    >>> without_session("http://a.test/article.php?sid=20010320")
    'http://a.test/article.php?sid=20010320'
    """
    if not _SESSION_SIGN.search(url):
        return url
    path, mark, query = url.partition("?")
    path = _COOKIELESS.sub("", _IN_PATH.sub("", path))
    if not mark:
        return path
    kept = f"?{query}"
    if "cftoken=" in url.lower():
        kept = _COLDFUSION.sub("", kept)
        kept = kept if kept[:1] in ("", "?") else f"?{kept[1:]}"
    kept = _SESSION_PARAMETER.sub("", kept)
    return f"{path}?{kept[1:]}" if kept else path


FORM_HOP: Final = "P"
"""The letter of the hop from a form to the page that it gives (``aahcrawler.frontier.hops``)."""

FORM_ENCODING: Final = "application/x-www-form-urlencoded"
"""The media type of what is posted, that of a form that names none."""

_POST_MARK: Final = "__wb_method=POST"
_METHOD_NAME: Final = "__wb_method="


class PostedForm(NamedTuple):
    """The URL to which a form is sent, and the body that is sent (`FORM_ENCODING`)."""

    target: str
    body: str


def posted_form_url(form: PostedForm) -> str:
    """Return the URL of the page that sending a form leads to.

    >>> posted_form_url(PostedForm("http://a.test/search.php?f=1", "q=flood"))
    'http://a.test/search.php?f=1&__wb_method=POST&q=flood'
    """
    return lookup_url(form.target, "POST", form.body)


def posted_by(url: str) -> PostedForm | None:
    """Return the form to send in order to get the page of a URL; None if the URL is not that of a posted form.

    >>> posted_by("http://a.test/search.php?f=1&__wb_method=POST&q=flood")
    PostedForm(target='http://a.test/search.php?f=1', body='q=flood')
    """
    before, mark, body = url.partition(f"{_POST_MARK}&")
    return PostedForm(before[:-1], body) if mark and before[-1:] in {"?", "&"} else None


def is_reserved(url: str) -> bool:
    """Return whether a URL has the query parameter that only posted forms may have (``__wb_method``).

    >>> is_reserved("/x?a=1&__wb_method=PUT"), is_reserved("/x?a__wb_method=1")
    (True, False)
    """
    return _METHOD_NAME in url and (f"?{_METHOD_NAME}" in url or f"&{_METHOD_NAME}" in url)
