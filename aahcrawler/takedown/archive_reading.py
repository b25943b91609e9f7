"""Read which records of an archive refer to which, and find the URL of each damaged place."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from aahcrawler.archive.checking import TORN
from aahcrawler.archive.index import LINES, SORTED, index_lines, place_of
from aahcrawler.archive.ledger import remembered_places
from aahcrawler.archive.record_access import MAX_METADATA_LENGTH, Record, RecordError
from aahcrawler.archive.records import page_of_resource
from aahcrawler.archive.scanning import Header, Member, MemberError, members, read_header
from aahcrawler.layout import (
    ARCHIVE,
    CHANGE_LOG,
    CHANGES,
    INDEXES,
    NQUADS,
    OBJECTS,
    REFUSAL_LOG,
    REFUSED,
    SCORE_LOG,
    SCORES,
    WARC,
)
from aahcrawler.metadata import MEDIA_TYPE, LinkType, metadata_if_readable
from aahcrawler.segments import segments
from aahcrawler.takedown.rewriting import Damaged, Gap, RecordPlace, damaged, walk

_CAPTURES = frozenset({"response", "revisit", "resource", "conversion"})
_WARC = b"WARC/"
_HEADER_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Owned:
    """A damaged place and the URL of the page it belongs to, empty if unknown.

    ``is_sure`` is False if only the damaged bytes themselves name the URL.
    """

    place: RecordPlace
    url: str
    is_sure: bool = True


@dataclass(slots=True)
class Archived:
    """The records of an archive by their ids, and how they refer to one another.

    ``urls`` has the URL of each response; for ``damaged`` ones, the URL that other records or the statements give.
    ``files`` has the file of each record, or for a missing record, the file of one that refers to it. ``damage`` lists
    the damaged places.
    """

    urls: dict[str, str] = field(default_factory=dict)
    originals: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    needs: dict[str, frozenset[str]] = field(default_factory=dict)
    damaged: set[str] = field(default_factory=set)
    damage: tuple[Owned, ...] = ()


def read_archive(crawl: Path) -> Archived:
    """Read the records of a crawl's WARC files, and find their damaged places. Raises ``OSError``."""
    reading = _Reading()
    torn = sorted((crawl / ARCHIVE).glob(f"*.{WARC}{TORN}*"))
    gaps = [gap for path in (*segments(crawl / ARCHIVE, WARC), *torn) for gap in reading.gaps(path)]
    known = reading.known
    for record, file in reading.orphaned.items():
        known.files[record] = file
    known.urls |= reading.claimed
    if gaps:
        known.urls = dict(captures_told(crawl)) | known.urls
        known.damage = tuple(_owned(crawl, reading, gaps))
        known.damaged |= known.urls.keys() - known.files.keys() | reading.orphaned.keys()
    return known


@dataclass(frozen=True, slots=True)
class _Neighbour:
    """A whole record next to a gap: the ids of its capture, whether it is the capture's response and lacks its request.

    All fields are empty if the gap is at the beginning or end of the file.
    """

    ids: frozenset[str] = frozenset()
    is_capture: bool = False
    lacks_request: bool = False

    def url(self, known: Archived) -> str:
        return next((known.urls[record] for record in self.ids if record in known.urls), "")


