"""Acts on a crawl's queue: set scores, fetch URLs now, exclude URLs by rules, and pause."""

import heapq
import json
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from aahcrawler import urls
from aahcrawler.archive.index import LINES, SORTED
from aahcrawler.frontier.control import CONTENT_BYTES, KEY_BYTES, Effect, Post, Revisit, Rule, RuleBook, RuleKind, Wish
from aahcrawler.frontier.protocol import Offer, Rescore, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.layout import INDEXES
from aahcrawler.scope import RULE
from aahcrawler.service.catalog.crawl_catalog import Crawl, Fault, Target
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.web.problems import (
    BAD_RULE,
    BAD_SITE,
    BAD_URL,
    CONFLICT,
    NO_RULE,
    NO_URL,
    OVER,
    ProblemError,
    Shown,
)
from aahcrawler.urls import MAX_LENGTH, queue_of
from online_analysis.url_patterns import MAX_PATTERN_LENGTH

MAX_WAIT: Final = 366 * 86400.0
"""Seconds after which a page may be fetched again at the latest."""


class UrlDone(Shown):
    """What came of something that was done to a URL: its state and score now, and what that means, in words.

    ``changed`` says whether anything did. ``score`` is None once the URL has ended, and where it has none.
    """

    url: str
    changed: bool
    state: State | None
    score: float | None
    immediate: bool
    detail: str


class Admission(Shown):
    """Whether the scope lets a URL in, and what would have to be changed where it does not.

    ``reason`` is why not. ``changes`` are fields of the definition with the values that would let in this URL and
    nothing else; none where no change of the scope can do it, as ``detail`` says.
    """

    url: str
    admitted: bool
    reason: str = ""
    changes: Mapping[str, JsonValue] = {}
    detail: str


def rescore(reach: CrawlRegistry, crawl: Crawl, by: str, url: str, score: float) -> UrlDone:
    """Set the score of a queued page, bypassing the crawl's update function.

    Later links to the page still count by that function, and the crawl's ranker may score it again. If somebody has
    posted a score of the page, that part of its score stays, and the new score is posted as well.
    """
    target = target_of(crawl, url)
    with reach.frontier(crawl) as frontier:
        before = frontier.status(target.url)
        if before is None:
            raise ProblemError(NO_URL, f"{target.url} was never offered to {crawl.id}; fetch it now instead")
        (was_set,) = frontier.rescore([Rescore(target.url, score)])
        detail = (
            f"links that are found later count by the update function {crawl.icd.scoring.update!r}, "
            "and the crawl's ranker may score it again"
        )
        if not was_set:
            was_set, detail = _posted_score(frontier, crawl, target, score, before.state)
        done = _done(frontier, target.url, was_set, detail)
    former = before.offer.score if before.offer is not None else None
    note(crawl, by, "rescore", {"url": target.url, "score": score}, {"before": former, **_effect(done)})
    return done


def _posted_score(frontier: RedisControl, crawl: Crawl, target: Target, score: float, state: State) -> tuple[bool, str]:
    """Post the score of a page whose score cannot be set; return whether it was applied, and a message."""
    if state is not State.QUEUED:
        return False, f"it is {state}, and only what is queued has a score that counts"
    (posted,) = frontier.post([_post(crawl, target, score, Wish.SCORE)])
    if posted.effect is not Effect.RESCORED:
        return False, "it is being fetched, or no page"
    return True, (
        f"somebody outside has scored it before, so the score was posted too: {crawl.icd.scoring.update!r} was applied"
    )


def fetch_now(reach: CrawlRegistry, crawl: Crawl, by: str, url: str) -> UrlDone:
    """Have a URL fetched before everything that is not immediate; a new one is queued where the scope lets it in."""
    target = target_of(crawl, url)
    if ending := crawl.ending():
        raise ProblemError(OVER, f"{crawl.id} is over ({ending}), and the next crawl has a queue of its own: start it")
    with reach.frontier(crawl) as frontier:
        status = frontier.status(target.url)
        refusal = crawl.admission.refusal(target) if status is None else None
        if refusal is not None:
            raise ProblemError(
                CONFLICT, f"the crawl does not want {target.url}: {refusal}; ask to admit it, which says what to change"
            )
        queued = status.offer.score if status is not None and status.offer is not None else 1.0
        score = 0.0 if crawl.icd.scoring.update == "sum" and status is not None else max(0.0, queued)
        (posted,) = frontier.post([_post(crawl, target, score, Wish.FRONT)])
        changed = posted.effect in (Effect.ADDED, Effect.RESCORED)
        told = "it is fetched as soon as its site's delay allows" if changed else _why_not(posted.state)
        done = _done(frontier, target.url, changed, told)
    note(crawl, by, "fetch_now", {"url": target.url}, _effect(done))
    return done


