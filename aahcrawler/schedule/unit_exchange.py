"""What the units of a schedule tell one another by their services, and what each of them therefore visits.

A unit that tells is believed in little: sizes are bounded, values are checked, and no claim of it keeps this one from
visiting its own part. Silence is told by requests that failed one after another for long enough, never by the time
since the last answer, for a machine that slept has asked nobody.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from aahcrawler.schedule.child_crawls import CrawlFolders
from aahcrawler.schedule.division import rhythm_of_part, units_of
from aahcrawler.schedule.rhythms import WHOLE, Rhythm, Turn
from aahcrawler.schedule.schedule_file import Entry
from aahcrawler.schedule.units_file import Unit, Units
from aahcrawler.segments import private
from aahcrawler.service_client import ServiceClient, ServiceError
from aahcrawler.wire.ip_policy import IpPolicy
from online_analysis.icd import IcdError
from online_analysis.icd.secrets import SecretError

logger = logging.getLogger(__name__)
ANSWER_SECONDS: Final = 20.0
"""How long all units together are waited for."""
MAX_CRAWLS: Final = 20_000
"""Crawls of one unit that are taken in."""
MOST_PAGES: Final = 500
"""Answers that one list of a unit may have."""
_PAGE: Final = 200
_LARGEST: Final = 4 * 2**20
_NOT_VISITED: Final = frozenset({"paused", "has mistakes", "elsewhere"})
T = TypeVar("T")
Row = TypeVar("Row", bound=BaseModel)
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Name = Annotated[str, Field(min_length=1, max_length=64)]
Text = Annotated[str, Field(max_length=4096)]


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class CapacityTold(_Told):
    """What a unit could still do by its plan: see ``Capacity``."""

    parallel: int = Field(ge=1, le=1000)
    load: Seconds
    crawls: Count
    usual_seconds: Seconds | None = None
    free_seconds: Seconds
    more_visits: Count | None = None


class CrawlToldOf(_Told):
    """A crawl of a unit's schedule: whether it is visited, and since when."""

    name: Name
    state: Annotated[str, Field(max_length=40)]
    due_at: AwareDatetime | None = None
    begun_at: AwareDatetime | None = None
    seconds: Seconds | None = None


class SchedulePageTold(_Told):
    """A part of a unit's schedule."""

    crawls: tuple[CrawlToldOf, ...] = Field(max_length=_PAGE)
    is_paused: bool
    next: int | None = Field(default=None, ge=1, le=1_000_000)


class HeldSite(_Told):
    """A site of which a crawl holds captures, since when, and until when."""

    crawl: Name
    site: Annotated[str, Field(max_length=300)]
    captures: Count
    since: AwareDatetime
    until: AwareDatetime


class HeldSitesTold(_Told):
    """A part of a unit's catalogue."""

    sites: tuple[HeldSite, ...] = Field(max_length=_PAGE)
    next: Annotated[str, Field(max_length=400)] = ""


class HeldVersions(_Told):
    """How many captures of a URL a crawl holds, the first and the last of them."""

    crawl: Name
    captures: Count
    first: AwareDatetime
    last: AwareDatetime


class VersionsTold(_Told):
    """The crawls of a unit that hold captures of a URL."""

    held: tuple[HeldVersions, ...] = Field(max_length=1000)


class HeardCrawl(_Told):
    """A crawl of another unit as it told last: whether it is visited there, when last, and how long a visit takes."""

    is_visited: bool
    begun_at: AwareDatetime | None = None
    seconds: Seconds | None = None


class HeardUnit(_Told):
    """Another unit as it answered last.

    ``asked_at`` is the last request, ``failing_since`` the first of those that failed since it answered last, None
    where the last one was answered; ``problem`` says why it was not.
    """

    asked_at: AwareDatetime | None = None
    failing_since: AwareDatetime | None = None
    problem: str = ""
    capacity: CapacityTold | None = None
    crawls: Mapping[str, HeardCrawl] = Field(default_factory=dict)

    def is_silent(self, after: timedelta) -> bool:
        """Return whether its silence is long enough to visit in its place."""
        return (
            self.asked_at is not None and self.failing_since is not None and self.asked_at - self.failing_since >= after
        )


