"""Links that a crawl pushes to another instance, as ``scoring.post_to`` asks for (ARCOMEM, section 4.4)."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from aahcrawler.crawl.peers.score_push import PushCounts, ScoredUrl, ScorePusher
from aahcrawler.metadata import Link
from aahcrawler.scope import Refusal
from aahcrawler.wire.ip_policy import IpPolicy

logger = logging.getLogger(__name__)

TOKEN = "AAH_POST_TOKEN"  # noqa: S105 - the name of the variable, not what it holds
"""The environment variable that holds the token of the other instance's service."""
LAST_SECONDS = 10.0
"""How long the end of a crawl may wait for what is still to be posted."""
HOPELESS_SECONDS = 1.0
"""The same where the service did not answer so far."""
_REMEMBERED = 100_000
_LEAST_RISE = 0.01
_BEYOND = frozenset({Refusal.OTHER_SITE, Refusal.NOT_ALLOWED, Refusal.TOO_DEEP})
"""Refusals that say where this crawl ends; the other one may go there."""


class PeerExport:
    """Pushes every URL that reaches ``at_least``, and again when it gets a higher score than was sent.

    Nothing here waits but ``close``. IP addresses that the ``policy`` does not let this crawl connect to are not sent.
    Call it in the event loop of the crawl.
    """

    def __init__(self, poster: ScorePusher, at_least: float, policy: IpPolicy) -> None:
        self._poster = poster
        self._at_least = at_least
        self._policy = policy
        self._sent: OrderedDict[str, float] = OrderedDict()
        self._running: asyncio.Task[None] | None = None

    @property
    def posts(self) -> PushCounts:
        """The outcomes of the posts of this process."""
        return self._poster.posts

    def links(
        self, page: str, links: Sequence[Link], refused: Mapping[str, Sequence[int]], *, are_scored: bool = True
    ) -> None:
        """Push the links of a page, those beyond the bounds of this crawl included.

        ``refused`` has the positions of those that the crawl does not want, by reason; what is not wanted for what it
        is, such as spam, is not sent. The others are in the frontier: they are sent later unless they ``are_scored``.
        """
        refusals = {position: reason for reason, positions in refused.items() for position in positions}
        for position, link in enumerate(links):
            refusal = refusals.get(position)
            if refusal in _BEYOND or (refusal is None and are_scored):
                self._send(ScoredUrl(link.url, link.score or 0.0, link.anchor, page))

    def scored(self, scores: Iterable[tuple[str, float]]) -> None:
        """Push URLs that wait in the frontier and have been given these scores."""
        for url, score in scores:
            self._send(ScoredUrl(url, score))

    async def close(self) -> None:
        """Give what waits a few seconds to be posted, and say what became of all of it."""
        if self._running is None:
            return
        await self._poster.drain(HOPELESS_SECONDS if self.posts.problem else LAST_SECONDS)
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running
        posts = self.posts
        became = ", ".join(f"{number:,} {outcome}" for outcome, number in posts.outcomes.items())
        logger.info("posted %s scored URLs (%s); %s not", f"{posts.sent:,}", became, posts.dropped + posts.refused)

    def _send(self, scored: ScoredUrl) -> None:
        sent = self._sent.get(scored.url)
        if scored.score < self._at_least or (sent is not None and scored.score < sent + _LEAST_RISE):
            return
        if sent is None and self._is_private(scored.url):
            return
        self._sent[scored.url] = scored.score
        self._sent.move_to_end(scored.url)
        if len(self._sent) > _REMEMBERED:
            self._sent.popitem(last=False)
        self._poster.put(scored)
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._poster.run())

    def _is_private(self, url: str) -> bool:
        """Say whether a URL names an IP address, and one that this crawl may not connect to."""
        host = (urlsplit(url).hostname or "").partition("%")[0]
        try:
            ip_address(host)
        except ValueError:
            return False
        return self._policy.refusal(host) is not None
