"""Criteria for selecting pages, as written by a person."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from aahcrawler import urls
from aahcrawler.objects.capture_statements import PageRow


class DateOf(StrEnum):
    """The kinds of dates of a page."""

    CAPTURED = "captured"
    PUBLISHED = "published"


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "": operator.ge,
}
_THRESHOLD = re.compile(r"\s*(>=|>|<=|<|)\s*([0-9.]+)\s*", re.ASCII)
_COARSE = re.compile(r"(\d{4})(?:-(\d\d))?", re.ASCII)


class CriteriaError(Exception):
    """Raised for invalid criteria; the message says what to write instead."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound on scores, such as ``>=0.3``."""

    comparison: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> "Threshold":
        """Parse a bound; a number alone means at least that much. Raises ``CriteriaError``.

        >>> str(Threshold.parse("0.3"))
        '>=0.3'
        """
        match = _THRESHOLD.fullmatch(text)
        try:
            bound = float(match[2]) if match else -1.0
        except ValueError:
            bound = -1.0
        if match is None or not 0 <= bound <= 1:
            raise CriteriaError(f"--score {text}: write a comparison with a number from 0 to 1, such as '>=0.3'")
        return cls(match[1] or ">=", bound)

    def admits(self, score: float | None) -> bool:
        """Return whether a score is within the bound; a missing score never is."""
        return score is not None and _COMPARISONS[self.comparison](score, self.bound)

    def __str__(self) -> str:
        return f"{self.comparison}{self.bound:g}"


@dataclass(frozen=True, slots=True)
class Criteria:
    """The criteria for a page, all of which it must meet. Empty criteria admit every page.

    ``begin`` is the first moment included, ``end`` the first one excluded, both in UTC. ``applications`` are names in
    any case, one of which must match; ``level`` names a page level or a role. ``sites`` are hosts, including their
    subdomains, one of which must match. ``urls`` are canonical; None if no list was given. ``sparql`` is a SELECT query
    for captures or URLs of pages. ``members`` requires membership in the collection: relevant pages, unless people
    decided otherwise.
    """

    scores: tuple[Threshold, ...] = ()
    begin: datetime | None = None
    end: datetime | None = None
    date_of: DateOf = DateOf.CAPTURED
    applications: tuple[str, ...] = ()
    level: str = ""
    sites: tuple[str, ...] = ()
    urls: frozenset[str] | None = None
    sparql: str = ""
    members: bool = False

    @classmethod
    def read(
        cls,
        *,
        scores: Iterable[str],
        begin: str,
        until: str,
        date_of: DateOf,
        applications: Iterable[str],
        level: str,
        sites: Iterable[str],
        urls: Path | None,
        sparql: str,
        members: bool = False,
    ) -> "Criteria":
        """Return criteria as a person writes them; empty values mean none. Raises ``CriteriaError``."""
        return cls(
            scores=tuple(map(Threshold.parse, scores)),
            begin=moment(begin, "--from") if begin else None,
            end=moment(until, "--until", end=True) if until else None,
            date_of=date_of,
            applications=tuple(applications),
            level=level,
            sites=tuple(map(host, sites)),
            urls=read_urls(urls) if urls is not None else None,
            sparql=sparql,
            members=members,
        )

    @property
    def are_none(self) -> bool:
        """Return whether there are no criteria."""
        return self == replace(Criteria(), date_of=self.date_of)

    @property
    def by_publication(self) -> bool:
        """Return whether dates of publication must be looked up."""
        return self.date_of is DateOf.PUBLISHED and (self.begin is not None or self.end is not None)

    def admit(self, row: PageRow) -> bool:
        """Return whether a page meets the criteria that its row can answer, including its membership."""
        return (
            all(bound.admits(row.score) for bound in self.scores)
            and (not self.members or bool(row.relevant))
            and (self.date_of is DateOf.PUBLISHED or self.within(row.fetched_at))
            and (not self.applications or _folded(row.application) in {_folded(name) for name in self.applications})
            and (not self.sites or any(_is_of(row.url, site) for site in self.sites))
            and (not self.level or _folded(self.level) in {_folded(row.level), _folded(row.level_name)})
        )

    def within(self, date: str) -> bool:
        """Return whether an ISO 8601 date is within the requested time; an unreadable date never is."""
        if self.begin is None and self.end is None:
            return True
        try:
            found = _in_utc(datetime.fromisoformat(date))
        except ValueError:
            return False
        return (self.begin is None or self.begin <= found) and (self.end is None or found < self.end)

    def __str__(self) -> str:
        return "; ".join(self._phrases())

    def _phrases(self) -> Iterator[str]:
        yield from (f"score {bound}" for bound in self.scores)
        if self.begin is not None:
            yield f"{self.date_of} from {self.begin.isoformat()}"
        if self.end is not None:
            yield f"{self.date_of} before {self.end.isoformat()}"
        if self.applications:
            yield f"application {' or '.join(self.applications)}"
        if self.level:
            yield f"level {self.level}"
        if self.sites:
            yield f"site {' or '.join(self.sites)}"
        if self.urls is not None:
            yield f"a list of {len(self.urls)} URLs"
        if self.members:
            yield "members of the collection"
        if self.sparql:
            yield f"SPARQL {' '.join(self.sparql.split())}"


