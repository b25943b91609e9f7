"""What functions of XPath take beyond reading their texts once, as libxml2 works them out.

The weights were measured on texts that are worst for each function, beside a look at a node (15 ns or so).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

SEARCHES: Final = frozenset({"contains", "substring-before", "substring-after"})
PRODUCTS: Final = SEARCHES | {"concat", "translate"}
"""Functions whose work is a product of the lengths of texts."""

_TRANSLATED: Final = 3
"""Characters of the second text of ``translate`` that a character of the first is compared with in a unit of work."""
_COPIED: Final = 24
"""Bytes that ``concat`` passes over in a unit: it looks for the end of what there is before it adds each part."""
_SEARCHED: Final = 10
"""Bytes that are compared in a unit where a search has begun to match."""
_ALIKE: Final = 16
"""Bytes of texts that begin alike which are compared in a unit."""
_NUMBER: Final = 32
"""Bytes of a number or a truth value as text."""
_LONGEST_CHARACTER: Final = 4
_LIKE_FIRST: Final = frozenset({"string", "normalize-space", "substring", "substring-before", "substring-after"})


@dataclass(frozen=True, slots=True)
class Text:
    """Texts that an expression gives: bytes for all of its contexts together, ``most`` for one of them.

    ``literal`` is the text where it is always the same.
    """

    total: int
    most: int
    literal: str | None = None

    @classmethod
    def of_literal(cls, value: str, contexts: int) -> "Text":
        """Return the same text for all contexts."""
        size = len(value.encode("utf-8", "surrogatepass"))
        return cls(size * contexts, size, value)

    @classmethod
    def of_number(cls, contexts: int) -> "Text":
        """Return the text of a number or a truth value."""
        return cls(_NUMBER * contexts, _NUMBER)


def product(name: str, texts: Sequence[Text]) -> int:
    """Return the units of work that calls of a function take for the product of the lengths of its texts."""
    if len(texts) < 2:
        return 0
    if name == "concat":
        return sum(accumulate(each.total for each in texts)) // _COPIED
    if name == "translate":
        return texts[0].total * texts[1].most // _TRANSLATED
    return texts[0].total * _begun(texts[1], texts[0].most) // _SEARCHED if name in SEARCHES else 0


def compared(left: Text, lefts: int, right: Text, rights: int) -> int:
    """Return the units that a comparison of each of some texts with each of others takes, as they may begin alike."""
    return min(left.total * rights, right.total * lefts) // _ALIKE


def result(name: str, texts: Sequence[Text], contexts: int) -> Text:
    """Return the text that calls of a function give."""
    if name == "concat":
        return Text(sum(each.total for each in texts), sum(each.most for each in texts))
    if name in _LIKE_FIRST and texts:
        return Text(texts[0].total, texts[0].most)
    if name == "translate" and texts:
        into = texts[-1].literal
        longer = 1 if into is not None and into.isascii() else _LONGEST_CHARACTER
        return Text(longer * texts[0].total, longer * texts[0].most)
    return Text.of_number(contexts)


def _begun(sought: Text, most: int) -> int:
    """Return at how many places at once a search may have begun to match; each compares the same byte once more."""
    if sought.literal is not None:
        return sought.literal.count(sought.literal[:1]) if sought.literal else 0
    return min(sought.most, most)
