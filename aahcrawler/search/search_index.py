"""The full-text index of a crawl's folder, derived from its WARC files and from segments that describe its objects.

It consists of two stores: a SQLite file, the ledger, which records how much of each source was read and what was seen
when, and a Tantivy index beside it with the texts. What is seen is a thing, a page or an object, with some content at
some time; consecutive captures with the same content are one version of it.

A step writes texts first, commits them, and then commits the ledger. After a kill in between, the texts are ahead of
the ledger: the next steps write the same versions again, each replacing the one with its key, and until everything has
been read they delete all texts that may have been written for the things they meet. So nothing is lost or doubled.
"""

import json
import logging
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from aahcrawler.annotations import AnnotationIndex, Annotations, CaptureAnnotations, Kind
from aahcrawler.annotations.annotation import read_annotations
from aahcrawler.captures.record_scan import Damage, Info, ResponseRecord, scanned
from aahcrawler.derived_index import DerivedIndex, Known, Source, segment_members, segment_sources
from aahcrawler.layout import ANNOTATIONS, ARCHIVE, INDEXES, NQUADS, OBJECTS, SEARCH, SEARCH_TEXTS, WARC
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.search.search_entry import (
    OBJECT,
    Facts,
    PageTexts,
    SearchEntry,
    facts_in,
    microseconds,
    number_of,
    object_entries,
    object_thing,
    page_thing,
    shows_page,
)
from aahcrawler.search.text_index import SAID, STILL, TOPIC_STEMS, TextIndex, Version, version_key
from aahcrawler.segments import DamageError
from aahcrawler.tombstones import TakenDown, being_removed
from aahcrawler.urls import canonicalize

_TABLES: Final = (
    "CREATE TABLE texts (folder TEXT NOT NULL, stamp INTEGER NOT NULL, is_ahead INTEGER NOT NULL)",
    """CREATE TABLE capture (
  id INTEGER PRIMARY KEY, record TEXT NOT NULL UNIQUE, crawl INTEGER NOT NULL, facts TEXT NOT NULL, file TEXT,
  answer TEXT, former TEXT
)""",
    """CREATE TABLE sighting (
  thing INTEGER NOT NULL, at INTEGER NOT NULL, capture INTEGER NOT NULL, digest INTEGER NOT NULL, former TEXT,
  PRIMARY KEY (thing, at, capture)
) WITHOUT ROWID""",
    "CREATE INDEX sighting_capture ON sighting (capture)",
    """CREATE TABLE said (
  thing INTEGER NOT NULL, annotator TEXT NOT NULL, capture TEXT NOT NULL, run TEXT NOT NULL,
  PRIMARY KEY (annotator, capture, run, thing)
) WITHOUT ROWID""",
    "CREATE TABLE info (id TEXT PRIMARY KEY, file TEXT NOT NULL, begin INTEGER NOT NULL, end INTEGER NOT NULL)",
    "CREATE TABLE language (code TEXT PRIMARY KEY) WITHOUT ROWID",
)
_SIGHTINGS: Final = """
SELECT at, capture, digest, record, crawl, sighting.former FROM sighting JOIN capture ON capture.id = sighting.capture
WHERE thing = ? ORDER BY at, record
"""
_GONE: Final = 0
"""The digest of a thing that a capture found gone."""
_MAX_PENDING: Final = 16_000_000
"""How many characters of texts may wait to be written."""
_MAX_SAID_ANEW: Final = 1_000
"""How many objects may wait to be written because of new annotations."""
_SAYING: Final = "DELETE FROM said WHERE annotator = ? AND capture = ? AND run = ? RETURNING thing"
_FORMER_RUNS: Final = "DELETE FROM said WHERE annotator = ? AND run != ? RETURNING thing"
Stated = CaptureStatements | ResponseRecord | Info | bytes
_logger = logging.getLogger(__name__)


class Sighting(NamedTuple):
    """A thing as a capture saw it. ``former`` is the capture that had what this one found gone."""

    at: int
    capture: int
    digest: int
    record: str
    crawl: int
    former: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """A version according to the ledger: its first capture, its digest, and what became of it."""

    record: str
    at: int
    digest: int
    until: int
    is_last: bool
    is_gone: bool


