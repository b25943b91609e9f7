"""The history of a URL in a crawl: its entries in the score log, and the postings of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from aahcrawler.frontier.protocol import State
from aahcrawler.layout import POSTED, SCORES
from aahcrawler.scores.entries import Batched, Begin, Column, Ended, Judged, Links, Offered, Rescored, unpacked, updated
from aahcrawler.scores.reader import Read, read_scores

BLACKLISTED = "blacklisted"
"""The web service's note for a URL that is not to be fetched."""


class Happened(StrEnum):
    """The kinds of events of a URL."""

    OFFERED = "offered"
    """Offered without a page that links to it: ``source`` names who offered it."""
    LINKED = "linked"
    """A page that links to it was fetched: ``source`` is that page."""
    REDIRECTED = "redirected"
    """``source`` redirects to it."""
    REFUSED = "refused"
    """A page links to it, and the crawl does not want it, for the reason in ``note``."""
    POSTED = "posted"
    """Posted to the crawl from outside; ``note`` gives the outcome."""
    BATCHED = "scored in a batch"
    """Pages that link to it were looked at together; ``note`` says how many."""
    RESCORED = "re-scored"
    """The ranker thought otherwise of it."""
    REWEIGHED = "re-weighed"
    """The definition gave the analysers other weights."""
    FETCHED = "fetched"
    """Fetched: ``score`` is the document score of its page, None where it has none; ``note`` has the status."""
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

    ``score`` is the offered or assigned score, ``queued`` the score that it was then queued with, None where it was not
    queued. ``state`` is its state after that, None where the event does not tell.
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
    """Whether it was queued without a score, which was to be worked out with those of other pages."""
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

    Raise ``DamageError`` where the log is damaged.
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
    """Yield the posts of a URL noted by the web service; torn lines and lines of another kind are skipped."""
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
    """Yield each event with the score that the URL was then queued with, as far as the log tells."""
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
