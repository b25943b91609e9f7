"""The report, made from ``crawl.json`` and the archived pages of the crawl."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from html import escape
from pathlib import Path

from pydantic import BaseModel, ValidationError

from aahcrawler.adaptation.overlay import Evidence, Overlay
from aahcrawler.annotations.judgements import framed, judgements_of, membership_of, samples_of, with_membership
from aahcrawler.annotations.web_annotations import AnnotationFileError
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.fingerprint import KnowledgeUsed
from aahcrawler.layout import DEFINITION, FORMER, LEARNED, MISSING, REPORT, SUMMARY
from aahcrawler.objects.capture_statements import ObjectRow, PageRow
from aahcrawler.objects.counts import object_counts
from aahcrawler.objects.reader import ObjectChanges, ReadError, object_changes, objects_of, page_rows
from aahcrawler.refusals import Failed
from aahcrawler.report import event_collection, judged_collection, report_sections
from aahcrawler.report.chart import bars, html_page
from aahcrawler.report.event_collection import Comparison, EventCollection, compare
from aahcrawler.report.judged_collection import Evaluation, evaluate, in_frame
from aahcrawler.report.reason_words import ROLES, worded_stream
from aahcrawler.report.report_sections import (
    ArchiveFile,
    Seed,
    archive_files,
    completeness,
    failed_table,
    learned_topic,
    read_files,
    read_learned,
    reasons,
    sample_objects,
    sampled,
    sampled_captures,
    seed_table,
)
from aahcrawler.report.report_sections import read_failed as failed_of
from aahcrawler.scope import SourceRefusal
from aahcrawler.seeds import counted_in_words, nothing_followed
from aahcrawler.segments import DamageError
from aahcrawler.tallies import DENIED, MISSING_REASONS, CrawlCounts, counts_in_summary
from aahcrawler.tombstones import replace_durably
from aahcrawler.urls import queue_of
from knowledge_base.file_selection import SHIPPED_WORD
from online_analysis.topic_learning import NOTHING, Learned

MAX_DOMAINS = 30
"""The most domains that the report lists; the others are counted in one row."""


class ReportError(Exception):
    """The folder holds no crawl that can be reported; the message says what is missing."""


class ReportNotWrittenError(ReportError):
    """The report cannot be written, as the disk is full or the folder is read-only."""


class Delivery(BaseModel):
    """The number of finished WARC files that are at the crawl's target, and of those still waiting."""

    files: int
    waiting: int


class Summary(BaseModel):
    """The part of ``crawl.json`` that the report shows; ``crawl`` is the number of the crawl.

    ``unchanged``, ``changed``, ``new`` and ``gone`` count pages compared with earlier crawls.
    """

    id: str
    crawl: int = 1
    title: str
    state: str
    reason: str
    software: str
    knowledge_base: KnowledgeUsed | None = None
    started_at: str
    begun_at: str = ""
    updated_at: str
    seconds: float
    pages: int
    unchanged: int = 0
    changed: int = 0
    new: int = 0
    gone: int = 0
    requests: int = 0
    answers: int
    objects: int
    objects_counted: int | None = None
    bytes: int
    requisites: int
    retries: int
    harvest_ratio: float | None
    application: dict[str, int]
    level: dict[str, int]
    object: dict[str, int]
    status: dict[str, int]
    refused: dict[str, int]
    avoided: dict[str, int] = {}
    unverified: dict[str, int] = {}
    stream: dict[str, int] = {}
    coding: dict[str, int] = {}
    malformed: dict[str, int] = {}
    source: dict[str, int] = {}
    source_archive: dict[str, int] = {}
    source_trouble: dict[str, int] = {}
    source_damage: dict[str, int] = {}
    source_requests: int = 0
    from_sources: int = 0
    http: dict[str, int] = {}
    data: dict[str, int] = {}
    browser: dict[str, int] = {}
    browser_missing: dict[str, int] = {}
    browser_isolation: dict[str, int] = {}
    browser_version: dict[str, int] = {}
    browser_refused: dict[str, int] = {}
    blocked: dict[str, int]
    error: dict[str, int]
    failed_url: dict[str, int] = {}
    failed: dict[str, int] = {}
    mended: dict[str, int] = {}
    spared: dict[str, int] = {}
    learned: dict[str, int] = {}
    listing: dict[str, int] = {}
    no_object: dict[str, int] = {}
    frontier: dict[str, int]
    seeds: list[Seed] = []
    delivery: Delivery | None = None

    @property
    def has_sources(self) -> bool:
        """Whether pages were looked for in archives."""
        return bool(
            self.from_sources or self.source_trouble or self.source_damage or MISSING_REASONS & self.error.keys()
        )


