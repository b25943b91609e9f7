"""What a crawl found out about its seeds, traps and repairs, its course for plots, and the files imported into it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Final

from aahcrawler.adaptation.overlay import Evidence, Overlay
from aahcrawler.imports.import_writer import ImportCounts, ImportedFile, PlaceNote, entries
from aahcrawler.layout import IMPORTS, LEARNED
from aahcrawler.page_index import Course
from aahcrawler.report.reason_words import CountedReason, counted
from aahcrawler.report.report_sections import Seed
from aahcrawler.seeds.verdicts import GIVING, Verdict
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.crawl_state import CrawlStates, CrawlStatus, read_summary
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.web.problems import Shown
from aahcrawler.tallies import group
from aahcrawler.traps.patterns import Trap

MAX_ROWS: Final = 1_000
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
        avoided=counted(avoided)[:MAX_ROWS],
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
        failed=tuple(sorted(rows, key=lambda row: (-row.pages, row.where))[:MAX_ROWS]),
        learned=tuple(_learned(each, used) for each in learned[:MAX_ROWS]),
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


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class CoursePoint(Shown):
    """The crawl at one time: pages so far, relevant ones so far, and the sum of their scores.

    ``seconds`` counts from its first page. ``harvest`` is the share of relevant ones of all so far, ``recent`` of those
    since the point before; ``speed`` is the number of pages a second since then, None where no time passed.
    """

    at: str
    seconds: float
    pages: int
    relevant: int
    relevance: float
    harvest: float
    recent: float
    speed: float | None


class CrawlCourse(Shown):
    """The course of one crawl of a folder, in at most 400 points."""

    crawl: int
    points: tuple[CoursePoint, ...]
    progress: Progress


class LevelCount(Shown):
    """The pages of an application's level: how many, how many of them are relevant, and the objects found on them.

    ``application``, ``level`` and ``role`` are None where nothing was recognised.
    """

    application: str | None
    level: str | None
    role: str | None
    pages: int
    relevant: int
    objects: int


class PageCounts(Shown):
    """The captures of a crawl by application and level, status and trap, the most frequent first.

    With the number 0 they are those of all crawls of the folder.
    """

    crawl: int
    captures: int
    pages: int
    relevant: int
    requisites: int
    levels: tuple[LevelCount, ...]
    statuses: dict[str, int]
    traps: dict[str, int]
    progress: Progress


def crawl_course(asked: Asked, crawl: int) -> CrawlCourse:
    """Return the course of a crawl by its number; no points where nothing is known of one."""
    course = Course.of(asked.base, crawl)
    points: list[CoursePoint] = []
    pages, relevant, relevance = 0, 0, 0.0
    begin = before = course.begun_at or 0
    for point in course.points:
        if not point.pages:
            continue
        pages, relevant, relevance = pages + point.pages, relevant + point.relevant, relevance + point.relevance
        passed, before = (point.last_at - before) / 1e6, point.last_at
        points.append(
            CoursePoint(
                at=(_EPOCH + timedelta(microseconds=point.last_at)).isoformat(timespec="seconds"),
                seconds=round((point.last_at - begin) / 1e6, 3),
                pages=pages,
                relevant=relevant,
                relevance=round(relevance, 4),
                harvest=round(relevant / pages, 4),
                recent=round(point.relevant / point.pages, 4),
                speed=round(point.pages / passed, 3) if passed > 0 else None,
            )
        )
    return CrawlCourse(crawl=crawl, points=tuple(points), progress=asked.progress)


def page_counts(asked: Asked, crawl: int = 0) -> PageCounts:
    """Return the counts of a crawl by its number, or those of all with 0."""
    found: dict[str, dict[str, int]] = {}
    rows = asked.base.execute(
        "SELECT topic, name, sum(n) FROM tally WHERE crawl != 0 AND topic != 'site' AND (? = 0 OR crawl = ?)"
        " GROUP BY topic, name HAVING sum(n) ORDER BY sum(n) DESC, name",
        (crawl, crawl),
    )
    for topic, name, n in rows:
        found.setdefault(topic, {})[name] = n
    single = {topic: found.get(topic, {}).get("", 0) for topic in ("captures", "pages", "relevant", "requisites")}
    return PageCounts(
        crawl=crawl,
        **single,
        levels=tuple(_level(found, name, n) for name, n in found.get("level", {}).items()),
        statuses=found.get("status", {}),
        traps=found.get("trap", {}),
        progress=asked.progress,
    )


def _level(found: dict[str, dict[str, int]], name: str, pages: int) -> LevelCount:
    application, level, role = (part or None for part in name.split("\t", 2))
    return LevelCount(
        application=application,
        level=level,
        role=role,
        pages=pages,
        relevant=found.get("level relevant", {}).get(name, 0),
        objects=found.get("level objects", {}).get(name, 0),
    )


_KEPT: Final = 16
_MAX_READ: Final = 1 << 24
"""Bytes of notes that one look goes through."""


class ImportedView(Shown):
    """A file, or all of them together, and what became of the records.

    ``kept`` are in the folder, ``already`` were when the file was imported last, ``removed`` are of pages that were
    taken down, ``lost`` could not be read, ``noted`` are kept although something about them is wrong, and ``passed``
    counts places that hold no record. ``size`` is in bytes, ``at`` is when it was imported last, ISO 8601.
    """

    name: str
    sha256: str
    how: str
    at: str
    size: int
    kept: int = 0
    already: int = 0
    removed: int = 0
    lost: int = 0
    noted: int = 0
    passed: int = 0


class ImportView(Shown):
    """All that was imported into a folder: the files in the order in which they first came, and their sum."""

    files: tuple[ImportedView, ...]
    total: ImportedView


class NoteView(Shown):
    """What was told of a place in a file, whose byte it is; ``what`` names the record where anybody can."""

    file: str
    place: str
    what: str
    why: str
    is_kept: bool


class NotesView(Shown):
    """Some of the notes, and the byte of ``imports.jsonl`` at which the next ones begin, None at the end."""

    notes: tuple[NoteView, ...]
    next: int | None


def imported(folder: Path) -> ImportView:
    """Return what was imported into a folder. Raise ``OSError``."""
    stat = (folder / IMPORTS).stat()
    return _imported(folder, stat.st_mtime_ns, stat.st_size)


@lru_cache(_KEPT)
def _imported(folder: Path, _changed: int, _size: int) -> ImportView:
    found: dict[str, ImportedFile] = {}
    for entry, _ in entries(folder):
        if isinstance(entry, ImportedFile):
            # A file that is imported again meets what it has already brought, and the same damage.
            before = found.get(entry.sha256)
            kept = entry.counts.kept + (before.counts.kept if before is not None else 0)
            found[entry.sha256] = replace(entry, counts=replace(entry.counts, kept=kept))
    files = tuple(map(_shown, found.values()))
    sums = ImportCounts()
    for each in found.values():
        sums.add(each.counts)
    last = max((each.at for each in files), default="")
    # What a package holds is counted with its files.
    size = sum(each.size for each in found.values() if "/" not in each.name)
    return ImportView(files=files, total=_shown(ImportedFile("", "", last, "", size, sums)))


def _shown(file: ImportedFile) -> ImportedView:
    return ImportedView(
        name=file.name, sha256=file.sha256, how=file.how, at=file.at, size=file.size, **asdict(file.counts)
    )


def notes_of(folder: Path, begin: int, most: int, *, lost_only: bool) -> NotesView:
    """Return some notes from the line on that begins at a byte; one look goes through 16 MiB. Raise ``OSError``."""
    names = {each.sha256: each.name for each in imported(folder).files}
    notes: list[NoteView] = []
    for entry, end in entries(folder, begin):
        if isinstance(entry, PlaceNote) and not (lost_only and entry.kept):
            name = names.get(entry.sha256, entry.sha256)
            notes.append(
                NoteView(file=name, place=str(entry.place), what=entry.what, why=entry.why, is_kept=entry.kept)
            )
        if len(notes) == most or end - begin > _MAX_READ:
            is_more = end < (folder / IMPORTS).stat().st_size
            return NotesView(notes=tuple(notes), next=end if is_more else None)
    return NotesView(notes=tuple(notes), next=None)
