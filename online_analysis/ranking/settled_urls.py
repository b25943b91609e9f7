"""Remembers, in bounded memory, the URLs that are settled."""

from hashlib import blake2b
from struct import Struct

_BITS = 1 << 24
_NUMBERS = Struct(">4I")


class Gone:
    """A set of URLs to which more can be added only (Bloom 1970), in 2 MB.

    It holds every URL that was added; of others it holds, by mistake, one in 400 after a million, and one in 15 after
    three million.
    """

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)

    def add(self, url: str) -> None:
        """Take in a URL."""
        for place in _places(url):
            self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, url: str) -> bool:
        bits = self._bits
        return all(bits[place >> 3] >> (place & 7) & 1 for place in _places(url))


def _places(url: str) -> list[int]:
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_NUMBERS.size).digest()
    return [number % _BITS for number in _NUMBERS.unpack(digest)]