class Heard(_Told):
    """All that other units told last, kept beside the schedule."""

    units: Mapping[str, HeardUnit] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "Heard":
        """Return what was kept; nothing where there is nothing that can be read."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return cls()

    def save(self, path: Path) -> None:
        """Keep it in place of what was there; either the whole of it is kept or the former stays."""
        part = path.with_name(f".{path.name}.part")
        with open(part, "w", encoding="utf-8", opener=private) as file:
            file.write(self.model_dump_json())
        part.replace(path)


class UnitError(Exception):
    """A unit did not answer as it should; the message says how."""


@dataclass(frozen=True, slots=True)
class UnitClient:
    """Asks one unit. Each method raises ``UnitError``; it takes a bounded amount from the unit, and checks it."""

    unit: Unit
    allow_private: bool = False

    def capacity(self) -> CapacityTold:
        """Return what it could still do."""
        return self._asked("/v1/schedule/capacity", CapacityTold)

    def crawls(self, now: datetime, overdue: timedelta) -> Mapping[str, HeardCrawl]:
        """Return the crawls of its schedule by name; nobody visits those that were due for longer than ``overdue``.

        No visit of it is later than ``now``, whatever its clock says.
        """
        found: dict[str, HeardCrawl] = {}
        after: int | None = 0
        while after is not None and len(found) < MAX_CRAWLS:
            page = self._asked(f"/v1/schedule?limit={_PAGE}&after={after}", SchedulePageTold)
            for each in page.crawls:
                begun_at = None if each.begun_at is None else min(each.begun_at, now)
                is_late = each.state == "due" and each.due_at is not None and now - each.due_at > overdue
                is_visited = not (page.is_paused or is_late or each.state in _NOT_VISITED)
                found[each.name] = HeardCrawl(is_visited=is_visited, begun_at=begun_at, seconds=each.seconds)
            if page.next is not None and page.next <= after:
                raise UnitError("its list of crawls has no end")
            after = page.next
        return found

    def sites(self) -> Iterator[HeldSite]:
        """Yield the sites that its crawls hold captures of."""
        after = ""
        for _ in range(MOST_PAGES):
            page = self._asked(f"/v1/holdings?{urlencode({'limit': _PAGE, 'after': after})}", HeldSitesTold)
            yield from page.sites
            after = page.next
            if not after:
                return
        raise UnitError(f"its catalogue has more than {MOST_PAGES} parts")

    def versions(self, url: str) -> tuple[HeldVersions, ...]:
        """Return the crawls that hold captures of a URL."""
        return self._asked(f"/v1/versions?{urlencode({'url': url})}", VersionsTold).held

    def time_map(self, held: HeldVersions, url: str) -> str:
        """Return the address of the TimeMap of a URL in a crawl, empty where the list of units names no replay."""
        if self.unit.replay is None:
            return ""
        return f"{str(self.unit.replay).rstrip('/')}/{quote(held.crawl, safe='')}/timemap/link/{url}"

    def _asked(self, path: str, kind: type[Row]) -> Row:
        try:
            token = self.unit.token.reveal() if self.unit.token is not None else ""
            self._check_address()
            waits = {"timeout": ANSWER_SECONDS, "longest": ANSWER_SECONDS, "patience": 0.0}
            client = ServiceClient(str(self.unit.url), token, largest=_LARGEST, **waits)
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
        """Raise ``UnitError`` where its name leads to an address that must not be connected to."""
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
    questions: Mapping[str, Callable[[], T]], seconds: float = ANSWER_SECONDS
) -> Mapping[str, T | UnitError]:
    """Return the answers to questions that are asked at the same time, an error for those without one in time."""
    answers: dict[str, T | UnitError] = {}

    def ask(name: str, question: Callable[[], T]) -> None:
        try:
            answers[name] = question()
        except UnitError as error:
            answers[name] = error

    threads = [threading.Thread(target=ask, args=each, daemon=True) for each in questions.items()]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    late = UnitError(f"it has not answered within {seconds:g} s")
    return {name: answers.get(name, late) for name in questions}


def clients_of(units: Units) -> Mapping[str, UnitClient]:
    """Return the clients of all units but this one."""
    return {name: UnitClient(unit, units.allow_private) for name, unit in units.others.items()}


Answer = tuple[CapacityTold, Mapping[str, HeardCrawl]]


def heard_from(units: Units, before: Heard, now: datetime) -> Heard:
    """Ask all other units, and return what is known of them by now: what they tell, or what they told last."""

    def asked(client: UnitClient) -> Callable[[], Answer]:
        return lambda: (client.capacity(), client.crawls(now, units.silent_after))

    answers = asked_together({name: asked(client) for name, client in clients_of(units).items()})
    found: dict[str, HeardUnit] = {}
    for name, answer in answers.items():
        known = before.units.get(name, HeardUnit())
        if isinstance(answer, UnitError):
            failing = {"asked_at": now, "failing_since": known.failing_since or now, "problem": str(answer)}
            found[name] = known.model_copy(update=failing)
        else:
            found[name] = HeardUnit(asked_at=now, capacity=answer[0], crawls=answer[1])
    return Heard(units=found)


class Part(NamedTuple):
    """The part of a crawl that this unit visits: ``turn`` is None for nothing.

    ``other`` is the other unit that has it, empty where there is none; ``instead`` says why this one visits in its
    place, empty where it does not.
    """

    turn: Turn | None
    other: str = ""
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which part of a schedule this unit visits, by the list of units and what the others told last."""

    units: Units
    folders: CrawlFolders
    heard: Heard = field(default_factory=Heard)

    def part(self, name: str, entry: Entry) -> Part:
        """Return the part of a crawl. The other unit's is among it where that is silent, or does not visit it."""
        try:
            site = self.folders.site(entry)
        except IcdError:
            site = ""
        pair = units_of(site or name, self.units.weights)
        if self.units.name not in pair:
            return Part(None)
        other = next((each for each in pair if each != self.units.name), "")
        if not other:
            return Part(WHOLE)
        instead = self._lacking(other, name)
        if instead:
            return Part(WHOLE, other, instead)
        if name in self.units.stand_by:
            return Part(WHOLE if pair[0] == self.units.name else None, other)
        return Part(Turn(pair.index(self.units.name), 2), other)

    def rhythm(self, name: str, entry: Entry) -> Rhythm:
        """Return when a crawl is due at this unit."""
        part = self.part(name, entry)
        told = self.heard.units.get(part.other, HeardUnit()).crawls.get(name)
        return rhythm_of_part(entry.rhythm, name, part.turn, told.begun_at if told is not None else None)

    def taken_over(self, crawls: Iterable[tuple[str, Entry]]) -> Mapping[str, list[str]]:
        """Return the crawls that this unit visits in the place of others, by why it does."""
        found: dict[str, list[str]] = {}
        for name, entry in crawls:
            instead = self.part(name, entry).instead
            if instead:
                found.setdefault(instead, []).append(name)
        return found

    def _lacking(self, other: str, name: str) -> str:
        """Return why the other unit does not visit a crawl; empty where it does, or nobody knows yet."""
        heard = self.heard.units.get(other)
        if heard is None or heard.asked_at is None:
            return ""
        if heard.is_silent(self.units.silent_after):
            return f"{other} has not answered since {heard.failing_since:%Y-%m-%d %H:%M} UTC"
        if heard.failing_since is not None and heard.capacity is None:
            return ""  # It has never answered, and still may.
        told = heard.crawls.get(name)
        return "" if told is not None and told.is_visited else f"{other} does not visit it, as it tells"


