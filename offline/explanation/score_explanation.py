"""The explanation of one URL of a crawl: its state, its history, and the parts of its score."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean

from aahcrawler import urls
from aahcrawler.crawls import frontier_name
from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import FrontierSettings, FrontierUnavailableError, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontiers import Crawl, crawl_of, server_of
from aahcrawler.layout import REFUSED
from aahcrawler.refusals import read_refusals
from aahcrawler.report.reason_words import worded
from offline.explanation.ranker_part import Ranked, ranked
from offline.explanation.url_events import Event, Happened, Part, history
from online_analysis.aggregation import Reason
from online_analysis.ranking import LearningRanker


class UnknownUrlError(Exception):
    """A crawl has never met a URL, or followed no link to it; the message says so."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The known facts of a URL.

    ``present`` is None where the frontier does not know it or cannot be asked; ``unasked`` then gives the cause.
    ``events`` are those of all crawls of the folder. ``parts`` make up its score in the latest crawl, or did when it
    was fetched; ``reasons`` make up the ranker's part, empty where it knows nothing of the URL.
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
        """The state of the URL, by the frontier or else by the log."""
        if self.present is not None:
            return str(self.present.state)
        states = [event.state for event in self._own if event.state is not None]
        ends = [state for state in states if state is not State.QUEUED]
        return str((ends or states)[-1]) if states else ""

    @property
    def score(self) -> float | None:
        """The score that it has in the frontier, or had last by the log; None while it waits for its first one."""
        if self.present is not None and self.present.offer is not None:
            score = self.present.offer.score
            return score if score >= 0 else None
        return next((event.queued for event in reversed(self._own) if event.queued is not None), None)

    @property
    def fetched(self) -> Event | None:
        """The last fetch of it in the latest crawl, None where it was not fetched."""
        return next((event for event in reversed(self._own) if event.what is Happened.FETCHED), None)

    @property
    def _own(self) -> Sequence[Event]:
        return [event for event in self.events if event.crawl == self.crawl.number]


def explain(folder: Path, url: str, *, quick: bool = False) -> Explanation:
    """Explain a URL of a crawl; ``quick`` leaves out the ranker's part, for which the ranker has to be trained.

    Raise ``NoCrawlError`` for a folder without a crawl, ``DamageError`` for a damaged log, and ``UnknownUrlError``.
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

    They are the analysers' scores of the link at the event which changed its score last. Where that event set the
    score, they are the average scores of all links to it, with the weights of that time, and the ranker's prediction.
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
    return tuple(_mean(name, parts, changing.weights) for name, parts in by_analyser.items())


def _mean(analyser: str, parts: Sequence[Part], weights: Mapping[str, float]) -> Part:
    return Part(analyser, weights.get(analyser, parts[-1].weight), fmean(part.value for part in parts))


def _refused(folder: Path, crawl: Crawl, url: str) -> str:
    """Say why the links to a URL were not followed, empty where there were none."""
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
    """Return the state of a canonical URL, None where it was never offered.

    Where the crawl is not running, the frontier's own server is started for this. Raises ``FrontierUnavailableError``
    where the frontier cannot be queried; the message gives the cause.
    """
    with server_of(crawl.folder) as address:
        name = frontier_name(crawl.id, crawl.number)
        with closing(RedisFrontier(address, name, FrontierSettings())) as frontier:
            return frontier.status(url)
