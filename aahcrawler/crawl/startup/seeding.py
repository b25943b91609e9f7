"""Begin a crawl: offer seeds, posts and the pages of former crawls to an empty frontier."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from aahcrawler import urls
from aahcrawler.archive.history import Former, History
from aahcrawler.frontier.protocol import Frontier, Offer, Offered
from aahcrawler.frontier.server.server_process import end_orphan
from aahcrawler.scope import Scope
from aahcrawler.scores import ScoreLog, Source
from online_analysis.analysers import ScoredSeed

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


@dataclass(frozen=True, slots=True)
class Seeder:
    """Offers what a crawl begins with, as far as its scope admits it, and logs what was new.

    What is known already stays where it is.
    """

    frontier: Frontier
    scope: Scope
    log: ScoreLog

    def seeds(self, seeds: Sequence[str]) -> None:
        """Offer the seeds."""
        self._offer_new(Source.SEED, dict.fromkeys(self._spelled(seeds), SEED_SCORE))

    def postings(self, scored: Iterable[ScoredSeed]) -> None:
        """Offer what social postings link to, each with its score."""
        canonical = ((self.scope.spelling.url(each.url), each.score) for each in scored)
        self._offer_new(Source.POSTING, {url: score for url, score in canonical if url})

    def former(self, history: History, seeds: Sequence[str]) -> int:
        """Offer every page that was captured before; return how many were captured.

        Seeds are left out: they have a score of their own.
        """
        known, seeded = 0, frozenset(self._spelled(seeds))
        for formers in _parts(history.pages()):
            known += len(formers)
            offers = map(self._former, formers)
            self._offer(Source.FORMER, [offer for offer in offers if offer.url not in seeded])
        return known

    def _offer_new(self, source: Source, scores: Mapping[str, float]) -> None:
        """Offer what is not known: a crawl that goes on adds nothing to the scores of what waits in its queues."""
        unknown = ((url, score) for url, score in scores.items() if self.frontier.state(url) is None)
        self._offer(source, [Offer(url, urls.queue_of(url), score) for url, score in unknown])

    def _offer(self, source: Source, offers: Sequence[Offer]) -> None:
        wanted = [offer for offer in offers if self.scope.admit(offer) is None]
        answers = self.frontier.offer(wanted)
        new = [(o.url, o.score) for o, answer in zip(wanted, answers, strict=True) if answer is Offered.ADDED]
        self.log.offered(source, new)

    def _spelled(self, seeds: Sequence[str]) -> tuple[str, ...]:
        return tuple(filter(None, map(self.scope.spelling.url, seeds)))

    def _former(self, former: Former) -> Offer:
        """Return a page with the priority it had; less where it holds less than what led to it promised.

        Pages whose worth is in where they lead (intermediate ones) are not judged by what they hold.
        """
        priority = former.priority or 0.0
        if former.terminal and former.relevant is False and former.score is not None:
            priority = min(priority, former.score)
        url = self.scope.spelling(former.url)
        return Offer(url, urls.queue_of(url), priority, former.depth)


def _parts(formers: Iterator[Former]) -> Iterator[list[Former]]:
    while part := list(islice(formers, _AT_ONCE)):
        yield part
