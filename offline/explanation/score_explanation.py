"""The explanation of one URL of a crawl: its state, its history, and the parts of its score."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from statistics import fmean

from aahcrawler import urls
from aahcrawler.crawls import frontier_name
from aahcrawler.frontier.control import UrlStatus
from aahcrawler.frontier.protocol import FrontierSettings, FrontierUnavailableError, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontiers import Crawl, crawl_of, server_of
from aahcrawler.layout import POSTED, REFUSED, SCORES
from aahcrawler.refusals import read_refusals
from aahcrawler.report.reason_words import worded
from aahcrawler.scores import Remembered, remember
from aahcrawler.scores.entries import (
    Batched,
    Begin,
    Column,
    Ended,
    Entry,
    Judged,
    Links,
    Offered,
    Rescored,
    unpacked,
    updated,
)
from aahcrawler.scores.reader import Read, begins, read_scores
from online_analysis.aggregation import Reason
from online_analysis.icd.scoring import Scoring
from online_analysis.ranking import LearningRanker, link_ranker


@dataclass(frozen=True, slots=True)
class Ranked:
    """The parts and the weight of the ranker's prediction; no reasons if it knows nothing about a URL."""

    weight: float = 0.0
    reasons: tuple[Reason, ...] = ()

    @property
    def prediction(self) -> float:
        """The ranker's prediction for the URL: its reasons add up to it."""
        return sum(reason.effect for reason in self.reasons)


def ranked(crawl: Crawl, url: str) -> Ranked:
    """Return the ranker's prediction for a queued URL, or for a fetched one as of its fetch.

    Takes a millisecond or two for each page of the crawl. Raises ``DamageError`` if the log is damaged.
    """
    log = crawl.folder / SCORES
    begin = max(begins(log, crawl.number), key=lambda begin: begin.at, default=None)
    ranker = link_ranker(_scoring(begin)) if begin is not None else None
    if begin is None or ranker is None:
        return Ranked()

    def ends(entry: Entry) -> bool:
        return isinstance(entry, Judged | Ended) and entry.url == url

    remember(ranker, log, crawl.number, Remembered(weights=begin.weights), ends)
    return Ranked(begin.weights.get(LearningRanker.name, 1.0), ranker.explain(url))


def _scoring(begin: Begin) -> Scoring:
    fields = begin.model_dump(include={"update", "weights", "explore", "seed"})
    return Scoring.model_validate(fields, context={"analysers": tuple(begin.weights)})


BLACKLISTED = "blacklisted"
"""The note of the web service for a URL that must not be fetched."""


class Happened(StrEnum):
    """The kinds of events of a URL."""

    OFFERED = "offered"
    """Offered without a page that links to it: ``source`` names who offered it."""
    LINKED = "linked"
    """A page that links to it was fetched: ``source`` is that page."""
    REDIRECTED = "redirected"
    """``source`` redirects to it."""
    REFUSED = "refused"
    """A page links to it, but the crawl does not follow the link, for the reason in ``note``."""
    POSTED = "posted"
    """Posted to the crawl from outside; ``note`` gives the outcome."""
    BATCHED = "scored in a batch"
    """Pages that link to it were scored together; ``note`` says how many."""
    RESCORED = "re-scored"
    """The ranker's prediction for it changed."""
    REWEIGHED = "re-weighed"
    """The definition gave the analysers other weights."""
    FETCHED = "fetched"
    """Fetched: ``score`` is the document score of its page, None if it has none; ``note`` has the status."""
    ENDED = "ended"
    """It will not be fetched: ``state`` is failed or blocked, ``note`` the cause."""


@dataclass(frozen=True, slots=True)
class Part:
    """The score of one analyser, and its weight."""

    analyser: str
    weight: float
    value: float


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a URL.

    ``score`` is the offered or assigned score, ``queued`` the score with which it was then queued, None if it was not
    queued. ``state`` is its state after that, None if the event does not show it.
    """

    at: datetime
    crawl: int
    what: Happened
    score: float | None = None
    source: str = ""
    parts: tuple[Part, ...] = ()
    note: str = ""
    queued: float | None = None
    update: str = "max"
    immediate: bool = False
    state: State | None = None
    is_unscored: bool = False
    """Whether it was queued without a score, to be scored together with others."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """The weights of the analysers when its score was set."""

    @property
    def is_set(self) -> bool:
        """Return whether it replaces the URL's score."""
        return self.what in (Happened.RESCORED, Happened.REWEIGHED)

    @property
    def is_offer(self) -> bool:
        """Return whether it offers a score to the frontier, which then applies the update function."""
        if self.is_unscored:
            return False
        posted = self.what is Happened.POSTED and self.note in ("accepted", "rescored")
        return posted or self.what in (Happened.OFFERED, Happened.LINKED, Happened.REDIRECTED, Happened.BATCHED)


