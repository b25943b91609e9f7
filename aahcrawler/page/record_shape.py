"""What the records of a site's pages look like: where one begins, and where it shows its date, author and address.

One record alone on a page repeats nothing; it is found by what pages with several have shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

Trail = tuple["TrailStep", ...]
"""The elements from the first below a record's element down to one of its fields; empty for the element itself."""


class TrailStep(NamedTuple):
    """An element by its tag and those words of its class that it has in all records."""

    tag: str
    words: frozenset[str] = frozenset()

    def common(self, other: "TrailStep") -> "TrailStep | None":
        """Return what two elements have in common, None if their tags, or all of their classes, differ."""
        words = self.words & other.words
        if self.tag != other.tag or (self.words and other.words and not words):
            return None
        return TrailStep(self.tag, words)

    def fits(self, tag: str, words: Sequence[str]) -> bool:
        """Return whether an element has the tag and all of the words."""
        return tag == self.tag and self.words.issubset(words)


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The shape of records: its adjacent elements, the elements around it, and the trails to its date and author.

    A trail begins with the number of the element that it starts from; it is None if it is not known. ``permalink`` are
    the address and the fragment that records give for themselves, with a NUL in place of their number.
    """

    roots: Trail
    around: Trail
    date: tuple[int, Trail] | None = None
    author: tuple[int, Trail] | None = None
    permalink: tuple[str, str] | None = None

    @property
    def is_telling(self) -> bool:
        """Return whether any class tells the elements of records from others."""
        return bool(self.roots[0].words or (self.around and self.around[0].words))

    @property
    def is_signed(self) -> bool:
        """Return whether records of the shape are known by a class of their own, a date and an author."""
        return bool(self.roots[0].words) and self.date is not None and self.author is not None

    @property
    def anywhere(self) -> Self:
        """The shape of the same records wherever they stand: a list of one often lacks the element around others."""
        return replace(self, around=())

    def common(self, other: Self) -> Self | None:
        """Return the shape of records of both shapes, None if they have different elements."""
        roots, around = _common(self.roots, other.roots), _common(self.around, other.around)
        if roots is None or around is None:
            return None
        permalink = self.permalink if self.permalink == other.permalink else None
        return replace(
            self,
            roots=roots,
            around=around,
            date=_common_field(self.date, other.date),
            author=_common_field(self.author, other.author),
            permalink=permalink,
        )


def _common(one: Trail, other: Trail) -> Trail | None:
    found = [a.common(b) for a, b in zip(one, other, strict=False)]
    return tuple(filter(None, found)) if len(one) == len(other) and all(found) else None


def _common_field(one: tuple[int, Trail] | None, other: tuple[int, Trail] | None) -> tuple[int, Trail] | None:
    if one is None or other is None or one[0] != other[0]:
        return None
    trail = _common(one[1], other[1])
    return None if trail is None else (one[0], trail)


def common_trail(trails: Sequence[tuple[int, Trail]], least: int) -> tuple[int, Trail] | None:
    """Return the trail that at least so many trails share, None if there is none."""
    groups: dict[tuple[object, ...], list[tuple[int, Trail]]] = {}
    for each in trails:
        groups.setdefault((each[0], *(step.tag for step in each[1])), []).append(each)
    most = max(groups.values(), key=len, default=[])
    if len(most) < least:
        return None
    number, _ = most[0]
    steps = zip(*(trail for _, trail in most), strict=True)
    return number, tuple(
        TrailStep(same[0].tag, frozenset.intersection(*(each.words for each in same))) for same in steps
    )
