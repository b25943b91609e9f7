"""Sockets on which this project's servers listen."""

import socket
from ipaddress import ip_address

_BACKLOG = 128


def listener(address: str, port: int) -> socket.socket:
    """Return a socket that listens on an IP address; port 0 takes a free one. Raise ``OSError`` where it cannot.

    The protocol is given explicitly: asyncio sets TCP_NODELAY only then, and without it small responses wait 40 ms.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind((address, port))
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def is_loopback(host: str) -> bool:
    """Return whether a host name or IP address can only be reached from this machine.

    Of names only ``localhost`` is; any other name may resolve to any address.
    """
    name = host.removeprefix("[").removesuffix("]")
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
