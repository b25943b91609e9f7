"""A mapping that forgets the least recently used values."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruMapping(Generic[K, V]):
    """At most ``most`` values, each made when it is asked for and missing.

    >>> squares = LruMapping(2)
    >>> [squares.get(number, lambda: [number])[0] for number in (1, 2, 1, 3)], 1 in squares, 2 in squares
    ([1, 2, 1, 3], True, False)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        value = self._values[key] = make()
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        """Drop a key, if it is there."""
        self._values.pop(key, None)

    def __contains__(self, key: K) -> bool:
        """Return whether there is a value."""
        return key in self._values
