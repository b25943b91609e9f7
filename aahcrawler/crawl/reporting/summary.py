"""``crawl.json`` with every count of a crawl, and how the crawl ended, in words and as an exit code."""

import logging
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from rich.console import Console

from aahcrawler import __version__
from aahcrawler.archive.delivery import Delivery
from aahcrawler.crawl.directory.crawl_runs import FINISHED
from aahcrawler.crawl.peers import PeerExport
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.crawl.stats.crawl_log import concealed
from aahcrawler.fingerprint import KnowledgeUsed
from aahcrawler.frontier.protocol import Counts, State
from aahcrawler.frontier.server.file_mending import Damage
from aahcrawler.objects.counts import object_counts
from aahcrawler.objects.reader import ReadError
from aahcrawler.revisits.change_log import counted_changes
from aahcrawler.revisits.time_left import TimeLeft
from aahcrawler.scope import ExternalUrl, Scope, SourceRefusal
from aahcrawler.seeds import SeedResult, Verdict, nothing_followed, seed_results
from aahcrawler.segments import DamageError
from aahcrawler.sources.source import LATE
from aahcrawler.tallies import SOURCES_UNAVAILABLE, plural
from aahcrawler.traps.patterns import Trap
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
    def time_left(self) -> TimeLeft:
        """How long it still takes."""

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
    this process opened it. ``seconds`` and all counts include what came before a restart. ``time_left`` are the seconds
    that it still takes (``TimeLeft``), while it runs and anything can be said. ``seeds`` tells what became
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
        **(_left(job) if state in ("running", "paused") else {}),
        **({"harvest_ratio": None} if job.icd.relevant_at is None else {}),
        "seeds": [described(each) for each in results(job)],
        "frontier": {**urls, "queues": job.counts.queues},
        **({"addresses_not_judged": proxies} if (proxies := job.icd.network.resolving_proxies) else {}),
        **({"frontier_damage": [asdict(each) for each in damage]} if (damage := job.frontier_damage) else {}),
        **({"source_damage": damaged} if (damaged := job.source_damage) else {}),
        **({"delivery": asdict(job.delivery.progress)} if job.delivery else {}),
        **({"posts": asdict(job.peer_export.posts)} if job.peer_export else {}),
    }


def _left(job: Countable) -> dict[str, object]:
    left = job.time_left.model_dump(exclude_none=True)
    return {"time_left": {name: round(seconds) for name, seconds in left.items()}} if left else {}


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
    starts = {**{seed: seed for seed in crawl.icd.seeds}, **crawl.icd.queries}
    canonical = {name: scope.spelling.url(url) or "" for name, url in starts.items()}

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
    ``objects_counted`` becomes the number of responses of which the objects are counted. Nothing is added where that
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


DONE, FAILED, MISTAKE, SEED_GAVE_NOTHING = 0, 1, 2, 3
"""Exit codes: the crawl ended in good order; a store failed; nothing was begun, something has to be mended; the crawl
ended in good order, and at least one of its seeds was no way into its site, or it had no browser for pages that its
definition wants looked at in one, or an archive that it names could not be asked, or not be read as a whole."""


MISSING = "browser_missing"
"""The counts of pages that were not looked at in a browser for want of one, by the reason."""


def outcome(folder: Path, crawl: Countable, failure: object) -> str:
    """Say how a crawl ended, and write its report; ``failure`` is what stopped it, None where nothing went wrong."""
    if failure:
        message = str(failure).rstrip(".")
        return f"{folder}: stopped: {message}; the same command goes on from here"
    told = crawl.stats.told
    kept = f"{folder}: {told.pages:,} pages, {told.objects_in_words} web objects"
    return f"{kept}; {_ending(crawl.reason)}{_of_seeds(crawl)}.{_report(folder)}"


def tell_seeds(console: Console, crawl: Countable) -> None:
    """Say what became of the seeds that were not simply fetched, and what to do about it, a line each."""
    for line in lines(results(crawl)):
        say(console, line)


def tell_browser(console: Console, crawl: Countable) -> None:
    """Say that pages were not looked at in a browser for want of one, and what to do about it."""
    for why, pages in crawl.stats.group(MISSING).items():
        say(console, f"kept as they came for want of a browser: {pages:,} {'page' if pages == 1 else 'pages'}. {why}")