def revisit(reach: CrawlRegistry, crawl: Crawl, by: str, url: str, seconds: float = 0.0, score: float = 1.0) -> UrlDone:
    """Have a page that was fetched be fetched again, now or so many seconds from now."""
    target = target_of(crawl, url)
    with reach.frontier(crawl) as frontier:
        (is_due,) = frontier.again([Revisit(Offer(target.url, target.queue, score), min(seconds, MAX_WAIT))])
        when = f"in {seconds:g} s" if seconds else "now"
        told = f"it is due {when}" if is_due else "it has not been fetched in this crawl, or a rule names it"
        done = _done(frontier, target.url, is_due, told)
    note(crawl, by, "revisit", {"url": target.url, "seconds": seconds, "score": score}, _effect(done))
    return done


def unblock(reach: CrawlRegistry, crawl: Crawl, by: str, url: str) -> UrlDone:
    """Queue a blocked URL again, whatever blocked it; a rule that names only this URL is removed.

    A URL that the scope refuses, or that a wider rule names, stays blocked, and ``detail`` says what to change.
    """
    target = target_of(crawl, url)
    own = Rule(RuleKind.URL, target.url)
    with reach.frontier(crawl) as frontier:
        rules = frontier.rules()
        returned = frontier.unblock([own]) if own in rules else 0
        wider = RuleBook(rules - {own}).matching(target.url)
        refusal = crawl.admission.refusal(target)
        if wider is None and refusal is None and not returned:
            returned = sum(frontier.unblock_urls([target.url]))
        if wider is not None:
            told = f"the rule {wider.reason!r} keeps it out; take that back"
        elif refusal is not None:
            told = f"the scope refuses it: {refusal}; ask to admit it, which says what to change"
        else:
            told = "it waits again, with the score it had" if returned else "it was not blocked, or ended as blocked"
        done = _done(frontier, target.url, bool(returned), told)
    note(crawl, by, "unblock", {"url": target.url}, _effect(done))
    return done


def admission(crawl: Crawl, url: str) -> Admission:
    """Say whether the scope lets a URL in, and if not what to change so that it does. Nothing is changed."""
    target = target_of(crawl, url)
    reason = crawl.admission.refusal(target)
    if reason is None:
        return Admission(url=target.url, admitted=True, detail="the scope lets it in: fetch it now, or post it")
    changes, told = _admitting(crawl, target, reason)
    return Admission(url=target.url, admitted=False, reason=reason, changes=changes, detail=told)


_REMEDIES: Final = {
    "denied": "a pattern of scope.deny matches it; take that out or make it narrower",
    "spam": "its host is in scoring.spam_hosts; take it out",
    "too_deep": "scope.depth is too small for it; make it larger",
    "form": "it is what a form sends, and sources.forms is off; that can be changed while the crawl is stopped",
    "excluded": "exclusions.txt, beside the folders of crawls, excludes it from all of them",
    "not_due": "it is known and not due; crawl without --revisits, or wait for a later run",
    "private_address": "it leads to a private address; network.allow_private can be changed while the crawl is stopped",
}


def _admitting(crawl: Crawl, target: Target, reason: str) -> tuple[dict[str, JsonValue], str]:
    """Return the changes of the scope that would admit a URL, and a message on how to make them."""
    scope, (scheme, _, rest) = crawl.icd.scope, target.url.partition("://")
    only = f"{scheme}*://{rest}"  # With a star, so that it is the whole URL and no text that occurs in some.
    if len(only) > MAX_PATTERN_LENGTH:
        return {}, f"scope.allow takes patterns of up to {MAX_PATTERN_LENGTH:,} characters, and the URL is longer"
    if reason == "not_allowed":
        return {"scope.allow": [*scope.allow, only]}, "scope.allow gets this URL; then fetch it now"
    if reason == "other_site" and scope.allow:
        wider = "what scope.allow lets in is then wanted on all sites, not on those of the seeds alone"
        return {"scope.sites": "anywhere", "scope.allow": [*scope.allow, only]}, f"{wider}; then fetch it now"
    if reason == "other_site":
        hosts = sorted({f"host:{urlsplit(f'//{queue_of(seed)}').hostname}" for seed in crawl.icd.seeds})
        told = "scope.allow gets the sites of the seeds and this URL, in the place of scope.sites; then fetch it now"
        return {"scope.sites": "anywhere", "scope.allow": [*hosts, only]}, told
    if reason == "taken_down":
        command = f"aah remove {crawl.argument} --lift {shlex.quote(target.url)} --reason ..."
        return {}, f"it was taken out of the archive; `{command}` lets it be fetched again"
    if reason.startswith(RULE):
        return {}, f"the rule {reason.removeprefix(RULE)!r} of scope.rules refuses it; change that rule"
    return {}, _REMEDIES.get(reason, f"the reason is {reason}; no change of the scope lets it in")


