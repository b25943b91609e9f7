"""What changed weights do to the order of the queue, from the components of each score in the score log."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from aahcrawler.frontier.protocol import Offer
from aahcrawler.layout import SCORES
from aahcrawler.scores import weighed
from aahcrawler.segments import DamageError
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.held_definitions import HeldDefinitions
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.steering.redefining import Redefined, Section, change
from aahcrawler.service.web.problems import CONFLICT, ProblemError, Shown

SAMPLE: Final = 2000
"""The best queued URLs that are scored again."""
SHOWN: Final = 50


class Moved(Shown):
    """A queued URL with its places and scores before and after, places counted from 1 among those that were looked at.

    ``score`` is None where it has none yet.
    """

    url: str
    place_before: int
    place: int
    score_before: float | None
    score: float | None


class OrderPreview(Shown):
    """The change of the definition, and the best of the queue then. ``looked_at`` URLs, the best ones, were scored.

    ``rescored`` of them have a score that the log tells the parts of; the others keep theirs. What ranks lower now
    may come up, too, and is not among these.
    """

    change: Redefined
    looked_at: int
    rescored: int
    before: tuple[Moved, ...]
    after: tuple[Moved, ...]


def preview_weights(
    reach: CrawlRegistry,
    jobs: Jobs,
    definitions: HeldDefinitions,
    crawl: Crawl,
    by: str,
    fields: Mapping[str, JsonValue],
) -> JobView:
    """Begin to find out what changed weights do. The result of the job is an ``OrderPreview``.

    Raise ``ProblemError`` at once for mistakes, and for a crawl without a folder on this machine.
    """
    shown = change(reach, definitions, crawl, by, Section.WEIGHTS, fields, preview=True)
    if crawl.folder is None:
        raise ProblemError(CONFLICT, f"{crawl.id} has no folder here, and its score log is with its workers")
    weights, scores = definitions.rewritten(crawl, _named(fields)).icd.scoring.weights, crawl.folder / SCORES

    def work(progress: Progress) -> OrderPreview:
        with reach.frontier(crawl) as frontier:
            best = frontier.iterate(SAMPLE)
        return _order(best, _again(scores, crawl.number, weights, best, progress), shown)

    return jobs.begin(Task("weights-preview", crawl.id, by), work)


def _named(fields: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    return {f"scoring.weights.{name}": value for name, value in fields.items()}


class _Chosen:
    """A share of all URLs: those that are looked at. It tells the job how many URLs of the log it was asked for."""

    def __init__(self, urls: frozenset[str], progress: Progress) -> None:
        self._urls = urls
        self._progress = progress

    def holds(self, url: str) -> bool:
        self._progress.advance()
        return url in self._urls


def _again(
    folder: Path, number: int, weights: Mapping[str, float], best: Sequence[Offer], progress: Progress
) -> Mapping[str, float]:
    """Return the scores of queued pages under other weights, of those that the log has the parts of."""
    chosen = frozenset(offer.url for offer in best if offer.kind == "page")
    try:
        found = weighed(folder, number, weights, _Chosen(chosen, progress))
    except DamageError as error:
        raise ProblemError(CONFLICT, f"the score log is damaged: {error}") from error
    return {url: each.score for url, each in found.items()}


def _order(best: Sequence[Offer], again: Mapping[str, float], shown: Redefined) -> OrderPreview:
    scores = [again.get(offer.url, offer.score) for offer in best]
    order = sorted(range(len(best)), key=lambda at: (-scores[at], at))
    places = {at: place for place, at in enumerate(order, 1)}

    def moved(at: int) -> Moved:
        return Moved(
            url=best[at].url,
            place_before=at + 1,
            place=places[at],
            score_before=_told(best[at].score),
            score=_told(scores[at]),
        )

    return OrderPreview(
        change=shown,
        looked_at=len(best),
        rescored=sum(1 for offer in best if offer.url in again),
        before=tuple(moved(at) for at in range(min(SHOWN, len(best)))),
        after=tuple(moved(at) for at in order[:SHOWN]),
    )


def _told(score: float) -> float | None:
    return score if score >= 0 else None
