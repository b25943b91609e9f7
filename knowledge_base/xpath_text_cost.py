"""What functions of XPath cost by the length of the texts that they are given, as libxml2 works them out.

The weights were measured, at texts that are worst for each function. A unit is a look at a node, 15 ns or so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

BLOCK: Final = 64
"""Bytes of text that count as a node."""
READ: Final = 4
"""Units for each block of a node's text, to make a string of it."""
PARSE: Final = 12
"""The same to make a number of it."""
CALL: Final = 8
"""Units for each call, whatever it is given."""
OF_TEXTS: Final[Mapping[str, int]] = {
    "string": 1,
    "concat": 4,
    "starts-with": 2,
    "contains": 4,
    "substring-before": 8,
    "substring-after": 8,
    "substring": 56,
    "string-length": 4,
    "normalize-space": 14,
    "translate": 12,
    "number": 12,
    "sum": 12,
    "floor": 12,
    "ceiling": 12,
    "round": 12,
    "id": 80,
}
"""Functions that read the text of what they are given, with the units that they take for each block."""
_SEARCHES: Final = frozenset({"contains", "substring-before", "substring-after"})
_LIKE_FIRST: Final = frozenset({"string", "normalize-space", "substring", "substring-before", "substring-after"})
_NUMBER: Final = 32
"""Bytes of a number or a truth value as text."""
_LONGEST_CHARACTER: Final = 4


@dataclass(frozen=True, slots=True)
class Text:
    """Texts that an expression gives: bytes for all of its contexts together, ``most`` for one of them.

    ``literal`` is the text where it is always the same and is known.
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


def cost(name: str, texts: Sequence[Text], contexts: int) -> int:
    """Return the units that calls of a function take, beside those to make strings of nodes."""
    units = CALL * contexts
    if name not in OF_TEXTS or not texts:
        return units
    if name == "concat":
        # Each part is put at the end of what there is, whose end is looked for from its beginning.
        return units + OF_TEXTS[name] * sum(accumulate(each.total for each in texts)) // BLOCK
    units += OF_TEXTS[name] * sum(each.total for each in texts) // BLOCK
    if len(texts) > 1 and name in _SEARCHES:
        units += texts[0].total * _begun_again(texts[1], texts[0].most) // 8
    if len(texts) > 1 and name == "translate":
        units += texts[0].total * texts[1].most // 2
    return units


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


def _begun_again(sought: Text, most: int) -> int:
    """Return at how many places at once a search may have begun to match; each compares the same byte once more."""
    if sought.literal is not None:
        return sought.literal.count(sought.literal[:1]) if sought.literal else 0
    return min(sought.most, most)
