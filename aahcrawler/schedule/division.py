"""Divides a schedule over units: each site is visited by two of them in turn, so that one may fail.

Which two is told by weighted rendezvous hashing (Thaler and Ravishankar, IEEE/ACM Transactions on Networking 6(1),
1998): each unit has a score for each site, and the two best have it. A unit that comes or goes moves no site but those
that it takes or had. Due moments are the same for all units; the first unit has every second of them, the second unit
those between, so that both together visit a site as often as one would.
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
    """Return the two units that visit a site, the first one first; one where there are no others.

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
    """Due every so often, at moments that do not depend on when the crawl came into a schedule: ``phase`` is the first.

    The first unit makes the first visit at once, the second one at its first moment.
    """

    every: timedelta
    phase: timedelta
    turn: Turn = WHOLE

    def due(self, past: Past, now: datetime) -> Due:
        """See ``Rhythm``."""
        if past.last is None and self.turn.number == 0:
            return Due(past.added_at)
        step, after = self.every * self.turn.of, past.last or past.added_at
        origin = _EPOCH + self.phase + self.every * self.turn.number
        first = origin + ((after - origin) // step + 1) * step
        passed = max(0, (now - first) // step)
        return Due(first + passed * step, passed + 1)

    def interval(self, past: Past) -> timedelta:  # noqa: ARG002
        """See ``Rhythm``."""
        return self.every * self.turn.of


@dataclass(frozen=True, slots=True)
class AlternatingAdaptive:
    """Due an interval after the other unit's visit, which was at ``other_at``, None where it has told of none.

    Without one it is due two intervals after its own. Whatever the other one tells, it is due after three.
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
    """Never due: other units visit it."""

    def due(self, past: Past, now: datetime) -> Due:  # noqa: ARG002
        """See ``Rhythm``."""
        return Due(NEVER)

    def interval(self, past: Past) -> timedelta:  # noqa: ARG002
        """See ``Rhythm``."""
        return NEVER - _EPOCH


def rhythm_of_part(rhythm: Rhythm, key: str, turn: Turn | None, other_at: datetime | None = None) -> Rhythm:
    """Return when the part of a crawl is due that a unit visits; None for ``turn`` is nothing of it.

    ``key`` tells crawls apart; by it the due moments of fixed intervals are spread. ``other_at`` is when the other unit
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
    """Return the due moments of a crawl that are visited by a rhythm, of all that units have."""
    match rhythm:
        case AnchoredInterval(turn=turn) | AlternatingAdaptive(turn=turn) | TimesOfDay(turn=turn):
            return turn
    return WHOLE


class Placed(NamedTuple):
    """A crawl in a proposed division: its units, and whether the second one only stands by.

    ``held_by`` are the units that have visited it so far. ``seconds`` is how long a visit takes, None where nobody
    knows, ``visits`` how many there are a day.
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
        """The units that have to begin with it."""
        return [each for each in self.units if each not in self.held_by]


class UnitLoad(NamedTuple):
    """What a unit has in a proposed division: crawls, and seconds of crawling a day, of those that it can give."""

    unit: str
    weight: float
    crawls: int
    seconds: float
    capacity: float | None

    @property
    def busy(self) -> float | None:
        """The part of its capacity that is used; None where it has not told that."""
        return self.seconds / self.capacity if self.capacity else None


@dataclass(frozen=True, slots=True)
class Division:
    """A proposal: where each crawl goes, and what each unit has to do then.

    ``unknown`` are units of which nobody knows how many crawls they run at once: where there are some, it is no
    proposal, but the division by the weights that the list has.
    """

    placed: Sequence[Placed]
    loads: Sequence[UnitLoad]
    unknown: Sequence[str] = ()

    @property
    def stand_by(self) -> Sequence[str]:
        """The crawls that only one unit can visit without overlapping with the other."""
        return [each.name for each in self.placed if each.stands_by]


class Watched(NamedTuple):
    """A crawl that is to be divided: its site, who visited it so far, the shortest interval, and visits a day."""

    name: str
    site: str
    held_by: frozenset[str]
    interval: timedelta
    seconds: float | None
    visits: float


def divided(crawls: Iterable[Watched], weights: Mapping[str, float], parallel: Mapping[str, int]) -> Division:
    """Propose a division by weights. ``parallel`` is how many crawls a unit runs at once, where it has told that."""
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
