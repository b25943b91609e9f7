"""Why a request got no response, and whether a retry makes sense."""

from enum import StrEnum
from typing import ClassVar

from aahcrawler.exchange import Exchange, Truncation


class WireReason(StrEnum):
    """The kind of failure, in the word that counts and reports use."""

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

    ``retryable`` says whether the same request may succeed later. ``exchange`` has the bytes that passed over the
    connection when at least a status line came, else None; the handler of the error closes it.
    """

    reason: ClassVar[WireReason]
    truncation: ClassVar[Truncation] = Truncation.UNSPECIFIED
    retryable: bool = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.exchange: Exchange | None = None


class InvalidRequestError(WireError):
    """The request cannot be sent: the message says which part of it is wrong. Nothing was sent."""

    reason = WireReason.REQUEST


class ResolveError(WireError):
    """The host has no IP address. Retryable where the name service failed rather than the name."""

    reason = WireReason.RESOLVE

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.retryable = retryable


class RefusedAddressError(WireError):
    """The host resolves to an IP address that the crawl must not connect to. Nothing was sent."""

    reason = WireReason.ADDRESS


class ConnectError(WireError):
    """Raised where none of the host's addresses accepted a connection."""

    reason = WireReason.CONNECT
    retryable = True


class TlsError(WireError):
    """The handshake failed: a certificate that does not verify, or no version or cipher in common."""

    reason = WireReason.TLS


class WireTimeoutError(WireError, TimeoutError):
    """Time ran out before the head of the response was complete."""

    reason = WireReason.TIMEOUT
    truncation = Truncation.TIME
    retryable = True


class DisconnectError(WireError):
    """The server closed the connection before the head of the response was complete."""

    reason = WireReason.DISCONNECT
    truncation = Truncation.DISCONNECT
    retryable = True


class ProtocolError(WireError):
    """Raised where the response is not HTTP/1. Retryable where it may be the rest of an earlier response."""

    reason = WireReason.PROTOCOL


class HeaderLimitError(WireError):
    """The head of the response has more bytes or more lines than the settings allow."""

    reason = WireReason.HEADERS
    truncation = Truncation.LENGTH


class SpoolError(WireError):
    """The response could not be written to the spool folder; the message has the system's reason."""

    reason = WireReason.SPOOL
    retryable = True


class ProxyError(WireError):
    """The proxy broke off or broke its protocol, so nothing is known of the site. ``proxy`` names it."""

    reason = WireReason.PROXY
    retryable = True

    def __init__(self, message: str, proxy: str) -> None:
        super().__init__(message)
        self.proxy = proxy


class ProxyRefusedError(ProxyError):
    """The proxy does not let this client connect to that host."""

    reason = WireReason.PROXY_REFUSED
    retryable = False


class ProxyUnavailableError(ProxyError):
    """The proxy cannot be reached, or rejects this client; the same holds for every host."""

    reason = WireReason.PROXY_UNAVAILABLE
