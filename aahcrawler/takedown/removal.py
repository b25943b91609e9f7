"""Plan and carry out takedowns. The next command finishes a takedown that a kill interrupted.

The plan is written first (``removing.json``). Every step may be repeated, so a takedown is finished by doing all steps
from the beginning.
"""

import json
import logging
import re
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from aahcrawler import urls
from aahcrawler.annotations.annotation import (
    AnnotationsBusyError,
    annotated_capture,
    annotating,
    derived_from,
    is_of_run,
    meant_in,
    outlasts,
    rests_on,
)
from aahcrawler.annotations.web_annotations import rewrite
from aahcrawler.archive.folders import ArchiveError, ArchiveFolder, is_referred
from aahcrawler.archive.index import rebuild
from aahcrawler.archive.record_access import Record, RecordError
from aahcrawler.archive.scanning import members
from aahcrawler.crawl_collections import packages_with
from aahcrawler.derived_index import remove_base
from aahcrawler.layout import (
    ANNOTATIONS,
    ARCHIVE,
    CHANGE_LOG,
    CHANGES,
    FORMER,
    IMPORT_READ,
    INDEXES,
    JUDGEMENTS,
    MEMBERSHIP,
    NQUADS,
    OBJECTS,
    REDEFINING,
    REFUSAL_LOG,
    REFUSED,
    REMOVING,
    REPORT,
    SAMPLES,
    SCORE_LOG,
    SCORES,
    SEARCH_TEXTS,
    SOURCES,
    STEERED,
    STEERING,
    STORE,
    SUMMARY,
    TOPICS,
    WARC,
)
from aahcrawler.report.report_page import ReportError, write_report
from aahcrawler.segments import recover, segments
from aahcrawler.segments.reader import sync_folder
from aahcrawler.takedown.archive_reading import (
    ENTRIES,
    STATEMENTS,
    Archived,
    Owned,
    graph,
    log_damage,
    read_archive,
    read_whole,
    statements,
)
from aahcrawler.takedown.rewriting import (
    PART,
    Original,
    RecordPlace,
    damaged,
    walk,
    with_payloads,
    without_members,
    without_places,
    without_records,
)
from aahcrawler.tombstones import Lifted, TakenDown, Tombstone, read_tombstones, replace_durably, write_tombstones


@dataclass(slots=True)
class Selected:
    """What a takedown removes.

    ``captures`` has the URL of each response by the id of its record. ``promoted`` are revisits of other URLs that
    refer to a removed payload, and therefore get a copy of it; ``unshown`` are the URLs of those revisits whose payload
    is damaged. ``files`` are the WARC files to rewrite. ``requisites`` are page requisites that no other page uses;
    they are removed only on request. ``places`` are damaged places of these URLs, ``left`` those whose URL is unknown.
    """

    captures: dict[str, str] = field(default_factory=dict)
    promoted: dict[str, str] = field(default_factory=dict)
    unshown: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    requisites: tuple[str, ...] = ()
    places: tuple[RecordPlace, ...] = ()
    left: tuple[RecordPlace, ...] = ()

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs of what is removed."""
        return tuple(sorted(set(self.captures.values())))


def select(known: Archived, wanted: TakenDown, damage: Sequence[Owned] = ()) -> Selected:
    """Return what the takedown of URLs removes, given the damaged places of all files."""
    captures = {record: url for record, url in known.urls.items() if wanted.covers(url)}
    showing = {
        record: original
        for record, original in known.originals.items()
        if record not in captures and original in captures
    }
    promoted = {record: original for record, original in showing.items() if original not in known.damaged}
    concerned = (known.files[record] for record in (*captures, *promoted) if record in known.files)
    ours = {each.place: None for each in damage if each.url and wanted.covers(each.url)}
    unsure = {each.place: None for each in damage if not each.is_sure and each.place not in ours}
    return Selected(
        captures=captures,
        promoted=promoted,
        unshown=tuple(sorted({known.urls[record] for record in showing.keys() - promoted.keys()})),
        files=tuple(dict.fromkeys(concerned)),
        requisites=_only_theirs(known, captures),
        places=tuple(ours),
        left=tuple(unsure),
    )


def pages_of(crawl: Path, known: Archived, objects: Iterable[str]) -> frozenset[str]:
    """Return the URLs of the captures in which web objects were found."""
    subjects = tuple(f"<{iri}> ".encode() for iri in objects)
    named = (line for text in statements(crawl) for line in text.splitlines() if line.startswith(subjects))
    found = {graph(line) for line in named}
    return frozenset(known.urls[each] for each in found if each in known.urls)


def _only_theirs(known: Archived, captures: dict[str, str]) -> tuple[str, ...]:
    """Return the page requisites that only removed pages use, directly or through style sheets."""
    archived = defaultdict(list)
    for record, url in known.urls.items():
        archived[url].append(record)
    gone = dict.fromkeys(captures)
    named: dict[str, None] = {}
    while fresh := dict.fromkeys(_freed(known, gone, named, archived)):
        named |= fresh
        gone |= {record: None for url in fresh for record in archived[url]}
    return tuple(sorted(named))


def _freed(
    known: Archived, gone: dict[str, None], named: dict[str, None], archived: dict[str, list[str]]
) -> Iterator[str]:
    still = {url for record, needed in known.needs.items() if record not in gone for url in needed}
    for record in gone:
        for url in known.needs.get(record, ()):
            if url in archived and url not in still and url not in named and not set(archived[url]) <= gone.keys():
                yield url


logger = logging.getLogger(__name__)


_URL: Final = re.compile(r"https?://[^\s\"'<>…]+")
_TAKEN: Final = "(taken down)"


class TakedownError(Exception):
    """Raised when nothing can be taken down; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class WantedRemoval:
    """What a person asks to take down.

    ``requisites`` adds page requisites that only these pages use; ``damaged`` adds damaged places whose page is
    unknown.
    """

    urls: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    requisites: bool = False
    damaged: bool = False


