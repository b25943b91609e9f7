"""``crawl.json``: every count of a crawl."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Protocol

from aahcrawler import __version__
from aahcrawler.archive.delivery import Delivery
from aahcrawler.crawl.peers.peer_export import PeerExport
from aahcrawler.crawl.reporting.seed_status import described, results
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.fingerprint import KnowledgeUsed
from aahcrawler.frontier.protocol import Counts, State
from aahcrawler.frontier.server.file_mending import Damage
from online_analysis.icd import Icd


class Countable(Protocol):
    """The parts of a crawl that the summary reads."""

    @property
    def icd(self) -> Icd:
        """The definition."""

    @property
    def number(self) -> int:
        """The number of this crawl among those of its definition."""

    @property
    def begun_at(self) -> datetime:
        """When it began."""

    @property
    def started_at(self) -> datetime:
        """When this process opened it."""

    @property
    def counts(self) -> Counts:
        """The number of URLs in each state."""

    @property
    def reason(self) -> str:
        """Why it ended."""

    @property
    def peer_export(self) -> PeerExport | None:
        """The export of links to another instance."""

    @property
    def stats(self) -> Stats:
        """Every count."""

    @property
    def pause(self) -> str:
        """Why the crawl fetches nothing for now."""

    @property
    def knowledge(self) -> KnowledgeUsed | None:
        """The knowledge base that pages are read by."""

    @property
    def frontier_damage(self) -> Sequence[Damage]:
        """What was found damaged in the files of the frontier, and cut off."""

    @property
    def delivery(self) -> Delivery | None:
        """The delivery of closed files."""


def summary(job: Countable, state: str) -> dict[str, object]:
    """Return the content of ``crawl.json``.

    ``crawl`` counts the crawls of this definition from 1. ``state`` is ``running``, ``paused``, ``stopped`` or
    ``finished``, and ``reason`` says why it pauses or ended; ``begun_at`` is when this crawl began, ``started_at`` when
    this process opened it. ``seconds`` and all counts include what came before a restart. ``seeds`` tells what became
    of each seed, ``frontier`` counts URLs by state, ``delivery`` closed files at ``archive.target``, where there is
    one, and ``posts`` what became of what this process told another instance. ``addresses_not_judged`` names proxies
    that resolve names themselves, so that nobody has judged whether hosts behind them are on private networks.
    ``knowledge_base`` names the folders that pages are read by, the weakest first, and digests what their files say.
    ``frontier_damage`` names what of the frontier's files was damaged, and where what was cut off is kept.
    """
    urls = {f"pages_{state}": job.counts.pages.get(state, 0) for state in State}
    urls |= {f"requisites_{state}": job.counts.requisites.get(state, 0) for state in State}
    return {
        "id": job.icd.id,
        "crawl": job.number,
        "title": job.icd.title,
        "software": f"AAHCrawler/{__version__}",
        "state": state,
        "reason": job.reason or job.pause,
        "begun_at": job.begun_at.isoformat(timespec="seconds"),
        "started_at": job.started_at.isoformat(timespec="seconds"),
        "updated_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "relevant_at": job.icd.relevant_at,
        **({"knowledge_base": asdict(used)} if (used := job.knowledge) else {}),
        **job.stats.summary(),
        **({"harvest_ratio": None} if job.icd.relevant_at is None else {}),
        "seeds": [described(each) for each in results(job)],
        "frontier": {**urls, "queues": job.counts.queues},
        **({"addresses_not_judged": proxies} if (proxies := job.icd.network.resolving_proxies) else {}),
        **({"frontier_damage": [asdict(each) for each in damage]} if (damage := job.frontier_damage) else {}),
        **({"delivery": asdict(job.delivery.progress)} if job.delivery else {}),
        **({"posts": asdict(job.peer_export.posts)} if job.peer_export else {}),
    }
