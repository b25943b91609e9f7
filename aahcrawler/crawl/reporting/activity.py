"""What a process that fetches does at present."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

MOST_SITES = 4
"""Sites that are named; the others are counted."""
SHORT = 1.0
"""Seconds below which a wait is none."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The sites that are being fetched from; where there are none, the seconds until the next fetch, and its site.

    ``wait`` is None and ``next_site`` empty where that is not known.
    """

    sites: Sequence[str] = ()
    wait: float | None = None
    next_site: str = ""

    def __str__(self) -> str:
        """Return it in words.

        >>> str(Activity(["a.org", "b.org"])), str(Activity(wait=6.2, next_site="a.org")), str(Activity(wait=0.0))
        ('fetching from a.org, b.org', 'next fetch from a.org in 7 s', 'choosing what to fetch next')
        """
        if self.sites:
            others = len(self.sites) - MOST_SITES
            named = ", ".join(self.sites[:MOST_SITES])
            return f"fetching from {named}{f' and {others:,} others' if others > 0 else ''}"
        if self.wait is None or self.wait < SHORT:
            return "choosing what to fetch next"
        return f"next fetch{f' from {self.next_site}' if self.next_site else ''} in {ceil(self.wait):,} s"