class _Journal(BaseModel):
    model_config = ConfigDict(frozen=True)

    tombstone: Tombstone
    captures: tuple[str, ...]
    promoted: dict[str, str]
    files: tuple[str, ...]
    places: tuple[RecordPlace, ...] = ()
    meant: tuple[str, ...] = ()
    """IRIs that annotations of the captures mention (people, topics), and objects whose text contains these."""


def plan(crawl: Path, wanted: WantedRemoval) -> tuple[Selected, TakenDown]:
    """Return what a takedown would remove, and the URLs that it covers. Changes nothing. Raises ``TakedownError``."""
    known = read_archive(crawl)
    found = pages_of(crawl, known, wanted.objects)
    if wanted.objects and not found:
        raise TakedownError(f"{crawl}: no archived page holds {', '.join(wanted.objects)}; aah objects lists them all")
    named = frozenset(urls.canonicalize(url) or url for url in wanted.urls) | frozenset(wanted.urls) | found
    taken = TakenDown(named, wanted.prefixes)
    damage = (*known.damage, *log_damage(crawl, known))
    selected = select(known, taken, damage)
    if wanted.requisites and selected.requisites:
        taken = replace(taken, urls=taken.urls | frozenset(selected.requisites))
        selected = select(known, taken, damage)
    if wanted.damaged:
        selected = replace(selected, places=(*selected.places, *selected.left), left=())
    return selected, taken


def remove(crawl: Path, wanted: WantedRemoval, by: str, reason: str) -> tuple[Tombstone, Selected]:
    """Remove pages from a crawl's folder, and keep them from being fetched again, including URLs that are not archived.

    Nobody else may use the folder meanwhile. Raises ``TakedownError``, ``ArchiveError`` if a crawl is running, and
    ``OSError`` if the disk fails; the next command then finishes the takedown.
    """
    with _alone(crawl):
        finish(crawl)
        with _annotations_alone(crawl):
            pass  # While they are written nothing is begun.
        for folder, extension in _LOGS:
            recover(crawl / folder, extension)
        selected, taken = plan(crawl, wanted)
        stone = Tombstone(
            id=uuid4().hex[:12],
            at=_now(),
            by=by,
            reason=reason,
            urls=tuple(sorted(taken.urls)),
            prefixes=taken.prefixes,
            objects=wanted.objects,
            captures=len(selected.captures),
            damaged=len(selected.places),
            left=tuple(str(place) for place in selected.left),
        )
        journal = _Journal(
            tombstone=stone,
            captures=tuple(selected.captures),
            promoted=selected.promoted,
            files=selected.files,
            places=selected.places,
            meant=_meant(crawl, selected.captures),
        )
        replace_durably(crawl / REMOVING, journal.model_dump_json().encode())
        finish(crawl)
    return stone, selected