@contextmanager
def _reporting(crawl: Path) -> Iterator[None]:
    """Turn errors of reading a crawl's folder into ``ReportError``."""
    try:
        yield
    except FileNotFoundError:
        raise ReportError(f"{crawl}: no crawl.json here; name the output folder of a crawl") from None
    except (ValueError, AnnotationFileError, ReadError, DamageError, OSError) as error:
        raise ReportError(f"{crawl}: cannot be read: {error}") from error


def write_report(crawl: Path, curated: Sequence[str] = ()) -> Path:
    """Write ``report.html`` for the last crawl of a folder; return its path.

    With ``curated``, URLs that people chose for such a collection, the report compares them with the crawl's
    collection. Raise ``ReportError``; an existing report is then kept.
    """
    with _reporting(crawl):
        summary = _read(crawl / SUMMARY)
        before = crawl / FORMER / str(summary.crawl - 1) / SUMMARY
        captures = _captures(crawl, summary.crawl)
        is_compared = summary.crawl > 1 and summary.objects <= _MAX_COMPARED
        failed = _failed(crawl, summary.crawl, captures)
        collection = _collection(crawl, summary, captures, failed)
        made, pages = judgements_of(crawl), in_frame(map(framed, collection.pages))
        kept = Kept(
            rows=collection.pages,
            collection=collection,
            comparison=compare(collection, curated) if curated else None,
            judged=evaluate(made, samples_of(crawl), pages) if made else None,
            former=_read(before) if before.exists() else None,
            learned=Overlay(crawl / LEARNED).evidence(),
            topic=read_learned(crawl),
            failed=failed,
            complete=object_counts(crawl, summary.crawl if summary.crawl > 1 else None).complete,
            objects=sampled(objects_of(crawl, sampled_captures(row for row in captures if row.is_page))),
            changes=object_changes(crawl, summary.crawl) if is_compared else None,
            files=read_files(crawl),
        )
    if summary.has_sources or kept.collection.missing:
        _write(crawl / MISSING, "".join(f"{url}\n" for url in kept.collection.missing))
    target = crawl / REPORT
    _write(target, report(summary, kept))
    return target


def _write(path: Path, text: str) -> None:
    try:
        replace_durably(path, text.encode("utf-8", "replace"))
    except OSError as error:
        with suppress(OSError):
            path.with_name(f"{path.name}.part").unlink(missing_ok=True)
        raise ReportNotWrittenError(f"{path}: cannot be written: {error.strerror or error}") from error


def read_collection(crawl: Path) -> EventCollection:
    """Return what the last crawl of a folder collected. Raise ``ReportError``."""
    with _reporting(crawl):
        summary = _read(crawl / SUMMARY)
        captures = _captures(crawl, summary.crawl)
        return _collection(crawl, summary, captures, _failed(crawl, summary.crawl, captures))


def _collection(
    crawl: Path, summary: Summary, captures: Sequence[PageRow], failed: Sequence[Failed]
) -> EventCollection:
    requests = summary.requests + summary.source_requests
    return event_collection.event_collection(captures, _missing(crawl, failed), requests)


