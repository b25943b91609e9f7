"""Under which URL to look up the response to a request that is no GET: its method and body are added to the query.

The rules are pywb's (``pywb.warcserver.inputrequest.MethodQueryCanonicalizer``), so that replay software finds the
response: ``/api?__wb_method=POST&page=2``.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from email.message import Message
from typing import Final
from urllib.parse import quote_plus, unquote_plus, urlencode

MAX_QUERY_LENGTH: Final = 4_096
"""Characters of what stands for a body."""
MAX_BODY_LENGTH: Final = 1 << 22
"""Bytes of a body that are made sense of; a longer one is told by how it begins."""

_WITH_BODY: Final = frozenset({"POST", "PUT"})
_BINARY: Final = "__wb_post_data="
_DISPOSITION: Final = b"content-disposition:"
_IN_BASE64: Final = MAX_QUERY_LENGTH // 4 * 3


def lookup_url(url: str, method: str, query: str = "") -> str:
    """Return the URL under which the response to a request is looked up; for a GET, that is its own URL.

    >>> lookup_url("http://a.test/search?f=1", "POST", "q=flood")
    'http://a.test/search?f=1&__wb_method=POST&q=flood'
    >>> lookup_url("http://a.test/", "GET")
    'http://a.test/'
    """
    if method == "GET":
        return url
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}__wb_method={method}{'&' if query else ''}{query}"


def query_of(method: str, media_type: str, body: bytes) -> str:
    """Return the query that represents the body of a request, empty if none does; ``media_type`` is its Content-Type.

    Forms are decoded. Values of JSON are named by their keys, repeated keys numbered (``a``, ``a.2_``). Any other body
    is written in Base64.

    >>> query_of("POST", "application/x-www-form-urlencoded", b"q=high+water")
    'q=high water'
    >>> query_of("POST", "application/json", b'{"page": 2, "sort": {"by": null, "page": true}}')
    'page=2&by=null&page.2_=true'
    """
    if method not in _WITH_BODY or not body:
        return ""
    return _query(media_type.strip().lower(), media_type, body)[:MAX_QUERY_LENGTH]


def form_query(body: str) -> str:
    """Return the query that represents a body of type ``application/x-www-form-urlencoded``."""
    return unquote_plus(body)[:MAX_QUERY_LENGTH]


def _query(kind: str, media_type: str, body: bytes) -> str:
    if len(body) > MAX_BODY_LENGTH:
        return _in_base64(body)
    if kind.startswith("application/x-www-form-urlencoded"):
        try:
            return unquote_plus(body.decode("utf-8"))
        except UnicodeDecodeError:
            return _in_base64(body)
    if kind.startswith("multipart/"):
        boundary = _parameter(media_type, "boundary")
        return urlencode(list(_parts(body, boundary))) if boundary else _in_base64(body)
    if kind.startswith(("application/json", "text/plain")):
        try:
            return _flattened(json.loads(body))
        except (ValueError, OverflowError, RecursionError):
            return "" if kind.startswith("application/json") else _in_base64(body)
    return _in_base64(body)


def _in_base64(body: bytes) -> str:
    return _BINARY + b64encode(body[:_IN_BASE64]).decode("ascii")


def _flattened(value: object) -> str:
    """Return the values of JSON as a query; a key that occurs again gets a number."""
    met: dict[str, int] = {}
    pairs: list[str] = []
    size = 0
    for key, text in _values(value, ""):
        met[key] = met.get(key, 0) + 1
        name = key if met[key] == 1 else f"{key}.{met[key]}_"
        pairs.append(f"{quote_plus(name)}={quote_plus(text)}")
        size += len(pairs[-1]) + 1
        if size > MAX_QUERY_LENGTH:
            break
    return "&".join(pairs)


def _values(value: object, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _values(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _values(each, key)
    elif key:
        yield key, _text(value)


def _text(value: object) -> str:
    """Return a value as JavaScript writes it."""
    match value:
        case True:
            return "true"
        case False:
            return "false"
        case None:
            return "null"
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return str(value)


def _parts(body: bytes, boundary: str) -> Iterator[tuple[str, str | bytes]]:
    """Yield name and value of each part of a multipart body (RFC 7578); the content of a file is bytes."""
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary.encode("utf-8", "replace"))[1:]:
        if part.startswith(b"--"):
            return
        head, _, value = part.partition(b"\r\n\r\n")
        lines = (line for line in head.split(b"\r\n") if line.lower().startswith(_DISPOSITION))
        field = next(lines, b"")[len(_DISPOSITION) :].decode("utf-8", "replace")
        name = _parameter(field, "name")
        if name is not None:
            is_file = _parameter(field, "filename") is not None
            yield name, value if is_file else value.decode("utf-8", "replace")


def _parameter(field: str, name: str) -> str | None:
    """Return a parameter of a header field, None if the field has no such parameter."""
    message = Message()
    message["Content-Type"] = field.replace("\r", " ").replace("\n", " ")
    found = message.get_param(name)
    if isinstance(found, tuple):  # RFC 2231
        found = found[2]
    return found or None if name == "boundary" else found