def lift(crawl: Path, named: str, by: str, reason: str) -> tuple[Tombstone, ...]:
    """Allow URLs of a takedown, named by its id or a URL, to be fetched again. Removed captures stay removed.

    Raises ``TakedownError`` if no such takedown is in force, and ``ArchiveError`` if a crawl is running.
    """
    with _alone(crawl):
        finish(crawl)
        stones = read_tombstones(crawl)
        wanted = {stone.id for stone in stones if stone.lifted is None and (stone.id == named or stone.covers(named))}
        if not wanted:
            raise TakedownError(f"{crawl}: no takedown of {named} stands; aah remove {crawl} --list lists them all")
        lifted = Lifted(at=_now(), by=by, reason=reason)
        new = [stone.model_copy(update={"lifted": lifted}) if stone.id in wanted else stone for stone in stones]
        write_tombstones(crawl, new)
        _judge_again(crawl)
        if not all(map(_is_own, segments(crawl / ARCHIVE, WARC))):
            # Captures that were only hidden are shown again.
            rebuild(crawl / ARCHIVE, crawl / INDEXES)
            _remove_indexes(crawl)
            # The statements about its pages are gone, so they have to be read again.
            (crawl / INDEXES / IMPORT_READ).unlink(missing_ok=True)
    return tuple(stone for stone in new if stone.id in wanted)


def finish(crawl: Path) -> bool:
    """Finish a takedown that a kill interrupted; return whether there was one. The caller must hold the folder alone.

    Raises ``TakedownError`` if its plan cannot be read, and ``OSError``.
    """
    path = crawl / REMOVING
    if not path.exists():
        return False
    try:
        journal = _Journal.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise TakedownError(f"{path}: cannot be read; restore it, or delete it and remove again") from error
    _forbid(crawl, journal.tombstone)
    _clear(crawl)
    _cut(crawl, journal)
    _rewrite_archive(crawl, journal)
    _rewrite_logs(crawl, journal)
    _rewrite_derived(crawl, journal)
    path.unlink()
    sync_folder(crawl)
    return True


def finish_begun(crawl: Path) -> bool:
    """Finish an interrupted takedown, unless the folder is in use; return whether there was one to finish."""
    if not (crawl / REMOVING).exists():
        return False
    try:
        with _alone(crawl):
            return finish(crawl)
    except ArchiveError:
        return False  # Whoever works there has finished it first.


_LOGS = ((ARCHIVE, WARC), (OBJECTS, NQUADS), (SCORES, SCORE_LOG), (REFUSED, REFUSAL_LOG), (CHANGES, CHANGE_LOG))


def _alone(crawl: Path) -> AbstractContextManager[None]:
    if not (crawl / ARCHIVE).is_dir():
        raise TakedownError(f"{crawl}: holds no archive; name the output folder of a crawl")
    return ArchiveFolder(crawl / ARCHIVE, crawl / INDEXES, crawl).alone()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# The steps


def _forbid(crawl: Path, stone: Tombstone) -> None:
    stones = read_tombstones(crawl)
    if all(each.id != stone.id for each in stones):
        write_tombstones(crawl, (*stones, stone))
    _judge_again(crawl)


def _judge_again(crawl: Path) -> None:
    """Make the next start of the crawl check its queued and refused URLs against the scope again."""
    path = crawl / REDEFINING
    try:
        pending = set(json.loads(path.read_bytes()))
    except FileNotFoundError:
        pending = set()
    except (ValueError, TypeError, RecursionError):
        return  # A damaged file stands for everything.
    replace_durably(path, json.dumps(sorted(pending | {"scope"})).encode() + b"\n")


def _clear(crawl: Path) -> None:
    """Delete half-written files that a killed process left."""
    for folder in (*(name for name, _ in _LOGS), ANNOTATIONS):
        for path in (crawl / folder).glob(f"*{PART}"):
            path.unlink()