class SearchIndex(DerivedIndex[Stated]):
    """The full-text index of a crawl's folder, which catches up with what is added.

    Objects are read first, so that they are found while pages are still being read.
    """

    schema: ClassVar = _TABLES
    version: ClassVar = 4
    at_once: ClassVar = 500

    def __init__(self, crawl: Path) -> None:
        super().__init__(crawl / INDEXES / SEARCH)
        self._crawl = crawl
        self._texts: TextIndex | None = None
        self._is_ahead = False
        self._pending: dict[tuple[int, int], SearchEntry] = {}
        self._dirty: dict[int, list[Run]] = {}
        self._renewed: dict[str, Facts] = {}

    # Sources

    def sources(self) -> Iterator[Source]:
        """Return the segments of statements, then WARC files, then annotations up to the first unfinished run."""
        yield from segment_sources(self._crawl / OBJECTS, NQUADS, f"{OBJECTS}/")
        yield from segment_sources(self._crawl / ARCHIVE, WARC, f"{ARCHIVE}/")
        with self._annotations() as annotations:
            for source in segment_sources(self._crawl / ANNOTATIONS, NQUADS, f"{ANNOTATIONS}/"):
                size = 0 if annotations is None else min(source.size, annotations.settled(source.name))
                yield replace(source, size=size, is_open=source.is_open or size < source.size)

    def is_other(self, known: Known, source: Source | None) -> bool:
        """Return whether a source is gone or was replaced, regardless of how far annotations are settled."""
        if source is not None and source.is_open and known.name.startswith(f"{ANNOTATIONS}/"):
            return source.inode != known.inode
        return super().is_other(known, source)

    @contextmanager
    def _annotations(self) -> Iterator[AnnotationIndex | None]:
        """Yield the index of the annotations in the folder; None if there are none."""
        if not (self._crawl / ANNOTATIONS).is_dir():
            yield None
            return
        with AnnotationIndex(self._crawl) as index:
            index.catch_up()
            yield index

    def entries(self, source: Source, begin: int) -> Iterator[tuple[Stated, int]]:
        """Yield the readings of captures, the responses of a WARC file, or annotations.

        Damage in a WARC file is raised at its end.
        """
        if source.name.startswith(f"{ANNOTATIONS}/"):
            yield from segment_members(source, begin)
            return
        if source.name.startswith(f"{OBJECTS}/"):
            yield from ((read_statements(text), end) for text, end in segment_members(source, begin))
            return
        damaged: list[Damage] = []
        yield from ((each, each.end) for each in scanned(source.path, begin, damaged.append))
        if damaged:
            raise DamageError(f"at byte {damaged[0].offset}: {damaged[0].reason}")

    # One entry

    def begin(self) -> None:
        """Begin a step."""
        self._pending, self._dirty, self._renewed, self._size = {}, {}, {}, 0
        self._said_anew: set[int] = set()
        self._names = dict(self.base.execute("SELECT id, name FROM segment"))
        self._taken_down = TakenDown.of(self._crawl), being_removed(self._crawl)
        self._languages: set[str] = set()

    def put(self, entry: Stated, source: int, place: int) -> None:  # noqa: ARG002
        """Add what a capture contains, the text of its page, or the place of a ``warcinfo`` record."""
        name = self._names[source].removeprefix(f"{ARCHIVE}/")
        if isinstance(entry, ResponseRecord):
            self._put_answer(entry, name)
        elif isinstance(entry, Info):
            self.base.execute("INSERT OR REPLACE INTO info VALUES (?, ?, ?, ?)", (entry.id, name, *entry[1:]))
        elif isinstance(entry, bytes):
            self._put_annotations(read_annotations(entry))
        else:
            self._put_statements(entry)
        if self._size > _MAX_PENDING or len(self._said_anew) > _MAX_SAID_ANEW:
            self.settle()

    def _put_statements(self, stated: CaptureStatements) -> None:
        row = stated.row
        if not row.url or not row.capture or self._is_hidden(row.url, row.capture):
            return
        at, facts = microseconds(row.fetched_at), facts_in(stated)
        number, known = self._capture(row.capture, row.crawl, stated.former)
        if known is not None and known.read_at > facts.read_at:
            return
        if known is not None and known.read_at < facts.read_at:
            self._withdraw(number)
        if known is not None:
            facts = replace(facts, language=known.language)
        if facts != known:
            self.base.execute("UPDATE capture SET facts = ? WHERE id = ?", (str(facts), number))
            if known is not None:
                self._renew(row.capture, number, facts)
        for each in object_entries(stated):
            self._see(each, number)
        for iri in stated.deleted:
            self._sight(number_of(object_thing(iri)), at, number, _GONE, stated.former)

    def _put_annotations(self, made: CaptureAnnotations) -> None:
        """Mark the objects whose annotations have changed for writing."""
        if made.capture:
            told = made.annotator, made.capture, made.run
            things = {row[0] for row in self.base.execute(_SAYING, told).fetchall()}
            now = {number_of(object_thing(each.object)) for each in made.annotations if each.kind in SAID}
            self.base.executemany("INSERT INTO said VALUES (?, ?, ?, ?)", ((thing, *told) for thing in now))
            things |= now
        else:
            things = {row[0] for row in self.base.execute(_FORMER_RUNS, (made.annotator, made.run)).fetchall()}
        for thing in things:
            self._touch(thing)
        self._said_anew |= things

    def _put_answer(self, answer: ResponseRecord, name: str) -> None:
        if self._is_hidden(answer.url, answer.id) or not answer.id:
            return
        if answer.is_revisit and answer.document is None:
            self._put_revisit(answer, name)
            return
        if not shows_page(answer):
            return
        number, facts = self._placed(answer, name)
        if facts is None:
            facts = self._first_facts(name, answer)
            self.base.execute("UPDATE capture SET facts = ? WHERE id = ?", (str(facts), number))
        entry = self._page_texts.entry(name, answer, facts)
        if entry is not None:
            self._see(entry, number)

    def _placed(self, answer: ResponseRecord, name: str) -> tuple[int, Facts | None]:
        """Store where the records of a response are; return as ``_capture`` does."""
        number, facts = self._capture(answer.id, answer.crawl, None)
        self.base.execute("UPDATE capture SET file = ?, answer = ? WHERE id = ?", (name, json.dumps(answer), number))
        return number, facts

    def _put_revisit(self, answer: ResponseRecord, name: str) -> None:
        """Record that the content of the capture to which a revisit refers was seen again, if it is known."""
        found = self.base.execute(
            "SELECT id, file, answer, facts FROM capture WHERE record = ? AND file IS NOT NULL", (answer.refers,)
        ).fetchone()
        if found is None:
            return
        thing, (original, file, kept, facts) = number_of(page_thing(answer.url)), found
        number, _ = self._placed(answer, name)
        held = self.base.execute("SELECT digest FROM sighting WHERE thing = ? AND capture = ?", (thing, original))
        if (row := held.fetchone()) is not None:
            self._sight(thing, answer.at, number, row[0])
            return
        # The same was elsewhere: it is read there, and is of this URL.
        entry = self._page_texts.entry(file, _answer(kept), Facts.parse(facts))
        if entry is not None:
            named = {"thing": page_thing(answer.url), "url": answer.url, "record": answer.id, "captured": answer.at}
            self._see(replace(entry, **named, crawl=answer.crawl), number)  # type: ignore[arg-type]

    def _first_facts(self, name: str, answer: ResponseRecord) -> Facts:
        told = self._page_texts.metadata(name, answer)
        if told is None:
            return Facts()
        return Facts(told.application, told.score, told.language)

    def _is_hidden(self, url: str, record: str) -> bool:
        taken, records = self._taken_down
        return record in records or taken.covers(canonicalize(url) or url)

    def _capture(self, record: str, crawl: int, former: str | None) -> tuple[int, Facts | None]:
        """Return the number of a capture, and what is known about it; None if it is new."""
        row = self.base.execute("SELECT id, facts FROM capture WHERE record = ?", (record,)).fetchone()
        if row is not None:
            return row[0], Facts.parse(row[1]) if row[1] else None
        made = self.base.execute(
            "INSERT INTO capture (record, crawl, facts, former) VALUES (?, ?, '', ?)", (record, crawl, former)
        )
        return made.lastrowid or 0, None

    def _see(self, entry: SearchEntry, capture: int) -> None:
        """Add the version that a capture shows."""
        thing, digest = number_of(entry.thing), entry.digest
        if (thing, digest) not in self._pending:
            self._pending[thing, digest] = entry
            self._size += len(entry.text) + len(entry.title) + 1_000
        if entry.language:
            self._languages.add(entry.language)
        self._sight(thing, entry.captured, capture, digest)

    def _sight(self, thing: int, at: int, capture: int, digest: int, former: str | None = None) -> None:
        self._touch(thing)
        self.base.execute(
            "INSERT OR REPLACE INTO sighting VALUES (?, ?, ?, ?, ?)", (thing, at, capture, digest, former)
        )

    def _touch(self, thing: int) -> None:
        """Remember the state of a thing before the step."""
        if thing not in self._dirty:
            self._dirty[thing] = list(self._runs(thing))

    def _withdraw(self, capture: int) -> None:
        """Forget the objects that an earlier reading of a capture found; its page stays."""
        rows = self.base.execute(
            "SELECT thing FROM sighting JOIN capture ON capture.id = sighting.capture WHERE capture = ?", (capture,)
        ).fetchall()
        own = self._page_of(capture)
        for (thing,) in rows:
            if thing != own:
                self._touch(thing)
                self.base.execute("DELETE FROM sighting WHERE thing = ? AND capture = ?", (thing, capture))

    def _renew(self, record: str, capture: int, facts: Facts) -> None:
        """Mark the page of a capture for writing with its new facts."""
        if (thing := self._page_of(capture)) is not None:
            self._touch(thing)
            self._renewed[record] = facts

    def _page_of(self, capture: int) -> int | None:
        row = self.base.execute("SELECT answer FROM capture WHERE id = ?", (capture,)).fetchone()
        return number_of(page_thing(_answer(row[0]).url)) if row and row[0] else None

    # Versions

    def _runs(self, thing: int) -> Iterator[Run]:
        """Yield the versions of a thing in the order of time, according to the ledger."""
        seen = [Sighting(*row) for row in self.base.execute(_SIGHTINGS, (thing,))]
        kept = [each for each in seen if each.digest != _GONE or not _is_refuted(each, seen)]
        firsts = [each for n, each in enumerate(kept) if n == 0 or each.digest != kept[n - 1].digest]
        last = max((n for n, each in enumerate(firsts) if each.digest != _GONE), default=-1)
        for n, each in enumerate(firsts):
            if each.digest != _GONE:
                following = firsts[n + 1] if n + 1 < len(firsts) else None
                is_gone = following is not None and following.digest == _GONE
                until = STILL if following is None else following.at
                yield Run(each.record, each.at, each.digest, until, n == last, is_gone and n == last)

    def settle(self) -> None:
        """Write the versions of all things that were seen, and store how far that is."""
        if not self._dirty:
            return
        texts, is_ahead = self.texts, self._is_ahead
        gone: list[int] = []
        missing: list[int] = []
        changed: list[tuple[int, Run]] = []
        for thing, former in self._dirty.items():
            before, now = ({run.record: run for run in runs} for runs in (former, self._runs(thing)))
            if is_ahead:  # What a killed step has written of the thing began with one of these captures.
                gone += (version_key(thing, row[3]) for row in self.base.execute(_SIGHTINGS, (thing,)))
            gone += (version_key(thing, record) for record in before.keys() - now.keys())
            held = {run.digest: run for run in former}
            for record, run in now.items():
                is_same = run == before.get(record) and record not in self._renewed and thing not in self._said_anew
                if is_same and not is_ahead:
                    continue
                changed.append((thing, run))
                if record in before:
                    gone.append(version_key(thing, record))
                if (thing, run.digest) not in self._pending and run.digest in held:
                    missing.append(version_key(thing, held[run.digest].record))
        found = {(number_of(each.thing), each.digest): each for each in texts.entries(missing)} if missing else {}
        with self._annotations() as annotations:
            texts.write(self._versions(changed, found, annotations), gone)
        self.base.execute("UPDATE texts SET stamp = ?, is_ahead = ?", (texts.commit(), is_ahead))
        self.base.executemany("INSERT OR IGNORE INTO language VALUES (?)", [(code,) for code in self._languages])
        self._pending, self._dirty, self._renewed, self._size = {}, {}, {}, 0
        self._said_anew = set()

    def _versions(
        self,
        changed: Iterable[tuple[int, Run]],
        found: dict[tuple[int, int], SearchEntry],
        annotations: AnnotationIndex | None,
    ) -> Iterator[Version]:
        for thing, run in changed:
            entry = self._pending.get((thing, run.digest)) or found.get((thing, run.digest))
            if entry is None:
                raise _LostTextError
            entry = replace(entry, record=run.record, captured=run.at)
            if run.record in self._renewed and entry.kind != "object":
                entry = entry.with_facts(self._renewed[run.record])
            if annotations is not None and entry.kind == OBJECT:
                entry = replace(entry, said=_said_of(entry, annotations))
            yield Version(entry, run.until, run.is_last, run.is_gone)

    # The texts

    @property
    def texts(self) -> TextIndex:
        """The texts of an open index."""
        folder = texts_folder(self.path, self.base)
        if self._texts is None or self._texts.folder != folder:
            self._let_go()
            self._texts = TextIndex(folder)
        return self._texts

    def make_tables(self, base: sqlite3.Connection) -> None:
        """Create the tables, and begin the texts again in another folder."""
        super().make_tables(base)
        base.execute("INSERT INTO texts VALUES (?, 0, 0)", (secrets.token_hex(8),))

    def bring(self, path: Path) -> None:
        """Copy the index, as far as it exists, to another path; texts are linked, because their files never change."""
        super().bring(path)
        for file in (self.path or Path()).with_name(SEARCH_TEXTS).resolve().glob("*/*"):
            if file.suffix != ".lock":
                link = path.with_name(SEARCH_TEXTS) / file.parent.name / file.name
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file)

    def abandon(self) -> None:
        """Close the index, if it is open, without committing pending changes."""
        self._let_go()
        super().abandon()

    def close(self) -> None:
        """Close the index, and delete it if it is temporary."""
        super().close()
        self._page_texts.close()

    @property
    def is_building(self) -> bool:
        """Whether this object is writing to the index, so that no other may."""
        return self._texts is not None and self._texts.is_writing

    def rest(self) -> None:
        """Release everything that building needs; the index, even a temporary one, can still be queried."""
        self.abandon()
        self._page_texts.close()

    def _let_go(self) -> None:
        if self._texts is not None:
            self._texts.release()
            self._texts = None

    def _step(self) -> bool:
        try:
            self._compare_texts()
            is_left = super()._step()
        except _LostTextError:
            _logger.warning("%s: is made anew, as texts are missing beside it", self.path)
            self._let_go()
            self.make_tables(self.base)
            return True
        except ValueError as error:  # All that Tantivy cannot do, such as to write.
            self._let_go()
            raise OSError(f"{self.path}: cannot be written ({error})") from error
        except BaseException:
            self._let_go()
            raise
        if not is_left:
            self.base.execute("UPDATE texts SET is_ahead = 0")
            self.texts.release()
        return is_left

    def _compare_texts(self) -> None:
        """Check whether the texts are those of the ledger; begin again if some are lost."""
        stamp, is_ahead = self.base.execute("SELECT stamp, is_ahead FROM texts").fetchone()
        if self.texts.stamp < stamp:
            raise _LostTextError
        self._is_ahead = bool(is_ahead) or self.texts.stamp > stamp
        for other in self.texts.folder.parent.iterdir():
            if other != self.texts.folder:
                shutil.rmtree(other, ignore_errors=True)

    @cached_property
    def _page_texts(self) -> PageTexts:
        return PageTexts(self._crawl / ARCHIVE)


