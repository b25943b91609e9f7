"""What those who fetch do at present."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil, inf

MAX_SITES = 4
"""Sites that are named; the others are counted."""
SHORT = 1.0
"""Seconds below which a wait is none, and two waits are one."""


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
            others = len(self.sites) - MAX_SITES
            named = ", ".join(self.sites[:MAX_SITES])
            return f"fetching from {named}{f' and {others:,} others' if others > 0 else ''}"
        if self.wait is None or self.wait < SHORT:
            return "choosing what to fetch next"
        return f"next fetch{f' from {self.next_site}' if self.next_site else ''} in {ceil(self.wait):,} s"


def together(activities: Collection[Activity]) -> Activity | None:
    """Return what several do: all sites, or the wait of the one that waits least; None where there is nobody.

    Of those that wait for the same, some may not know the site: the others name it.

    >>> str(together([Activity(["a.org"]), Activity(wait=9.0), Activity(["b.org", "a.org"])]))
    'fetching from a.org, b.org'
    >>> str(together([Activity(wait=9.0, next_site="a.org"), Activity(), Activity(wait=5.0, next_site="b.org")]))
    'next fetch from b.org in 5 s'
    >>> str(together([Activity(wait=4.9), Activity(wait=5.0, next_site="b.org")]))
    'next fetch from b.org in 5 s'
    """
    sites = dict.fromkeys(site for each in activities for site in each.sites)
    if sites:
        return Activity(tuple(sites))
    least = min(map(_wait, activities), default=0.0)
    alike = (each for each in activities if _wait(each) <= least + SHORT)
    return max(alike, key=lambda each: (bool(each.next_site), -_wait(each)), default=None)


def _wait(activity: Activity) -> float:
    return inf if activity.wait is None else activity.wait
