"""Export crawls, or selected pages, as one WACZ package: unchanged records, an index, and lists of pages.

The same folders give the same bytes: all times in the package are those of captures.
"""

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, BinaryIO, Final

from pydantic import JsonValue, TypeAdapter

from aahcrawler import __version__, urls
from aahcrawler.annotations import SAID_BY, AnnotationIndex, CaptureAnnotations
from aahcrawler.annotations.annotation import read_annotations
from aahcrawler.archive.folders import ArchiveFolder, hidden_in, is_referred
from aahcrawler.archive.index import IndexedRecords, LineSorter
from aahcrawler.archive.scanning import Scanned, scan
from aahcrawler.captures import ArchivedCaptures, Capture
from aahcrawler.captures.capture_source import BEGINNING
from aahcrawler.captures.record_scan import EPOCH
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.fingerprint import files_digest
from aahcrawler.helper.assistance import RaisedTally
from aahcrawler.jobs import Job, Work
from aahcrawler.layout import (
    ANNOTATIONS,
    ARCHIVE,
    DEFINITION,
    EXPORT_READING,
    INDEXES,
    NQUADS,
    OBJECTS,
    REMOVING,
    TOMBSTONES,
    WARC,
)
from aahcrawler.segments import Members, extent, open_segment, segments
from knowledge_base.file_selection import folders_for
from offline.export.wacz_file import ExportError, Finished, Signer, WaczFile, packed_index, rfc3339, writing_wacz
from offline.selection.criteria import Criteria
from offline.selection.warc_selection import Names, SelectedCaptures, Selection, chosen, copied, expanded, mark
from online_analysis.document import Document
from online_analysis.icd import Icd

INDEX: Final = "index.cdx.gz"
_PIECE: Final = 1 << 20
_ROLES: Final = {"creator": "author", "contributor": "contributor", "publisher": "publisher"}
"""The roles in a data package for Dublin Core's terms for people."""

Seen = Callable[[str, int], object]
"""Called with ``CAPTURES_FOUND``, ``PAGES_READ`` or ``BYTES_WRITTEN``, and how many more there are."""
CAPTURES_FOUND: Final = "captures found"
PAGES_READ: Final = "pages read"
BYTES_WRITTEN: Final = "bytes written"
COUNTED: Final = (CAPTURES_FOUND, PAGES_READ, BYTES_WRITTEN)


@dataclass(frozen=True, slots=True)
class WantedPages:
    """What is exported of each crawl: everything, or the pages that meet criteria or whose records are named.

    ``records`` are the ids of response and revisit records, such as those a search finds; None if none were named.
    Selected pages are exported with the records that ``aah select`` selects with them. ``text`` says whether to include
    the texts of pages, ``annotations`` whether to include those that enrichment made of the captures.
    """

    criteria: Criteria = field(default_factory=Criteria)
    records: Sequence[str] | None = None
    requisites: bool = True
    sessions: bool = False
    text: bool = True
    annotations: bool = True

    @property
    def is_all(self) -> bool:
        """Whether everything is exported."""
        return self.records is None and self.criteria.are_none

    def __str__(self) -> str:
        named = [] if self.records is None else [f"a list of {len(self.records)} records"]
        return "; ".join((*named, *([] if self.criteria.are_none else [str(self.criteria)])))