def read_missing(crawl: Path, number: int) -> Sequence[str]:
    """Return the URLs of pages that no source of a crawl had, or that could not be looked up, in the order of failure.

    ``number`` is the number of the crawl. Works at any time, also without ``crawl.json``. Raise ``ReportError``.
    """
    with _reporting(crawl):
        if not (crawl / DEFINITION).is_file():
            raise FileNotFoundError
        return _missing(crawl, _failed(crawl, number, _captures(crawl, number)))


def _missing(crawl: Path, failed: Iterable[Failed]) -> Sequence[str]:
    """Return the failed URLs that are pages which no source had.

    If the definition has live sites among its sources, a page that failed there is in no source, whatever the reason.
    """
    try:
        sources = read_definition(crawl / DEFINITION).captures
    except DefinitionError:
        is_mixed = False
    else:
        is_mixed = sources.has_live and not sources.is_live
    return tuple(
        each.failed
        for each in failed
        if each.kind == "page" and (each.reason in MISSING_REASONS or (is_mixed and each.reason not in DENIED))
    )


def read_failed(crawl: Path) -> Sequence[Failed]:
    """Return the failed URLs of the last crawl of a folder. Raise ``ReportError``."""
    with _reporting(crawl):
        number = _read(crawl / SUMMARY).crawl
        return _failed(crawl, number, _captures(crawl, number))


def _captures(crawl: Path, number: int) -> Sequence[PageRow]:
    """Return the last capture of each URL: a page that was fetched twice, after a kill or by two workers, counts once.

    ``relevant`` is as people decided on the page's membership, else by its score.
    """
    last = {row.url: row for row in page_rows(crawl) if row.crawl == number}
    return tuple(with_membership(last.values(), membership_of(crawl)))


def _failed(crawl: Path, number: int, captures: Iterable[PageRow]) -> Sequence[Failed]:
    return failed_of(crawl, number, {row.url for row in captures if row.status < event_collection.ERROR})


def read_seeds(crawl: Path) -> Sequence[Seed]:
    """Return what became of each seed of the last crawl of a folder. Raise ``ReportError``."""
    with _reporting(crawl):
        return _read(crawl / SUMMARY).seeds


def _read(path: Path) -> Summary:
    try:
        return Summary.model_validate_json(path.read_bytes())
    except ValidationError as error:
        if {each["type"] for each in error.errors()} == {"missing"}:
            raise ReportError(f"{path.parent}: its crawl has only just begun; try again in a moment") from None
        raise


@dataclass(frozen=True, slots=True)
class Kept:
    """What the report shows beside the counts: the pages of the crawl, and the URLs that ``failed``.

    ``former`` is the crawl before, or None. ``learned`` is everything learned so far about sites, ``topic`` about the
    topic. ``complete`` counts the web objects that have a field, by type and field. ``objects`` are samples of them,
    ``changes`` the differences to the former crawl, ``files`` the WARC files. ``collection`` is what was collected for
    the subject, ``comparison`` its comparison with a curated list, ``judged`` its evaluation by judgements.
    """

    rows: Sequence[PageRow] = ()
    collection: EventCollection = field(default_factory=EventCollection)
    comparison: Comparison | None = None
    judged: Evaluation | None = None
    former: Summary | None = None
    learned: Sequence[Evidence] = ()
    topic: Learned = NOTHING
    failed: Sequence[Failed] = ()
    complete: Mapping[tuple[str, str], int] = field(default_factory=dict)
    objects: Sequence[ObjectRow] = ()
    changes: ObjectChanges | None = None
    files: Sequence[ArchiveFile] = ()


