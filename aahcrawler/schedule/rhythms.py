"""When a crawl is due: at a fixed interval, at times of the day, or adapting to the changes that its visits found.

A due moment is reached even if nobody is there to visit. One visit, at the newest missed moment, makes up for all
missed ones, and records their number.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Annotated, Any, Final, Literal, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from aahcrawler.revisits.revisit_policies import (
    Bounds,
    ChangeStates,
    DynamicSnapshots,
    FixedSnapshots,
    JumpingRate,
    LikelyRate,
    Nutch,
    PageVisit,
    RevisitPolicy,
    StormCrawler,
    Window,
)
from online_analysis.icd.mistakes import Section, refuse
from online_analysis.icd.sections import Duration
from online_analysis.icd.units import parse_duration

POLICIES: Final[Mapping[str, Callable[[Bounds], RevisitPolicy]]] = {
    "jumping rate": JumpingRate,
    "likely rate": LikelyRate,
    "fix": FixedSnapshots,
    "dyn": DynamicSnapshots,
    "window": Window,
    "state-1": lambda bounds: ChangeStates(1, bounds),
    "state-2": lambda bounds: ChangeStates(2, bounds),
    "nutch": Nutch,
    "stormcrawler": StormCrawler,
}
"""The revisit policies by their names in a schedule's file."""
MIN_INTERVAL: Final = timedelta(minutes=1)
"""The shortest interval."""
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY: Final = timedelta(days=1)
_UTC: Final = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Due:
    """A visit due at ``at``; it makes up for ``moments`` due moments that were not visited, at least one."""

    at: datetime
    moments: int = 1


@dataclass(frozen=True, slots=True)
class Turn:
    """The due moments of one of several visitors: the ``number``-th, from 0 on, of every ``of``."""

    number: int = 0
    of: int = 1


WHOLE: Final = Turn()
"""All due moments."""


@dataclass(frozen=True, slots=True)
class PastVisit:
    """A former visit: when it began, and whether it found a change; None if that is unknown."""

    begun_at: datetime
    changed: bool | None


@dataclass(frozen=True, slots=True)
class Past:
    """What the next due moment depends on: when the crawl came into the schedule, and its visits, the oldest first.

    ``last`` is the due moment of the newest visit, None before the first one. The crawl has its present rhythm since
    ``changed_at``, None if it never had another.
    """

    added_at: datetime
    last: datetime | None = None
    visits: Sequence[PastVisit] = ()
    changed_at: datetime | None = None

    @property
    def after(self) -> datetime:
        """The time after which due moments were not visited; those before the rhythm was known were none."""
        return max(self.last or self.added_at, self.changed_at or self.added_at)


class Rhythm(Protocol):
    """Says when a crawl is due."""

    def due(self, past: Past, now: datetime) -> Due:
        """Return the newest due moment up to ``now`` that was not visited, or else the next one in the future."""
        ...

    def interval(self, past: Past) -> timedelta:
        """Return the shortest time between two due moments, as of now."""
        ...


def _interval(value: Any) -> Any:
    """Accept "day" for "1 day"; reject a bare number, which could mean seconds, minutes or hours."""
    number = str(value).strip()
    if number.replace(".", "", 1).isdecimal():
        raise refuse("has no unit", f"write one, such as `{number} min` or `{number} h`")
    return f"1 {value.strip()}" if isinstance(value, str) and value.strip().isalpha() else value


def _long_enough(interval: timedelta) -> timedelta:
    if interval < MIN_INTERVAL:
        raise refuse("is too short", "write a minute or more")
    return interval


Interval = Annotated[Duration, BeforeValidator(_interval), AfterValidator(_long_enough)]