@dataclass(frozen=True, slots=True)
class Described:
    """The description of a package: title, description, and other Dublin Core terms with their values."""

    title: str
    description: str = ""
    terms: Sequence[tuple[str, str]] = ()

    @classmethod
    def of_crawls(cls, crawls: Sequence[Path]) -> "Described":
        """Return the description from crawls' definitions: the title of each and, for a single crawl, its metadata."""
        known = [(crawl, _definition(crawl)) for crawl in crawls]
        titles = [icd.title or icd.id if icd else crawl.resolve().name for crawl, icd in known]
        icd = known[0][1] if len(known) == 1 else None
        terms = () if icd is None else tuple(each for each in icd.metadata.terms() if each[0] != "description")
        return cls(", ".join(titles), "" if icd is None else icd.metadata.description, terms)

    def package(self, wanted: WantedPages) -> dict[str, JsonValue]:
        """Return the fields of ``datapackage.json`` for this description and the selection."""
        terms: dict[str, list[str]] = {}
        for name, value in self.terms:
            terms.setdefault(name, []).append(value)
        said = (self.description, "" if wanted.is_all else f"Selection: {wanted}")
        people: list[JsonValue] = [
            {"title": value, "role": _ROLES[name]} for name, value in self.terms if name in _ROLES
        ]
        fields: dict[str, JsonValue] = {
            "title": self.title,
            "description": "\n\n".join(filter(None, said)),
            "software": f"AAHCrawler/{__version__}",
            "contributors": people,
            "keywords": list(terms.get("subject", ())),
            "dublinCore": {name: list(values) for name, values in terms.items()},
        }
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class Exported:
    """The content of a package: pages in its lists, captures that can be looked up, and its size in bytes.

    ``left_out`` counts pages, or responses in a full export, that were fetched under a session; ``raised`` names pages
    whose page requisites could not be determined; ``empty`` are the crawls of which nothing is included.
    """

    pages: int
    captures: int
    package: Finished
    left_out: int
    raised: RaisedTally
    empty: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class PageText:
    """An entry of the list of pages: URL, time of capture, title and text; the URL is empty if there is no page."""

    url: str = ""
    at: datetime = EPOCH
    title: str = ""
    text: str = ""


_NOTES: Final = TypeAdapter(PageText)


@dataclass(frozen=True, slots=True)
class ReadingTexts:
    """The job step that reads titles and texts of pages."""

    crawl: Path
    with_text: bool
    knowledge: str

    @property
    def version(self) -> str:
        """The version of everything the texts depend on."""
        return f"{__version__} {self.with_text} {self.knowledge}"

    @contextmanager
    def open(self) -> Iterator[Work[PageText]]:
        """Open the archive. Raises ``SegmentError``."""
        with ArchivedCaptures(self.crawl) as source:
            yield lambda _, captures: [(self._read(source.of_record(each)), b"") for each in captures]

    def _read(self, capture: Capture | None) -> PageText:
        if capture is None:
            return PageText()
        document = capture.document if self.with_text else None
        stated = None if capture.reading is None else capture.reading.row.title
        title = (document.title if document is not None else "") or stated or ""
        return PageText(capture.target_uri, capture.date, title, "" if document is None else _text(document))


def _text(document: Document) -> str:
    """Return the text of a page: its content, or the entries of a list."""
    content = [part.text for part in document.parts if part.role == "content"]
    blocks = content or [part.text for part in document.parts if part.role == "navigation"]
    return "\n".join(filter(None, (*blocks, document.rest)))


def export(
    crawls: Sequence[Path],
    wanted: WantedPages,
    target: Path,
    *,
    described: Described | None = None,
    key: Signer | None = None,
    processes: int = 1,
    seen: Seen = lambda _what, _more: None,
) -> Exported:
    """Write a package of crawls, which appears as a whole or not at all.

    Raises ``ExportError`` if it cannot be written, would contain no capture, or something is taken down meanwhile;
    ``SegmentError`` for a damaged archive, ``ReadError``, ``JobError``, and the errors of ``chosen``.
    """
    folders = list(dict.fromkeys(crawl.resolve() for crawl in crawls))
    before = [_taken_down(folder) for folder in folders]
    with writing_wacz(target) as wacz, _Pages(target.parent) as pages, LineSorter(target.parent) as lines:
        making = _Export(wacz, pages, lines, wanted, processes, seen)
        for folder in folders:
            making.add(folder)
        if not making.captures:
            raise making.nothing(crawls)
        newest = making.newest
        blocks: list[bytes] = []
        wacz.add(f"indexes/{INDEX}", packed_index(lines, INDEX, blocks), newest, is_packed=True)
        wacz.add("indexes/index.idx", blocks, newest, is_packed=False)
        pages.write(wacz, newest, has_text=wanted.text)
        told = (described or Described.of_crawls(folders)).package(wanted)
        package = wacz.finish({**told, **pages.main()}, newest, key)
        if before != [_taken_down(folder) for folder in folders]:
            raise ExportError(f"{target}: pages were taken down while it was written; export again")
    empty = tuple(folder for folder in folders if folder in making.empty)
    return Exported(pages.number, making.captures, package, making.left_out, making.raised, empty)


