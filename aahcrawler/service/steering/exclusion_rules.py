"""Rules that keep URLs of a crawl from being fetched: what they would match, put in force, and taken back."""

import heapq
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from aahcrawler.archive.index import LINES, SORTED
from aahcrawler.frontier.blocking_rules import Rule, RuleBook, RuleKind
from aahcrawler.frontier.protocol import State
from aahcrawler.layout import INDEXES
from aahcrawler.service.catalog.crawl_catalog import Crawl, Fault
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.web.problems import BAD_RULE, NO_RULE, ProblemError, Shown
from aahcrawler.urls import MAX_LENGTH

EXAMPLES: Final = 10
MAX_RULES: Final = 100
"""Rules that are put in force or taken back at once."""


class RuleView(Shown):
    """A rule: the URLs that are not fetched. ``reason`` is why a URL is blocked that it names."""

    kind: RuleKind
    text: str
    reason: str


class Exclusions(Shown):
    """The rules that hold in a crawl, by their reasons."""

    rules: tuple[RuleView, ...]


class Excluded(Shown):
    """What came of putting rules in force: how many URLs that waited were blocked at once.

    ``known`` are rules that were in force before.
    """

    rules: tuple[RuleView, ...]
    known: tuple[RuleView, ...]
    blocked: int
    detail: str


class Readmitted(Shown):
    """What came of taking rules back: how many URLs wait again, each with the score that it had."""

    rules: tuple[RuleView, ...]
    returned: int
    detail: str


class Matches(Shown):
    """URLs that rules name: how many, and ten of them; of those that wait the ten with the highest scores."""

    number: int
    examples: tuple[str, ...]


class ExclusionPreview(Shown):
    """What rules would match. ``blocked`` are those of ``queued`` that another rule or reason keeps out already.

    ``queued`` counts what waits, due pages among it; ``fetched`` what the crawls of the folder have captured, which
    stays. It is None where the crawl has no folder on this machine.
    """

    rules: tuple[RuleView, ...]
    queued: Matches
    blocked: Matches
    fetched: Matches | None


def rule_of(crawl: Crawl, kind: RuleKind, text: str) -> Rule:
    """Return a rule as the crawl writes it: URLs in their canonical form, hosts in small letters.

    Raise ``ProblemError`` for a text that names no URLs.
    """
    given = text.strip()
    if not given or len(given) > MAX_LENGTH:
        raise ProblemError(BAD_RULE, f"a {kind} has from 1 to {MAX_LENGTH:,} characters")
    if kind is RuleKind.URL:
        target = crawl.admission.target(given)
        if isinstance(target, Fault):
            raise ProblemError(BAD_RULE, "give a whole http or https URL")
        given = target.url
    try:
        return Rule(kind, given.lower() if kind is RuleKind.HOST else given)
    except ValueError as error:
        raise ProblemError(BAD_RULE, str(error)) from None


def exclusions(reach: CrawlRegistry, crawl: Crawl) -> Exclusions:
    """Return the rules that hold."""
    with reach.frontier(crawl) as frontier:
        return Exclusions(rules=_shown(tuple(frontier.rules())))


def exclude(reach: CrawlRegistry, crawl: Crawl, by: str, rules: Sequence[Rule]) -> Excluded:
    """Put rules in force: what they name is not fetched, whether it waits or is found later. It may take seconds."""
    with reach.frontier(crawl) as frontier:
        known = tuple(rule for rule in rules if rule in frontier.rules())
        blocked = frontier.block(rules)
    note(crawl, by, "exclude", {"rules": [rule.reason for rule in rules]}, {"blocked": blocked})
    return Excluded(
        rules=_shown(rules),
        known=_shown(known),
        blocked=blocked,
        detail=f"{blocked:,} URLs that waited are blocked; what is found later is, too. "
        "Rules belong to this crawl; what is to hold in the next one goes into scope.deny",
    )


