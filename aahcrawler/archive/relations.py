"""Checks the references among the records of WARC files."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from aahcrawler.archive.findings import Finding
from aahcrawler.archive.index import LineSorter
from aahcrawler.archive.records import Profile
from aahcrawler.archive.scanning import Header, Problem, Scanned, timestamp
from aahcrawler.segments import OPEN

_PROFILES = frozenset(
    (
        *(profile.value for profile in Profile),
        *(profile.value.replace("/1.1/", "/1.0/") for profile in Profile),
        "http://netpreserve.org/warc/1.0/revisit/uri-agnostic-identical-payload-digest",
    )
)
_ORIGINAL, _REVISIT = b"0", b"1"


@dataclass(slots=True)
class Relations:
    """The references among the records of one file. Ids are stored as hashes: there may be millions."""

    path: Path
    ids: set[int] = field(default_factory=set)
    alone: dict[int, tuple[int, str]] = field(default_factory=dict)
    awaited: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    warcinfos: set[str] = field(default_factory=set)
    begun: bool = False

    def take(self, record: Scanned) -> Iterator[Finding]:
        """Take the next record; yield the faults of its references to those before it."""
        header, record_id = record.header, record.header.record_id
        if not self.begun and record.kind != "warcinfo":
            yield self._finding(record, Problem.NO_WARCINFO)
        self.begun = True
        if not record_id:
            return
        number = hash(record_id)
        if number in self.ids:
            yield self._finding(record, Problem.DUPLICATE)
        self.ids.add(number)
        self.awaited.pop(number, None)
        yield from self._warcinfo(record)
        others = header.concurrent_to
        for other in others:
            if hash(other) not in self.ids:
                self.awaited[hash(other)] = (record.offset, record_id, other)
        self._pair(record, [hash(other) for other in others])
        if record.kind == "metadata" and not others and not header.get("WARC-Refers-To"):
            yield self._finding(record, Problem.DETACHED)

    def unmet(self) -> Iterator[Finding]:
        """Yield, at the end of the file, the references to records that did not come."""
        for offset, record_id, other in self.awaited.values():
            yield Finding(self.path, offset, record_id, Problem.UNLINKED, f"WARC-Concurrent-To {other[:200]}")
        for offset, record_id in self.alone.values():
            yield Finding(self.path, offset, record_id, Problem.ALONE)

    def _pair(self, record: Scanned, others: list[int]) -> None:
        """Note which responses still have no request; either may come first and name the other."""
        number = hash(record.header.record_id)
        if record.kind == "request":
            for other in others:
                self.alone.pop(other, None)
        elif record.kind in {"response", "revisit"} and not others:
            self.alone[number] = (record.offset, record.header.record_id)

    def _warcinfo(self, record: Scanned) -> Iterator[Finding]:
        if record.kind == "warcinfo":
            self.warcinfos.add(record.header.record_id)
            stated_name, name = record.header.get("WARC-Filename"), self.path.name.removesuffix(OPEN)
            # Those further down came with records that were copied from other files.
            if stated_name and stated_name != name and record.offset == 0:
                yield self._finding(record, Problem.FILENAME, stated_name[:200])
            return
        named = record.header.get("WARC-Warcinfo-ID").strip("<>")
        if named and named not in self.warcinfos:
            yield self._finding(record, Problem.UNLINKED, f"WARC-Warcinfo-ID {named[:200]}")

    def _finding(self, record: Scanned, problem: Problem, detail: str = "") -> Finding:
        return Finding(self.path, record.offset, record.header.record_id, problem, detail)


class Revisits:
    """Checks in bounded memory that the originals of the revisits of any number of files exist.

    ``sorter`` is for this alone. Originals and revisits may come in any order.
    """

    def __init__(self, sorter: LineSorter) -> None:
        self._sorter = sorter

    def take(self, record: Scanned, path: Path) -> Iterator[Finding]:
        """Take the next record; yield its faults as a revisit by itself."""
        header = record.header
        if record.kind in {"response", "resource"}:
            place = _place(header.get("WARC-Target-URI"), header.get("WARC-Date"))
            self._put(_hashed(header.record_id), _ORIGINAL, [place, header.get("WARC-Payload-Digest")])
            self._put(place, _ORIGINAL, [place, header.get("WARC-Payload-Digest")])
        elif record.kind == "revisit":
            if header.get("WARC-Profile") not in _PROFILES | {""}:
                detail = header.get("WARC-Profile")[:200]
                yield Finding(path, record.offset, header.record_id, Problem.PROFILE, detail)
            named = _hashed(header.get("WARC-Refers-To").strip("<>")) or _stated_place(header)
            if not named:
                yield Finding(path, record.offset, header.record_id, Problem.ORIGINAL_UNSAID)
            else:
                reference = [_stated_place(header), header.get("WARC-Payload-Digest")]
                self._put(named, _REVISIT, [*reference, str(path), str(record.offset), header.record_id])

    def unmet(self) -> Iterator[Finding]:
        """Yield, when all files have been read, the revisits that refer to nothing, or to an impossible original."""
        for _, lines in groupby(self._sorter, lambda line: line.split(b" ", 1)[0]):
            originals: list[list[str]] = []
            for line in lines:
                _, kind, text = line.split(b" ", 2)
                if kind == _ORIGINAL:
                    originals.append(json.loads(text))
                else:
                    yield from _held_against(originals, json.loads(text))

    def _put(self, key: str, kind: bytes, values: list[str]) -> None:
        if key:
            self._sorter.extend((b"%b %b %b\n" % (key.encode("ascii"), kind, json.dumps(values).encode("ascii")),))


def _held_against(originals: list[list[str]], revisit: list[str]) -> Iterator[Finding]:
    place, digest, path, offset, record_id = revisit
    if not originals:
        yield Finding(Path(path), int(offset), record_id, Problem.ORIGINAL_AWAY)
        return
    if place and all(place != other for other, _ in originals):
        detail = "WARC-Refers-To-Target-URI and -Date name another one than WARC-Refers-To"
        yield Finding(Path(path), int(offset), record_id, Problem.ORIGINAL_DIFFERS, detail)
    if all(_contradict(digest, other) for _, other in originals):
        detail = f"its payload digest is {originals[0][1][:80]} and not {digest[:80]}"
        yield Finding(Path(path), int(offset), record_id, Problem.ORIGINAL_DIFFERS, detail)


def _contradict(digest: str, other: str) -> bool:
    """Return whether two digests differ; those of different algorithms or notations cannot be compared."""
    one, another = digest.casefold().partition(":"), other.casefold().partition(":")
    return one[0] == another[0] and len(one[2]) == len(another[2]) and one[2] != another[2]


def _stated_place(header: Header) -> str:
    return _place(header.get("WARC-Refers-To-Target-URI"), header.get("WARC-Refers-To-Date"))


def _place(url: str, date: str) -> str:
    """Return a key of a URL at a second, empty where either is unknown."""
    moment = timestamp(date)
    return _hashed(f"{url.strip('<>')} {moment}") if url and moment else ""


def _hashed(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest() if text else ""