def tell_sources(console: Console, crawl: Countable) -> None:
    """Say which archives could not be asked, or said what is of no use, and how often."""
    for what, times in crawl.stats.group("source_trouble").items():
        say(console, f"archive {what}, {times:,} {'time' if times == 1 else 'times'}; crawl.log says more")
    for file, places in crawl.source_damage.items():
        damage = f"archive {file}: {plural(places, 'place')} of it cannot be read, as if it were damaged or cut off"
        say(console, f"{damage}; `aah import` tells where, and what was lost")


def tell_not_followed(console: Console, crawl: Countable) -> None:
    """Say that nothing but the seeds was taken since their pages scored too little for links to be followed."""
    links = crawl.stats[f"refused:{SourceRefusal.OFF_TOPIC}"]
    if told := nothing_followed(len(crawl.icd.seeds), int(crawl.stats["pages"]), links, crawl.icd.scoring.follow):
        say(console, told)


def tell_repeated(console: Console, crawl: Countable) -> None:
    """Say how many links were left out for what pages like theirs show: a page that is new may be among them."""
    links = int(crawl.stats[f"refused:{Trap.REPEATED}"])
    if links:
        left = f"not followed, since {Trap.REPEATED.words}: {plural(links, 'link')}; new pages may be among them"
        say(console, f"{left}. The report names their patterns; traps.barren: 0 in the definition follows them")


def _lacks_archive(crawl: Countable) -> bool:
    """Return whether URLs could not be looked up, an archive gave nothing but trouble, or one is not whole."""
    giving = crawl.stats.group("source_archive")
    told = (what.rpartition(": ") for what in crawl.stats.group("source_trouble"))
    in_trouble = {archive for archive, _, reason in told if reason != LATE}
    return bool(in_trouble - giving.keys() or crawl.source_damage) or SOURCES_UNAVAILABLE in crawl.stats.group("error")


def ended_well(crawl: Countable) -> int:
    """Return the exit code of a crawl of which no store failed."""
    is_demanded = crawl.icd.browser.use == "always" or bool(crawl.icd.browser.pages)
    lacks_browser = is_demanded and bool(crawl.stats.group(MISSING))
    gave_nothing = any(each.gave_nothing for each in results(crawl))
    return SEED_GAVE_NOTHING if gave_nothing or lacks_browser or _lacks_archive(crawl) else DONE


def tell_undelivered(console: Console, folder: Path, delivery: Delivery | None) -> None:
    """Say what is still to be delivered, where there is anything."""
    if delivery is not None and delivery.progress.waiting:
        left = delivery.progress
        say(console, f"files still to be delivered to {left.target}: {left.waiting}; aah archive deliver {folder}")


def tell_items(console: Console, crawl: Countable) -> None:
    """Say how many web objects Scrapy's item pipelines did not take, where there are any."""
    failed, dropped = (int(crawl.stats[name]) for name in ("items_failed", "items_dropped"))
    if failed or dropped:
        said = f"item pipelines failed on {failed:,} web objects and dropped {dropped:,}"
        say(console, f"{said}; the archive has them all, and the log says why")


def say(console: Console, text: str) -> None:
    """Write a line as it is, without secrets."""
    console.print(concealed(text), markup=False, highlight=False, soft_wrap=True)


def _of_seeds(crawl: Countable) -> str:
    found = results(crawl)
    if len(found) == 1:
        return "; the seed gave nothing" if found[0].gave_nothing else ""
    many = f"of {len(found):,} seeds"
    nothing = sum(each.gave_nothing for each in found)
    waiting = sum(each.verdict is Verdict.PENDING for each in found)
    if not nothing:
        return f"; {waiting:,} {many} not fetched yet" if waiting else ""
    return f"; {nothing:,} {many} gave nothing{f', {waiting:,} not fetched yet' if waiting else ''}"


def _ending(reason: str) -> str:
    if reason == FINISHED:
        return reason
    if reason.startswith(("limits.", "closespider_")):
        return f"stopped, {reason}"
    return "stopped; the same command goes on from here"


def _report(folder: Path) -> str:
    # No crawl's start waits for its report.
    from aahcrawler.report import ReportError, ReportNotWrittenError, write_report  # noqa: PLC0415

    try:
        return f" See {write_report(folder)}"
    except ReportNotWrittenError as error:
        return f" There is no report: {error}; `aah report {folder}` writes it"
    except ReportError:  # A crawl that was ended at once, by a second Ctrl-C, may have no summary yet.
        return ""
