"""Finds what a takedown removes: captures by URL, everything that belongs to them, and what only they use."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aahcrawler.takedown.archive_reading import Archived, Owned, graph, statements
from aahcrawler.takedown.rewriting import RecordPlace
from aahcrawler.tombstones import TakenDown


@dataclass(slots=True)
class Selected:
    """What a takedown removes.

    ``captures`` has the URL of each response by its record's id. ``promoted`` are revisits of other URLs whose payload
    is removed, and which therefore get a copy of it; ``unshown`` are the URLs of those whose payload is damaged.
    ``files`` are the WARC files concerned. ``requisites`` are page requisites that no other page uses; they stay unless
    asked for. ``places`` are damaged places of these URLs, ``left`` those whose URL is unknown.
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