@dataclass(slots=True)
class _Export:
    """A package being written, with what it has of each crawl so far."""

    wacz: WaczFile
    pages: "_Pages"
    lines: LineSorter
    wanted: WantedPages
    processes: int
    seen: Seen
    newest: datetime = EPOCH
    captures: int = 0
    left_out: int = 0
    raised: RaisedTally = field(default_factory=RaisedTally)
    empty: set[Path] = field(default_factory=set)
    _names: set[str] = field(default_factory=set)

    def add(self, crawl: Path) -> None:
        """Add what is wanted of a crawl."""
        with (
            ArchivedCaptures(crawl, seen=lambda: self.seen(CAPTURES_FOUND, 1)) as source,
            SelectedCaptures(source, with_sessions=self.wanted.sessions) as selected,
            closing(WholeArchive(source, selected)) as whole,
            closing(Names()) as exported,
        ):
            if self.wanted.is_all:
                whole.look_through()
                self.left_out += whole.left_out
                rows = chosen(crawl, Criteria(), source)
                records: Iterable[str] = (
                    r.capture for r in rows if not selected.leaves_aside(source.of_record(r.capture))
                )
                newest, spans_of = whole.newest, whole.spans
            else:
                marked = self._mark(crawl, source, selected)
                self.left_out += marked.left_out
                self.raised.update(marked.raised)
                records, newest, spans_of = selected.pages(), selected.newest, selected.spans
            before = self.captures
            self._add_files(crawl, source, spans_of, newest, exported)
            if self.captures == before:
                self.empty.add(crawl)
                return
            self._add_annotations(crawl, exported, newest)
            self._add_pages(crawl, source, records)
            self.newest = max(self.newest, newest)

    def nothing(self, crawls: Sequence[Path]) -> ExportError:
        """Return the error to raise if nothing is left to be written."""
        names = ", ".join(map(str, crawls))
        if self.left_out:
            return ExportError(f"{names}: all of it was fetched under a session; --with-sessions takes it")
        if self.wanted.is_all:
            return ExportError(f"{names}: holds no captures")
        return ExportError(f"{names}: no page fulfils this ({self.wanted}); aah pages lists the pages")

    def _mark(self, crawl: Path, source: ArchivedCaptures, selected: SelectedCaptures) -> Selection:
        criteria, named = self.wanted.criteria, self.wanted.records
        if named is None:
            records: Iterable[str] = (row.capture for row in chosen(crawl, criteria, source))
        elif criteria.are_none:
            records = (record for record in dict.fromkeys(named) if source.of_record(record) is not None)
        else:
            asked = frozenset(named)
            records = (row.capture for row in chosen(crawl, criteria, source) if row.capture in asked)
        asked_text = "\n".join((repr(criteria), *(named or ())))
        return mark(
            crawl, records, asked_text, selected, with_requisites=self.wanted.requisites, processes=self.processes
        )

    def _add_files(
        self,
        crawl: Path,
        source: ArchivedCaptures,
        spans_of: Callable[[int], Iterator[tuple[int, int]]],
        at: datetime,
        exported: Names,
    ) -> None:
        for file in source.table.files():
            bounds, size = summed(spans_of(file))
            if not size:
                continue
            name = self._free_name(crawl, source.table.name(file))
            spans = zip(bounds[::2], bounds[1::2], strict=True)
            pieces = self._counted(copied(source, file, spans))
            member = self.wacz.add(f"{ARCHIVE}/{name}", pieces, at, is_packed=True, size=size)
            with self.wacz.stored(member) as stored:
                self.lines.extend(self._index_lines(stored, name, exported))

    def _add_annotations(self, crawl: Path, exported: Names, at: datetime) -> None:
        members = exported_annotations(crawl, exported) if self.wanted.annotations else iter(())
        first = next(members, None)
        if first is not None:
            name = self._free_name(crawl, f"{crawl.name}.{NQUADS}")
            self.wacz.add(f"{ANNOTATIONS}/{name}", chain((first,), members), at, is_packed=True)

    def _index_lines(self, stored: BinaryIO, name: str, exported: Names) -> Iterator[bytes]:
        records = IndexedRecords(name)
        for record in scan(stored):
            exported.add(record.header.record_id)
            for entry in records.take(record):
                self.captures += 1
                yield entry.line()
        for entry in records.end():
            self.captures += 1
            yield entry.line()

    def _counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self.seen(BYTES_WRITTEN, len(piece))
            yield piece

    def _free_name(self, crawl: Path, name: str) -> str:
        """Return the name of a WARC file in the package, different from those of other crawls' files."""
        candidates = (
            name,
            f"{crawl.name}-{name}",
            *(f"{crawl.name}-{n}-{name}" for n in range(2, len(self._names) + 3)),
        )
        found = next(each for each in candidates if each not in self._names)
        self._names.add(found)
        return found

    def _add_pages(self, crawl: Path, source: ArchivedCaptures, records: Iterable[str]) -> None:
        icd = _definition(crawl)
        seeds = expanded([url for seed in (icd.seeds if icd else ()) if (url := urls.canonicalize(seed))], source)
        step = ReadingTexts(crawl, self.wanted.text, files_digest(folders_for(crawl)))
        job = Job(
            step,
            _NOTES,
            crawl / INDEXES / EXPORT_READING,
            processes=self.processes,
            seen=lambda more: self.seen(PAGES_READ, more),
        )
        state = (
            str(self.wanted),
            repr(self.wanted.records),
            extent(crawl / ARCHIVE, WARC),
            extent(crawl / OBJECTS, NQUADS),
        )
        with job.run((("", record) for record in records), "\n".join(state)) as found:
            for record, page in found:
                if page.url:
                    self.pages.add(record, page, is_seed=(urls.canonicalize(page.url) or page.url) in seeds)