def history(folder: Path, url: str) -> tuple[Event, ...]:
    """Return the events of a canonical URL in all crawls of a folder, in order.

    Raises ``DamageError`` if the log is damaged.
    """
    logged = [event for found in read_scores(folder / SCORES, about=url) for event in events_of(found, url)]
    events = sorted((*logged, *posted_events(folder / POSTED, url)), key=lambda event: (event.crawl, event.at))
    return tuple(queued_events(events))


def events_of(found: Read, url: str) -> Iterator[Event]:
    """Yield the events of a canonical URL in an entry of the score log."""
    begin, entry = found.begin, found.entry
    event = Event(_moment(entry.at), begin.crawl, Happened.OFFERED, update=begin.update, state=State.QUEUED)
    match entry:
        case Offered():
            for at in _positions(entry.url, url):
                yield replace(event, score=entry.score[at], source=entry.source)
        case Rescored():
            for at in _positions(entry.url, url):
                what = Happened.RESCORED if entry.by is None else Happened.REWEIGHED
                yield replace(event, what=what, score=entry.score[at], weights=begin.weights)
        case Batched():
            for at in _positions(entry.url, url):
                yield _batched(event, begin, entry, at)
        case Judged():
            yield from _of_page(event, begin, entry, url)
        case Ended() if entry.url == url:
            yield replace(event, what=Happened.ENDED, note=entry.reason, state=State(entry.state))


def _of_page(event: Event, begin: Begin, page: Judged, url: str) -> Iterator[Event]:
    event = replace(event, source=page.url)
    if page.redirect == url:
        yield replace(event, what=Happened.REDIRECTED, score=page.priority)
    if page.links is not None:
        for at in _positions(page.links.url, url):
            yield _linked(event, begin, page.links, at)
    if page.url == url:
        parts = tuple(_part(begin, name, value) for name, value in (page.parts or {}).items())
        note = f"status {page.status}" if page.status is not None else ""
        yield replace(
            event, what=Happened.FETCHED, score=page.score, source="", parts=parts, note=note, state=State.DONE
        )


def _batched(event: Event, begin: Begin, batch: Batched, at: int) -> Event:
    linked = unpacked(batch.linked, len(batch.url))[at]
    note = f"by {linked} of the {batch.pages} pages of a batch"
    parts = _parts_at(begin, batch.parts, len(batch.url), at)
    return replace(event, what=Happened.BATCHED, score=batch.score[at], parts=parts, note=note)


def _parts_at(begin: Begin, columns: Mapping[str, Column], n: int, at: int) -> tuple[Part, ...]:
    values = ((name, unpacked(column, n)[at]) for name, column in columns.items())
    return tuple(_part(begin, name, value) for name, value in values if value is not None)


def _linked(event: Event, begin: Begin, links: Links, at: int) -> Event:
    parts = _parts_at(begin, links.parts, len(links.url), at)
    reason = next((reason for reason, refused in links.refused.items() if at in refused), "")
    what = Happened.REFUSED if reason else Happened.LINKED
    is_unscored = not reason and bool(links.unscored)
    unheard = "" if links.parts else "the score of a former capture" if links.score[at] else "nothing speaks for it"
    note = reason or ("waits for its batch" if is_unscored else unheard)
    state = None if reason else State.QUEUED
    return replace(
        event, what=what, score=links.score[at], parts=parts, note=note, state=state, is_unscored=is_unscored
    )


def _part(begin: Begin, analyser: str, value: float) -> Part:
    return Part(analyser, begin.weights.get(analyser, 1.0), value)


def _positions(urls: Sequence[str], url: str) -> Iterator[int]:
    return (at for at, each in enumerate(urls) if each == url)


def posted_events(file: Path, url: str) -> Iterator[Event]:
    """Yield the posts of a URL recorded by the web service; torn lines and lines of another kind are skipped."""
    needle = json.dumps(url, ensure_ascii=False)
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if needle in line and (event := _post(line, url)) is not None:
                    yield event
    except FileNotFoundError:
        return


def _post(line: str, url: str) -> Event | None:
    try:
        entry: Mapping[str, object] = json.loads(line)
        if entry["url"] != url:
            return None
        score = entry.get("score")
        return Event(
            datetime.fromisoformat(str(entry["at"])),
            int(str(entry["crawl"])),
            Happened.POSTED,
            float(str(score)) if score is not None else None,
            str(entry.get("source", "")),
            note=str(entry["outcome"]),
            immediate=bool(entry.get("immediate", False)),
            state=State.BLOCKED if entry["outcome"] == BLACKLISTED else State.QUEUED,
        )
    except (ValueError, KeyError, TypeError):
        return None


def _moment(at: int) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)


def queued_events(events: Sequence[Event]) -> Iterator[Event]:
    """Yield each event with the score with which the URL was then queued, as far as the log shows it."""
    crawl, total, offers, update = 0, 0.0, 0, "max"
    for event in events:
        if event.crawl != crawl:
            crawl, total, offers = event.crawl, 0.0, 0
        update = update if event.what is Happened.POSTED else event.update
        if event.what in (Happened.FETCHED, Happened.ENDED) or event.state is State.BLOCKED:
            offers = -1
        elif offers >= 0 and event.score is not None and (event.is_offer or event.is_set):
            total, offers = updated(update, total, 0 if event.is_set else offers, event.score)
        yield replace(event, queued=total / offers if offers > 0 else None)


