"""Change limits, weights and scope of a crawl, with previews of the effect on queue and scope."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from aahcrawler.crawls import running_process
from aahcrawler.exclusions import Exclusions
from aahcrawler.frontier.control import UrlStatus
from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.layout import REFUSED, SCORES
from aahcrawler.refusals import read_refusals
from aahcrawler.scope import SCOPE, Scope
from aahcrawler.scores import weighed
from aahcrawler.segments import DamageError
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.held_definitions import (
    HeldDefinitions,
    Rewriting,
    refuse_machine_fields,
    refuse_widening,
)
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.web.problems import BAD_DEFINITION, CONFLICT, MistakeView, ProblemError, Shown
from aahcrawler.service.web.roles import Caller
from aahcrawler.tombstones import TakenDown
from online_analysis.icd import Icd, changes, redefined


class Section(StrEnum):
    """The parts of a definition that are changed by their fields while a crawl runs."""

    LIMITS = "limits"
    WEIGHTS = "weights"
    SCOPE = "scope"


_PREFIX: Final = {Section.LIMITS: "limits", Section.WEIGHTS: "scoring.weights", Section.SCOPE: "scope"}
_AT_REST = "the crawl goes by it when it is started again (accept_changes)"


class FieldChanged(Shown):
    """A changed field of the definition, with its JSON value before and after; None if it had no value."""

    field: str
    before: str | None
    after: str | None


class LimitLeft(Shown):
    """A limit: how much there may be, was used, and is left. ``allowed`` and ``left`` are None without a bound."""

    limit: str
    used: float
    allowed: float | None
    left: float | None


class Redefined(Shown):
    """A change of a definition. With ``applied`` it is written; ``detail`` says when the crawl goes by it.

    ``diff`` has the lines of the text that differ. ``left_aside`` are changed fields that a running crawl does not
    take over. ``limits`` is there where limits were changed and the crawl can be asked.
    """

    applied: bool
    fields: tuple[FieldChanged, ...]
    left_aside: tuple[str, ...]
    diff: tuple[str, ...]
    digest: str
    limits: tuple[LimitLeft, ...] = ()
    detail: str


def change(
    reach: CrawlRegistry,
    definitions: HeldDefinitions,
    crawl: Crawl,
    by: str,
    section: Section,
    fields: Mapping[str, JsonValue],
    *,
    preview: bool = False,
) -> Redefined:
    """Change fields of a section; with ``preview``, only return what would change. None resets a field to its default.

    Raise ``ProblemError`` with mistakes in the result.
    """
    named = {f"{_PREFIX[section]}.{name}": value for name, value in fields.items()}
    if not named:
        raise ProblemError(BAD_DEFINITION, "nothing is named; give at least one field", mistakes=_nothing(section))
    made = definitions.rewritten(crawl, named) if preview else definitions.rewrite(crawl, named)
    shown = _shown(reach, crawl, made, applied=not preview)
    if not preview:
        note(crawl, by, section.value, fields, {"fields": [each.field for each in shown.fields]})
    return shown


def replace(
    reach: CrawlRegistry, definitions: HeldDefinitions, crawl: Crawl, caller: Caller, text: str, digest: str
) -> Redefined:
    """Write the text of a definition anew, which must have been the one with the digest until now.

    Raise ``ProblemError`` with its mistakes, where it reaches what is this machine's own in a way that it did not, and
    where it is wider than it was and the caller may not widen it.
    """

    def check(wanted: Icd, before: Icd) -> None:
        refuse_machine_fields(wanted, before)
        refuse_widening(caller, wanted, before)

    made = definitions.replace(crawl, text, digest, check)
    shown = _shown(reach, crawl, made, applied=True)
    note(
        crawl, caller.name, "definition", {"diff": list(shown.diff)}, {"fields": [each.field for each in shown.fields]}
    )
    return shown


def _nothing(section: Section) -> tuple[MistakeView, ...]:
    problem, advice = "names no field", "give the fields to change with their values"
    return (MistakeView(line=1, field=section.value, problem=problem, advice=advice),)


def _shown(reach: CrawlRegistry, crawl: Crawl, made: Rewriting, *, applied: bool) -> Redefined:
    before, after = made.before.icd.meaning(), made.icd.meaning()
    paths = changes(before, after)
    runs = is_running(crawl)
    left_aside = redefined(made.before.icd, made.icd).left if runs else ()
    limits = _limits(reach, crawl, made.icd) if any(path.startswith("limits.") for path in paths) else ()
    return Redefined(
        applied=applied and bool(made.diff()),
        fields=tuple(FieldChanged(field=path, before=before.get(path), after=after.get(path)) for path in paths),
        left_aside=left_aside,
        diff=made.diff(),
        digest=made.digest,
        limits=limits,
        detail=_when(paths, left_aside, runs=runs),
    )


def is_running(crawl: Crawl) -> bool:
    """Return whether the crawl runs, as far as can be told from here; one on a shared server runs until it is over."""
    return running_process(crawl.folder) is not None or crawl.own_server() is not None or crawl.registered == ""


def _when(paths: tuple[str, ...], left_aside: tuple[str, ...], *, runs: bool) -> str:
    if not paths:
        return "the definition means what it meant"
    if not runs:
        return _AT_REST
    if set(paths) == set(left_aside):
        return f"a running crawl does not take this over; stop it: {_AT_REST}"
    aside = f"; left aside until it is started again: {', '.join(left_aside)}" if left_aside else ""
    return f"the crawl goes by it within some seconds, as crawl.log says{aside}"


def _limits(reach: CrawlRegistry, crawl: Crawl, icd: Icd) -> tuple[LimitLeft, ...]:
    try:
        with reach.frontier(crawl) as frontier:
            used = _used(frontier)
    except ProblemError:  # What is left is told where it can be; the change does not depend on it.
        return ()
    allowed = {"pages": float(icd.limits.pages), "bytes": float(icd.limits.bytes)}
    allowed["time"] = icd.limits.time.total_seconds()
    return tuple(
        LimitLeft(
            limit=f"limits.{name}",
            used=used[name],
            allowed=most or None,
            left=max(0.0, most - used[name]) if most else None,
        )
        for name, most in allowed.items()
    )


def _used(frontier: RedisControl) -> Mapping[str, float]:
    stats, counts = frontier.stats(), frontier.counts()
    pages = counts.pages.get(State.DONE, 0) + counts.pages.get(State.LEASED, 0) + counts.pages.get(State.DUE, 0)
    return {"pages": float(pages), "bytes": stats.get("bytes", 0.0), "time": stats.get("seconds", 0.0)}


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
    """The URLs to examine, as a ``Share`` of all URLs; each test of a URL advances the job's progress."""

    def __init__(self, urls: frozenset[str], progress: Progress) -> None:
        self._urls = urls
        self._progress = progress

    def holds(self, url: str) -> bool:
        self._progress.advance()
        return url in self._urls