def _cut(crawl: Path, journal: _Journal) -> None:
    places = defaultdict(list)
    for place in journal.places:
        places[place.file].append(place)
    for file, found in places.items():
        if (crawl / file).exists() and not is_referred(crawl / file):
            without_places(crawl / file, found)


def _rewrite_archive(crawl: Path, journal: _Journal) -> None:
    archive, gone = crawl / ARCHIVE, frozenset(journal.captures)
    files = [path for path in (archive / name for name in journal.files) if path.exists()]
    if journal.promoted:
        places = _originals(files, frozenset(journal.promoted.values()))
        wanted = {record: places[original] for record, original in journal.promoted.items() if original in places}
        for path in filter(_is_own, files):
            with_payloads(path, wanted)
    # No original is removed before all revisits of it have a copy of its payload.
    for path in filter(_is_own, files):
        without_records(path, gone)


def _is_own(path: Path) -> bool:
    """Return whether a WARC file belongs to the crawl, so that it may be written to."""
    return not is_referred(path)


def _originals(files: list[Path], originals: frozenset[str]) -> dict[str, Original]:
    found: dict[str, Original] = {}
    for path in files:
        with path.open("rb") as file:
            for member in members(file):
                try:
                    record = Record(member)
                except RecordError:
                    continue
                if record.kind == "response" and record.header.record_id in originals:
                    found[record.header.record_id] = path, record.offset
    return found


def _rewrite_logs(crawl: Path, journal: _Journal) -> None:
    gone, stone = frozenset(journal.captures), journal.tombstone
    for path in segments(crawl / OBJECTS, NQUADS):
        without_members(path, STATEMENTS, lambda text: graph(text.partition(b"\n")[0]) in gone)
    if gone:
        _rewrite_annotations(crawl, gone, frozenset(journal.meant))
    for name in (STEERED, STEERING):
        _rewrite_steering(crawl / name, stone)
    for name in (JUDGEMENTS, MEMBERSHIP, SAMPLES):
        rewrite(crawl / name, lambda said: _without_targets(said, stone))
    for folder, extension in _LOGS[2:]:
        for path in segments(crawl / folder, extension):
            without_members(path, ENTRIES, lambda text: any(stone.covers(url) for url in _page_of(text)))


def _meant(crawl: Path, gone: Collection[str]) -> tuple[str, ...]:
    """Return the IRIs mentioned by annotations of ``gone`` captures, and other objects derived from them."""
    known, found = frozenset(gone), set[str]()

    def look(text: bytes) -> bool:
        if annotated_capture(graph(text.partition(b"\n")[0])) in known:
            found.update(meant_in(text))
        elif rests_on(text, known):
            found.update(meant_in(text), derived_from(text) - known)
        return False

    for path in segments(crawl / ANNOTATIONS, NQUADS):
        without_members(path, STATEMENTS, look)
    return tuple(sorted(found))


def _rewrite_annotations(crawl: Path, gone: Set[str], meant: Set[str]) -> None:
    """Remove annotations of captures, and annotations of many captures together that mention the same things.

    The next ``aah enrich`` makes the annotations of many captures again.
    """

    def is_unwanted(text: bytes) -> bool:
        name = graph(text.partition(b"\n")[0])
        is_of_these = annotated_capture(name) in gone or rests_on(text, gone)
        return is_of_these or (is_of_run(name) and not outlasts(text, meant))

    with _annotations_alone(crawl) as paths:
        (crawl / ANNOTATIONS / TOPICS).unlink(missing_ok=True)
        for path in paths:
            # Of what cannot be read nobody knows whose it is; it is made again.
            gaps = walk(path, STATEMENTS, read_whole)
            without_places(path, [each.place for gap in gaps for each in damaged(crawl, gap, STATEMENTS)])
            without_members(path, STATEMENTS, is_unwanted)


