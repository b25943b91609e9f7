"""Single URLs of a crawl: given a score, fetched now or again, let go, or let in although the scope refused them."""

import secrets
import shlex
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from pydantic import JsonValue

from aahcrawler.frontier.blocking_rules import Rule, RuleBook, RuleKind
from aahcrawler.frontier.control import Revisit
from aahcrawler.frontier.posting import CONTENT_BYTES, KEY_BYTES, Effect, Post, Wish
from aahcrawler.frontier.protocol import Offer, Rescore, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.scope import RULE
from aahcrawler.service.catalog.crawl_catalog import Crawl, Fault, Target
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.web.problems import BAD_URL, CONFLICT, NO_URL, OVER, ProblemError, Shown
from aahcrawler.urls import queue_of
from online_analysis.url_patterns import LONGEST

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
    """Set the score of a queued page, past the crawl's update function.

    What pages say that link there later still counts by that function, and the crawl's ranker may score it again. A
    page that somebody has posted a score of keeps that part of it: the score is then posted as well.
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
    """Post the score of what was not to be set; return whether it was applied, and what to say."""
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
    """Let a blocked URL go, whatever the reason was; a rule that names this URL alone is taken back.

    One that the scope refuses, or a wider rule names, stays blocked, and ``detail`` says what to change.
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
    """Return the changes of the scope that let a URL in, and how to go on."""
    scope, (scheme, _, rest) = crawl.icd.scope, target.url.partition("://")
    only = f"{scheme}*://{rest}"  # With a star, so that it is the whole URL and no text that occurs in some.
    if len(only) > LONGEST:
        return {}, f"scope.allow takes patterns of up to {LONGEST:,} characters, and the URL is longer"
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
