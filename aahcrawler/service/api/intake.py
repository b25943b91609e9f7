"""Turns items into posts to a frontier, and the frontier's answers into results."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aahcrawler import urls
from aahcrawler.frontier.posting import Effect, Post, Posted
from aahcrawler.frontier.protocol import Offer
from aahcrawler.service.api.journal import Journal
from aahcrawler.service.api.posted_items import Item, Outcome, Result, identity, invalid
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.gateway import Gateway
from aahcrawler.service.catalog.url_admission import Fault, Target

_OUTCOMES = {
    Effect.ADDED: Outcome.ACCEPTED,
    Effect.RESCORED: Outcome.RESCORED,
    Effect.BLOCKED: Outcome.BLACKLISTED,
    Effect.KNOWN: Outcome.KNOWN,
}
_FAULTS = {
    Fault.URL: "give a whole http or https URL",
    Fault.TOO_LONG: f"URLs have at most {urls.MAX_LENGTH} characters",
}
_MISUSED = "another item was posted under this Idempotency-Key; use a new key for each request"


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one request, some of them faulty; ``first`` is the position of the first one in the request.

    ``by`` names who posted them.
    """

    items: Sequence[Item | Result]
    first: int = 0
    key: str = ""
    by: str = ""


class Intake:
    """Takes items posted to crawls. Blocks while the frontier works. May be used by several threads at once."""

    def __init__(self, gateway: Gateway, journal: Journal) -> None:
        self._gateway = gateway
        self._journal = journal
        self._judging = threading.Lock()

    def take(self, crawl: Crawl, batch: Batch) -> list[Result]:
        """Apply a batch and return a result for each item, in order.

        Raise ``ProblemError`` where the frontier cannot be reached. Part of a long batch may have been applied then;
        posting it again does no harm.
        """
        return self.take_all(crawl, [batch])[0]

    def take_all(self, crawl: Crawl, batches: Sequence[Batch]) -> list[list[Result]]:
        """Apply batches of several requests in one step; otherwise as ``take``."""
        # The parser of URLs lets other threads run at each call, and waits for them: two that judge hinder each other.
        with self._judging:
            judged = [
                [self._judge(crawl, entry, batch, at) for at, entry in enumerate(batch.items, batch.first)]
                for batch in batches
            ]
        posts = [each for results in judged for each in results if isinstance(each, Post)]
        with self._gateway.frontier(crawl, to_post=True) as frontier:
            answers = iter(frontier.post(posts))
        answered = [
            [_result(each, next(answers)) if isinstance(each, Post) else each for each in results] for results in judged
        ]
        pairs = zip(batches, answered, strict=True)
        self._journal.keep(
            crawl.folder, (entry for batch, results in pairs for entry in _entries(crawl, batch, results))
        )
        return answered

    def _judge(self, crawl: Crawl, entry: Item | Result, batch: Batch, position: int) -> Post | Result:
        if isinstance(entry, Result):
            return entry
        target = crawl.admission.target(entry.url)
        if isinstance(target, Fault):
            return invalid(entry.url, target.value, _FAULTS[target])
        refusal = None if entry.blacklist else crawl.admission.refusal(target)
        if refusal is not None:
            return Result(url=target.url, outcome=Outcome.OUT_OF_SCOPE, reason=refusal)
        source = crawl.admission.target(entry.source) if entry.source else None
        via = source.url if isinstance(source, Target) else ""
        key, content = identity(entry.content_for(target.url), batch.key, position)
        path = crawl.admission.path(target)
        offer = Offer(target.url, target.queue, entry.score or 0.0, via=via, path=path)
        return Post(offer, key, content, entry.wish)


def _result(post: Post, posted: Posted) -> Result:
    if posted.effect is Effect.MISUSED:
        return invalid(post.offer.url, "idempotency_key", _MISUSED)
    return Result(url=post.offer.url, outcome=_OUTCOMES[posted.effect], state=posted.state, repeated=posted.repeated)


def _entries(crawl: Crawl, batch: Batch, results: Sequence[Result]) -> Iterator[Mapping[str, object]]:
    """Yield the entries for the journal: the items that changed something."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    for item, result in zip(batch.items, results, strict=True):
        changed = result.outcome in (Outcome.ACCEPTED, Outcome.RESCORED, Outcome.BLACKLISTED)
        if changed and not result.repeated and isinstance(item, Item):
            item_fields = item.model_dump(exclude={"url"}, exclude_defaults=True)
            told = {"at": now, "by": batch.by, "crawl": crawl.number, "url": result.url, "outcome": result.outcome}
            yield {**told, **item_fields}