class _Reading:
    """What has been read so far, and the last whole record."""

    def __init__(self) -> None:
        self.known = Archived()
        self.claimed: dict[str, str] = {}
        self.orphaned: dict[str, str] = {}
        self.around: dict[Gap, tuple[_Neighbour, _Neighbour]] = {}
        self._last = _Neighbour()
        self._requested: frozenset[str] = frozenset()

    def gaps(self, path: Path) -> Iterator[Gap]:
        """Read a file, and yield the gaps between its whole records."""
        self._last, self._requested = _Neighbour(), frozenset()
        passed: Gap | None = None

        def take(member: Member) -> None:
            nonlocal passed
            header, block = _whole(member)
            before = self._last
            self._take(header, block, path.name)
            if passed is not None:
                self.around[passed] = (before, self._last)
                passed = None

        for gap in walk(path, _WARC, take):
            passed = gap
            self.around[gap] = (self._last, _Neighbour())
            yield gap

    def _take(self, header: Header, block: bytes, file: str) -> None:
        known, kind, concurrent = self.known, header.get("WARC-Type").lower(), header.concurrent_to
        is_capture = kind in _CAPTURES and not (kind == "resource" and any(other in known.urls for other in concurrent))
        if is_capture:
            known.urls[header.record_id] = _target(header)
            known.files[header.record_id] = file
            self.claimed.pop(header.record_id, None)
            self.orphaned.pop(header.record_id, None)
            if kind == "revisit":
                known.originals[header.record_id] = header.get("WARC-Refers-To").strip("<>")
        elif kind == "metadata":
            self._take_metadata(header, block)
        for other in () if is_capture else concurrent:
            if other not in known.urls:
                self.orphaned[other] = file
                if target := _target(header):
                    self.claimed[other] = target
        if kind == "request":
            self._requested = frozenset({header.record_id, *concurrent})
        of = frozenset({header.record_id} if is_capture else concurrent)
        self._last = _Neighbour(of, is_capture, is_capture and not self._requested & {header.record_id, *concurrent})

    def _take_metadata(self, header: Header, block: bytes) -> None:
        metadata = metadata_if_readable(block) if header.get("Content-Type") == MEDIA_TYPE else None
        links = () if metadata is None else metadata.links
        needed = frozenset(link.url for link in links if link.type is LinkType.REQUISITE)
        if needed:
            self.known.needs[header.get("WARC-Concurrent-To").strip("<>")] = needed


def _whole(member: Member) -> tuple[Header, bytes]:
    """Return the header of a record, and its block if it is metadata. Raises ``MemberError`` if it is damaged."""
    try:
        record = Record(member)
    except RecordError as error:
        raise MemberError(str(error)) from error
    block = b""
    if record.kind == "metadata":
        with suppress(RecordError):  # Too long, or not as its header says; where it is damaged, so is what follows.
            block = record.whole_block(MAX_METADATA_LENGTH)
    while member.read():
        pass
    return record.header, block


# Of which URL a damaged place is