def _again(
    folder: Path, number: int, weights: Mapping[str, float], best: Sequence[Offer], progress: Progress
) -> Mapping[str, float]:
    """Return the scores of queued pages under other weights, for those whose parts are in the score log."""
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


EXAMPLES: Final = 10
MAX_REFUSED: Final = 1_000_000
"""Links that were refused that are judged again at most."""


class ScopePreview(Shown):
    """The change of the definition, and its effect on what is known.

    ``blocked`` counts URLs that wait and are refused then, by reason. ``returned`` were blocked for a reason of the
    scope and wait again, ``offered`` were refused when they were found and are wanted now. The latter is None without
    a folder on this machine, and at most as many as are offered then: settings of traps may keep some out.
    """

    change: Redefined
    waiting: int
    blocked: Mapping[str, int]
    blocked_examples: tuple[str, ...]
    returned: int
    returned_examples: tuple[str, ...]
    offered: int | None
    offered_examples: tuple[str, ...]


class _Tally:
    """Counts URLs by reason and keeps the first ones."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: list[str] = []

    def take(self, url: str, reason: str = "") -> None:
        self.counts[reason] += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(url)


def preview_scope(
    reach: CrawlRegistry,
    jobs: Jobs,
    definitions: HeldDefinitions,
    crawl: Crawl,
    by: str,
    fields: Mapping[str, JsonValue],
) -> JobView:
    """Begin to find out what a changed scope does. The result of the job is a ``ScopePreview``.

    Raise ``ProblemError`` at once for mistakes.
    """
    shown = change(reach, definitions, crawl, by, Section.SCOPE, fields, preview=True)
    wanted = definitions.rewritten(crawl, {f"scope.{name}": value for name, value in fields.items()}).icd

    def work(progress: Progress) -> ScopePreview:
        try:
            taken_down = TakenDown.of(crawl.folder) if crawl.folder is not None else None
            exclusions = Exclusions.of(crawl.folder) if crawl.folder is not None else None
            scope = Scope(wanted, taken_down=taken_down, exclusions=exclusions)
            return _judged(reach, crawl, scope, shown, progress)
        except DamageError as error:
            raise ProblemError(CONFLICT, f"a file of the crawl is damaged: {error}") from error

    return jobs.begin(Task("scope-preview", crawl.id, by), work)


def _judged(reach: CrawlRegistry, crawl: Crawl, scope: Scope, shown: Redefined, progress: Progress) -> ScopePreview:
    blocked, returned, waiting = _Tally(), _Tally(), 0
    with reach.frontier(crawl) as frontier:
        counts = frontier.counts()
        judged = (State.QUEUED, State.BLOCKED)
        progress.total = sum(sides.get(state, 0) for sides in (counts.pages, counts.requisites) for state in judged)
        for status in frontier.scan(judged):
            progress.advance()
            waiting += status.state is State.QUEUED
            _judge(status, scope, blocked, returned)
    offered = None if crawl.folder is None else _offered(crawl, scope, progress)
    return ScopePreview(
        change=shown,
        waiting=waiting,
        blocked=dict(sorted(blocked.counts.items())),
        blocked_examples=tuple(blocked.examples),
        returned=returned.counts.total(),
        returned_examples=tuple(returned.examples),
        offered=None if offered is None else offered.counts.total(),
        offered_examples=() if offered is None else tuple(offered.examples),
    )


def _judge(status: UrlStatus, scope: Scope, blocked: _Tally, returned: _Tally) -> None:
    """Count what happens to a URL under the changed scope."""
    if status.offer is None:
        return
    refusal = scope.admit(status.offer)
    if status.state is State.QUEUED and refusal is not None:
        blocked.take(status.offer.url, refusal)
    elif status.state is State.BLOCKED and refusal is None and status.reason.startswith(SCOPE):
        returned.take(status.offer.url)


def _offered(crawl: Crawl, scope: Scope, progress: Progress) -> _Tally:
    """Count the links that the present scope refuses and the changed scope admits, each URL once.

    Links that were refused for other reasons, such as traps, are not affected by the scope.
    """
    found, seen, present = _Tally(), set[str](), Scope(crawl.icd)
    assert crawl.folder is not None  # noqa: S101 - asked for by whoever calls
    for refused in islice(read_refusals(crawl.folder / REFUSED, crawl.number), MAX_REFUSED):
        progress.advance()
        offer = refused.offer
        is_refused = present.admit(offer, refused.language) is not None
        if is_refused and offer.url not in seen and scope.admit(offer, refused.language) is None:
            seen.add(offer.url)
            found.take(offer.url)
    return found
