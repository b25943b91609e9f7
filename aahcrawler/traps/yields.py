"""Learns which patterns of URLs lead to no content: to logins, forms, errors, copies and lists of what is known.

Software that nobody described has such pages beside every post. Their patterns are avoided once they have been tried,
and one of their URLs is tried again from time to time: a rule that was wrong ends itself.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from aahcrawler.traps.budgets import FIRST_TRIAL, GAIN, MOST_PATTERNS
from aahcrawler.traps.patterns import Pattern

LEAST_CONTENT = 0.01
"""The content of a pattern below which it has none: what is left of sums of shares that were withdrawn."""
IN_A_ROW = 4.0
"""The empty pages in a row that are borne, in multiples of the bound: lists that are turned beyond their end."""
FAMILY = 2.0
"""The empty pages of a family of patterns that are borne, in multiples of those of one pattern."""


HELD = " (shown by others)"
"""What the names of patterns end with that count those URLs alone whose objects other pages showed."""


class Brought(Enum):
    """What a page brought to its crawl."""

    CONTENT = "content"
    """Web objects that are new, or links to pages like others that had some."""
    LINKS = "links"
    """Links that are new, of which nobody knows where they lead."""
    NEWS = "news"
    """Nothing but text that is new: a quarter as empty as a page without."""
    TEXT = "text"
    """Nothing but text, most of which was read before: half as empty as a page without."""
    REPEATED = "repeated"
    """Web objects that other pages show, each among others, and nothing else."""
    NOTHING = "nothing"


_EMPTY = {
    Brought.CONTENT: 0.0,
    Brought.LINKS: 0.0,
    Brought.NEWS: 0.25,
    Brought.TEXT: 0.5,
    Brought.REPEATED: 1.0,
    Brought.NOTHING: 1.0,
}


@dataclass(slots=True)
class Yield:
    """What the pages of a pattern brought: how many had ``content``, how many were ``empty``.

    ``repeated`` of the empty ones showed web objects that other pages show as well.
    """

    content: float = 0.0
    empty: float = 0.0
    refused: int = 0
    repeated: float = 0.0
    run: float = 0.0
    """The empty pages since the last one with content, those with text counted twice as much."""

    def is_barren(self, bound: float) -> bool:
        """Return whether more pages were empty than ``bound`` and what those with content make up for.

        However many had content, ``IN_A_ROW`` times the bound are enough after the last of these.
        """
        return bound > 0 and (self.empty >= bound + GAIN * self.content or self.run >= IN_A_ROW * bound)


class Yields:
    """The yields of patterns and of their families, within a host.

    A pattern is barren when ``bound`` of its pages were empty and none had content; each one with content makes up for
    ``GAIN`` empty ones. A family is barren after ``FAMILY`` times as many, and is so for those of its patterns that
    never had content. New text without an object counts only against a host that shows objects elsewhere. 0 is no
    bound.
    """

    def __init__(self, bound: int, capacity: int = MOST_PATTERNS) -> None:
        self.bound = bound
        self._capacity = capacity
        self._yields: OrderedDict[str, Yield] = OrderedDict()

    def note(self, pattern: Pattern, brought: Brought) -> str:
        """Note what a page brought; return the pattern, or family, that is barren by it, mostly empty."""
        host = self._of(pattern.families[0])
        host.content += brought is Brought.CONTENT
        is_text = brought in (Brought.TEXT, Brought.NEWS)
        empty = 0.0 if is_text and not host.content else _EMPTY[brought]
        turned = ""
        for name, bound in self._bounds(pattern):
            known = self._of(name)
            was_barren = known.is_barren(bound)
            known.content += brought is Brought.CONTENT
            known.empty += empty
            known.run = 0.0 if brought is Brought.CONTENT else known.run + min(1.0, 2 * empty)
            known.repeated += brought is Brought.REPEATED
            turned = turned or (name if known.is_barren(bound) and not was_barren else "")
        return turned

    def note_held(self, pattern: Pattern, brought: Brought) -> None:
        """Note what a page brought whose object another page was known to show."""
        known = self._of(pattern.detail + HELD)
        is_repeat = brought not in (Brought.CONTENT, Brought.LINKS)
        known.content += not is_repeat
        known.empty += is_repeat
        known.repeated += is_repeat

    def barren_held(self, pattern: Pattern) -> str:
        """Return the name of such pages of a pattern where they have shown nothing else, "" where they have."""
        name = pattern.detail + HELD
        return name if self._is_barren(name, self.bound) else ""

    def withdraw(self, pattern: Pattern, share: float) -> None:
        """Note that another page shows, among others, a ``share`` in (0, 1] of what gave a page of a pattern content.

        That page counts as if it had repeated the other one.
        """
        for name in (pattern.detail, *pattern.families):
            known = self._of(name)
            given = min(share, known.content)
            known.content -= given
            if name != pattern.families[0]:
                known.empty += given
                known.repeated += given

    def has_content(self, pattern: Pattern) -> bool:
        """Return whether pages of a pattern have had content, as far as no other pages show it as well."""
        known = self._yields.get(pattern.detail)
        return known is not None and known.content > LEAST_CONTENT

    def is_tried(self, pattern: Pattern) -> bool:
        """Return whether as many empty pages of a pattern are known as it takes to doubt that others are not."""
        known = self._yields.get(pattern.detail)
        return known is not None and known.content <= LEAST_CONTENT and known.empty >= self.bound / 2

    def repeats(self, name: str) -> bool:
        """Return whether most of the empty pages of a pattern, or of a family, showed what other pages show."""
        known = self._yields.get(name)
        return known is not None and 2 * known.repeated > known.empty

    def barren(self, pattern: Pattern) -> str:
        """Return the name of what makes a pattern barren, itself or a family; empty where nothing does."""
        if self.has_content(pattern):
            return pattern.detail if self._is_barren(pattern.detail, self.bound) else ""
        return next((name for name, bound in self._bounds(pattern) if self._is_barren(name, bound)), "")

    def trial(self, name: str) -> bool:
        """Count a refusal for what is barren; say whether this URL is let through all the same."""
        known = self._of(name)
        known.refused += 1
        return known.refused >= FIRST_TRIAL and known.refused & (known.refused - 1) == 0

    def _is_barren(self, name: str, bound: float) -> bool:
        known = self._yields.get(name)
        return known is not None and known.is_barren(bound)

    def share(self, pattern: Pattern) -> float:
        """Return which part of its bound a pattern that never had content has used up, in [0, 1]; 0 for others."""
        known = self._yields.get(pattern.detail)
        if known is None or known.content > LEAST_CONTENT or not self.bound:
            return 0.0
        return min(1.0, known.empty / self.bound)

    def _bounds(self, pattern: Pattern) -> Iterator[tuple[str, float]]:
        yield pattern.detail, self.bound
        for family in pattern.families[1:]:
            yield family, FAMILY * self.bound

    def _of(self, name: str) -> Yield:
        known = self._yields.setdefault(name, Yield())
        self._yields.move_to_end(name)
        if len(self._yields) > self._capacity:
            self._yields.popitem(last=False)
        return known

    def join(self, state: Mapping[str, Sequence[float]]) -> None:
        """Take in what another worker learned, its ``state``; some of it may be of the same former crawls."""
        for name, (content, empty, refused, *more) in state.items():
            own = self._of(name)
            own.content, own.empty = max(own.content, float(content)), max(own.empty, float(empty))
            own.refused = max(own.refused, int(refused))
            repeated, run = map(float, more) if more else (0.0, 0.0)
            own.repeated, own.run = max(own.repeated, repeated), max(own.run, run)

    def state(self) -> Mapping[str, Sequence[float]]:
        """Return the whole state, the oldest first; ``restore`` takes it."""
        return {
            name: (each.content, each.empty, each.refused, each.repeated, each.run)
            for name, each in self._yields.items()
        }

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """Restore a result of ``state``. Raise ``ValueError`` or ``TypeError`` where it is not one.

        What was written before repeated pages and runs were counted has three numbers of each.
        """
        for name, (content, empty, refused, *more) in state.items():
            self._yields[name] = Yield(float(content), float(empty), int(refused), *map(float, more))
