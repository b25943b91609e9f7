"""Searches for many texts in one, in a counted and bounded amount of work."""

from typing import Final

MAX_SEARCHED: Final = 50_000_000
"""Letters of a text that are searched through for others, again and again, before only its whole lines are found."""


class SearchedText:
    """Lines of text in which many others are looked for, each mostly behind the one before: readings of one page.

    Whole lines are found by their letters, and what is asked for in the order of the text is found on the way through
    it. All of the text is searched for the rest, until ``MAX_SEARCHED`` letters were: from then on, whatever the
    machine, only whole lines are found.
    """

    def __init__(self, *lines: str) -> None:
        self._text = "\n".join(lines)
        self._lines = frozenset(lines)
        self._place = 0
        self.searched = 0

    def has_line(self, line: str) -> bool:
        """Return whether a text is one of the lines."""
        return line in self._lines

    def has(self, part: str) -> bool:
        """Return whether a text is in one of the lines."""
        if part in self._lines:
            return True
        return self._found(part, self._place, len(self._text)) or self._found(part, 0, self._place + len(part))

    def _found(self, part: str, first: int, end: int) -> bool:
        """Look for a text between two places, and go on from there where it is found."""
        if self.searched >= MAX_SEARCHED or first >= end:
            return not part
        place = self._text.find(part, first, end)
        self.searched += (place if place >= 0 else min(end, len(self._text))) - first
        if place >= 0:
            self._place = place
        return place >= 0
