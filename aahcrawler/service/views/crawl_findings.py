"""What a crawl found out about its seeds, about traps, and about actions that failed and were repaired."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from aahcrawler.adaptation.overlay import Evidence, Overlay
from aahcrawler.layout import LEARNED
from aahcrawler.report.reason_words import CountedReason, counted
from aahcrawler.report.report_sections import Seed
from aahcrawler.seeds.verdicts import GIVING, Verdict
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.crawl_state import CrawlStates, CrawlStatus, read_summary
from aahcrawler.service.web.problems import Shown
from aahcrawler.tallies import group
from aahcrawler.traps.path_shape import Trap

MOST: Final = 1_000
"""Seeds, patterns and repairs of one page at most."""


class SeedsPage(Shown):
    """Some seeds with what became of them and what to do about it; how many there are by verdict, and where to go on.

    They are those of ``crawl.json``, which a crawl that runs writes every ten seconds.
    """

    seeds: tuple[Seed, ...]
    verdicts: Mapping[str, int]
    of: int
    next: str = ""


class Matter(Shown):
    """Something about a crawl that a person has to look at: what it is, what to do, and the page that shows it.

    ``page`` is the name of a page of the crawl in the cockpit, empty for its first one; ``asked`` is the query.
    """

    words: str
    advice: str
    page: str = ""
    asked: Mapping[str, str] = {}


class TrapsView(Shown):
    """Traps by what they are: pages that were found to be such, links refused and URLs blocked for it.

    ``avoided`` counts links by patterns of URLs whose pages led to no content, the commonest first.
    """

    pages: tuple[CountedReason, ...]
    refused: tuple[CountedReason, ...]
    blocked: tuple[CountedReason, ...]
    avoided: tuple[CountedReason, ...]
    patterns: int


class FailedAction(Shown):
    """An action that failed: where and why, on how many pages, on how many their objects were found all the same.

    On ``spared`` pages repair and learning were left out, after failures on pages before.
    """

    where: str
    reason: str
    pages: int
    mended: int
    spared: int


class LearnedItem(Shown):
    """An action, link or sign that was learned, with its evidence (``adaptation.overlay.Evidence``)."""

    name: str
    kind: str
    site: str
    application: str
    level: str
    action: str
    method: str
    failure: str
    pages: tuple[str, ...]
    before: int
    after: int
    confidence: float
    date: str
    used_on: int
    """Pages of this crawl that it read."""
    decided: str
    """What people decided about it, in words; empty as long as nobody has."""


class RepairsView(Shown):
    """Actions that failed, the commonest first, and what was learned in their place, the newest first."""

    failed: tuple[FailedAction, ...]
    learned: tuple[LearnedItem, ...]
    of_failed: int
    of_learned: int


def seeds_page(crawl: Crawl, verdict: str = "", after: int = 0, most: int = 100) -> SeedsPage:
    """Return some seeds, those with a verdict where one is given."""
    summary = read_summary(crawl.folder)
    seeds: Sequence[Seed] = summary.seeds if summary is not None else ()
    verdicts: dict[str, int] = {}
    for seed in seeds:
        verdicts[seed.verdict] = verdicts.get(seed.verdict, 0) + 1
    wanted = [seed for seed in seeds if verdict in ("", seed.verdict)]
    end = after + most
    further = str(end) if end < len(wanted) else ""
    return SeedsPage(seeds=tuple(wanted[after:end]), verdicts=verdicts, of=len(wanted), next=further)


def matters(crawl: Crawl, status: CrawlStatus) -> Iterator[Matter]:
    """Yield what a crawl needs a person for: where it stands still, seeds that gave nothing, a damaged queue."""
    if status.state == "paused" and not status.paused_by_operator:
        yield Matter(words=f"It waits: {status.reason}", advice="it goes on by itself as soon as that is over")
    if status.state in ("stopped", "waiting"):
        yield Matter(
            words=f"It stands still: {status.reason or 'it was stopped'}", advice="it goes on when it is started"
        )
    summary = read_summary(crawl.folder)
    if summary is None:
        return
    dead: dict[str, list[Seed]] = {}
    for seed in summary.seeds:
        if seed.verdict not in GIVING and seed.verdict != Verdict.PENDING:
            dead.setdefault(seed.verdict, []).append(seed)
    for verdict, seeds in sorted(dead.items(), key=lambda each: -len(each[1])):
        who = (
            "Its only seed gives"
            if len(summary.seeds) == 1
            else f"{len(seeds):,} of {len(summary.seeds):,} seeds give{'s' if len(seeds) == 1 else ''}"
        )
        yield Matter(
            words=f"{who} nothing: {verdict}", advice=seeds[0].advice, page="seeds", asked={"verdict": verdict}
        )
    if (summary.model_extra or {}).get("frontier_damage"):
        words = "Files of its queue were damaged, and cut back to the last whole command"
        yield Matter(words=words, advice="crawl.log says what was cut off, and where it is kept", page="log")


def traps_of(states: CrawlStates, crawl: Crawl) -> TrapsView:
    """Return the traps that a crawl has met."""
    tallies = states.look(crawl).tallies
    avoided = group(tallies, "avoided")
    return TrapsView(
        pages=counted(group(tallies, "trap")),
        refused=counted({name: number for name, number in group(tallies, "refused").items() if name in _TRAPS}),
        blocked=counted({name: number for name, number in group(tallies, "blocked").items() if name in _TRAPS}),
        avoided=counted(avoided)[:MOST],
        patterns=len(avoided),
    )


def repairs_of(states: CrawlStates, crawl: Crawl) -> RepairsView:
    """Return the actions that failed in a crawl, and what was learned in their place."""
    tallies = states.look(crawl).tallies
    failed, mended, spared = (group(tallies, name) for name in ("failed", "mended", "spared"))
    used = group(tallies, "learned")
    rows = [_failed(place, number, mended, spared) for place, number in failed.items()]
    known = _evidence(crawl.folder)
    learned = sorted(known, key=lambda each: each.date, reverse=True)
    return RepairsView(
        failed=tuple(sorted(rows, key=lambda row: (-row.pages, row.where))[:MOST]),
        learned=tuple(_learned(each, used) for each in learned[:MOST]),
        of_failed=len(rows),
        of_learned=len(known),
    )


_TRAPS = frozenset(map(str, Trap))


def _failed(place: str, number: float, mended: Mapping[str, float], spared: Mapping[str, float]) -> FailedAction:
    where, _, reason = place.rpartition(": ")
    return FailedAction(
        where=where,
        reason=reason,
        pages=int(number),
        mended=int(mended.get(place, 0)),
        spared=int(spared.get(place, 0)),
    )


def _evidence(folder: Path | None) -> Sequence[Evidence]:
    return Overlay(folder / LEARNED).evidence() if folder is not None and (folder / LEARNED).is_dir() else ()


def _learned(each: Evidence, used: Mapping[str, float]) -> LearnedItem:
    return LearnedItem(
        name=each.name,
        kind=each.kind,
        site=each.site,
        application=each.application,
        level=each.level,
        action=each.action,
        method=each.method,
        failure=each.failure,
        pages=each.pages,
        before=each.before,
        after=each.after,
        confidence=each.confidence,
        date=each.date,
        used_on=int(sum(number for name, number in used.items() if each.name in name)),
        decided=each.decision.words if each.decision is not None else "",
    )