class _Pages:
    """The two lists of pages of a package: seed pages, and all others.

    Without seed pages, the first list has all pages.
    """

    def __init__(self, folder: Path) -> None:
        self._files = ExitStack()
        self._seeds = self._files.enter_context(TemporaryFile(dir=folder))  # noqa: SIM115 - closed with it
        self._others = self._files.enter_context(TemporaryFile(dir=folder))  # noqa: SIM115 - closed with it
        self._main: PageText | None = None
        self.number = 0

    def __enter__(self) -> "_Pages":
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def add(self, record: str, page: PageText, *, is_seed: bool) -> None:
        """Add a page by the id of its record."""
        said: dict[str, JsonValue] = {"id": record.rpartition(":")[2], "url": page.url, "ts": rfc3339(page.at)}
        said |= {name: value for name, value in (("title", page.title), ("text", page.text)) if value}
        if is_seed:
            said["seed"] = True
            self._main = self._main or page
        self.number += 1
        (self._seeds if is_seed else self._others).write(_line(said))

    def main(self) -> Mapping[str, JsonValue]:
        """Return the fields of ``datapackage.json`` that name the page to begin with."""
        if self._main is None:
            return {}
        return {"mainPageUrl": self._main.url, "mainPageDate": rfc3339(self._main.at)}

    def write(self, wacz: WaczFile, at: datetime, *, has_text: bool) -> None:
        """Add the lists to a package."""
        lists = [("pages", "All Pages", self._seeds), ("extraPages", "Extra Pages", self._others)]
        if not self._seeds.tell():
            lists = [("pages", "All Pages", self._others)]
        for name, title, file in lists:
            if file.tell() or name == "pages":
                head: dict[str, JsonValue] = {
                    "format": "json-pages-1.0",
                    "id": name,
                    "title": title,
                    "hasText": has_text,
                }
                wacz.add(f"pages/{name}.jsonl", _listed(head, file), at, is_packed=False)


def _listed(head: Mapping[str, JsonValue], file: IO[bytes]) -> Iterator[bytes]:
    yield _line(head)
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece


def _line(said: Mapping[str, JsonValue]) -> bytes:
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _definition(crawl: Path) -> Icd | None:
    try:
        return read_definition(crawl / DEFINITION)
    except DefinitionError:
        return None