def target_of(crawl: Crawl, url: str) -> Target:
    """Return the crawl's form of a URL. Raise ``ProblemError`` for an invalid one."""
    target = crawl.admission.target(url)
    if isinstance(target, Fault):
        raise ProblemError(BAD_URL, "give a whole http or https URL")
    return target


def _post(crawl: Crawl, target: Target, score: float, wish: Wish) -> Post:
    offer = Offer(target.url, target.queue, score, path=crawl.admission.path(target))
    return Post(offer, secrets.token_bytes(KEY_BYTES), secrets.token_bytes(CONTENT_BYTES), wish)


def _why_not(state: State | None) -> str:
    match state:
        case State.DONE:
            return "it has been fetched; have it fetched again by a revisit"
        case State.BLOCKED:
            return "it is blocked; unblock it first"
        case _:
            return f"it is {state}"


def _done(frontier: RedisControl, url: str, changed: bool, detail: str) -> UrlDone:
    status = frontier.status(url)
    offer = status.offer if status is not None else None
    return UrlDone(
        url=url,
        changed=changed,
        state=status.state if status is not None else None,
        score=offer.score if offer is not None and offer.score >= 0 else None,
        immediate=status is not None and status.at_front,
        detail=detail,
    )


def _effect(done: UrlDone) -> dict[str, JsonValue]:
    return {"changed": done.changed, "state": done.state, "score": done.score, "detail": done.detail}


class Paused(Shown):
    """Whether a crawl is paused, which sites are, and what that means, in words."""

    paused: bool
    sites: tuple[str, ...]
    detail: str


def pause(reach: CrawlRegistry, crawl: Crawl, by: str) -> Paused:
    """Have a crawl fetch nothing more, in none of its workers; what is being fetched is brought to its end."""
    return _crawl(reach, crawl, by, "pause")


def resume(reach: CrawlRegistry, crawl: Crawl, by: str) -> Paused:
    """Have a crawl that was paused go on."""
    return _crawl(reach, crawl, by, "resume")


def pause_site(reach: CrawlRegistry, crawl: Crawl, by: str, site: str) -> Paused:
    """Fetch nothing more of a site: of the pay-level domain of a host, in all crawls that share the server."""
    return _site(reach, crawl, by, "pause", site)


def resume_site(reach: CrawlRegistry, crawl: Crawl, by: str, site: str) -> Paused:
    """Fetch from a site that was paused again, in all crawls that share the server."""
    return _site(reach, crawl, by, "resume", site)


def _crawl(reach: CrawlRegistry, crawl: Crawl, by: str, act: Literal["pause", "resume"]) -> Paused:
    with reach.frontier(crawl) as frontier:
        was = frontier.is_paused()
        if act == "pause":
            frontier.pause()
        else:
            frontier.resume()
        is_paused, sites = frontier.is_paused(), tuple(sorted(frontier.paused_queues()))
    note(crawl, by, act, {}, {"was_paused": was, "paused": is_paused})
    if act == "pause":
        detail = "nothing more is fetched until the crawl is resumed, also after a restart; fetches under way end"
    else:
        detail = "the crawl goes on" + (f"; {len(sites):,} sites are still paused" if sites else "")
    return Paused(paused=is_paused, sites=sites, detail=detail)


def _site(reach: CrawlRegistry, crawl: Crawl, by: str, act: Literal["pause", "resume"], site: str) -> Paused:
    queue = site_named(site)
    with reach.frontier(crawl) as frontier:
        if act == "pause":
            frontier.pause_queue(queue)
        else:
            frontier.resume_queue(queue)
        is_paused, sites = frontier.is_paused(), tuple(sorted(frontier.paused_queues()))
    note(crawl, by, f"{act}_site", {"site": queue}, {"sites": list(sites)})
    crawls = "in all crawls that share the server"
    detail = f"{queue} is paused {crawls}" if act == "pause" else f"{queue} goes on {crawls}"
    if is_paused and act == "resume":
        detail += "; this crawl itself is paused"
    return Paused(paused=is_paused, sites=sites, detail=detail)


def site_named(host: str) -> str:
    """Return the site of a host, its pay-level domain. Raise ``ProblemError`` where the text names none."""
    is_bare = 0 < len(host) <= urls.MAX_LENGTH and not set(host) & set("/?#@ ")
    url = urls.canonicalize(f"http://{host}/") if is_bare else None
    queue = urls.queue_of(url) if url is not None else ""
    if not 0 < len(queue.encode()) <= 255:
        raise ProblemError(BAD_SITE, "give the name of a host, such as forum.example.org")
    return queue


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
    """Return a rule in the crawl's form: URLs canonical, hosts in lower case.

    Raise ``ProblemError`` for a text that can match no URL.
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
    """Yield the URL of each indexed capture in a crawl's folder, in any order, with repetitions.

    Unreadable lines are skipped. Files that are being merged into the index at this time may be missed.
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
