"""Where a crawl keeps things."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import History
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.frontier.control import Blocking
from aahcrawler.frontier.ip_locks import IpLocks
from aahcrawler.frontier.protocol import Frontier
from aahcrawler.objects.writer import ObjectWriter
from aahcrawler.refusals import RefusalLog
from aahcrawler.scores import ScoreLog


def unmended() -> None:
    """Leave the frontier's server to those who run it."""


@dataclass(frozen=True, slots=True)
class Stores:
    """Where a crawl keeps things. ``closing`` closes them in the right order.

    ``revive`` starts the frontier's server again where it is this process's own and has died, and may raise
    ``FrontierUnavailableError``.
    """

    folder: CrawlFolder
    frontier: Frontier
    archive: WarcWriter
    history: History
    objects: ObjectWriter
    scores: ScoreLog
    closing: ExitStack
    delivery: Delivery | None = None
    addresses: IpLocks | None = None
    """Claims of addresses that the server's other workers see; None where there are none."""
    revive: Callable[[], None] = unmended
    refusals: RefusalLog | None = None
    """Keeps the links that were refused; None where nobody does."""
    blocking: Blocking | None = None
    """Keeps URLs from being fetched, and lets them go; None where nobody can."""