class UnknownUrlError(Exception):
    """Raised if a crawl has never met a URL, or followed no link to it; the message says which."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The known facts about a URL.

    ``present`` is None if the frontier does not know it or cannot be queried; ``unasked`` then gives the cause.
    ``events`` are those of all crawls of the folder. ``parts`` make up its score in the latest crawl, at the time of
    its fetch if it was fetched; ``reasons`` make up the ranker's part, empty if it knows nothing about the URL.
    """

    url: str
    crawl: Crawl
    present: UrlStatus | None
    unasked: str
    events: tuple[Event, ...]
    parts: tuple[Part, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def state(self) -> str:
        """The state of the URL according to the frontier, or else to the log."""
        if self.present is not None:
            return str(self.present.state)
        states = [event.state for event in self._own if event.state is not None]
        ends = [state for state in states if state is not State.QUEUED]
        return str((ends or states)[-1]) if states else ""

    @property
    def score(self) -> float | None:
        """The score that it has in the frontier, or had last according to the log; None before its first score."""
        if self.present is not None and self.present.offer is not None:
            score = self.present.offer.score
            return score if score >= 0 else None
        return next((event.queued for event in reversed(self._own) if event.queued is not None), None)

    @property
    def fetched(self) -> Event | None:
        """The last fetch of it in the latest crawl; None if it was not fetched."""
        return next((event for event in reversed(self._own) if event.what is Happened.FETCHED), None)

    @property
    def _own(self) -> Sequence[Event]:
        return [event for event in self.events if event.crawl == self.crawl.number]


def explain(folder: Path, url: str, *, quick: bool = False) -> Explanation:
    """Explain a URL of a crawl; ``quick`` leaves out the ranker's part, for which the ranker must be trained.

    Raises ``NoCrawlError`` for a folder without a crawl, ``DamageError`` for a damaged log, and ``UnknownUrlError``.
    """
    crawl = crawl_of(folder)
    canonical = urls.canonicalize(url)
    if canonical is None:
        raise UnknownUrlError(f"{url!r} is no http or https URL")
    events = history(folder, canonical)
    present, unasked = _ask(crawl, canonical)
    if present is None and not events:
        known = _refused(folder, crawl, canonical) or f"{crawl.id} has never met this URL"
        raise UnknownUrlError(f"{canonical}: {known}{f' ({unasked})' if unasked else ''}")
    own = [event for event in events if event.crawl == crawl.number]
    prediction = ranked(crawl, canonical) if own and not quick else Ranked()
    return Explanation(canonical, crawl, present, unasked, events, made_of(own, prediction), prediction.reasons)


def made_of(events: Sequence[Event], ranked: Ranked) -> tuple[Part, ...]:
    """Return the parts of the score of a URL after the events of one crawl.

    They are the analysers' scores of the link at the event that changed its score last. If that event set the score,
    they are the average scores of all links to it, with the weights of that time, and the ranker's prediction.
    """
    changing, before = None, None
    for event in events:
        if event.queued is not None:
            changing, before = (event if event.queued != before else changing), event.queued
    if changing is None or not changing.is_set:
        return changing.parts if changing is not None else ()
    by_analyser: dict[str, list[Part]] = {}
    for part in chain.from_iterable(event.parts for event in events if event.what is Happened.LINKED):
        by_analyser.setdefault(part.analyser, []).append(part)
    if ranked.reasons:
        by_analyser[LearningRanker.name] = [Part(LearningRanker.name, ranked.weight, ranked.prediction)]
    return tuple(
        Part(name, changing.weights.get(name, parts[-1].weight), fmean(part.value for part in parts))
        for name, parts in by_analyser.items()
    )


def _refused(folder: Path, crawl: Crawl, url: str) -> str:
    """Return why the links to a URL were not followed; empty if there were none."""
    each = next((each for each in read_refusals(folder / REFUSED, crawl.number) if each.offer.url == url), None)
    if each is None:
        return ""
    return f"has no score, as links to it were not followed: {worded(each.reason)}, on {each.offer.via}"


def _ask(crawl: Crawl, url: str) -> tuple[UrlStatus | None, str]:
    try:
        return status(crawl, url), ""
    except FrontierUnavailableError as error:
        return None, str(error)


def status(crawl: Crawl, url: str) -> UrlStatus | None:
    """Return the state of a canonical URL; None if it was never offered.

    If the crawl is not running, the frontier's own server is started for this. Raises ``FrontierUnavailableError``,
    with the cause, if the frontier cannot be queried.
    """
    with server_of(crawl.folder) as address:
        name = frontier_name(crawl.id, crawl.number)
        with closing(RedisFrontier(address, name, FrontierSettings())) as frontier:
            return frontier.status(url)