def report(summary: Summary, kept: Kept) -> str:
    """Return the report as HTML, with changes since the former crawl if there was one.

    Everything that came from a page is escaped; the report contains no scripts.
    """
    rows = kept.rows
    applications = Counter(f"{row.application or 'unknown application'}: {_level(row)}" for row in rows).most_common()
    ended = summary.state if summary.reason in {"", summary.state} else f"{summary.state}: {summary.reason}"
    sections = (
        *((("Seeds", f"{_not_followed(summary, rows)}{seed_table(summary.seeds)}"),) if summary.seeds else ()),
        *((("Since the crawl before", _since(summary, kept.former, kept.changes)),) if kept.former is not None else ()),
        ("The course of the crawl", event_collection.relevance_course(rows)),
        *event_collection.sections(kept.collection, kept.comparison),
        *((judged_collection.section(kept.judged),) if kept.judged is not None else ()),
        *((("Pages in a browser", report_sections.rendering_section(_looks(summary))),) if summary.browser else ()),
        *((("Learned terms of the topic", learned_topic(kept.topic)),) if not kept.topic.is_empty else ()),
        ("Pages by application and level", bars(dict(applications), "No page yet.")),
        ("Web objects by type", completeness(summary.object, kept.complete)),
        ("Some of the web objects", sample_objects(kept.objects)),
        ("Pages of no known kind without a web object, by reason", bars(summary.no_object, "There is none.")),
        ("Actions that failed, and what was learned", _adapted(summary, kept.learned)),
        ("Domains", bars(_domains(rows), "No page yet.")),
        ("Complete listings, asked for where links ran out", bars(summary.listing, "None was asked for.")),
        ("Links not followed, by reason", reasons(summary.refused, "Every link was followed.")),
        ("Links not followed since pages like theirs led to no content", bars(summary.avoided, "There were none.")),
        (
            "Accepted certificates that do not verify",
            bars(summary.unverified, "There were none."),
        ),
        *((("Streams of film and sound", reasons(summary.stream, "", worded_stream)),) if summary.stream else ()),
        *((("Answers whose content coding is broken", bars(summary.coding, "")),) if summary.coding else ()),
        *(
            (("Captures from archives", report_sections.sources_section(_sources(summary))),)
            if summary.has_sources
            else ()
        ),
        *((("Feeds and sitemaps with mistakes", bars(summary.malformed, "")),) if summary.malformed else ()),
        ("URLs not fetched, by reason", reasons(summary.blocked, "None was blocked.")),
        ("URLs that failed", failed_table(kept.failed)),
        ("URLs without an answer, by reason", bars(counted_in_words(summary.error), "Every URL was answered.")),
        ("Answers by status", bars(summary.status, "No answer yet.")),
        ("Files", archive_files(kept.files)),
        ("Where the URLs are", bars(_places(summary.frontier), "No URL is known.")),
    )
    body = "".join(f"<h2>{escape(title)}</h2>{html}" for title, html in sections)
    told = (
        f"Crawl {summary.crawl} of {escape(summary.id)}, {escape(ended)}. "
        f"Begun {escape(summary.begun_at or summary.started_at)}, last change {escape(summary.updated_at)}. "
        f"{escape(summary.software)}.{_knowledge(summary.knowledge_base)}"
    )
    return html_page(summary.title, summary.title, told, _figures(summary), body)


_MAX_COMPARED = 100_000
"""The most web objects of a crawl that are compared one by one: more would take minutes and gigabytes."""
_NOT_COMPARED = (
    "<p>Web objects are too many to be compared here: <code>aah query --ready</code> has added and edited ones.</p>"
)
_STATES = {
    "queued": "waiting",
    "leased": "being fetched",
    "done": "fetched",
    "failed": "given up",
    "blocked": "not to be fetched",
    "due": "to be fetched again later",
}
_KINDS = {"pages": "Pages", "requisites": "Images, styles and other files of pages"}


def _not_followed(summary: Summary, rows: Sequence[PageRow]) -> str:
    left_out = summary.refused.get(SourceRefusal.OFF_TOPIC, 0)
    best = max((row.score for row in rows if row.score is not None), default=None)
    told = nothing_followed(len(summary.seeds), summary.pages, left_out, best=best)
    return f"<p>{escape(told[0].upper() + told[1:])}.</p>" if told else ""


