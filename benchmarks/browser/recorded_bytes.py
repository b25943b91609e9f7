"""Compares an archive with what passed: answers and requests byte for byte, and what a person's browser asked for.

Archives are read by warcio, not by the code that wrote them.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from warcio.archiveiterator import ArchiveIterator

from benchmarks.browser.exact_server import Sent

_BUSTERS: Final = re.compile(r"([?&])(_|t|ts|time|timestamp|cb|nocache|rnd|rand|random)=(?:\d{10,}|0?\.\d+)(?=&|$)")
"""Parameters that say nothing but when it was, or nothing at all."""
_KINDS: Final = ("response", "revisit", "request")


@dataclass(frozen=True, slots=True)
class Record:
    """A record of an archive: its kind, URL, moment and block. ``truncated`` tells why it is short."""

    kind: str
    url: str
    moment: str
    block: bytes
    truncated: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """How an archive differs from what passed.

    ``differing`` are bytes, of answers and of requests, that are not what passed; all of a record that nothing passed
    for. ``repeated`` are records of what passed once and another record holds. ``unrecorded`` are the URLs of what
    passed and no record holds. ``faults`` say where.
    """

    differing: int = 0
    compared: int = 0
    repeated: int = 0
    unrecorded: Sequence[str] = ()
    faults: Sequence[str] = field(default=())


def records(archive: Path) -> Iterator[Record]:
    """Yield the records of all WARC files of a folder, also those that are still open."""
    for file in sorted(archive.glob("*.warc.gz*")):
        if file.suffix == ".mark":
            continue
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, no_record_parse=True):
                fields = record.rec_headers
                yield Record(
                    record.rec_type,
                    fields.get_header("WARC-Target-URI") or "",
                    fields.get_header("WARC-Date") or "",
                    record.raw_stream.read(),
                    fields.get_header("WARC-Truncated") or "",
                )


def compared(found: Iterable[Record], passed: Sequence[Sent], origin: str) -> Compared:
    """Compare records of a site's answers with those that its server sent, and requests with those that it got.

    Each passing is compared once: with the record that it equals, else with any other one of its URL.
    """
    answers: dict[str, list[Sent]] = defaultdict(list)
    for each in passed:
        answers[_plain(each.url)].append(each)
    requests = {url: list(sent) for url, sent in answers.items()}
    everything = {url: tuple(sent) for url, sent in answers.items()}
    total, number, repeated, faults = 0, 0, 0, []
    own = [each for each in found if each.kind in _KINDS and each.url.startswith(origin)]
    for record in sorted(own, key=lambda each: each.kind != "request" and bool(each.truncated)):
        left = requests if record.kind == "request" else answers
        url = _plain(record.url)
        number += 1
        if not left[url] and any(difference(record, sent) == 0 for sent in everything.get(url, ())):
            repeated += 1
            faults.append(f"{record.kind} {record.url}: repeats another record")
        elif differing := _taken(record, left[url]):
            total += differing
            faults.append(f"{record.kind} {record.url}: {differing} bytes differ")
    unrecorded = [each.url for left in answers.values() for each in left]
    return Compared(total, number, repeated, tuple(unrecorded), tuple(faults))


def _taken(record: Record, left: list[Sent]) -> int:
    """Take what a record holds from what is left of its URL; return how many bytes differ."""
    if not left:
        return len(record.block)
    differences = [difference(record, sent) for sent in left]
    least = min(differences)
    del left[differences.index(least)]
    return least


def difference(record: Record, sent: Sent) -> int:
    """Return how many bytes are not what passed; of a revisit the head counts, of a cut record what there is."""
    if record.kind == "request":
        return _differing(record.block, sent.request.raw)
    if record.kind == "revisit":
        return _differing(record.block, sent.answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
    return _differing(record.block, sent.answer[: len(record.block)] if record.truncated else sent.answer)


def _differing(one: bytes, other: bytes) -> int:
    if one == other:
        return 0
    return sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))


Key = tuple[str, str, str]
"""A method, an address without what only breaks caches, and the digest of a body."""


def keys_passed(passed: Iterable[Sent], same: Sequence[re.Pattern[str]] = ()) -> set[Key]:
    """Return what was asked for, but for handshakes of WebSockets, of which no archive has a form."""
    plain = (each.request for each in passed if each.request.field("Upgrade").lower() != "websocket")
    return {key(each.method, each.target, each.body, same) for each in plain}


def keys_recorded(found: Iterable[Record], origin: str, same: Sequence[re.Pattern[str]] = ()) -> set[Key]:
    """Return what an archive holds requests of."""
    return {
        key(method, target, body, same)
        for each in found
        if each.kind == "request" and each.url.startswith(origin)
        for method, target, body in [_asked(each)]
    }


def key(method: str, target: str, body: bytes, same: Sequence[re.Pattern[str]]) -> Key:
    """Return the key of a request.

    >>> key("GET", "/a?_=1700000000000&b=1", b"", ())
    ('GET', '/a?_=*&b=1', '')
    """
    address = _BUSTERS.sub(r"\1\2=*", target)
    for pattern in same:
        if (found := pattern.fullmatch(address)) is not None:
            address = "*".join(found.groups())
    return method, address, hashlib.sha256(body).hexdigest() if body else ""


def _asked(record: Record) -> tuple[str, str, bytes]:
    head, _, body = record.block.partition(b"\r\n\r\n")
    method, target, *_ = head.split(b"\r\n")[0].decode("latin-1").split(" ")
    lines = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:])
    fields = {name.lower(): value.strip() for name, _, value in lines}
    parts = urlsplit(record.url)
    own = target if target.startswith("/") else f"{parts.path}{'?' + parts.query if parts.query else ''}"
    return method, own, body if int(fields.get("content-length", 0)) else b""


def _plain(url: str) -> str:
    """Return a URL in the spelling in which records and requests are compared."""
    return url.partition("#")[0]
