"""Tells how the ties between something that objects speak of and its partners grow closer or looser over time."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Kind

MIN_OBJECTS: Final = 3
"""Dated objects that have both, from which on something is said of a tie."""
_BEYOND_CHANCE: Final = 1.96
"""By how many standard errors two shares differ which chance makes differ as much in one of twenty ties."""
_EACH: Final = 6
"""Ties of a direction that are shown."""


class Trend(StrEnum):
    """Whether a partner has a larger share of the later objects than of the earlier ones, by more than chance."""

    RISING = "rising"
    FALLING = "falling"
    STEADY = "steady"


class TieOverTime(BaseModel):
    """A partner: ``months`` counts the dated objects that speak of both, by month or year of publication.

    ``earlier`` and ``later`` are its shares of the earlier and the later half of the objects that speak of the one,
    ``change`` is their difference in standard errors (two proportions, pooled).
    """

    model_config = ConfigDict(frozen=True)

    kind: Kind
    of: str
    label: str
    months: Mapping[str, int]
    earlier: float
    later: float
    trend: Trend
    change: float


def ties_over_time(
    together: Iterable[tuple[Kind, str, str, str]], months: Mapping[str, str]
) -> tuple[TieOverTime, ...]:
    """Return the partners of something from the most rising to the most falling; none where there is no course of time.

    ``together`` has the kind of each partner, what is meant and its label, with each object that speaks of it and of
    the one; ``months`` has the month or year of all dated objects that speak of the one. These are cut in halves
    between two periods.
    """
    counted = Counter(months.values())
    split = _split(counted)
    totals = [sum(n for month, n in counted.items() if (month > split) is is_later) for is_later in (False, True)]
    if not all(totals):
        return ()
    found: defaultdict[tuple[Kind, str], Counter[str]] = defaultdict(Counter)
    labels: dict[tuple[Kind, str], str] = {}
    for kind, meant, label, iri in together:
        if month := months.get(iri):
            found[kind, meant][month] += 1
            labels[kind, meant] = min(label, labels.get((kind, meant), label))
    ties = [
        _tie(*key, labels[key], counts, split, totals) for key, counts in found.items() if counts.total() >= MIN_OBJECTS
    ]
    return tuple(sorted(ties, key=_by_change))


def most_changed(ties: Sequence[TieOverTime]) -> tuple[TieOverTime, ...]:
    """Return the twelve ties that changed most, six at most of each direction, and such with the most objects."""
    rising = [each for each in ties if each.trend is Trend.RISING][:_EACH]
    falling = [each for each in reversed(ties) if each.trend is Trend.FALLING][:_EACH]
    steady = sorted(
        (each for each in ties if each.trend is Trend.STEADY), key=lambda each: (-sum(each.months.values()), each.label)
    )
    return (*rising, *sorted(steady[: 2 * _EACH - len(rising) - len(falling)], key=_by_change), *falling[::-1])


def _by_change(each: TieOverTime) -> tuple[float, int, str, str]:
    return -each.change, -sum(each.months.values()), each.label, each.of


def _split(counted: Mapping[str, int]) -> str:
    """Return the last period of the earlier half."""
    wanted, before = sum(counted.values()) / 2, 0
    for month, n in sorted(counted.items()):
        before += n
        if before >= wanted:
            return month
    return ""


def _tie(kind: Kind, of: str, label: str, counts: Counter[str], split: str, totals: Sequence[int]) -> TieOverTime:
    both = [sum(n for month, n in counts.items() if (month > split) is is_later) for is_later in (False, True)]
    earlier, later = (n / total for n, total in zip(both, totals, strict=True))
    pooled = sum(both) / sum(totals)
    error = math.sqrt(pooled * (1 - pooled) * sum(1 / total for total in totals))
    change = (later - earlier) / error if error else 0.0
    trend = Trend.RISING if change >= _BEYOND_CHANCE else Trend.FALLING if change <= -_BEYOND_CHANCE else Trend.STEADY
    return TieOverTime(
        kind=kind,
        of=of,
        label=label,
        months=dict(sorted(counts.items())),
        earlier=round(earlier, 4),
        later=round(later, 4),
        trend=trend,
        change=round(change, 3),
    )