class _LostTextError(Exception):
    """Raised when the ledger has texts that do not exist."""


def texts_folder(ledger: Path | None, base: sqlite3.Connection) -> Path:
    """Return the folder of the texts of an index, given its ledger."""
    if ledger is None:
        raise sqlite3.OperationalError("the index has no place")
    return ledger.with_name(SEARCH_TEXTS) / str(base.execute("SELECT folder FROM texts").fetchone()[0])


def languages_in(base: sqlite3.Connection) -> tuple[str, ...]:
    """Return the languages of the texts in an index."""
    return tuple(code for (code,) in base.execute("SELECT code FROM language ORDER BY code"))


def _said_of(entry: SearchEntry, annotations: AnnotationIndex) -> tuple[tuple[str, str], ...]:
    """Return what annotations say about a version of an object: about words in it, or about all of it."""
    every = Annotations(annotations.base).of_object(entry.thing.removeprefix(object_thing("")))
    said = [each for each in every if each.kind in SAID and (each.start < 0 or each.quote in entry.text)]
    terms = (dict(each.values).get("terms") for each in said if each.kind is Kind.TOPIC)
    stems = {(TOPIC_STEMS, each) for each in terms if each}
    return tuple(sorted({(str(each.kind), each.label) for each in said} | stems))


def _is_refuted(gone: Sighting, seen: Iterable[Sighting]) -> bool:
    """Return whether a thing that was found gone is elsewhere: the same crawl saw it on another page."""
    return any(
        each.digest != _GONE and each.crawl == gone.crawl and each.record not in (gone.record, gone.former)
        for each in seen
    )


def _answer(kept: str) -> ResponseRecord:
    return ResponseRecord._make(json.loads(kept))
