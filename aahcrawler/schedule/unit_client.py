"""Query the services of other units. Sizes and times are bounded, and every value is validated."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from aahcrawler.schedule.units_file import Unit
from aahcrawler.service_client import ServiceClient, ServiceError
from aahcrawler.wire.ip_policy import IpPolicy
from online_analysis.icd.secrets import SecretError

logger = logging.getLogger(__name__)
RESPONSE_SECONDS: Final = 20.0
"""Seconds for which responses of all units together are awaited."""
MAX_CRAWLS: Final = 20_000
"""The most crawls of one unit that are read."""
MAX_PAGES: Final = 500
"""The most pages that a list of a unit may have."""
_PAGE: Final = 200
_MAX_BYTES: Final = 4 * 2**20
NOT_VISITED: Final = frozenset({"paused", "has mistakes", "elsewhere"})
"""The states of crawls that a unit does not visit."""
T = TypeVar("T")
Row = TypeVar("Row", bound=BaseModel)
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Name = Annotated[str, Field(min_length=1, max_length=64)]
Text = Annotated[str, Field(max_length=4096)]


class Told(BaseModel):
    """The base of a unit's reports; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class CapacityTold(Told):
    """A unit's report of its free capacity; see ``Capacity``."""

    parallel: int = Field(ge=1, le=1000)
    load: Seconds
    crawls: Count
    usual_seconds: Seconds | None = None
    free_seconds: Seconds
    more_visits: Count | None = None


class CrawlToldOf(Told):
    """A crawl of a unit's schedule: whether it is visited, and since when."""

    name: Name
    state: Annotated[str, Field(max_length=40)]
    due_at: AwareDatetime | None = None
    begun_at: AwareDatetime | None = None
    seconds: Seconds | None = None


class SchedulePageTold(Told):
    """A part of a unit's schedule."""

    crawls: tuple[CrawlToldOf, ...] = Field(max_length=_PAGE)
    is_paused: bool
    is_looked_after: bool = True
    next: int | None = Field(default=None, ge=1, le=1_000_000)


class HeardVisit(Told):
    """A visit that another unit made."""

    name: Name
    begun_at: AwareDatetime


class VisitsTold(Told):
    """The newest visits of a unit."""

    visits: tuple[HeardVisit, ...] = Field(max_length=_PAGE)


class HeldSite(Told):
    """A site of which a crawl holds captures, and the moments of the first and the last."""

    crawl: Name
    site: Annotated[str, Field(max_length=300)]
    captures: Count
    since: AwareDatetime
    until: AwareDatetime


class HeldSitesTold(Told):
    """A part of the list of sites of which a unit holds captures."""

    sites: tuple[HeldSite, ...] = Field(max_length=_PAGE)
    next: Annotated[str, Field(max_length=400)] = ""


class HeldVersions(Told):
    """The number of captures of a URL that a crawl holds, and the moments of the first and the last."""

    crawl: Name
    captures: Count
    first: AwareDatetime
    last: AwareDatetime


class VersionsTold(Told):
    """The crawls of a unit that hold captures of a URL."""

    held: tuple[HeldVersions, ...] = Field(max_length=1000)


class HeardCrawl(Told):
    """A crawl of another unit in its latest report: whether it is visited, when last, and how long a visit takes."""

    is_visited: bool
    begun_at: AwareDatetime | None = None
    seconds: Seconds | None = None


class HeardSchedule(NamedTuple):
    """The crawls of another unit's schedule by name, and whether its `aah schedule run` is running."""

    crawls: Mapping[str, HeardCrawl]
    is_looked_after: bool


class UnitError(Exception):
    """A unit did not respond as expected; the message says how."""


