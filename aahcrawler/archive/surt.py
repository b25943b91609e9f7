"""Sort-friendly keys of URLs (SURT), as used in indexes of web archives: ``org,archive)/about?a=1``."""

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

_HTTP = re.compile(rb"(https?)://([^/?#]*)([^?#]*)(?:\?([^#]*))?", re.IGNORECASE)
_URN = re.compile(r"urn:[a-z]+:https?:", re.IGNORECASE)
_PORT = re.compile(rb":(\d*)\Z")
_WWW = re.compile(rb"www\d*\.")
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\U0010ffff\ud800-\udfff]")
_DEFAULT_PORTS = {b"http": b"80", b"https": b"443"}
_SAFE = bytes(code for code in range(0x21, 0x7F) if code not in b"#%")
_PATH_SESSION = re.compile(rb"/\((?:(?:[a-z]\([0-9a-z]{24}\))+|[0-9a-z]{24})\)(?=/[^?]+\.aspx)")
_QUERY_SESSIONS = tuple(
    re.compile(pattern + rb"(?:&|\Z)")
    for pattern in (
        rb"jsessionid=[0-9a-z]{32}",
        rb"phpsessid=[0-9a-z]{32}",
        rb"sid=[0-9a-z]{32}",
        rb"aspsessionid[a-z]{8}=[a-z]{24}",
        rb"cfid=[^&]{1,200}&cftoken=[^&]{1,200}",
    )
)
_MAX_ESCAPES = 100


def surt(url: str) -> str:
    """Return the key under which a URL is looked up: host reversed, then path and query, no scheme.

    The rules are those that pywb and the Wayback Machine share: ``www.``, default ports, user names, fragments, session
    ids, repeated slashes and the last slash are left out, escapes are made uniform, everything is in lower case and the
    query's parts are sorted. For a URN that ends in a URL, this applies to case, escapes, the last slash and the query.
    A URL of another scheme is its own key. Never raises; the key contains no blank.

    >>> surt("http://www.Archive.org:80/goo/?a=2&b&a=1#top")
    'org,archive)/goo?a=1&a=2&b'
    >>> surt("urn:x:y")
    'urn:x:y'
    """
    match = _HTTP.match(url.strip().encode("utf-8", "replace"))
    if match is None and _URN.match(url.lstrip()):
        return _of_urn(url.strip().encode("utf-8", "replace"))
    if match is None:
        return _UNSAFE.sub(lambda unsafe: quote_from_bytes(unsafe[0].encode("utf-8", "replace")), url) or "-"
    scheme, authority, path, query = match.groups()
    key = _host(authority, scheme.lower()) + b")" + _path(path)
    rest = _query(query or b"")
    return (key + b"?" + rest if rest else key).decode("ascii")


def _of_urn(urn: bytes) -> str:
    name, _, query = urn.partition(b"#")[0].partition(b"?")
    key = _escaped(_unescaped(name)).lower().removesuffix(b"/")
    rest = _query(query)
    return (key + b"?" + rest if rest else key).decode("ascii")


def _host(authority: bytes, scheme: bytes) -> bytes:
    authority = authority.rpartition(b"@")[2]
    found = _PORT.search(authority)
    host = authority[: found.start()] if found else authority
    host = _ascii(_unescaped(host)).replace(b"..", b".").strip(b".").lower()
    host = _escaped(host).removeprefix(b"[").removesuffix(b"]")
    www = _WWW.match(host)
    host = host[www.end() :] if www else host
    port = found[1].lstrip(b"0") if found else b""
    shown = b":" + port if port and port != _DEFAULT_PORTS[scheme] else b""
    return b",".join(reversed(host.split(b"."))) + shown


def _ascii(host: bytes) -> bytes:
    try:
        return host if host.isascii() else host.decode("utf-8", "ignore").encode("idna")
    except UnicodeError:
        return host


def _path(path: bytes) -> bytes:
    kept: list[bytes] = []
    *directories, last = _unescaped(path).split(b"/")
    for name in (*directories, last):
        if name == b"..":
            del kept[-1:]
        elif name not in {b"", b"."}:
            kept.append(name)
    whole = _escaped(b"/" + b"/".join(kept)).lower()
    return _PATH_SESSION.sub(b"", whole, count=1)


def _query(query: bytes) -> bytes:
    text: bytes = _escaped(_unescaped(query)).lower()
    for pattern in _QUERY_SESSIONS:
        text = pattern.sub(b"", text, count=1)
    # "a" comes before "a=", and "a=1" before "ab": names are compared before values.
    parts: list[bytes] = text.split(b"&")
    parts.sort(key=lambda part: part.split(b"=", 1))
    return b"&".join(parts)


def _unescaped(text: bytes) -> bytes:
    for _ in range(_MAX_ESCAPES):
        plain = bytes(unquote_to_bytes(text))
        if plain == text:
            break
        text = plain
    return text


def _escaped(text: bytes) -> bytes:
    return quote_from_bytes(text, safe=_SAFE).encode("ascii")
