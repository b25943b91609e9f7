"""Errors that say why a request got no response, and whether a retry makes sense."""

from enum import StrEnum
from typing import ClassVar

from aahcrawler.exchange import Exchange, Truncation


class WireReason(StrEnum):
    """The kind of failure, as the word that counts and reports use."""

    REQUEST = "request"
    RESOLVE = "resolve"
    ADDRESS = "address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    DISCONNECT = "disconnect"
    PROTOCOL = "protocol"
    HEADERS = "headers"
    SPOOL = "spool"
    PROXY = "proxy failed"
    PROXY_REFUSED = "proxy refused"
    PROXY_UNAVAILABLE = "proxy unreachable"


class WireError(Exception):
    """Raised for a request that ended without a response.

    ``retryable`` says whether the same request may succeed later. If at least a status line came, ``exchange`` has the
    bytes that passed over the connection, and whoever handles the error closes it; otherwise it is None.
    """

    reason: ClassVar[WireReason]
    truncation: ClassVar[Truncation] = Truncation.UNSPECIFIED
    retryable: bool = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.exchange: Exchange | None = None


class InvalidRequestError(WireError):
    """Raised when the request cannot be sent; the message says which part is wrong. Nothing was sent."""

    reason = WireReason.REQUEST


class ResolveError(WireError):
    """Raised when the host has no IP address. Retryable if the name service failed."""

    reason = WireReason.RESOLVE

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class RefusedAddressError(WireError):
    """Raised when the host resolves to an IP address to which the crawl must not connect. Nothing was sent."""

    reason = WireReason.ADDRESS


class ConnectError(WireError):
    """Raised when none of the host's addresses accepted a connection."""

    reason = WireReason.CONNECT
    retryable = True


class TlsError(WireError):
    """Raised when the handshake failed: a certificate does not verify, or there is no common version or cipher."""

    reason = WireReason.TLS


class WireTimeoutError(WireError, TimeoutError):
    """Raised when time ran out before the head of the response was complete."""

    reason = WireReason.TIMEOUT
    truncation = Truncation.TIME
    retryable = True


class DisconnectError(WireError):
    """Raised when the server closed the connection before the head of the response was complete."""

    reason = WireReason.DISCONNECT
    truncation = Truncation.DISCONNECT
    retryable = True


class ProtocolError(WireError):
    """Raised when the response is not HTTP/1. Retryable if it may be the rest of an earlier response."""

    reason = WireReason.PROTOCOL


class HeaderLimitError(WireError):
    """Raised when the head of the response has more bytes or lines than the settings allow."""

    reason = WireReason.HEADERS
    truncation = Truncation.LENGTH


class SpoolError(WireError):
    """Raised when the response could not be written to the spool folder; the message has the system's reason."""

    reason = WireReason.SPOOL
    retryable = True


class ProxyError(WireError):
    """Raised when the proxy disconnects or breaks the protocol, so nothing is known of the site. ``proxy`` names it."""

    reason = WireReason.PROXY
    retryable = True

    def __init__(self, message: str, proxy: str) -> None:
        super().__init__(message)
        self.proxy = proxy


class ProxyRefusedError(ProxyError):
    """Raised when the proxy does not allow this client to connect to that host."""

    reason = WireReason.PROXY_REFUSED
    retryable = False


class ProxyUnavailableError(ProxyError):
    """Raised when the proxy cannot be reached, or rejects this client; the same holds for every host."""

    reason = WireReason.PROXY_UNAVAILABLE
