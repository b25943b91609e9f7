"""A request to a server, and its exact bytes."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aahcrawler.wire.admission import Admission
from aahcrawler.wire.errors import InvalidRequestError
from aahcrawler.wire.relay import Relay

WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
ACCEPT_ENCODING = "gzip, deflate"

_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<target>[^#]*)(?:#.*)?", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(?:[^@]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:@]+)(?::(?P<port>\d{0,5}))?")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_FIELD_VALUE = re.compile(r"[^\x00\r\n]*")
_OWN = frozenset({"host", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request in the form in which the caller wants it sent.

    ``url`` is an absolute http or https URL in ASCII; path and query are sent unchanged, the fragment and any user
    information are not sent. ``headers`` are sent in their order and case. ``keep`` is the most bytes of the payload
    kept in memory for parsing, ``max_bytes`` the longest body as received, ``timeout`` the most seconds of the whole
    exchange; None means the value in the settings. ``wanted`` gets status and header fields, and returns whether to
    receive the body; an unwanted one is cut off before it begins, like one that is too long. ``admission`` is called
    before each connection to an address. ``captured_as`` is the URL under which the exchange is archived, empty for
    ``url``. ``relay`` is given the response while it arrives. When ``until`` is set, a response that is still arriving
    ends there, as if its time had run out.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    method: str = "GET"
    body: bytes = b""
    timeout: float | None = None
    keep: int | None = None
    max_bytes: int | None = None
    wanted: Callable[[int, Sequence[tuple[str, str]]], bool] | None = None
    admission: Admission | None = None
    captured_as: str = ""
    relay: Relay | None = None
    until: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin to which a connection leads. ``host`` has no brackets."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a request: the origin, the Host field, and the path with its query."""

    origin: Origin
    authority: str
    path: str

    @property
    def url(self) -> str:
        """The whole URL, as a proxy expects it (RFC 9112, section 3.2.2)."""
        return f"{self.origin.scheme}://{self.authority}{self.path}"


def target_of(url: str) -> Target:
    """Split a URL without changing its path or query. Raises ``InvalidRequestError`` if it is no http(s) URL."""
    if not _VISIBLE.fullmatch(url):
        raise InvalidRequestError(f"not a URL in canonical form (blanks or non-ASCII characters): {url!r}")
    match = _URL.fullmatch(url)
    place = match and _AUTHORITY.fullmatch(match["authority"])
    if match is None or place is None:
        raise InvalidRequestError(f"not an http or https URL: {url!r}")
    scheme = match["scheme"].lower()
    default = 443 if scheme == "https" else 80
    port = int(place["port"] or default)
    if not 0 < port < 65536:
        raise InvalidRequestError(f"no such port: {url!r}")
    host = place["host"].lower()
    path = match["target"]
    return Target(
        Origin(scheme, host.strip("[]"), port),
        host if port == default else f"{host}:{port}",
        path if path.startswith("/") else "/" + path,
    )


def serialise(request: WireRequest, target: Target) -> bytes:
    """Return the bytes of a request: Host first, as browsers do, then the caller's fields.

    Connection and Accept-Encoding are added if the caller gives none; Content-Length is always computed here. Raises
    ``InvalidRequestError`` for a method or field that would make the end of the request ambiguous.
    """
    if not _TOKEN.fullmatch(request.method):
        raise InvalidRequestError(f"not a method: {request.method!r}")
    given = {name.lower(): value for name, value in request.headers}
    fields = [("Host", given.get("host", target.authority))]
    if "connection" not in given:
        fields.append(("Connection", "keep-alive"))
    fields.extend((name, value) for name, value in request.headers if name.lower() not in _OWN)
    if "accept-encoding" not in given:
        fields.append(("Accept-Encoding", ACCEPT_ENCODING))
    if request.body or request.method in WITH_BODY:
        fields.append(("Content-Length", str(len(request.body))))
    for name, value in fields:
        if not _TOKEN.fullmatch(name) or not _FIELD_VALUE.fullmatch(value):
            raise InvalidRequestError(f"not a header field: {name!r}: {value!r}")
    lines = [f"{request.method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields), "", ""]
    try:
        return "\r\n".join(lines).encode("latin-1") + request.body
    except UnicodeEncodeError as error:
        raise InvalidRequestError(f"a header field is not ISO 8859-1: {error}") from error
