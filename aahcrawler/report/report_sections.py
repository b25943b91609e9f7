"""The sections of a report; each renders a part of what a crawl's folder holds."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel

from aahcrawler.adaptation.overlay import Evidence
from aahcrawler.layout import ARCHIVE, INDEX, INDEXES, LOG, MISSING, OBJECTS, REFUSED, SUMMARY, TOPIC, WARC
from aahcrawler.objects.capture_statements import ObjectRow, PageRow
from aahcrawler.refusals import Failed, failures
from aahcrawler.report.chart import bars
from aahcrawler.report.reason_words import Reason, counted, worded
from aahcrawler.seeds import in_words
from aahcrawler.segments import is_open, segments
from online_analysis.topic_learning import KeptRefinement, Learned, TopicState


def reasons(counts: Mapping[str, int], empty: str, words: Callable[[str], Reason] = worded) -> str:
    """Return a table of counts by reason as HTML, each reason in words and by name; ``empty`` if there is none."""
    return bars({str(each): each.count for each in counted(counts, words)}, empty)


MAX_FILES = 50
"""The most WARC files that are listed: the last ones."""
_PLACES = {
    f"{ARCHIVE}/": "the archive",
    f"{INDEXES}/{INDEX}": "its index",
    f"{OBJECTS}/": "web objects as N-Quads",
    SUMMARY: "every count",
    LOG: "the log",
}


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A WARC file of the folder with its size in bytes; ``is_open`` says that it is still being written."""

    name: str
    size: int
    is_open: bool = False


def read_files(crawl: Path) -> Sequence[ArchiveFile]:
    """Return the WARC files of a crawl's folder, oldest first. Raise ``OSError``."""
    return tuple(ArchiveFile(path.name, path.stat().st_size, is_open(path)) for path in segments(crawl / ARCHIVE, WARC))


def archive_files(files: Sequence[ArchiveFile]) -> str:
    """Return links to the folder's contents, and a list of its WARC files, as HTML with relative links."""
    places = ", ".join(f'<a href="{place}">{words}</a>' for place, words in _PLACES.items())
    total = sum(file.size for file in files)
    told = f"<p>In this folder: {places}. WARC files: {len(files):,}, of {total / 1e6:,.1f} MB in all.</p>"
    rows = "".join(map(_row, files[-MAX_FILES:]))
    left = len(files) - MAX_FILES
    return f"{told}<table>{rows}</table>{f'<p>{left:,} older ones are not listed.</p>' if left > 0 else ''}"


def _row(file: ArchiveFile) -> str:
    still = ", still written" if file.is_open else ""
    link = f'<a href="{ARCHIVE}/{quote(file.name)}">{escape(file.name)}</a>'
    return f"<tr><th>{link}{still}</th><td>{file.size / 1e6:,.1f} MB</td></tr>"


_COSTS: Final = ("pages", "requests", "bytes", "seconds")
_ENDINGS: Final = {
    "gained": "showed more than was sent",
    "gained nothing": "showed nothing more",
    "showed less": "showed less, and were kept as they came",
    "failed": "could not be shown, and were kept as they came",
    "in vain before": "left out, since pages like them showed nothing more",
    "limit": "left out for the limits",
    "unavailable": "kept as they came for want of a browser",
}


@dataclass(frozen=True, slots=True)
class RenderCounts:
    """The counts of a crawl about renderings, as ``crawl.json`` has them.

    ``versions`` counts renderings by version of the browser, ``isolations`` by how the browser was kept off the
    network. ``data`` counts pages that were made from their data without a browser.
    """

    http: Mapping[str, int]
    browser: Mapping[str, int]
    missing: Mapping[str, int]
    versions: Mapping[str, int]
    isolations: Mapping[str, int]
    refused: Mapping[str, int]
    data: Mapping[str, int] = field(default_factory=dict)


