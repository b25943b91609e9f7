"""A number for each of many texts, in as little memory as their letters and the numbers take."""

from array import array
from collections.abc import Mapping
from struct import Struct
from sys import byteorder
from zlib import crc32

_HEAD = Struct("<8sIQQ")
_MARK = b"numbers" + byteorder[:1].encode()


class NumberTable:
    """Texts with their numbers, which are found by halving what is left: some microseconds each."""

    def __init__(self, packed: bytes) -> None:
        """Take what ``pack`` returned. Raises ``ValueError`` for anything else."""
        if len(packed) < _HEAD.size or not packed.startswith(_MARK):
            raise ValueError("no table of numbers")
        _, checksum, count, letters = _HEAD.unpack_from(packed)
        view = memoryview(packed)[_HEAD.size :]
        if len(view) != 8 * count + 4 * (count + 1) + letters or crc32(view) != checksum:
            raise ValueError("a table of numbers that is not whole")
        self._numbers = view[: 8 * count].cast("d")
        self._starts = view[8 * count : 8 * count + 4 * (count + 1)].cast("I")
        self._letters = bytes(view[len(view) - letters :])

    def __len__(self) -> int:
        return len(self._numbers)

    def get(self, text: str) -> float | None:
        """Return the number of a text, None where it has none."""
        wanted, letters, starts = text.encode("utf-8", "surrogatepass"), self._letters, self._starts
        low, high = 0, len(self._numbers)
        while low < high:
            middle = (low + high) // 2
            here = letters[starts[middle] : starts[middle + 1]]
            if here == wanted:
                return self._numbers[middle]
            if here < wanted:
                low = middle + 1
            else:
                high = middle
        return None


def pack(numbers: Mapping[str, float]) -> bytes:
    """Return texts and numbers as a table takes them.

    >>> table = NumberTable(pack({"boat": 2.5, "auk": 0.1}))
    >>> table.get("boat"), table.get("auk"), table.get("a"), len(table)
    (2.5, 0.1, None, 2)
    """
    rows = sorted((text.encode("utf-8", "surrogatepass"), number) for text, number in numbers.items())
    starts = array("I", [0])
    for text, _ in rows:
        starts.append(starts[-1] + len(text))
    letters = b"".join(text for text, _ in rows)
    values = array("d", (number for _, number in rows))
    body = values.tobytes() + starts.tobytes() + letters
    return _HEAD.pack(_MARK, crc32(body), len(rows), len(letters)) + body
