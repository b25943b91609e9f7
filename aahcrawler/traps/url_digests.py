"""Names URLs by numbers that are the same in every process, so that sets of them can be kept in files."""

from hashlib import blake2b


def digest(url: str) -> int:
    """Return 64 bits that stand for a URL; never 0, which stands for none."""
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=8).digest()) or 1
