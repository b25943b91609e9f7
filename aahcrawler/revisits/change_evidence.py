"""What visits prove of a site: whether its dates can be believed, and which places of its templates mean nothing.

Both are learned from the change log alone, of each server and each template for itself: what holds for one says nothing
of another. Where there is too little evidence, a date is not believed, and a place counts as content.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from aahcrawler.revisits.visit_record import DateSource, Dating, Place

MIN_VISITS: Final = 3
"""Visits from which on something is believed."""
MIN_WORDS: Final = 5
"""Visits from which on a place is known to say other words each time."""
MIN_PAGES: Final = 3
"""Pages of a template on which it must do so."""
NEARLY_ALWAYS: Final = 0.75
"""The part of all visits of pages of a template in which a place differs that means nothing: prices seldom change."""
_FALSE: Final = 0.2
"""The part of a server's dates that may be false before none is believed."""
_AT_REQUEST: Final = 5_000
_AHEAD: Final = 60_000
"""Milliseconds by which a server's date is that of the request, and by which it is in the future."""
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ServerDates:
    """How the ``Last-Modified`` of a server's answers held against what was seen.

    Of all that it ``told``, ``at_request`` are those that equal the time of the request, so that the server made them
    up, and ``ahead`` those in the future; ``idle`` changed while the page did not, and ``missed`` did not while its
    content did. ``older`` are all others.
    """

    told: int = 0
    older: int = 0
    at_request: int = 0
    ahead: int = 0
    idle: int = 0
    missed: int = 0

    @property
    def are_trusted(self) -> bool:
        """Whether the dates can be believed.

        >>> ServerDates(told=9, older=9).are_trusted, ServerDates(told=9, older=5, at_request=4).are_trusted
        (True, False)
        """
        wrong = self.at_request + self.ahead + self.idle + self.missed
        return self.older >= MIN_VISITS and wrong <= _FALSE * self.told


def judged_date(modified: int, asked_at: int) -> str:
    """Return the field of ``ServerDates`` that counts a date, by itself; times are in milliseconds since 1970."""
    if modified > asked_at + _AHEAD:
        return "ahead"
    return "at_request" if asked_at - modified <= _AT_REQUEST else "older"


@dataclass(frozen=True, slots=True)
class PlaceEvidence:
    """How often a place of a template was all that differed, on how many ``pages``, of how many ``compared`` visits."""

    visits: int
    pages: int
    compared: int

    def is_volatile(self, place: Place) -> bool:
        """Return whether what the place says means nothing.

        Numbers, times and tokens are believed sooner to mean nothing than words are. Words must stand alone on the
        page, as an advert does and entries of a list do not.
        """
        if self.visits < max(MIN_VISITS, NEARLY_ALWAYS * self.compared):
            return False
        return place.numbers or (place.alone and self.visits >= MIN_WORDS and self.pages >= MIN_PAGES)


def telling_places(places: Iterable[Place], known: frozenset[Place]) -> frozenset[Place]:
    """Return the places of which a visit is evidence: all that differed, beside what is known to mean nothing.

    Where several differed at once the visit is evidence of none, unless all of them were numbers.
    """
    unknown = frozenset(places) - known
    is_plain = len(unknown) == 1 or all(place.numbers for place in unknown)
    return frozenset(places) if is_plain else frozenset()


def server_of(url: str) -> str:
    """Return host and port of a canonical URL, for which its server answers; empty where it has none.

    >>> server_of("http://a.test:8080/?x=http://b.test/")
    'a.test:8080'
    """
    return url.partition("://")[2].partition("/")[0]


def http_date(written: str | None) -> datetime | None:
    """Return the moment of an HTTP date (RFC 9110, section 5.6.7), None for anything else.

    >>> http_date("Tue, 15 Nov 1994 12:45:26 GMT").isoformat()
    '1994-11-15T12:45:26+00:00'
    """
    try:
        moment = parsedate_to_datetime(written or "")
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def dated(previous: datetime | None, at: datetime, told: Iterable[tuple[DateSource, datetime]]) -> Dating:
    """Join what sources tell of when a change happened that a visit at ``at`` found, since the one at ``previous``.

    The first source in ``told`` holds that agrees with the comparison: no change is later than the visit that found it,
    nor before one that did not. A time of midnight stands for its day.

    >>> visits = datetime(2026, 1, 1, 12, tzinfo=UTC), datetime(2026, 1, 8, 12, tzinfo=UTC)
    >>> dated(*visits, [(DateSource.LISTED, datetime(2026, 1, 3, tzinfo=UTC))]).before.isoformat()
    '2026-01-04T00:00:00+00:00'
    >>> dated(*visits, [(DateSource.LAST_MODIFIED, datetime(2025, 1, 3, 8, tzinfo=UTC))]).by.value
    'comparison'
    """
    for source, moment in told:
        is_day = not (moment.hour or moment.minute or moment.second or moment.microsecond)
        after, before = moment, moment + DAY if is_day else moment
        if previous is not None and is_day:
            after = max(after, previous)
        if (previous is None or previous < before) and after <= at and (previous is None or after >= previous):
            return Dating(after, min(before, at), source)
    return Dating(previous, at, DateSource.COMPARISON)
