"""URLs as browsers see them (WHATWG), as archives name them (canonical), and as politeness groups them (queues)."""


def resolve(base: str, reference: str) -> str | None:
    """Return the absolute http(s) URL a browser would go to, canonical; None for another scheme or nonsense."""
    raise NotImplementedError


def canonicalize(url: str) -> str | None:
    """Return the one spelling of an http(s) URL: WHATWG serialisation without fragment; None if it is not one."""
    raise NotImplementedError


def queue_of(url: str) -> str:
    """Return the pay-level domain a canonical URL belongs to, the name of its frontier queue.

    Public suffixes include private ones, so ``a.wordpress.com`` is its own. Where there is no public suffix the
    host is the queue, and on loopback the host and port.
    """
    raise NotImplementedError


def origin(url: str) -> str:
    """Return scheme, host and port of a canonical URL: what a robots.txt speaks for."""
    raise NotImplementedError
