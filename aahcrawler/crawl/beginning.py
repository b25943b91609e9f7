"""How a crawl begins: with an empty frontier, its seeds, and the pages that the crawls before it knew."""

import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from aahcrawler import urls
from aahcrawler.archive.history import Former, History
from aahcrawler.frontier.ownership import end_orphan
from aahcrawler.frontier.protocol import Frontier, Offer
from aahcrawler.scope import Scope

SEED_SCORE = 1.0
_AT_ONCE = 1000


def clear(folder: Path) -> None:
    """Empty the folder of an embedded server, one that was left behind ended. It may be done again after a crash.

    Raise ``FrontierUnavailableError`` when a crawl that runs uses it.
    """
    end_orphan(folder)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def offer_seeds(seeds: Sequence[str], frontier: Frontier, scope: Scope) -> None:
    """Offer the seeds that the scope admits; known ones stay where they are."""
    offers = [Offer(url, urls.queue_of(url), SEED_SCORE) for url in _canonical(seeds)]
    frontier.offer([offer for offer in offers if scope.admit(offer.url, offer.queue) is None])


def offer_former(history: History, seeds: Sequence[str], frontier: Frontier, scope: Scope) -> int:
    """Offer every page that was captured before and that the scope admits today; return how many were captured.

    Seeds are left out: they have a score of their own.
    """
    known, offered = 0, frozenset(_canonical(seeds))
    for formers in _parts(history.pages()):
        known += len(formers)
        offers = (_offer(former) for former in formers if former.url not in offered)
        frontier.offer([offer for offer in offers if scope.admit(offer.url, offer.queue, offer.depth) is None])
    return known


def _canonical(seeds: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(urls.canonicalize, seeds)))


def _parts(formers: Iterator[Former]) -> Iterator[list[Former]]:
    while part := list(islice(formers, _AT_ONCE)):
        yield part


def _offer(former: Former) -> Offer:
    """Return a page with the priority it had; one that is worth less for what it holds than for what led to it, less.

    Pages whose worth is in where they lead (intermediate ones) are not judged by what they hold.
    """
    priority = former.priority or 0.0
    if former.terminal and former.relevant is False and former.score is not None:
        priority = min(priority, former.score)
    return Offer(former.url, urls.queue_of(former.url), priority, former.depth)