def _looks(summary: Summary) -> report_sections.RenderCounts:
    return report_sections.RenderCounts(
        summary.http,
        summary.browser,
        summary.browser_missing,
        summary.browser_version,
        summary.browser_isolation,
        summary.browser_refused,
        summary.data,
    )


def _sources(summary: Summary) -> report_sections.SourceCounts:
    missing = sum(summary.error.get(reason, 0) for reason in MISSING_REASONS)
    damage = {f"{file}: places that cannot be read": places for file, places in summary.source_damage.items()}
    by = summary.source, summary.source_archive, summary.source_trouble | damage
    return report_sections.SourceCounts(*by, summary.source_requests, missing)


def _places(frontier: Mapping[str, int]) -> dict[str, int]:
    """Return the frontier's counts by words for people.

    >>> _places({"pages_leased": 2, "requisites_due": 0, "queues": 1})
    {'Pages being fetched': 2, 'Images, styles and other files of pages to be fetched again later': 0, 'Sites': 1}
    """
    found = {}
    for name, number in frontier.items():
        kind, _, state = name.partition("_")
        words = f"{_KINDS.get(kind, kind)} {_STATES.get(state, state)}".strip()
        found["Sites" if name == "queues" else words] = number
    return found


def _knowledge(used: KnowledgeUsed | None) -> str:
    """Describe the knowledge base that the crawl used."""
    if used is None:
        return ""
    names = ", ".join("the one that ships" if name == SHIPPED_WORD else name for name in used.folders)
    return f" Knowledge base: {escape(names)} (digest {escape(used.digest)})."


def _figures(summary: Summary) -> Mapping[str, str]:
    told = CrawlCounts.of(counts_in_summary(summary.model_dump(exclude_unset=True)))
    figures = {
        "pages": f"{told.pages:,}",
        **({} if (ratio := summary.harvest_ratio) is None else {"share of relevant pages": f"{ratio:.2f}"}),
        "web objects": told.objects_in_words,
        "images, styles, other files": f"{summary.requisites:,}",
        "requests": f"{told.requests:,}",
        "MB received": f"{summary.bytes / 1e6:,.1f}",
        "failures": f"{sum(told.failures.values()):,}",
        "links refused": f"{sum(told.refusals.values()):,}",
        "retries": f"{summary.retries:,}",
        "time": str(timedelta(seconds=round(summary.seconds))),
    }
    if summary.delivery is not None:
        delivered = summary.delivery.files
        figures["files delivered"] = f"{delivered:,} of {delivered + summary.delivery.waiting:,}"
    return figures


def _since(summary: Summary, former: Summary, changes: ObjectChanges | None) -> str:
    names = ("unchanged", "changed", "new", "gone")
    counts = {f"pages {name}": getattr(summary, name) for name in names}
    counts |= {f"web objects {name}": number for name, number in asdict(changes).items()} if changes else {}
    figures = bars(counts, "No page yet.")
    begun = escape(former.begun_at or former.started_at)
    had = f"<p>Crawl {former.crawl}, begun {begun}, had {former.pages:,} pages and {former.objects:,} web objects.</p>"
    return had + figures + ("" if changes else _NOT_COMPARED)


def _adapted(summary: Summary, known: Sequence[Evidence]) -> str:
    begun = summary.begun_at or summary.started_at
    return report_sections.adaptation_failures(
        summary.failed, summary.mended, summary.spared
    ) + report_sections.learned_section(known, summary.learned, begun)


def _level(row: PageRow) -> str:
    role = ROLES.get(row.level or "", "")
    return f"{row.level_name}{f' ({role})' if role else ''}" if row.level_name else role or "page of no known level"


def _domains(rows: Iterable[PageRow]) -> Mapping[str, int]:
    counts = Counter(queue_of(row.url) for row in rows)
    shown = dict(counts.most_common(MAX_DOMAINS))
    others = counts.total() - sum(shown.values())
    return shown | ({f"{len(counts) - MAX_DOMAINS} others": others} if others else {})
