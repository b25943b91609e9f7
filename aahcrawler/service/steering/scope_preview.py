"""What a changed scope does to the URLs of a crawl: which of those that wait are refused, and which come back."""

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Final

from pydantic import JsonValue

from aahcrawler.exclusions import Exclusions
from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import State
from aahcrawler.layout import REFUSED
from aahcrawler.refusals import read_refusals
from aahcrawler.scope import SCOPE, Scope
from aahcrawler.segments import DamageError
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.held_definitions import HeldDefinitions
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.steering.redefining import Redefined, Section, change
from aahcrawler.service.web.problems import CONFLICT, ProblemError, Shown
from aahcrawler.tombstones import TakenDown

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
    """Count a URL by what the crawl does with it once its scope is the changed one."""
    if status.offer is None:
        return
    refusal = scope.admit(status.offer)
    if status.state is State.QUEUED and refusal is not None:
        blocked.take(status.offer.url, refusal)
    elif status.state is State.BLOCKED and refusal is None and status.reason.startswith(SCOPE):
        returned.take(status.offer.url)


def _offered(crawl: Crawl, scope: Scope, progress: Progress) -> _Tally:
    """Count the links that the present scope refuses and the changed one does not, each URL once.

    Others were refused for what they are, as links of traps, which no scope changes.
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
