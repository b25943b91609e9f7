"""Try a knowledge base on a crawl's archive without fetching: what would change, object by object."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from aahcrawler.archive.history import Former, History
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.editor.pages.page_readings import (
    ObjectChanged,
    PageChanged,
    PageReading,
    Recognised,
    TrialFinding,
    compared,
    unreadable,
)
from aahcrawler.editor.text.file_lines import read_files
from aahcrawler.editor.text.printable_text import printable
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.links.requests import no_values
from aahcrawler.helper.site_memory import site_of
from aahcrawler.layout import ARCHIVE, DEFINITION, INDEXES
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import Spelling, understand
from aahcrawler.scope import Scope
from aahcrawler.wire.replay import replayed
from knowledge_base.file_selection import chosen_files
from knowledge_base.loader import load_files
from knowledge_base.matching import is_on_host
from knowledge_base.model import KnowledgeBase
from knowledge_base.url_rules import ParsedUrl

MAX_LISTED: Final = 500_000
"""URLs of an archive among which pages are chosen; more are left out."""
MAX_TOLD: Final = 2_000
"""Pages that are told one by one; all are counted."""
MAX_MOVES: Final = 30
EVERY: Final = 20
"""Pages after which progress is told."""
MAX_PAGES = 20
MAX_OBJECTS = 3
MAX_URLS = 3
_MAX_SHOWN_LENGTH = 90


def chosen(urls: Iterable[str], most: int) -> frozenset[str]:
    """Return at most ``most`` of the URLs (0: all), evenly from each host and from each sort of its URLs.

    >>> sorted(chosen(["http://a.test/t/1", "http://a.test/t/2", "http://a.test/b/1", "http://b.test/"], 3))
    ['http://a.test/b/1', 'http://a.test/t/1', 'http://b.test/']
    """
    if not most:
        return frozenset(urls)
    hosts: dict[str, dict[tuple[str, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for url in urls:
        hosts[site_of(url)][_sort(url)].append(url)
    evenly = (_in_turn(_spread(each) for each in sorts.values()) for sorts in hosts.values())
    return frozenset(islice(_in_turn(evenly), most))


def _sort(url: str) -> tuple[str, ...]:
    """Return the sort of a URL: its number of segments, the first one, and the names of its parameters."""
    address = ParsedUrl.parse(url)
    first = address.segments[0] if len(address.segments) > 1 else ""
    plain = "#" if any(map(str.isdigit, first)) else first
    ending = address.segments[-1].rpartition(".")[2][:8] if "." in address.segments[-1] else ""
    return (str(len(address.segments)), plain, ending, *sorted(address.parameters))


def _spread(urls: Sequence[str]) -> list[str]:
    """Order URLs so that every prefix of the result is spread evenly: first, middle, quarters."""
    ordered, found, step = sorted(urls), dict[str, None](), max(1, len(urls))
    while step >= 1:
        found.update(dict.fromkeys(ordered[::step]))
        step //= 2
    return list(found)


def _in_turn(lists: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the first item of each list, then the second of each, and so on."""
    left = [iter(each) for each in lists]
    while left:
        taken = [(each, url) for each in left for url in islice(each, 1)]
        yield from (url for _, url in taken)
        left = [each for each, _ in taken]


class ArchiveTrialError(Exception):
    """The knowledge base cannot be tried on the archive; the message says what to do."""


class Progress(TrialFinding):
    """The number of pages that were read so far, of all that are to be."""

    kind: Literal["progress"] = "progress"
    done: int
    of: int


class Move(TrialFinding):
    """How many pages would change from one application and level (``application/level``) to another."""

    before: str
    after: str
    pages: int


class Summary(TrialFinding):
    """What would change in all. ``pages`` were read, of ``archived`` ones; ``differing`` of them would change.

    ``skipped`` pages are not compared: no HTML or JSON, or the crawl recorded nothing of them. ``unreadable`` ones are
    damaged, or take too long. ``fields`` counts the changed values of the objects that are told, by field. ``against``
    names what is compared with. ``left_out`` pages would change, but are not told one by one.
    """

    kind: Literal["summary"] = "summary"
    against: str
    archived: int
    pages: int
    differing: int = 0
    skipped: int = 0
    unreadable: int = 0
    gained: int = 0
    lost: int = 0
    changed: int = 0
    fields: Mapping[str, int] = {}
    moves: tuple[Move, ...] = ()
    links_followed: int = 0
    links_left: int = 0
    left_out: int = 0


Result = Progress | PageChanged | Summary


@dataclass(frozen=True, slots=True)
class Question:
    """A trial on a crawl's archive: ``after`` is compared with ``before``, or if that is None with the crawl's record.

    Compared with the crawl, drafts are read as crawls read them; compared with another knowledge base, alone. ``host``
    restricts the pages, ``most`` limits them (0: all). ``against`` names what is compared with.
    """

    crawl: Path
    after: KnowledgeBase
    before: KnowledgeBase | None = None
    host: str = ""
    most: int = 0
    against: str = "what the crawl recorded"


