"""Finds what a takedown removes: captures by their URLs, all that belongs to them, and what only they lead to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aahcrawler.archive.gzip_members import members
from aahcrawler.archive.history_record import understood
from aahcrawler.archive.record_access import LONGEST_METADATA, Record, RecordError
from aahcrawler.archive.resources import page_of_resource
from aahcrawler.layout import ARCHIVE, NQUADS, OBJECTS, WARC
from aahcrawler.metadata import MEDIA_TYPE, LinkType
from aahcrawler.segments import lines, segments
from aahcrawler.tombstones import TakenDown

_ANSWERS = frozenset({"response", "revisit", "resource", "conversion"})


@dataclass(slots=True)
class Selected:
    """What a takedown removes.

    ``captures`` has the URL of each answer by its record's id. ``promoted`` are revisits of other URLs that show what
    is removed: each is given what it shows. ``files`` are the WARC files concerned. ``requisites`` are files that no
    other page names; they stay.
    """

    captures: dict[str, str] = field(default_factory=dict)
    promoted: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    requisites: tuple[str, ...] = ()

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs of what is removed."""
        return tuple(sorted(set(self.captures.values())))


@dataclass(slots=True)
class Archived:
    """What the records of an archive say of one another, by their ids."""

    urls: dict[str, str] = field(default_factory=dict)
    originals: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    needs: dict[str, frozenset[str]] = field(default_factory=dict)


def read_archive(crawl: Path) -> Archived:
    """Read the records of a crawl's WARC files; what is damaged is passed over. Raise ``OSError``."""
    known = Archived()
    for path in segments(crawl / ARCHIVE, WARC):
        with path.open("rb") as file:
            for member in members(file):
                try:
                    _take(known, Record(member), path.name)
                except RecordError:
                    continue
    return known


def select(known: Archived, wanted: TakenDown) -> Selected:
    """Return what the takedown of URLs removes."""
    captures = {record: url for record, url in known.urls.items() if wanted.covers(url)}
    promoted = {
        record: original
        for record, original in known.originals.items()
        if record not in captures and original in captures
    }
    files = dict.fromkeys(known.files[record] for record in (*captures, *promoted))
    return Selected(captures, promoted, list(files), _only_theirs(known, captures))


def pages_of(crawl: Path, known: Archived, objects: Iterable[str]) -> frozenset[str]:
    """Return the URLs of the captures in which web objects were found. Raise ``DamageError``."""
    subjects = tuple(f"<{iri}> ".encode() for iri in objects)
    found = {
        _graph(line) for path in segments(crawl / OBJECTS, NQUADS) for line in lines(path) if line.startswith(subjects)
    }
    return frozenset(known.urls[graph] for graph in found if graph in known.urls)


def _graph(line: bytes) -> str:
    return line.rpartition(b"<")[2].partition(b">")[0].decode("utf-8", "replace")


def graph_of(statements: bytes) -> str:
    """Return the id of the capture that a member of a segment speaks of, empty where it says none."""
    return _graph(statements.partition(b"\n")[0])


def _take(known: Archived, record: Record, file: str) -> None:
    header = record.header
    if record.kind in _ANSWERS:
        target = header.get("WARC-Target-URI").strip("<>")
        if record.kind == "resource" and any(other in known.urls for other in header.concurrent_to):
            return  # It goes where the answer goes that it was made of.
        known.urls[header.record_id] = page_of_resource(target) or target
        known.files[header.record_id] = file
        if record.kind == "revisit":
            known.originals[header.record_id] = header.get("WARC-Refers-To").strip("<>")
    elif record.kind == "metadata" and header.get("Content-Type") == MEDIA_TYPE:
        metadata = understood(record.whole_block(LONGEST_METADATA))
        links = () if metadata is None else metadata.links
        needed = frozenset(link.url for link in links if link.type is LinkType.REQUISITE)
        if needed:
            known.needs[header.get("WARC-Concurrent-To").strip("<>")] = needed


def _only_theirs(known: Archived, captures: dict[str, str]) -> tuple[str, ...]:
    """Return the requisites that removed pages name, directly or through style sheets, and no other page does."""
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