def _taken_down(crawl: Path) -> bytes:
    """Return a crawl folder's record of takedowns. Raises ``ExportError`` while a takedown is in progress."""
    if (crawl / REMOVING).exists():
        raise ExportError(f"{crawl}: pages are being taken down; aah remove goes on with it, then export")
    stones = crawl / TOMBSTONES
    return stones.read_bytes() if stones.exists() else b""


def exported_annotations(crawl: Path, captures: Names) -> Iterator[bytes]:
    """Yield the gzip members of current annotations that are based only on exported captures.

    Annotations of many captures together are exported only if all annotated captures are: they might otherwise tell of
    others. Raises ``DamageError``, ``OSError`` and ``sqlite3.Error``.
    """
    if not (crawl / ANNOTATIONS).is_dir():
        return
    with AnnotationIndex(crawl) as index:
        index.catch_up()
        annotated = index.base.execute("SELECT DISTINCT capture FROM unit WHERE is_shown")
        has_all = all(capture in captures for (capture,) in annotated)
        for path in segments(crawl / ANNOTATIONS, NQUADS):
            with open_segment(path) as file, path.open("rb") as packed:
                members = Members(file)
                while members.end < members.size:
                    begin, text = members.end, members.member()
                    try:
                        unit = read_annotations(text)
                    except (KeyError, ValueError):
                        continue  # What cannot be read counts nowhere.
                    is_end = not unit.capture and index.has_run(unit.annotator, unit.version, unit.run)
                    is_shown = index.is_shown(f"{ANNOTATIONS}/{path.name}", begin) or is_end
                    if is_shown and (has_all if unit.run else _rests_on(unit, captures)):
                        packed.seek(begin)
                        yield packed.read(members.end - begin)


def _rests_on(unit: CaptureAnnotations, captures: Names) -> bool:
    others = (value for each in unit.annotations for name, value in each.values if name == SAID_BY)
    return unit.capture in captures and all(other in captures for other in others)


@dataclass(slots=True)
class WholeArchive:
    """All records of an archive except excluded ones, identified by the ids of the responses to which they belong.

    ``left_out`` counts the responses fetched under a session, if those are not wanted.
    """

    source: ArchivedCaptures
    selected: SelectedCaptures
    newest: datetime = EPOCH
    left_out: int = 0
    _hidden: Names = field(default_factory=Names)
    _files_with_hidden: set[int] = field(default_factory=set)

    def look_through(self) -> None:
        """Find the excluded records."""
        for row, _ in self.source.table.in_time(BEGINNING):
            capture = self.source.capture(row)
            is_aside = self.selected.leaves_aside(capture)
            if is_aside or self.source.hides(row):
                self._hidden.add(capture.record_id)
                self._files_with_hidden.add(row.file)
                self.left_out += is_aside
            else:
                self.newest = max(self.newest, capture.date)

    def close(self) -> None:
        """Release the sets of excluded records."""
        self._hidden.close()

    def spans(self, file: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of a file, given by its number, that are exported. Raises ``OSError``."""
        path = ArchiveFolder.of(self.source.crawl).files / self.source.table.name(file) if self.source.crawl else None
        is_hidden = hidden_in(path) if path is not None and is_referred(path) else None
        size = self.source.table.size(file)
        if file not in self._files_with_hidden and is_hidden is None:
            yield 0, size
            return
        begin = 0
        for record in scan(self.source.table.open(file)):
            target = record.header.get("WARC-Target-URI").strip("<>")
            if self._belongs(record) or (is_hidden is not None and target and is_hidden(target)):
                self._hidden.add(record.header.record_id)
                if begin < record.offset:
                    yield begin, record.offset
                begin = record.offset + record.size
        if begin < size:
            yield begin, size

    def _belongs(self, record: Scanned) -> bool:
        """Return whether a record is excluded, or belongs to an excluded one."""
        about = record.header.get("WARC-Refers-To").strip("<>") if record.kind == "metadata" else ""
        return any(name in self._hidden for name in (record.header.record_id, *record.header.concurrent_to, about))


def summed(spans: Iterator[tuple[int, int]]) -> "tuple[array[int], int]":
    """Return spans as an array of their bounds, and the sum of their bytes."""
    bounds, size = array("Q"), 0
    for begin, end in spans:
        bounds.extend((begin, end))
        size += end - begin
    return bounds, size