def tried(question: Question) -> Iterator[Result]:
    """Try a knowledge base on archived pages: yield progress, each page that would change, and the summary at last.

    Pages are read in the order in which they were captured, since what is known of a site helps to read its next page.
    Nothing is written to the crawl's folder, which may be that of a running crawl. Raises `ArchiveTrialError`.
    """
    archive = question.crawl / ARCHIVE
    if not archive.is_dir():
        raise ArchiveTrialError(f"{question.crawl} holds no {ARCHIVE}; name the folder of a crawl")
    reader = _Reader.of(question)
    with History(archive, question.crawl / INDEXES, beside=True) as history:
        archived, formers = _chosen(history, question)
        tally = _Tally()
        for number, former in enumerate(formers):
            if number % EVERY == 0:
                yield Progress(done=number, of=len(formers))
            told = reader.tried(history, former)
            if tally.take(told) and isinstance(told, PageChanged):
                yield told
        yield Progress(done=len(formers), of=len(formers))
    yield tally.summary(question.against, archived, len(formers))


def without_changes(folders: Sequence[Path], application: str) -> tuple[KnowledgeBase, str]:
    """Load a knowledge base without the last file of an application; return it with a description of what remains.

    If an earlier folder has a file for the application, that one applies. Raise `ArchiveTrialError` and `LoadError`.
    """
    files = chosen_files(folders)
    names = {file.path: file.name for file in read_files(files.applications)}
    changed = next((path for path, name in names.items() if application in (name, path.stem)), None)
    if changed is None:
        known = ", ".join(sorted(names.values(), key=str.lower)) or "none"
        raise ArchiveTrialError(f"no file describes {application}; there are files for {known}")
    name = names[changed]
    at = next((number for number, folder in enumerate(folders) if folder == changed.parent.parent), 0)
    former = {file.name: file.path for file in read_files(chosen_files(folders[:at]).applications)} if at else {}
    left = [former.get(name) if path == changed else path for path in files.applications]
    said = f"the file for {name} in an earlier folder, {former[name]}" if name in former else f"reading without {name}"
    return load_files(files.kinds, [path for path in left if path is not None]), said


def _chosen(history: History, question: Question) -> tuple[int, Sequence[Former]]:
    """Return the number of archived pages that may be tried, and those that are, in the order of their capture."""
    fitting = (each.url for each in history.pages() if not question.host or is_on_host(each.url, question.host))
    urls = list(islice(fitting, MAX_LISTED))
    archived = len(urls) + sum(1 for _ in fitting)
    wanted = chosen(urls, question.most)
    formers = [each for each in history.pages() if each.url in wanted]
    return archived, sorted(formers, key=lambda each: (each.last_seen, each.url))


