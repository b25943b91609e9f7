"""Counts the web objects of a crawl as its tables show them: each once, on however many pages it is."""

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.reader import number_of, texts

_TYPED, _MADE, _UNCHANGED = (
    (name, re.compile(rb'<([^>]*)>%s(?:"([^"\n]*)"|<([^>]*)>) <([^>]*)> \.\n' % re.escape(name)))
    for name in (f" <{iri}> ".encode() for iri in (v.OBJECT_TYPE, v.GENERATED_BY, v.UNCHANGED_SINCE))
)


def object_counts(crawl: Path, number: int | None = None) -> Mapping[str, int]:
    """Return how many objects of each type a crawl's folder holds; with ``number``, those that this crawl found.

    Of an object that pages show as different types, the last one counts. Memory use grows by some twenty bytes for each
    time that a page shows an object, and with the number of captures. Raises ``ReadError``.
    """
    found = _Objects()
    for text in texts(crawl):
        if number is not None:
            found.add_captures(text, number)
        found.add_objects(text)
    return found.counts(None if number is None else found.holders())


class _Objects:
    """The objects as captures state them: hashes of their IRIs, their types, and the numbers of their captures."""

    def __init__(self) -> None:
        self._names, self._types, self._captures = array("q"), array("H"), array("L")
        self._type_codes: dict[bytes, int] = {}
        self._numbers: dict[bytes, int] = {}
        self._stating: set[int] = set()
        self._wanted: set[int] = set()
        self._former: dict[int, int] = {}

    def add_captures(self, text: bytes, number: int) -> None:
        """Take in which crawl made captures, and which former ones they have the payloads of."""
        for subject, _, crawl, graph in _said(text, _MADE):
            if subject == graph:
                capture = self._number(subject)
                if number_of(crawl.decode()) == number:
                    self._wanted.add(capture)
        for subject, _, former, _ in _said(text, _UNCHANGED):
            self._former[self._number(subject)] = self._number(former)

    def add_objects(self, text: bytes) -> None:
        """Take in which objects captures state."""
        for subject, object_type, _, graph in _said(text, _TYPED):
            capture = self._number(graph)
            self._stating.add(capture)
            self._names.append(hash(subject))
            self._types.append(self._type_codes.setdefault(object_type, len(self._type_codes)))
            self._captures.append(capture)

    def holders(self) -> frozenset[int]:
        """Return the captures that state what the wanted ones hold: of an unchanged page, the last such capture."""
        last: dict[int, int] = {}
        for capture in sorted(self._stating):
            last[self._former.get(capture, capture)] = capture
        held = {last.get(self._former[each], each) if each in self._former else each for each in self._wanted}
        return frozenset(held)

    def counts(self, holders: frozenset[int] | None) -> Mapping[str, int]:
        """Return the number of objects by type, of some captures or of all."""
        names, types = np.frombuffer(self._names, np.int64), np.frombuffer(self._types, np.uint16)
        if holders is not None:
            held = np.isin(np.frombuffer(self._captures, np.uint64), np.fromiter(holders, np.uint64, len(holders)))
            names, types = names[held], types[held]
        _, last = np.unique(names[::-1], return_index=True)
        found = Counter(types[::-1][last].tolist())
        return {name.decode(): found[code] for name, code in self._type_codes.items() if found[code]}

    def _number(self, capture: bytes) -> int:
        return self._numbers.setdefault(capture, len(self._numbers))


def _said(text: bytes, wanted: tuple[bytes, re.Pattern[bytes]]) -> Iterator[tuple[bytes, ...]]:
    """Yield the statements of a predicate: subject, literal or IRI, and graph. To look for it beats to parse all."""
    predicate, parts = wanted
    place = text.find(predicate)
    while place >= 0:
        if statement := parts.match(text, text.rfind(b"\n", 0, place) + 1):
            yield statement.groups(b"")
        place = text.find(predicate, place + len(predicate))
