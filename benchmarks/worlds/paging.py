"""Pages of lists and the links between them."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def pages_of(items: Sequence[Item], size: int) -> Iterator[tuple[int, Sequence[Item]]]:
    """Yield the pages of a list by their numbers from 1 on; an empty list has one page."""
    for begin in range(0, max(1, len(items)), size):
        yield begin // size + 1, items[begin : begin + size]


def count_of(items: int, size: int) -> int:
    """Return the number of pages of a list."""
    return max(1, -(-items // size))


def pager(number: int, count: int, address: Callable[[int], str], name: str) -> str:
    """Return the links to the neighbours of a page, and to the first and the last one; nothing where it is alone."""
    if count == 1:
        return ""
    near = sorted({1, count, *range(max(1, number - 2), min(count, number + 2) + 1)})
    links = [f'<a href="{address(n)}">{n}</a>' if n != number else f"<strong>{n}</strong>" for n in near]
    following = f'<a rel="next" href="{address(number + 1)}">Next</a>' if number < count else ""
    return f'<div class="{name}">{" ".join(links)} {following}</div>'