def _rewrite_steering(path: Path, stone: Tombstone) -> None:
    """Remove the URLs of a takedown from the log of steering, and steering by words, which rest on many captures."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    kept = bytearray()
    for line in lines:
        with suppress(ValueError, RecursionError):
            said = json.loads(line)
            if isinstance(said, dict) and not stone.covers(str(said.get("url", ""))):
                plain = _without_urls({**said, "terms": []} if "terms" in said else said, stone)
                kept += json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    if kept.splitlines() != lines:
        replace_durably(path, bytes(kept))
        path.chmod(0o600)


def _without_targets(said: JsonValue, stone: Tombstone) -> JsonValue:
    """Return a person's annotation or a sample without the URLs of a takedown; None if nothing else is left."""
    if not isinstance(said, dict):
        return said
    match said:
        case {"target": {"source": str(url)}} if stone.covers(url):
            return None
        case {"target": [*urls]}:
            said = {**said, "target": [url for url in urls if not stone.covers(str(url))]}
            return _without_urls(said, stone) if said["target"] else None
        case {"drawn": [*pages]}:
            left = [each for each in pages if not (isinstance(each, dict) and stone.covers(str(each.get("url"))))]
            return {**said, "drawn": left}
    return _without_urls(said, stone)


def _without_urls_in(text: str, stone: Tombstone) -> str:
    return _URL.sub(lambda found: _TAKEN if stone.covers(found[0]) else found[0], text)


def _without_urls(value: JsonValue, stone: Tombstone) -> JsonValue:
    """Return a JSON value without the URLs of a takedown."""
    match value:
        case str():
            return _without_urls_in(value, stone)
        case list():
            return [_without_urls(each, stone) for each in value]
        case dict():
            return {_without_urls_in(name, stone): _without_urls(each, stone) for name, each in value.items()}
    return value


@contextmanager
def _annotations_alone(crawl: Path) -> Iterator[tuple[Path, ...]]:
    """Yield the segments of annotations while nobody else writes to them. Raises ``TakedownError`` if somebody does."""
    if not (crawl / ANNOTATIONS).is_dir():
        yield ()
        return
    try:
        with annotating(crawl) as folder:
            recover(folder, NQUADS)
            yield segments(folder, NQUADS)
    except AnnotationsBusyError as error:
        raise TakedownError(str(error)) from error


def _page_of(text: bytes) -> Iterator[str]:
    """Yield the URLs that an entry of the score log, refusal log or change log names."""
    entry = json.loads(text)
    if isinstance(entry, dict):
        yield from (url for name in ("url", "via", "failed", "to") if isinstance(url := entry.get(name), str))
        yield from (*entry.get("listed", ()), *entry.get("stated", ()))


def _remove_store(store: Path) -> None:
    """Delete the crawl's own store, which the next load rebuilds; if it is a link, delete the link, not its target."""
    if store.is_symlink():
        store.unlink()
        return
    # Moved away first, so that queries meanwhile see the whole store or none.
    going = store.with_name(store.name + PART)
    if store.is_dir():
        shutil.rmtree(going, ignore_errors=True)
        store.rename(going)
    if going.is_dir():
        shutil.rmtree(going)


def _remove_indexes(crawl: Path) -> None:
    """Delete the indexes that the next query rebuilds."""
    for index in (crawl / INDEXES).glob("*.sqlite"):
        remove_base(index)
    if (texts := crawl / INDEXES / SEARCH_TEXTS).is_dir():
        shutil.rmtree(texts)


def _rewrite_derived(crawl: Path, journal: _Journal) -> None:
    """Rebuild what is derived from the archive, or delete it if the next command rebuilds it."""
    _remove_indexes(crawl)
    _remove_store(crawl / STORE)
    if (crawl / SOURCES).is_dir():  # The next crawl imports anew what it names, without what was taken down.
        shutil.rmtree(crawl / SOURCES)
    for package in packages_with(crawl):
        package.unlink(missing_ok=True)
    rebuild(crawl / ARCHIVE, crawl / INDEXES)
    names = [url.encode() for url in (*journal.tombstone.urls, *journal.tombstone.prefixes)]
    for path in (crawl / FORMER).glob(f"*/{REPORT}"):
        if any(name in path.read_bytes() for name in names):
            path.unlink()
    if (crawl / REPORT).exists() and (crawl / SUMMARY).exists():
        (crawl / REPORT).unlink()
        try:
            write_report(crawl)
        except ReportError as error:
            logger.warning("%s; aah report makes it anew", error)