@dataclass(frozen=True, slots=True)
class UnitClient:
    """Queries one unit. Each method raises ``UnitError``; the response is bounded and validated."""

    unit: Unit
    allow_private: bool = False

    def capacity(self) -> CapacityTold:
        """Return the unit's free capacity."""
        return self._asked("/v1/schedule/capacity", CapacityTold)

    def schedule(self, now: datetime, overdue: timedelta) -> HeardSchedule:
        """Return the crawls of the unit's schedule; those due for longer than ``overdue`` count as not visited.

        Visits later than ``now`` by the unit's clock are taken for ones at ``now``. While no process runs its schedule,
        every due moment passes, so overdue crawls still count as visited.
        """
        found: dict[str, HeardCrawl] = {}
        is_looked_after = True
        after: int | None = 0
        while after is not None and len(found) < MAX_CRAWLS:
            page = self._asked(f"/v1/schedule?limit={_PAGE}&after={after}", SchedulePageTold)
            is_looked_after = page.is_looked_after
            for each in page.crawls:
                begun_at = None if each.begun_at is None else min(each.begun_at, now)
                is_late = each.state == "due" and each.due_at is not None and now - each.due_at > overdue
                is_visited = not (page.is_paused or (is_late and is_looked_after) or each.state in NOT_VISITED)
                found[each.name] = HeardCrawl(is_visited=is_visited, begun_at=begun_at, seconds=each.seconds)
            if page.next is not None and page.next <= after:
                raise UnitError("its list of crawls has no end")
            after = page.next
        return HeardSchedule(found, is_looked_after)

    def visits(self, since: datetime, until: datetime) -> tuple[HeardVisit, ...]:
        """Return the visits that the unit began between two moments, of its newest 200."""
        told = self._asked(f"/v1/schedule/visits?limit={_PAGE}", VisitsTold).visits
        return tuple(each for each in told if since <= each.begun_at <= until)

    def sites(self) -> Iterator[HeldSite]:
        """Yield the sites of which the unit's crawls hold captures."""
        after = ""
        for _ in range(MAX_PAGES):
            page = self._asked(f"/v1/holdings?{urlencode({'limit': _PAGE, 'after': after})}", HeldSitesTold)
            yield from page.sites
            after = page.next
            if not after:
                return
        raise UnitError(f"its catalogue has more than {MAX_PAGES} parts")

    def versions(self, url: str) -> tuple[HeldVersions, ...]:
        """Return the crawls that hold captures of a URL."""
        return self._asked(f"/v1/versions?{urlencode({'url': url})}", VersionsTold).held

    def time_map(self, held: HeldVersions, url: str) -> str:
        """Return the URL of the TimeMap of a URL in a crawl, empty if the list of units names no replay for it."""
        if self.unit.replay is None:
            return ""
        return f"{str(self.unit.replay).rstrip('/')}/{quote(held.crawl, safe='')}/timemap/link/{url}"

    def _asked(self, path: str, kind: type[Row]) -> Row:
        try:
            token = self.unit.token.reveal() if self.unit.token is not None else ""
            self._check_address()
            waits = {"timeout": RESPONSE_SECONDS, "longest": RESPONSE_SECONDS, "patience": 0.0}
            client = ServiceClient(str(self.unit.url), token, largest=_MAX_BYTES, **waits)
            return kind.model_validate(client.get(path))
        except SecretError as error:
            raise UnitError(f"its token: {error}") from error
        except ServiceError as error:
            raise UnitError(str(error)) from error
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise UnitError(f"its answer is not as it should be ({where}: {error.errors()[0]['msg']})") from error
        except ValueError as error:  # A token or a name that HTTP cannot carry; neither is repeated here.
            raise UnitError(f"it cannot be asked with this token and URL ({type(error).__name__})") from error

    def _check_address(self) -> None:
        """Raise ``UnitError`` if the unit's host name resolves to an address that must not be connected to."""
        parts = urlsplit(str(self.unit.url))
        policy, host = IpPolicy(allow_private=self.allow_private), parts.hostname or ""
        try:
            found = socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
        except OSError as error:
            raise UnitError(f"{host} cannot be resolved: {error.strerror}") from error
        for *_, address in found:
            refusal = policy.refusal(str(address[0]))
            if refusal is not None:
                raise UnitError(f"{host}: {refusal}; `allow_private: yes` in the list of units allows that")


def asked_together(
    questions: Mapping[str, Callable[[], T]], seconds: float = RESPONSE_SECONDS
) -> Mapping[str, T | UnitError]:
    """Ask all questions at the same time; return the result of each, an error for those without one in time."""
    results: dict[str, T | UnitError] = {}

    def ask(name: str, question: Callable[[], T]) -> None:
        try:
            results[name] = question()
        except UnitError as error:
            results[name] = error

    threads = [threading.Thread(target=ask, args=each, daemon=True) for each in questions.items()]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    late = UnitError(f"it has not answered within {seconds:g} s")
    return {name: results.get(name, late) for name in questions}