def moment(text: str, option: str, *, end: bool = False) -> datetime:
    """Parse a year, month or day, or a time, in UTC unless it has a zone. Raises ``CriteriaError``.

    As an ``end``, return the first moment after that year, month, day or second.

    >>> moment("2026-01-31", "--until", end=True).isoformat()
    '2026-02-01T00:00:00+00:00'
    """
    try:
        if (coarse := _COARSE.fullmatch(text.strip())) is not None:
            year, month = int(coarse[1]), int(coarse[2] or 1)
            begin = datetime(year, month, 1, tzinfo=UTC)
            if not end:
                return begin
            return (begin + timedelta(days=31)).replace(day=1) if coarse[2] else begin.replace(year=year + 1)
        read = _in_utc(datetime.fromisoformat(text.strip()))
        unit = timedelta(days=1) if len(text.strip()) <= len("2026-01-31") else timedelta(seconds=1)
        return read + unit if end else read
    except (ValueError, OverflowError):
        advice = "write a date such as 2026, 2026-01, 2026-01-31 or 2026-01-31T18:00Z"
        raise CriteriaError(f"{option} {text}: {advice}") from None


def read_urls(file: Path) -> frozenset[str]:
    """Read a list of URLs, one per line; empty lines and lines that begin with # are skipped.

    Raises ``CriteriaError`` for a file that cannot be read and for a line that is no http(s) URL.
    """
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CriteriaError(f"{file}: cannot be read ({error}); name a text file with a URL a line") from error
    found = set()
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            address = urls.canonicalize(line.strip())
            if address is None:
                raise CriteriaError(f"{file}:{number}: {line.strip()[:200]!r} is no http(s) URL")
            found.add(address)
    return frozenset(found)


def host(text: str) -> str:
    """Parse the name of a host, in any script. Raises ``CriteriaError``.

    >>> host("Forum.Example.ORG")
    'forum.example.org'
    """
    url = urls.canonicalize(f"http://{text.strip()}/")
    found = "" if url is None else _host_of(url)
    if url != f"http://{found}/":
        raise CriteriaError(f"--site {text}: write the name of a host, such as forum.example.org")
    return found


def _is_of(url: str, site: str) -> bool:
    name = _host_of(url)
    return name == site or name.endswith(f".{site}")


def _host_of(url: str) -> str:
    """Return the host in a canonical URL."""
    return (urlsplit(url).hostname or "").rstrip(".")


def _in_utc(date: datetime) -> datetime:
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)


def _folded(name: str | None) -> str:
    return (name or "").casefold()