@dataclass(frozen=True)
class _Reader:
    """Reads archived pages twice: as they were read, and with the knowledge base on trial."""

    after: ApplicationAwareHelper
    before: ApplicationAwareHelper | None
    spelling: Spelling

    @classmethod
    def of(cls, question: Question) -> "_Reader":
        """Return a reader that spells URLs, and fills requests and forms, as the crawl does that is tried on."""
        spelling: Spelling = str
        values = no_values()
        with suppress(DefinitionError):
            icd = read_definition(question.crawl / DEFINITION)
            spelling, values = Scope(icd).spelling, {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
        after = ApplicationAwareHelper(question.after, values=values)
        before = ApplicationAwareHelper(question.before, values=values) if question.before is not None else None
        if before is None:
            after.comparing_drafts()  # The crawl did so as well.
        return cls(after, before, spelling)

    def tried(self, history: History, former: Former) -> PageChanged | Literal["same", "skipped"]:
        """Return what would change on a page."""
        exchange = history.exchange(former)
        if exchange is None:
            return unreadable(former.url, "its record in the archive is gone or damaged")
        with closing(exchange):
            page = replayed(exchange)
        if page is None:
            return unreadable(former.url, "its answer has no readable head")
        if not (page.is_html or page.is_json):
            return "skipped"
        before = self._before(history, former, page)
        if before is None:
            return "skipped"
        after = self._read(page, self.after)
        page.forget()
        return compared(former.url, before, after) or "same"

    def _before(self, history: History, former: Former, page: Page) -> PageReading | None:
        if self.before is not None:
            return self._read(page, self.before)
        metadata = history.metadata(former)
        is_page = metadata is not None and not metadata.trap and not metadata.source
        return PageReading.recorded(metadata) if metadata is not None and is_page else None

    def _read(self, page: Page, helper: ApplicationAwareHelper) -> PageReading:
        return PageReading.of(understand(page, helper, self.spelling))


@dataclass
class _Tally:
    """Counts what would change."""

    told: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    moves: Counter[tuple[str, str]] = field(default_factory=Counter)

    def take(self, page: PageChanged | Literal["same", "skipped"]) -> bool:
        """Count the result of a page; return whether it is to be reported individually."""
        if not isinstance(page, PageChanged):
            self.counts[page] += 1
            return False
        self.counts["unreadable" if page.problem else "differing"] += 1
        for name in ("gained", "lost", "changed", "links_followed", "links_left"):
            self.counts[name] += getattr(page, name)
        self.fields.update(each.name for changed in page.objects for each in changed.fields)
        places = tuple("/".join(filter(None, (each.application, each.level))) for each in (page.before, page.after))
        if places[0] != places[1]:
            self.moves[places[0], places[1]] += 1
        self.told += 1
        return self.told <= MAX_TOLD

    def summary(self, against: str, archived: int, pages: int) -> Summary:
        """Return what would change in all."""
        moves = self.moves.most_common(MAX_MOVES)
        return Summary(
            against=against,
            archived=archived,
            pages=pages,
            fields=dict(self.fields.most_common()),
            moves=tuple(Move(before=before, after=after, pages=number) for (before, after), number in moves),
            left_out=max(0, self.told - MAX_TOLD),
            differing=self.counts["differing"],
            skipped=self.counts["skipped"],
            unreadable=self.counts["unreadable"],
            gained=self.counts["gained"],
            lost=self.counts["lost"],
            changed=self.counts["changed"],
            links_followed=self.counts["links_followed"],
            links_left=self.counts["links_left"],
        )


class HeaviestPages:
    """Keeps the pages with the most changes."""

    def __init__(self, most: int = MAX_PAGES) -> None:
        self._most = most
        self._heap: list[tuple[float, int, PageChanged]] = []
        self._number = 0

    def add(self, page: PageChanged) -> None:
        """Take in a page."""
        self._number += 1
        heapq.heappush(self._heap, (page.weight, -self._number, page))
        if len(self._heap) > self._most:
            heapq.heappop(self._heap)

    def pages(self) -> tuple[PageChanged, ...]:
        """Return those that are kept, that with most changes first."""
        return tuple(page for *_, page in sorted(self._heap, reverse=True))


def summary_lines(summary: Summary) -> Iterator[str]:
    """Yield lines on what would change in all."""
    of = f" of {summary.archived:,}" if summary.pages < summary.archived else ""
    yield f"{summary.pages:,}{of} archived pages, compared with {summary.against}"
    if not summary.differing and not summary.unreadable:
        yield "nothing would change"
    else:
        yield f"pages: {summary.differing:,} would change, {_same(summary):,} would not"
        yield f"objects: {summary.lost:,} lost, {summary.gained:,} gained, {summary.changed:,} read differently"
        if summary.fields:
            named = (f"{number:,} {name}" for name, number in summary.fields.items())
            yield f"fields read differently: {', '.join(named)}"
        yield f"links: {summary.links_left:,} not followed any more, {summary.links_followed:,} followed newly"
        yield from (
            f"{move.pages:,} pages: {_or_none(move.before)} -> {_or_none(move.after)}" for move in summary.moves
        )
    if summary.unreadable:
        yield f"{summary.unreadable:,} pages cannot be read"
    if summary.skipped:
        yield f"{summary.skipped:,} pages are not compared: no HTML or JSON, or nothing was recorded of them"


def page_lines(pages: Iterable[PageChanged]) -> Iterator[str]:
    """Yield lines on pages that would change, some of each; what terminals obey is left out."""
    return (printable(line) for line in _page_lines(pages))


def _page_lines(pages: Iterable[PageChanged]) -> Iterator[str]:
    for page in pages:
        yield page.url
        if page.problem:
            yield f"  cannot be read: {page.problem}"
        if _place(page.before) != _place(page.after):
            yield f"  {_or_none(_place(page.before))} -> {_or_none(_place(page.after))}"
        for each in page.objects[:MAX_OBJECTS]:
            yield from _object_lines(each)
        more = page.lost + page.gained + page.changed - len(page.objects[:MAX_OBJECTS])
        if more:
            yield f"  and {more:,} more objects"
        reasons = {each.url: each.reason for each in page.refused}
        left = (f"{url} ({reasons[url]})" if url in reasons else url for url in page.left)
        yield from _urls("not followed any more", left, page.links_left)
        yield from _urls("followed newly", page.followed, page.links_followed)


def _object_lines(changed: ObjectChanged) -> Iterator[str]:
    title = f": {_short(changed.title)}" if changed.title else ""
    yield f"  {changed.change} {changed.type} {changed.iri}{title}"
    yield from (f"    {each.name}: {_quoted(each.before)} -> {_quoted(each.after)}" for each in changed.fields)


def _urls(what: str, urls: Iterable[str], number: int) -> Iterator[str]:
    if number:
        shown = [url for url, _ in zip(urls, range(MAX_URLS), strict=False)]
        more = f" and {number - len(shown):,} more" if number > len(shown) else ""
        yield f"  {what}: {', '.join(shown)}{more}"


def _same(summary: Summary) -> int:
    return summary.pages - summary.differing - summary.unreadable - summary.skipped


def _place(recognised: Recognised) -> str:
    return "/".join(filter(None, (recognised.application, recognised.level)))


def _or_none(place: str) -> str:
    return place or "no known application"


def _quoted(value: str | None) -> str:
    return "nothing" if value is None else f'"{_short(value)}"'


def _short(text: str) -> str:
    line = printable(text)
    return line if len(line) <= _MAX_SHOWN_LENGTH else f"{line[:_MAX_SHOWN_LENGTH]}..."
