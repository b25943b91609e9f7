"""Divide a schedule over units so that each site is visited by two of them in turn, and one of the two may fail.

Weighted rendezvous hashing chooses the two units (Thaler and Ravishankar, IEEE/ACM Transactions on Networking 6(1),
1998): each unit gets a score for each site, and the two with the best scores visit it. Adding or removing a unit only
moves the sites that this unit gets or had. Due moments are the same for all units: the first unit takes every second
one and the second unit those between, so that together they visit a site as often as one unit would.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from math import log
from typing import Final, NamedTuple

from aahcrawler.schedule.rhythms import WHOLE, Adaptive, Due, FixedInterval, Past, Rhythm, TimesOfDay, Turn

NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""The due moment of what other units visit."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = 86_400.0


def units_of(site: str, weights: Mapping[str, float]) -> tuple[str, ...]:
    """Return the two units that visit a site, the first one first; only one if there is a single unit.

    >>> units_of("example.org", {"north": 4, "south": 4, "west": 1})
    ('south', 'north')
    """
    # -w / ln(h) for h even over (0, 1): the best is each unit with a probability in proportion to its weight.
    scores = ((-weight / log(_even(f"{site}\n{name}")), name) for name, weight in weights.items())
    return tuple(name for _, name in sorted(scores, reverse=True)[:2])


def _even(text: str) -> float:
    number = int.from_bytes(blake2b(text.encode(), digest_size=6).digest())
    return (number + 0.5) / 2**48


@dataclass(frozen=True, slots=True)
class AnchoredInterval:
    """Due at fixed intervals from ``phase`` on, whenever the crawl came into a schedule.

    The first unit makes its first visit at once, the second unit at its first due moment.
    """

    every: timedelta
    phase: timedelta
    turn: Turn = WHOLE

    def due(self, past: Past, now: datetime) -> Due:
        """See ``Rhythm``."""
        if past.last is None and self.turn.number == 0:
            return Due(past.added_at)
        step, after = self.every * self.turn.of, past.after
        origin = _EPOCH + self.phase + self.every * self.turn.number
        first = origin + ((after - origin) // step + 1) * step
        passed = max(0, (now - first) // step)
        return Due(first + passed * step, passed + 1)

    def interval(self, past: Past) -> timedelta:  # noqa: ARG002
        """See ``Rhythm``."""
        return self.every * self.turn.of


@dataclass(frozen=True, slots=True)
class AlternatingAdaptive:
    """Due one interval after the other unit's visit, which was at ``other_at``.

    Without ``other_at`` (the other unit has reported none), due two intervals after the unit's own visit. In any case
    due after three intervals.
    """

    adaptive: Adaptive
    turn: Turn
    other_at: datetime | None = None

    def due(self, past: Past, now: datetime) -> Due:
        """See ``Rhythm``."""
        interval = self.adaptive.interval(past)
        if not past.visits:
            return Due(past.added_at + interval * self.turn.number)
        own_at = past.visits[-1].begun_at
        if self.other_at is not None and own_at < self.other_at <= now:
            return Due(min(self.other_at + interval, own_at + 3 * interval))
        return Due(own_at + 2 * interval)

    def interval(self, past: Past) -> timedelta:
        """See ``Rhythm``."""
        return 2 * self.adaptive.interval(past)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Never due, as other units visit the crawl."""

    def due(self, past: Past, now: datetime) -> Due:  # noqa: ARG002
        """See ``Rhythm``."""
        return Due(NEVER)

    def interval(self, past: Past) -> timedelta:  # noqa: ARG002
        """See ``Rhythm``."""
        return NEVER - _EPOCH


def rhythm_of_part(rhythm: Rhythm, key: str, turn: Turn | None, other_at: datetime | None = None) -> Rhythm:
    """Return the rhythm of a unit's part of a crawl; a ``turn`` of None means that the unit has no part.

    ``key`` identifies the crawl and spreads the due moments of fixed intervals. ``other_at`` is when the other unit
    last began a visit.
    """
    if turn is None:
        return Elsewhere()
    match rhythm:
        case FixedInterval(every):
            return AnchoredInterval(every, timedelta(seconds=int(_even(key) * 2 * every.total_seconds())), turn)
        case TimesOfDay(times, days, zone):
            return TimesOfDay(times, days, zone, turn)
        case Adaptive() if turn != WHOLE:
            return AlternatingAdaptive(rhythm, turn, other_at)
    return rhythm


def turn_of(rhythm: Rhythm) -> Turn:
    """Return which of a crawl's due moments a rhythm visits."""
    match rhythm:
        case AnchoredInterval(turn=turn) | AlternatingAdaptive(turn=turn) | TimesOfDay(turn=turn):
            return turn
    return WHOLE


class Placed(NamedTuple):
    """A crawl in a proposed division, with its units; if it ``stands_by``, the second unit only steps in on failure.

    ``held_by`` are the units that have visited it so far. ``seconds`` is the duration of a visit, None if unknown;
    ``visits`` is the number of visits a day.
    """

    name: str
    site: str
    units: Sequence[str]
    stands_by: bool
    held_by: frozenset[str]
    seconds: float | None
    visits: float

    @property
    def moves_to(self) -> Sequence[str]:
        """The units that have not visited the crawl before."""
        return [each for each in self.units if each not in self.held_by]


class UnitLoad(NamedTuple):
    """The load of a unit in a proposed division: crawls, seconds of crawling a day, and its capacity in the same."""

    unit: str
    weight: float
    crawls: int
    seconds: float
    capacity: float | None

    @property
    def busy(self) -> float | None:
        """The used share of the capacity; None if the capacity is unknown."""
        return self.seconds / self.capacity if self.capacity else None


@dataclass(frozen=True, slots=True)
class Division:
    """A proposed division: the units of each crawl, and the load of each unit.

    ``unknown`` are units that have not reported how many crawls they run at once. If there are any, the division is not
    a proposal but the present one, by the weights in the list of units.
    """

    placed: Sequence[Placed]
    loads: Sequence[UnitLoad]
    unknown: Sequence[str] = ()

    @property
    def stand_by(self) -> Sequence[str]:
        """The crawls that one unit must visit alone, since visits by two units would overlap."""
        return [each.name for each in self.placed if each.stands_by]


class Watched(NamedTuple):
    """A crawl to be divided: its site, who visited it so far, its shortest interval, and its visits a day."""

    name: str
    site: str
    held_by: frozenset[str]
    interval: timedelta
    seconds: float | None
    visits: float


def divided(crawls: Iterable[Watched], weights: Mapping[str, float], parallel: Mapping[str, int]) -> Division:
    """Propose a division by weights.

    ``parallel`` is how many crawls a unit runs at once, for units that have reported it.
    """
    placed = [
        Placed(
            each.name,
            each.site,
            units_of(each.site or each.name, weights),
            (each.seconds or 0.0) > each.interval.total_seconds(),
            each.held_by,
            each.seconds,
            each.visits,
        )
        for each in crawls
    ]
    seconds, counts = dict.fromkeys(weights, 0.0), dict.fromkeys(weights, 0)
    for row in placed:
        visiting = row.units[:1] if row.stands_by else row.units
        for unit in row.units:
            counts[unit] += 1
        for unit in visiting:
            seconds[unit] += (row.seconds or 0.0) * row.visits / len(visiting)
    loads = [
        UnitLoad(unit, weight, counts[unit], seconds[unit], parallel[unit] * _DAY if unit in parallel else None)
        for unit, weight in weights.items()
    ]
    return Division(placed, loads)