def summary(names: Sequence[str], most: int = 5) -> str:
    """Return names in words, the first ones of many.

    >>> summary("abcdefg")
    'a, b, c, d, e and 2 others'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} others" if len(names) > most else "")


@dataclass(slots=True)
class UnitWatch:
    """Asks other units from time to time in a thread of its own, and tells where something has changed.

    ``woken`` is called by that thread when an answer is there.
    """

    kept: Path
    folders: CrawlFolders
    woken: Callable[[], None] = lambda: None
    sharing: Sharing | None = None
    _told: Mapping[str, list[str]] = field(default_factory=dict)
    _answer: Heard | None = None
    _thread: threading.Thread | None = None

    def follow(self, units: Units | None) -> None:
        """Go by a list of units from now on; None where there is none, and this unit visits everything."""
        heard = self.sharing.heard if self.sharing is not None else Heard.load(self.kept)
        self.sharing = None if units is None else Sharing(units, self.folders, heard)

    def rhythm(self, name: str, entry: Entry) -> Rhythm:
        """Return when a crawl is due at this unit."""
        return entry.rhythm if self.sharing is None else self.sharing.rhythm(name, entry)

    def ask(self, now: datetime) -> None:
        """Ask the others where that is due and nobody is asked already; wait for no answer."""
        if self.sharing is None or not self.sharing.units.others or (self._thread and self._thread.is_alive()):
            return
        units, heard = self.sharing.units, self.sharing.heard
        last = max((each.asked_at for each in heard.units.values() if each.asked_at), default=None)
        every = min(timedelta(minutes=10), units.silent_after / 4)
        if last is not None and last <= now < last + every and set(heard.units) == set(units.others):
            return

        def run() -> None:
            self._answer = heard_from(units, heard, now)
            self.woken()

        self._thread = threading.Thread(target=run, daemon=True, name="units")
        self._thread.start()

    def wait(self) -> None:
        """Wait for the answers of those that are being asked, for as long as they may take."""
        if self._thread is not None:
            self._thread.join(2 * ANSWER_SECONDS)

    def take(self, crawls: Mapping[str, Entry]) -> Iterator[str] | None:
        """Take in what others told meanwhile: yield what people are to be told of it; None where there is nothing."""
        answer, self._answer = self._answer, None
        if answer is None or self.sharing is None:
            return None
        self.sharing = Sharing(self.sharing.units, self.folders, answer)
        try:
            answer.save(self.kept)
        except OSError as error:
            logger.warning("%s: what other units told cannot be kept: %s", self.kept, error)
        before, self._told = self._told, self.sharing.taken_over(crawls.items())
        return self._news(before, self._told)

    @staticmethod
    def _news(before: Mapping[str, list[str]], after: Mapping[str, list[str]]) -> Iterator[str]:
        for why, names in after.items():
            if set(names) - set(before.get(why, ())):
                yield f"{why}: {len(names):,} crawls are visited here in its place ({summary(names)})"
        for why, names in before.items():
            if why not in after:
                yield f"no longer: {why}; {len(names):,} crawls are visited in turn again"