def _time_of_day(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        found = time.fromisoformat(value.strip())
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        raise refuse("is no time of day", "write hours and minutes, such as 06:30, and the zone under `zone`")
    return found


def _weekday(name: str) -> str:
    short = name.strip().lower()[:3]
    if short not in _DAYS:
        raise refuse("is no day of the week", f"write {', '.join(_DAYS)}")
    return short


def _zone(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return ZoneInfo(value.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise refuse("is no time zone", "write one of the IANA database, such as Europe/Prague") from None


TimeOfDay = Annotated[time, BeforeValidator(_time_of_day)]
Weekday = Annotated[str, AfterValidator(_weekday)]
Zone = Annotated[ZoneInfo, BeforeValidator(_zone), PlainSerializer(str, when_used="json")]


@dataclass(frozen=True, slots=True)
class FixedInterval:
    """Due when the crawl comes into the schedule, then at fixed intervals, however long visits take.

    A crawl whose last visit is longer ago than an interval that it is given later is due at that time.
    """

    every: timedelta

    def due(self, past: Past, now: datetime) -> Due:
        """See ``Rhythm``."""
        first = max(past.added_at if past.last is None else past.last + self.every, past.changed_at or past.added_at)
        passed = max(0, (now - first) // self.every)
        return Due(first + passed * self.every, passed + 1)

    def interval(self, past: Past) -> timedelta:  # noqa: ARG002
        """See ``Rhythm``."""
        return self.every


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """Due at times of day in a time zone, on some days of the week.

    Each time occurs once a day. A time that is skipped when clocks are put forward is due later by the same shift; one
    that occurs twice is due at the first occurrence. Moments are numbered from the first day of the calendar on, so
    that visitors with different ``turn``s never share one.
    """

    times: Sequence[time]
    days: frozenset[str] = frozenset(_DAYS)
    zone: ZoneInfo = _UTC
    turn: Turn = WHOLE

    def due(self, past: Past, now: datetime) -> Due:
        """See ``Rhythm``."""
        newest, moments = None, 0
        for moment in self._after(past.after):
            if moment > now:
                return Due(moment) if newest is None else Due(newest, moments)
            newest, moments = moment, moments + 1
        raise AssertionError("days do not end")

    def interval(self, past: Past) -> timedelta:
        """See ``Rhythm``."""
        found = self._after(past.added_at)
        moments = [next(found) for _ in range(7 * len(self.times) * self.turn.of + 1)]
        return min(second - first for first, second in pairwise(moments))

    def _after(self, moment: datetime) -> Iterator[datetime]:
        day: date = moment.astimezone(self.zone).date() - _DAY
        times, days = sorted(set(self.times)), [each for each in _DAYS if each in self.days]
        while True:
            weekday = _DAYS[day.weekday()]
            if weekday in days:
                before = (day.toordinal() - 1) // 7 * len(days) + days.index(weekday)
                mine = (
                    each for n, each in enumerate(times, before * len(times)) if n % self.turn.of == self.turn.number
                )
                found = {datetime.combine(day, each, self.zone).astimezone(UTC) for each in mine}
                yield from sorted(each for each in found if each > moment)
            day += _DAY


class Adaptive(Section):
    """Due by a revisit policy; intervals between the beginnings of visits are from ``least`` to ``greatest``."""

    least: Interval = Field(default=timedelta(days=1), examples=["6 h"])
    greatest: Interval = Field(default=timedelta(days=182.5), examples=["30 days"])
    first: Interval = Field(default=timedelta(days=7), examples=["1 week"])
    policy: Literal[
        "jumping rate", "likely rate", "fix", "dyn", "window", "state-1", "state-2", "nutch", "stormcrawler"
    ] = Field(default="jumping rate", examples=["jumping rate"])

    @model_validator(mode="after")
    def _in_order(self) -> "Adaptive":
        if self.least > self.greatest:
            raise refuse("has a least interval that is longer than the greatest", "exchange the two")
        return self

    @property
    def bounds(self) -> Bounds:
        """The bounds of the interval, in days."""
        return Bounds(*(each / _DAY for each in (self.least, self.greatest, self.first)))

    def due(self, past: Past, now: datetime) -> Due:  # noqa: ARG002
        """See ``Rhythm``."""
        if not past.visits:
            return Due(past.added_at)
        return Due(past.visits[-1].begun_at + self.interval(past))

    def interval(self, past: Past) -> timedelta:
        """See ``Rhythm``."""
        policy = POLICIES[self.policy](self.bounds)
        before: datetime | None = None
        for visit in past.visits:
            if before is None:
                before = visit.begun_at
            elif visit.changed is not None:
                policy.observe(PageVisit((visit.begun_at - before) / _DAY, visit.changed))
                before = visit.begun_at
        return timedelta(days=policy.days)


class Rhythmic(Section):
    """The fields of a schedule's entry that define its rhythm: exactly one of ``every``, ``at`` and ``adaptive``."""

    every: Interval | None = Field(default=None, examples=["1 day"])
    at: tuple[TimeOfDay, ...] = Field(default=(), max_length=1440, examples=['["06:00", "18:00"]'])
    on: tuple[Weekday, ...] = Field(default=(), examples=["[mon, thu]"])
    zone: Zone = Field(default=_UTC, examples=["Europe/Prague"])
    adaptive: Adaptive | None = Field(default=None, examples=["{least: 6 h, greatest: 30 days}"])

    @model_validator(mode="after")
    def _one_of_them(self) -> "Rhythmic":
        if sum((self.every is not None, bool(self.at), self.adaptive is not None)) != 1:
            raise refuse("has no rhythm, or several", "write one of `every`, `at` and `adaptive`")
        if self.on and not self.at:
            raise refuse("has days without times", "write the times under `at`")
        return self

    @property
    def rhythm(self) -> Rhythm:
        """The rhythm that the fields define."""
        if self.every is not None:
            return FixedInterval(self.every)
        if self.adaptive is not None:
            return self.adaptive
        return TimesOfDay(self.at, frozenset(self.on or _DAYS), self.zone)


def in_words(rhythmic: Rhythmic) -> str:
    """Return a rhythm in words.

    >>> in_words(Rhythmic(every="week")), in_words(Rhythmic(at=("06:00",), on=("mon",), zone="Europe/Prague"))
    ('every 7 d', 'at 06:00 on mon, Europe/Prague')
    """
    if rhythmic.every is not None:
        return f"every {_short(rhythmic.every)}"
    if rhythmic.adaptive is not None:
        own = rhythmic.adaptive
        return f"every {_short(own.least)} to {_short(own.greatest)}, by {own.policy}"
    times = ", ".join(f"{each:%H:%M}" for each in rhythmic.at)
    days = f" on {', '.join(rhythmic.on)}" if rhythmic.on else ""
    return f"at {times}{days}, {rhythmic.zone}"


def _short(interval: timedelta) -> str:
    """Return an interval in the largest fitting unit, as ``parse_duration`` reads it."""
    for unit in ("d", "h", "min"):
        if interval % parse_duration(f"1 {unit}") == timedelta():
            return f"{interval // parse_duration(f'1 {unit}')} {unit}"
    return f"{interval.total_seconds():g} s"
