"""Header fields that belong to one connection and are not handed on."""

from collections.abc import Sequence

_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def end_to_end(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Leave out the fields of the hop (RFC 9110, section 7.6.1), and keep all others in their order and case.

    Fields that Connection names stay: a browser heeds no such names, and is to see what it would see without a proxy.
    """
    return tuple((name, value) for name, value in headers if name.lower() not in _HOP)