def readmit(reach: CrawlRegistry, crawl: Crawl, by: str, rules: Sequence[Rule]) -> Readmitted:
    """Take rules back. Raise ``ProblemError`` where one of them does not hold; none is taken back then."""
    with reach.frontier(crawl) as frontier:
        held = frontier.rules()
        unknown = [rule.reason for rule in rules if rule not in held]
        if unknown:
            raise ProblemError(NO_RULE, f"no such rule: {', '.join(unknown)}; give it as it was put in force")
        returned = frontier.unblock(rules)
    note(crawl, by, "readmit", {"rules": [rule.reason for rule in rules]}, {"returned": returned})
    return Readmitted(
        rules=_shown(rules),
        returned=returned,
        detail=f"{returned:,} URLs wait again, with the scores they had; what another rule names stays blocked",
    )


def preview(reach: CrawlRegistry, jobs: Jobs, crawl: Crawl, by: str, rules: Sequence[Rule]) -> JobView:
    """Begin to find out what rules would match. The result of the job is an ``ExclusionPreview``."""

    def work(progress: Progress) -> ExclusionPreview:
        return _matched(reach, crawl, rules, progress)

    return jobs.begin(Task("exclusion-preview", crawl.id, by), work)


class _Best:
    """Counts URLs, and keeps those with the highest scores."""

    def __init__(self) -> None:
        self.number = 0
        self._best: list[tuple[float, str]] = []

    def take(self, url: str, score: float) -> None:
        self.number += 1
        if len(self._best) < EXAMPLES:
            heapq.heappush(self._best, (score, url))
        elif score > self._best[0][0]:
            heapq.heapreplace(self._best, (score, url))

    def shown(self) -> Matches:
        best = sorted(self._best, key=lambda entry: (-entry[0], entry[1]))
        return Matches(number=self.number, examples=tuple(url for _, url in best))


def _matched(reach: CrawlRegistry, crawl: Crawl, rules: Sequence[Rule], progress: Progress) -> ExclusionPreview:
    book = RuleBook(rules)
    queued, blocked = _Best(), _Best()
    with reach.frontier(crawl) as frontier:
        counts = frontier.counts()
        waiting = (State.QUEUED, State.DUE, State.BLOCKED)
        progress.total = sum(sides.get(state, 0) for sides in (counts.pages, counts.requisites) for state in waiting)
        progress.total += counts.pages.get(State.DONE, 0) + counts.requisites.get(State.DONE, 0)
        for status in frontier.scan(waiting):
            progress.advance()
            if status.offer is not None and book.matching(status.offer.url) is not None:
                kept = blocked if status.state is State.BLOCKED else queued
                kept.take(status.offer.url, status.offer.score)
    fetched = None if crawl.folder is None else _fetched(crawl, book, progress)
    return ExclusionPreview(rules=_shown(rules), queued=queued.shown(), blocked=blocked.shown(), fetched=fetched)


def _fetched(crawl: Crawl, book: RuleBook, progress: Progress) -> Matches:
    found: set[str] = set()
    assert crawl.folder is not None  # noqa: S101 - asked for by whoever calls
    for url in fetched_urls(crawl.folder):
        progress.advance()
        if book.matching(url) is not None:
            found.add(url)
    return Matches(number=len(found), examples=tuple(heapq.nsmallest(EXAMPLES, found)))


def _shown(rules: Sequence[Rule]) -> tuple[RuleView, ...]:
    shown = (RuleView(kind=rule.kind, text=rule.text, reason=rule.reason) for rule in rules)
    return tuple(sorted(shown, key=lambda rule: rule.reason))


_MAX_LINE_LENGTH = 1 << 22


def fetched_urls(folder: Path) -> Iterator[str]:
    """Yield the URL of each capture in a crawl's folder, in no particular order; one may come several times.

    Lines that cannot be read are passed over. A file that is put into the index meanwhile may be missing.
    """
    indexes = folder / INDEXES
    for path in chain(indexes.glob(f"*{SORTED}"), indexes.glob(f"*{LINES}")):
        try:
            with path.open("rb") as file:
                yield from (url for line in iter(lambda: file.readline(_MAX_LINE_LENGTH), b"") if (url := _url(line)))
        except FileNotFoundError:  # It was put into the index just now.
            continue


def _url(line: bytes) -> str:
    try:
        return str(json.loads(line.split(b" ", 2)[2])["url"])
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""
