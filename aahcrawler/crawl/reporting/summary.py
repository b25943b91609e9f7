"""``crawl.json``: every count of a crawl."""

import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from aahcrawler import __version__
from aahcrawler.archive.delivery import Delivery
from aahcrawler.crawl.peers import PeerExport
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.fingerprint import KnowledgeUsed
from aahcrawler.frontier.protocol import Counts, State
from aahcrawler.frontier.server.file_mending import Damage
from aahcrawler.objects.counts import object_counts
from aahcrawler.objects.reader import ReadError
from aahcrawler.revisits.change_log import counted_changes
from aahcrawler.scope import ExternalUrl, Scope
from aahcrawler.seeds import SeedResult, Verdict, seed_results
from aahcrawler.segments import DamageError
from aahcrawler.urls import queue_of
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
    def source_damage(self) -> Mapping[str, int]:
        """The number of places that could not be read in each of the archive files that captures come from."""

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
    ``frontier_damage`` names what of the frontier's files was damaged, and where what was cut off is kept;
    ``source_damage`` counts the places that could not be read in each of the archive files that captures come from.
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
        **({"source_damage": damaged} if (damaged := job.source_damage) else {}),
        **({"delivery": asdict(job.delivery.progress)} if job.delivery else {}),
        **({"posts": asdict(job.peer_export.posts)} if job.peer_export else {}),
    }


MAX_LINES = 20
"""Seeds that the terminal names; ``aah report --seeds`` lists all."""


class Seeded(Protocol):
    """A crawl with its definition and its counts by name."""

    @property
    def icd(self) -> Icd:
        """The definition."""

    @property
    def stats(self) -> "Counted":
        """Every count."""


class Counted(Protocol):
    """Counts by name."""

    @property
    def counts(self) -> Mapping[str, float]:
        """The counts."""


def results(crawl: Seeded) -> Sequence[SeedResult]:
    """Return what became of each seed of a crawl, in the order of the definition."""
    scope = Scope(crawl.icd)
    canonical = {seed: scope.spelling.url(seed) or "" for seed in crawl.icd.seeds}

    def refusal(url: str) -> str | None:
        return scope.admit(ExternalUrl(url, queue_of(url)))

    return seed_results(canonical, crawl.stats.counts, lambda url: queue_of(url) if url else "", refusal)


def described(result: SeedResult) -> dict[str, object]:
    """Return a result as ``crawl.json`` has it."""
    return {
        "url": result.url,
        "verdict": result.verdict.value,
        "advice": result.advice,
        **({"detail": result.detail} if result.detail else {}),
        **({"ended_at": result.ended_at} if result.ended_at else {}),
        "pages": result.pages,
        "objects": result.objects,
    }


def lines(found: Sequence[SeedResult]) -> Iterator[str]:
    """Yield a line for each seed that is not simply fetched, at most ``MAX_LINES`` and one that counts the others."""
    told = [each for each in found if each.verdict is not Verdict.FETCHED or each.detail]
    for each in told[:MAX_LINES]:
        detail = f" ({each.detail})" if each.detail else ""
        where = f", at {each.ended_at}" if each.ended_at else ""
        yield f"seed {each.url}: {each.verdict.value}{detail}{where}; {each.advice}"
    if others := told[MAX_LINES:]:
        yield f"and {len(others):,} other seeds: aah report --seeds"


logger = logging.getLogger(__name__)


def recounted(folder: Path, number: int, stats: Stats) -> Mapping[str, float]:
    """Return what is to be added to the counts of a crawl, so that they are those that other readers of it tell.

    Web objects are counted as ``aah objects --crawl`` has them, changes as the log of changes has them.
    ``objects_counted`` becomes the number of answers of which the objects are counted. Nothing is added where that
    cannot be read, which is logged.
    """
    return {**_objects_recounted(folder, number, stats), **_changes_recounted(folder, number, stats)}


def _objects_recounted(folder: Path, number: int, stats: Stats) -> Mapping[str, float]:
    try:
        found = object_counts(folder, number if number > 1 else None).types
    except ReadError as error:
        logger.warning("web objects that are on several pages are counted for each of them: %s", error)
        return {}
    now = {"objects": float(sum(found.values())), "objects_counted": stats["answers"]}
    now |= {f"object:{kind}": float(many) for kind, many in found.items()}
    known = {name: stats[name] for name in ("objects", "objects_counted")}
    known |= {f"object:{kind}": many for kind, many in stats.group("object").items()}
    return {name: now.get(name, 0.0) - known.get(name, 0.0) for name in known | now if now.get(name) != known.get(name)}


def _changes_recounted(folder: Path, number: int, stats: Stats) -> Mapping[str, float]:
    known = {name: int(stats[name]) for name in ("new", "changed", "unchanged", "gone")}
    try:
        now = counted_changes(folder, number, known)
    except (DamageError, OSError, sqlite3.Error) as error:
        logger.warning("changes are counted by what servers sent, since their log cannot be read: %s", error)
        return {}
    return {name: float(many - known[name]) for name, many in now.items() if many != known[name]}