def rendering_section(looks: RenderCounts) -> str:
    """Return the counts of renderings as HTML: costs, how renderings ended, and which requests were refused."""
    http = {"requests": looks.http.get("pages", 0), **looks.http}
    ways = (("fetched", http), ("in a browser", looks.browser), ("made of their data", looks.data))
    rows = "".join(_browser_row(name, counts) for name, counts in ways if counts)
    costs = (
        '<div class="wide"><table class="rows"><thead><tr><th>HTML pages</th><th>Pages</th><th>Requests</th>'
        f"<th>MB received</th><th>Seconds</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
    missing = "".join(f"<p>{number:,} pages had none: {escape(why)}</p>" for why, number in looks.missing.items())
    endings = {words: looks.browser[name] for name, words in _ENDINGS.items() if looks.browser.get(name)}
    refused = reasons(looks.refused, "They were given all that they asked for.")
    by = f"<p>Shown by {escape(', '.join(looks.versions))}.</p>" if looks.versions else ""
    kept = f"<p>Kept off the network by {escape(', '.join(looks.isolations))}.</p>" if looks.isolations else ""
    return (
        f"{missing}{by}{kept}{costs}{bars(endings, 'None was looked at.')}<h3>Requests without an answer</h3>{refused}"
    )


def _browser_row(name: str, counts: Mapping[str, int]) -> str:
    pages, requests, size, seconds = (counts.get(cost, 0) for cost in _COSTS)
    return (
        f"<tr><td>{name}</td><td>{pages:,}</td><td>{requests:,}</td><td>{size / 1e6:,.1f}</td><td>{seconds:,}</td></tr>"
    )


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """The counts of a crawl about archives: captures by source and by archive, troubles, and requests.

    ``missing`` is the number of URLs that no source had, or that could not be looked up.
    """

    by_source: Mapping[str, int]
    by_archive: Mapping[str, int]
    troubles: Mapping[str, int]
    requests: int
    missing: int


def sources_section(counts: SourceCounts) -> str:
    """Return the counts about archives as HTML: the share of each archive, what is missing, and what went wrong."""
    total = sum(counts.by_archive.values())
    shares = {f"{name} ({number / total:.1%})": number for name, number in counts.by_archive.items()}
    asked = f"<p>Archives were asked {counts.requests:,} times.</p>" if counts.requests else ""
    link = f'<a href="{MISSING}">the list of pages among them</a> can be the seeds of another crawl'
    missing = f"<p>{counts.missing:,} URLs are in none of them: {link}.</p>" if counts.missing else ""
    by_source = "" if len(counts.by_source) < 2 else f"<h3>By source</h3>{bars(counts.by_source, '')}"
    troubles = f"<h3>What went wrong</h3>{bars(counts.troubles, '')}" if counts.troubles else ""
    return f"{bars(shares, 'None was found.')}{by_source}{asked}{missing}{troubles}"


MAX_ROWS = 500
"""The most failed URLs that the report lists; ``aah report --failed`` lists all."""
MAX_OF_A_REASON = 50
"""The most failed URLs of one reason that the report lists, so that a common reason does not hide others."""
_FILE = "image, style or other file of a page"


def read_failed(crawl: Path, number: int, fetched: Collection[str]) -> Sequence[Failed]:
    """Return the failed URLs of a crawl, each once, except those that were ``fetched`` in the end.

    Raise ``DamageError`` or ``OSError``.
    """
    last = {entry.failed: entry for entry in failures(crawl / REFUSED, number)}
    return tuple(entry for entry in last.values() if entry.failed not in fetched)


def failed_lines(failed: Sequence[Failed]) -> Iterator[str]:
    """Yield a header and a line for each URL, with tab-separated columns."""
    yield "url\treason\tkind\tlinked from"
    for entry in failed:
        yield "\t".join((entry.failed, in_words(entry.reason), entry.kind, entry.via or "-"))


def failed_table(failed: Sequence[Failed]) -> str:
    """Return a table of failed URLs as HTML, pages first, limited in total and for each reason."""
    if not failed:
        return "<p>No URL failed.</p>"
    ordered = sorted(failed, key=lambda entry: (entry.kind != "page", entry.reason))
    shown = list(islice(_shown(ordered), MAX_ROWS))
    rows = "".join(map(_failed_row, shown))
    left = len(failed) - len(shown)
    others = f"<p>{left:,} others: <code>aah report --failed</code> lists all.</p>" if left else ""
    return (
        '<div class="wide"><table class="rows"><thead><tr><th>URL</th><th>Why</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{others}"
    )


def _shown(failed: Sequence[Failed]) -> Iterator[Failed]:
    """Yield the first ``MAX_OF_A_REASON`` URLs of each reason."""
    counts = Counter[str]()
    for entry in failed:
        counts[entry.reason] += 1
        if counts[entry.reason] <= MAX_OF_A_REASON:
            yield entry


def _failed_row(entry: Failed) -> str:
    via = f"<br><small>linked from {escape(entry.via)}</small>" if entry.via else ""
    kind = f"<br><small>{_FILE}</small>" if entry.kind == "requisite" else ""
    return f"<tr><td>{escape(entry.failed)}{via}</td><td>{escape(in_words(entry.reason))}{kind}</td></tr>"


SAMPLES_OF_A_TYPE = 3
MAX_SAMPLES = 15
MAX_TEXT_LENGTH = 240
"""The most characters of an object's text that are shown."""
SAMPLED_PAGES = 5
"""The most pages of each level of an application whose objects may be shown."""
_FIELDS = ("title", "author", "date")


def sampled_captures(pages: Iterable[PageRow]) -> frozenset[str]:
    """Return the captures of the first pages of each level, whose objects may be shown, without list pages."""
    found: dict[tuple[str | None, str | None], list[str]] = {}
    for page in pages:
        if page.level != "intermediate":
            found.setdefault((page.application, page.level_name), []).append(page.unchanged or page.capture)
    return frozenset(capture for captures in found.values() for capture in captures[:SAMPLED_PAGES])


def sampled(rows: Iterable[ObjectRow]) -> Sequence[ObjectRow]:
    """Return the first few objects of each type."""
    found: dict[str, list[ObjectRow]] = {}
    for row in rows:
        found.setdefault(row.type, []).append(row)
    return [row for of_a_type in found.values() for row in of_a_type[:SAMPLES_OF_A_TYPE]][:MAX_SAMPLES]


def completeness(counts: Mapping[str, int], complete: Mapping[tuple[str, str], int]) -> str:
    """Return a table of the objects by type, and how many of them have a title, an author and a date."""
    if not counts:
        return "<p>No web object was found.</p>"
    rows = "".join(_object_row(name, number, complete) for name, number in counts.items())
    head = "".join(f"<td>{words}</td>" for words in ("number", *_FIELDS))
    return (
        f'<div class="wide"><table><tr><th>type</th>{head}</tr>{rows}</table></div>'
        "<p>So many have a title, an author and a date.</p>"
    )


def _object_row(name: str, number: int, complete: Mapping[tuple[str, str], int]) -> str:
    cells = "".join(f"<td>{complete.get((name, each), 0):,}</td>" for each in _FIELDS)
    return f"<tr><th>{escape(name)}</th><td>{number:,}</td>{cells}</tr>"


def sample_objects(rows: Sequence[ObjectRow]) -> str:
    """Return objects as HTML for people."""
    return "".join(map(_sample, rows)) or "<p>None is shown.</p>"


def _sample(row: ObjectRow) -> str:
    facts = (row.type, row.author, row.date)
    title = f"<b>{escape(_short(row.title))}</b><br>" if row.title else ""
    body = f"<p>{escape(_short(row.body))}</p>" if row.body else ""
    told = escape(_short(", ".join(filter(None, facts))))
    return f'<div class="sample">{title}<small>{told}<br>{escape(row.url)}</small>{body}</div>'


def _short(text: str) -> str:
    words = " ".join(text[: 4 * MAX_TEXT_LENGTH].split())
    return words if len(words) <= MAX_TEXT_LENGTH else f"{words[:MAX_TEXT_LENGTH]} \N{HORIZONTAL ELLIPSIS}"


FAILURE_WORDS: Mapping[str, str] = {
    "nothing-found": "found nothing, where each page of the level has something",
    "incomplete": "found objects without their texts",
    "stopped-working": "found none of its former results any more",
    "changed-shape": "found less than it used to",
    "too-much": "found more than a page can hold",
    "error": "could not be run",
    "slow": "would have taken too much work and was left out",
    "conflict": "two applications claim the page",
    "no-sign": "shows no sign of its software any more, which only a former crawl knew: until a sign is learned or a "
    "pattern is added to the file, new pages of the site are read as those of no known software",
    "raised": "met what it is not made for: the pages were read without it",
    "needs-browser": "only a browser could show the content of the page",
    "reads-less": "the draft read less of the page than reading without it, which counts",
    "not-sent": "the form would change something, or lacks a value",
}
_LESS = "reads-less"
METHOD_WORDS: Mapping[str, str] = {
    "memory": "by the content of pages in a former crawl",
    "relaxed": "by relaxed expressions",
    "induced": "by the structure that the pages repeat",
}
_ABSENT = (
    "<p>Where nothing was found all the same, the page showed nothing that could be meant, or too little to be sure of "
    "it: nothing was put in its place. Nor does it count as found where objects that a former crawl knew, and that the "
    "page still shows, are missing.</p>"
)

_SPARED = (
    "<p>After several failures in a row, repair of an action, and learning from what repair finds, are tried on ever "
    "fewer pages of a site. On the others objects are missing, or each page was read by its structure alone.</p>"
)


def adaptation_failures(failed: Mapping[str, int], mended: Mapping[str, int], spared: Mapping[str, int]) -> str:
    """Return a table of failed actions by place and reason, counting pages.

    The arguments count pages where an action failed, was mended, or was spared. Content that no action found is shown
    as absent; nothing is substituted.
    """
    if not failed:
        return "<p>No action failed.</p>"
    rows = "".join(
        _failure(place, count, mended.get(place, 0), spared.get(place, 0)) for place, count in failed.items()
    )
    columns = "<td>pages</td><td>found all the same</td><td>repair or learning not tried</td>"
    head = f"<tr><th>action</th><th>failure</th>{columns}</tr>"
    drafts = "".join(_draft(place, count) for place, count in failed.items() if place.endswith(f": {_LESS}"))
    absent = "" if sum(mended.values()) == sum(failed.values()) else _ABSENT
    return f"<table>{head}{rows}</table>{drafts}{absent}{_SPARED if spared else ''}"


def _draft(place: str, count: int) -> str:
    """Return a note on pages that are read better without a draft, and on what to do about it."""
    application, level, _ = place.rpartition(": ")[0].rsplit("/", 2)
    pages = "a page" if count == 1 else f"{count:,} pages"
    told = f"The draft {application} read less than no file would on {pages} of level {level}."
    return f"<p>{escape(told)} Look at its guesses with <code>aah kb explain</code>.</p>"


def _failure(place: str, count: int, mended: int, spared: int) -> str:
    where, _, reason = place.rpartition(": ")
    words = FAILURE_WORDS.get(reason, reason)
    found = f"{mended:,}" if mended else "nothing"
    failed = f"<th>{escape(where)}</th><th>{escape(words)} ({escape(reason)})</th>"
    return f"<tr>{failed}<td>{count:,}</td><td>{found}</td><td>{spared:,}</td></tr>"


def learned_section(known: Sequence[Evidence], used: Mapping[str, int], begun: str) -> str:
    """Return the learned actions with their evidence as HTML; ``used`` counts pages by the action that read them.

    Actions learned before ``begun``, when the crawl began, are marked as those of an earlier crawl.
    """
    if not known:
        return ""
    items = "".join(f"<li>{_learned(each, begun)}</li>" for each in sorted(known, key=lambda each: each.date))
    pages = sum(used.values())
    told = f"Learned actions read {pages:,} pages of this crawl; <code>aah kb learned</code> shows what they say."
    return f"<p>{told}</p><ul>{items}</ul>"


def _learned(each: Evidence, begun: str) -> str:
    place = "/".join(filter(None, (each.application, each.level, each.action)))
    when = "" if _is_since(each.date, begun) else ", in a former crawl"
    method = METHOD_WORDS.get(each.method, each.method)
    first, rest = each.pages[0] if each.pages else "", len(each.pages) - 1
    pages = f"{escape(first)}{f' and {rest} more' if rest > 0 else ''}"
    decided = f". <b>It was {escape(each.decision.words)}</b>" if each.decision is not None else ""
    return (
        f"<b>{escape(each.name)}</b> for {escape(place)} on {escape(each.site)}, {escape(method)}{when}: "
        f"{_counted(each)}; confidence {each.confidence:.2f}. Evidence: {pages}{decided}"
    )


def _counted(each: Evidence) -> str:
    if each.kind == "sign":
        of = "its level" if each.level else "the application"
        return f"a sign of {of}, on {each.after:,} pages of it and on none of {each.before:,} others"
    what = "links" if each.kind == "links" else "objects"
    return (
        f"{each.after:,} {what} on {len(each.pages):,} pages where the action of the file found {each.before:,} "
        f"({escape(each.failure)})"
    )


def _is_since(date: str, begun: str) -> bool:
    try:
        return datetime.fromisoformat(date) >= datetime.fromisoformat(begun)
    except (ValueError, TypeError):
        return True


def read_learned(crawl: Path) -> Learned:
    """Return the learned terms of ``topic.json`` in a crawl's folder. Raise ``OSError`` or ``ValueError``."""
    return TopicState.read(crawl / TOPIC).learned


def learned_topic(learned: Learned) -> str:
    """Return the learned terms as HTML, empty if there are none."""
    section = _refinement(learned.refinement) if learned.refinement is not None else ""
    if learned.frequencies:
        languages = ", ".join(f"{escape(code)} ({kept.pages:,})" for code, kept in learned.frequencies.items())
        section += (
            f"<p>How much a term says was learned from the crawl's own pages in these languages: {languages}.</p>"
        )
    return section


def _refinement(refinement: KeptRefinement) -> str:
    pages = f"{refinement.relevant:,} of the {refinement.pages:,} pages of the reference crawl"
    if refinement.terms:
        weights = "".join(
            f"<tr><th>{escape(term)}</th><td>{weight:.2f}</td></tr>" for term, weight in refinement.terms.items()
        )
        return f"<p>The topic was refined by what {pages} have in common:</p><table>{weights}</table>"
    refused = ", ".join(map(escape, refinement.refused))
    would = f" It was: {refused}." if refused else ""
    return f"<p>The topic stayed as it was given, as {refinement.outcome}; {pages} were looked at closely.{would}</p>"


MAX_SEED_ROWS = 1_000
"""The most seeds that the report lists; those that gave nothing come first."""
_FETCHED = "fetched"


class Seed(BaseModel):
    """A seed with its outcome, as ``crawl.json`` has it."""

    url: str
    verdict: str
    advice: str = ""
    detail: str = ""
    ended_at: str = ""
    pages: int = 0
    objects: int = 0


def seed_table(seeds: Sequence[Seed]) -> str:
    """Return a table of seeds as HTML; pages and web objects are counted over the seed's whole site."""
    ordered = sorted(seeds, key=lambda seed: seed.verdict == _FETCHED)
    rows = "".join(map(_seed_row, ordered[:MAX_SEED_ROWS]))
    others = f"<p>{len(seeds) - MAX_SEED_ROWS:,} others are in crawl.json.</p>" if len(seeds) > MAX_SEED_ROWS else ""
    return (
        '<div class="wide"><table class="rows"><thead><tr><th>Seed</th><th>What became of it</th><th>Pages of its site'
        f"</th><th>Web objects</th></tr></thead><tbody>{rows}</tbody></table></div>{others}"
    )


def seed_lines(seeds: Sequence[Seed]) -> Iterator[str]:
    """Yield a header and a line for each seed, with tab-separated columns."""
    yield "seed\tverdict\tpages\tobjects\tended at\twhat to do"
    for seed in seeds:
        verdict = f"{seed.verdict} ({seed.detail})" if seed.detail else seed.verdict
        cells = (seed.url, verdict, str(seed.pages), str(seed.objects), seed.ended_at or "-", seed.advice or "-")
        yield "\t".join(cells)


def _seed_row(seed: Seed) -> str:
    where = f"<br><small>at {escape(seed.ended_at)}</small>" if seed.ended_at else ""
    detail = f" ({escape(seed.detail)})" if seed.detail else ""
    advice = f"<br><small>{escape(seed.advice)}</small>" if seed.advice else ""
    mark = "" if seed.verdict == _FETCHED else ' class="bad"'
    return (
        f"<tr{mark}><td>{escape(seed.url)}{where}</td><td>{escape(seed.verdict)}{detail}{advice}</td>"
        f"<td>{seed.pages:,}</td><td>{seed.objects:,}</td></tr>"
    )