def _owned(crawl: Path, reading: _Reading, gaps: list[Gap]) -> Iterator[Owned]:
    indexed, known = _indexed(crawl, gaps), reading.known
    named = {"", *(known.urls.get(record, "") for record in reading.orphaned)}
    urls = {*known.urls.values(), *(url for places in indexed.values() for url in places.values())}
    for gap in gaps:
        places = indexed.get(gap.path.name, {})
        for piece, url in _of_gap(reading, gap, tuple(damaged(crawl, gap, _WARC, places)), places):
            said = url or _target(piece.header)
            # Where whole records name the response, their id is used, whatever the damaged bytes say.
            if said not in named and piece.header.record_id and piece.kind in _CAPTURES - {"resource"}:
                known.urls.setdefault(piece.header.record_id, said)
            yield Owned(piece.place, said, bool(url) or said in urls)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A damaged record, as far as its header can be decompressed."""

    place: RecordPlace
    header: Header

    @property
    def kind(self) -> str:
        return self.header.get("WARC-Type").lower()


def _of_gap(
    reading: _Reading, gap: Gap, found: tuple[Damaged, ...], places: dict[int, str]
) -> Iterator[tuple[_Piece, str]]:
    """Yield the records of a gap with the URLs that other sources give for them, empty if none does."""
    known = reading.known
    before, after = reading.around[gap]
    last = before.url(known)
    for number, each in enumerate(found, start=1):
        piece = _Piece(each.place, read_header(each.text.partition(_HEADER_END)[0])[0])
        ids = (piece.header.record_id, *piece.header.concurrent_to)
        url = places.get(each.place.begin) or next((known.urls[each] for each in ids if each in known.urls), "")
        following = after.url(known) if number == len(found) else ""
        if (
            not url
            and following
            and (last == following or (not after.is_capture and after.ids & reading.orphaned.keys()))
        ):
            url = following  # It lies between two records of one capture, or before those whose response is missing.
        if not url and number == 1 and before.lacks_request:
            url = last  # The request has not come before the response, so it follows it.
        if url and number == len(found) and not after.is_capture:
            known.urls |= dict.fromkeys(after.ids - known.urls.keys(), url)
        yield piece, url
        last = url or _target(piece.header)


def _target(header: Header) -> str:
    target = header.get("WARC-Target-URI").strip("<>")
    return page_of_resource(target) or target


def _indexed(crawl: Path, gaps: list[Gap]) -> dict[str, dict[int, str]]:
    """Return the URLs that the index and the history give for records in gaps, by file and offset."""
    wanted = defaultdict(list)
    for gap in gaps:
        wanted[gap.path.name].append(gap)
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for file, offset, url in chain(remembered_places(crawl / INDEXES), _listed(crawl / INDEXES)):
        if any(gap.begin <= offset < gap.end for gap in wanted.get(file, ())):
            found[file][offset] = page_of_resource(url) or url
    return found


def _listed(folder: Path) -> Iterator[tuple[str, int, str]]:
    for path in (*folder.glob(f"*{SORTED}"), *folder.glob(f"*{LINES}")):
        for line in index_lines(path):
            place = place_of(line)
            if place is not None and place.url:
                yield place.file, place.offset, place.url


STATEMENTS = b"<"
"""What the text of each member of statements begins with."""
_CAPTURED = re.compile(
    rb'^<(?P<capture>[^<>\s]+)> <https://schema\.org/url> "(?P<url>[^"\\\n]+)"[^\n]* <(?P=capture)> \.$', re.MULTILINE
)


def statements(crawl: Path) -> Iterator[bytes]:
    """Yield the statements of each capture that can be read. Raises ``OSError``."""
    for path in segments(crawl / OBJECTS, NQUADS):
        with path.open("rb") as file:
            for member in members(file, 0, STATEMENTS):
                try:
                    text = b"".join(iter(member.read, b""))
                except MemberError:
                    continue
                yield text


def captures_told(crawl: Path) -> Iterator[tuple[str, str]]:
    """Yield the id and URL of each capture that the statements describe."""
    for text in statements(crawl):
        yield from captures_in(text)


def captures_in(text: bytes) -> Iterator[tuple[str, str]]:
    """Yield the id and URL of each capture described in a text of statements, which may be cut off anywhere."""
    for found in _CAPTURED.finditer(text):
        yield found["capture"].decode("utf-8", "replace"), found["url"].decode("utf-8", "replace")


def graph(line: bytes) -> str:
    """Return the id of the capture that a statement belongs to; empty if it names none."""
    return line.rpartition(b"<")[2].partition(b">")[0].decode("utf-8", "replace")


_LOGS = ((SCORES, SCORE_LOG), (REFUSED, REFUSAL_LOG), (CHANGES, CHANGE_LOG))
ENTRIES = b"{"
"""What the text of each member of the logs of scores, refusals and changes begins with."""
_NAMED = re.compile(rb'"(?:url|via|failed|to)":\s*("(?:[^"\\]|\\.)*")')


def log_damage(crawl: Path, known: Archived) -> Iterator[Owned]:
    """Yield each damaged place in files of statements, scores, refusals and changes. Raises ``OSError``."""
    urls = set(known.urls.values())
    for path in segments(crawl / OBJECTS, NQUADS):
        for gap in walk(path, STATEMENTS, read_whole):
            for piece in damaged(crawl, gap, STATEMENTS):
                yield from _owned_places(piece.place, _captures(piece.text, known), urls)
    for folder, extension in _LOGS:
        for path in segments(crawl / folder, extension):
            for gap in walk(path, ENTRIES, read_whole):
                for piece in damaged(crawl, gap, ENTRIES):
                    pages = tuple(filter(None, map(_unquoted, _NAMED.findall(piece.text))))
                    yield from _owned_places(piece.place, pages, urls)


def read_whole(member: Member) -> None:
    """Read a member to its end. Raises ``MemberError`` if it is damaged."""
    while member.read():
        pass


def _owned_places(place: RecordPlace, named: tuple[str, ...], known: Set[str]) -> Iterator[Owned]:
    """Yield the damaged place once for each URL that it names; it is sure if the archive has that URL."""
    for url in named:
        yield Owned(place, url, url in known)
    if not named:
        yield Owned(place, "", is_sure=False)


def _captures(text: bytes, known: Archived) -> tuple[str, ...]:
    lines = text[: text.rfind(b"\n") + 1].splitlines()
    graphs = {graph(line) for line in lines}
    named = {known.urls[each] for each in graphs if each in known.urls}
    return tuple(named | {url for _, url in captures_in(text)})


def _unquoted(quoted: bytes) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return ""
