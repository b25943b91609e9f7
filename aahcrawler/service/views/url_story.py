"""Everything that is known of one URL: where it is and why, its score and how that came about, what can be done.

The log of a large crawl takes seconds to be read, and nothing in it can be found but by reading. So each look at a URL
reads on for a short time, and what was found so far is kept until the whole log has been read.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic_core import to_json

from aahcrawler.event_index import EventQuery
from aahcrawler.frontier.control import RuleBook, UrlStatus
from aahcrawler.frontier.protocol import State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.layout import POSTED, SCORE_LOG, SCORES
from aahcrawler.report.reason_words import Reason, worded, worded_failure
from aahcrawler.scores.entries import Begin
from aahcrawler.scores.reader import Read, begin_of, entry_of
from aahcrawler.segments import DamageError, open_segment, segments
from aahcrawler.segments.reader import OPEN, Members
from aahcrawler.service.catalog.crawl_catalog import Crawl, Fault, Target
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.live_feed import LoggedEvent, events_page
from aahcrawler.service.views.queue_pages import QueuedUrl, queued_url
from aahcrawler.service.views.refused_links import Coverage, FailedUrl, RefusedLinks, RefusedUrl
from aahcrawler.service.views.site_pages import wait_of
from aahcrawler.service.web.problems import BAD_URL, DAMAGED, ProblemError, Shown
from offline.explanation.score_explanation import Event, Part, Ranked, events_of, made_of, posted_events, queued_events

READ_SECONDS: Final = 0.15
"""Seconds for which the log is read on for one request."""
_KEPT = 32
"""URLs whose search is kept, those that were asked for last."""
_MAX_EVENTS = 2_000
_SHOWN = 200
_STEP = 1 << 20
"""Bytes of text that are looked through between two looks at the clock."""


class ScorePart(Shown):
    """What one analyser says, with its weight, and its ``share`` in the score."""

    analyser: str
    weight: float
    value: float
    share: float


class ScoreEvent(Shown):
    """Something that happened to a URL: when (ISO 8601), in which crawl, what, and the score that it was given.

    ``queued`` is the score that it then had in the queue, ``source`` the page or program that it comes from.
    """

    at: str
    crawl: int
    what: str
    score: float | None = None
    queued: float | None = None
    source: str = ""
    note: str = ""
    parts: tuple[ScorePart, ...] = ()


class ScoreHistory(Shown):
    """The history of a URL in all crawls of a folder, the last events of it, as far as the log was read.

    ``parts`` make up its score: they are known only when the whole log was read, and lack the ranker's own part, for
    which it would have to be trained anew (``aah explain-score``).
    """

    url: str
    events: tuple[ScoreEvent, ...]
    of: int
    parts: tuple[ScorePart, ...]
    coverage: Coverage


@dataclass(slots=True)
class _Search:
    """A search for a URL: how far each file was read, what each begins with, and what was found."""

    url: str
    needle: bytes
    read: dict[str, int] = field(default_factory=dict)
    begins: dict[str, Begin] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def go_on(self, folder: Path, ends: float) -> Coverage:
        """Read on until a time; return how far it came."""
        sizes: dict[str, int] = {}
        for path in segments(folder, SCORE_LOG):
            try:
                with closing(open_segment(path)) as file:
                    members = Members(file, self.read.get(_name(path), 0))
                    sizes[_name(path)] = members.size
                    while members.end < members.size and time.monotonic() < ends:
                        self._take(path, members)
            except FileNotFoundError:
                continue  # It was removed, or closed and named anew twice meanwhile.
        return Coverage(read=sum(self.read.get(name, 0) for name in sizes), of=sum(sizes.values()))

    def _take(self, path: Path, members: Members) -> None:
        name, looked_at = _name(path), 0
        while looked_at < _STEP and members.end < members.size:
            text = members.member()
            looked_at += len(text) + 1
            if name not in self.begins:
                first, _, text = text.partition(b"\n")
                self.begins[name] = begin_of(path, first)
            if self.needle in text and len(self.events) < _MAX_EVENTS:
                lines = (line for line in text.splitlines() if self.needle in line)
                for line in lines:
                    self.events += events_of(Read(self.begins[name], entry_of(path, line)), self.url)
            self.read[name] = members.end


class ScoreHistories:
    """Finds the histories of URLs. For several threads."""

    def __init__(self, seconds: float = READ_SECONDS) -> None:
        self._seconds = seconds
        self._searches: OrderedDict[tuple[Path, str], _Search] = OrderedDict()
        self._lock = threading.Lock()

    def history(self, crawl: Crawl, url: str) -> ScoreHistory:
        """Return what is known so far of the score of a canonical URL. Raise ``ProblemError`` for a damaged log."""
        if crawl.folder is None:
            return ScoreHistory(url=url, events=(), of=0, parts=(), coverage=Coverage(read=0, of=0))
        search = self._search(crawl.folder, url)
        with search.lock:
            try:
                coverage = search.go_on(crawl.folder / SCORES, time.monotonic() + self._seconds)
            except DamageError as error:
                told = str(error).replace(f"{crawl.folder}/", "")
                raise ProblemError(DAMAGED, f"the score log cannot be read on: {told}") from error
            logged = list(search.events)
        posted = posted_events(crawl.folder / POSTED, url)
        events = tuple(queued_events(sorted((*logged, *posted), key=lambda event: (event.crawl, event.at))))
        own = [event for event in events if event.crawl == crawl.number]
        parts = made_of(own, Ranked()) if coverage.is_whole else ()
        shown = tuple(map(_event, events[-_SHOWN:]))
        return ScoreHistory(url=url, events=shown, of=len(events), parts=tuple(_parts(parts)), coverage=coverage)

    def _search(self, folder: Path, url: str) -> _Search:
        with self._lock:
            key = folder, url
            search = self._searches.setdefault(key, _Search(url, to_json(url)))
            self._searches.move_to_end(key)
            while len(self._searches) > _KEPT:
                self._searches.popitem(last=False)
            return search


def _event(event: Event) -> ScoreEvent:
    return ScoreEvent(
        at=event.at.isoformat(timespec="milliseconds"),
        crawl=event.crawl,
        what=str(event.what),
        score=event.score,
        queued=event.queued,
        source=event.source,
        note=event.note,
        parts=tuple(_parts(event.parts)),
    )


def _parts(parts: Sequence[Part]) -> Iterator[ScorePart]:
    weight = sum(part.weight for part in parts)
    for part in parts:
        share = round(part.weight * part.value / weight, 6) if weight else 0.0
        yield ScorePart(analyser=part.analyser, weight=part.weight, value=part.value, share=share)


def _name(path: Path) -> str:
    return path.name.removesuffix(OPEN)


Act = Literal["fetch_now", "rescore", "block", "unblock", "revisit"]
_EVENTS = 30
_REFUSALS = 20


class UrlStory(Shown):
    """The story of a URL.

    ``state`` is None where it was never offered. ``story`` tells in sentences where it is and why, and what keeps it
    from being fetched; ``acts`` names what can be done. ``ahead`` counts the URLs of its site that are fetched before
    it. ``scope`` is why the definition as it is now would refuse a link to it, None where it would take it.
    ``refused`` are links to it that were not followed, of which more may come where ``coverage`` is not whole.
    """

    url: str
    site: str
    state: State | None
    story: tuple[str, ...]
    acts: tuple[Act, ...]
    queued: QueuedUrl | None = None
    ahead: int | None = None
    waits_for: str = ""
    reason: Reason | None = None
    rule: str = ""
    scope: Reason | None = None
    refused: tuple[RefusedUrl, ...] = ()
    failed: FailedUrl | None = None
    coverage: Coverage
    events: tuple[LoggedEvent, ...] = ()


def url_story(reach: CrawlRegistry, crawl: Crawl, text: str) -> UrlStory:
    """Tell the story of a URL. Raise ``ProblemError`` for what is no URL, or where the frontier cannot be reached."""
    target = crawl.admission.target(text)
    if isinstance(target, Fault):
        raise ProblemError(BAD_URL, "give a whole http or https URL, percent-encoded as a query parameter")
    with reach.frontier(crawl) as frontier:
        present = _present(frontier, crawl, target)
    logged = _logged(crawl, target.url)
    refusal = crawl.admission.refusal(target)
    status, failed = present.status, logged.failed
    reason = _reason(status, failed)
    scope = worded(refusal) if refusal is not None else None
    has_record = status is not None and status.offer is not None
    return UrlStory(
        url=target.url,
        site=target.queue,
        state=status.state if status is not None else None,
        story=tuple(_sentences(present, logged, reason, scope)),
        acts=_acts(status, scope),
        queued=queued_url(status.offer, status.state).model_copy(update={"at_front": status.at_front})
        if status is not None and status.offer is not None
        else None,
        ahead=present.ahead,
        waits_for=present.waits_for,
        reason=reason,
        rule=present.rule if has_record or status is None else "",
        scope=scope,
        refused=tuple(logged.refused[:_REFUSALS]),
        failed=failed,
        coverage=logged.coverage,
        events=logged.events,
    )


@dataclass(frozen=True, slots=True)
class _Present:
    """What the frontier knows of a URL."""

    status: UrlStatus | None
    ahead: int | None
    waits_for: str
    rule: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class _Logged:
    """What the logs of a crawl have of a URL."""

    refused: Sequence[RefusedUrl]
    failed: FailedUrl | None
    coverage: Coverage
    events: tuple[LoggedEvent, ...]


def _present(frontier: RedisControl, crawl: Crawl, target: Target) -> _Present:
    status = frontier.status(target.url)
    rule = RuleBook(frontier.rules()).matching(target.url)
    is_queued = status is not None and status.state is State.QUEUED
    return _Present(
        status,
        frontier.ahead(target.url) if is_queued else None,
        wait_of(frontier, crawl, target.queue) if is_queued else "",
        rule.reason if rule is not None else "",
        _seconds(frontier, target.url) if status is not None and status.state is State.DUE else None,
    )


def _seconds(frontier: RedisControl, url: str) -> float | None:
    """Return when a page is due, where it is among the first ones."""
    return next((timed.seconds for timed in frontier.due(_FIRST_DUE) if timed.offer.url == url), None)


_FIRST_DUE = 500


def _logged(crawl: Crawl, url: str) -> _Logged:
    if crawl.folder is None:
        return _Logged((), None, Coverage(read=0, of=0), ())
    refused, failed, coverage = RefusedLinks(crawl).about(url)
    try:
        events = events_page(crawl, EventQuery(f'"{url}"'), most=_EVENTS).events
    except ProblemError:
        events = ()  # Nothing was logged yet.
    own = tuple(each for each in events if url in each.message)
    return _Logged(refused, failed, coverage, own)


def _reason(status: UrlStatus | None, failed: FailedUrl | None) -> Reason | None:
    if status is None or status.state not in (State.FAILED, State.BLOCKED):
        return None
    if status.reason:
        return worded_failure(status.reason) if status.state is State.FAILED else worded(status.reason)
    return failed.reason if failed is not None else None


def _sentences(present: _Present, logged: _Logged, reason: Reason | None, scope: Reason | None) -> Iterator[str]:
    status, words = present.status, reason.words if reason is not None else "for a reason that was not kept"
    if status is None:
        yield from _never_offered(present, logged, scope)
        return
    match status.state:
        case State.QUEUED:
            yield from _waiting(present)
        case State.LEASED:
            yield "It is being fetched now."
        case State.DONE:
            yield "It was fetched."
        case State.DUE:
            when = f" in {max(0.0, present.seconds):,.0f} s" if present.seconds is not None else ", later"
            yield f"It was fetched, and will be queued to be fetched again{when}."
        case State.FAILED:
            yield f"It could not be fetched: {words}. In this crawl it is not tried again; the next one does."
        case State.BLOCKED:
            yield f"It is blocked: {words}."
            if status.offer is None:
                yield "It was blocked when its turn came, so it cannot be put back in this crawl."


def _never_offered(present: _Present, logged: _Logged, scope: Reason | None) -> Iterator[str]:
    for each in logged.refused[:_REFUSALS]:
        yield f"A link to it on {each.via} was not followed: {each.reason.words}."
    if not logged.refused:
        yield "It was never queued: no page that was fetched has a link to it that was followed or noted as refused."
    if not logged.coverage.is_whole:
        yield f"The log of refused links has been read to {logged.coverage.read / logged.coverage.of:.0%}; ask again."
    if present.rule:
        yield f"The rule {present.rule} would keep it from being fetched."
    elif scope is not None:
        yield f"The definition as it is now would refuse it: {scope.words}."
    else:
        yield "The definition as it is now would take it."


def _waiting(present: _Present) -> Iterator[str]:
    status, ahead = present.status, present.ahead
    if status is not None and status.at_front:
        yield "It is at the front of the queue."
    if ahead is not None:
        yield "It is the next one of its site." if not ahead else f"{ahead:,} URLs of its site are fetched before it."
    if status is not None and status.offer is not None and status.offer.score < 0:
        yield "It has no score yet, so it waits behind all that have one."
    if present.waits_for:
        yield f"Its site waits: {present.waits_for}."


def _acts(status: UrlStatus | None, scope: Reason | None) -> tuple[Act, ...]:
    if status is None:
        return ("block",) if scope is not None else ("fetch_now", "block")
    if status.state is State.QUEUED:
        return ("fetch_now", "rescore", "block") if status.offer and status.offer.kind == "page" else ("block",)
    if status.state in (State.DONE, State.DUE):
        return ("revisit", "block") if status.state is State.DUE else ("revisit",)
    return ("unblock",) if status.state is State.BLOCKED and status.offer is not None else ()
