"""Counts the web objects of a crawl and their fields, each object once, as the crawl's tables show them."""

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import number_of
from aahcrawler.objects.reader import texts

_TYPED, _MADE, _UNCHANGED = (
    (name, re.compile(rb'<([^>]*)>%s(?:"([^"\n]*)"|<([^>]*)>) <([^>]*)> \.\n' % re.escape(name)))
    for name in (f" <{iri}> ".encode() for iri in (v.OBJECT_TYPE, v.GENERATED_BY, v.UNCHANGED_SINCE))
)
_FIELDS = {
    name: (f" <{iri}> ".encode(), re.compile(rb"<([^>]*)>[^\n]* <([^>]*)> \.\n"))
    for name, iri in (("title", v.TITLE), ("author", v.AUTHOR), ("date", v.DATE))
}


@dataclass(frozen=True, slots=True)
class ObjectCounts:
    """The number of web objects of each type, and of those that have a title, an author or a date.

    The keys of ``complete`` are pairs of a type and ``title``, ``author`` or ``date``.
    """

    types: Mapping[str, int] = field(default_factory=dict)
    complete: Mapping[tuple[str, str], int] = field(default_factory=dict)


def object_counts(crawl: Path, number: int | None = None) -> ObjectCounts:
    """Return how many objects a crawl's folder holds; with ``number``, those that this crawl found.

    Where several pages show an object, the fields on the last of them count. Memory use grows by some fifty bytes each
    time a page shows an object, and with the number of captures. Raises ``ReadError``.
    """
    found = _Objects()
    for text in texts(crawl):
        if number is not None:
            found.add_captures(text, number)
        found.add_objects(text)
    return found.counts(None if number is None else found.holders())


class _Objects:
    """The objects stated by captures: hashes of their IRIs, their types, and the numbers of their captures.

    Of each field it holds hashes of IRI and capture.
    """

    def __init__(self) -> None:
        self._names, self._types, self._captures = array("q"), array("H"), array("L")
        self._stated = array("q")
        self._having = {name: array("q") for name in _FIELDS}
        self._type_codes: dict[bytes, int] = {}
        self._numbers: dict[bytes, int] = {}
        self._stating: set[int] = set()
        self._wanted: set[int] = set()
        self._former: dict[int, int] = {}

    def add_captures(self, text: bytes, number: int) -> None:
        """Add which crawl made which captures, and which former captures they share the payload of."""
        for subject, _, crawl, graph in _said(text, _MADE):
            if subject == graph:
                capture = self._number(subject)
                if number_of(crawl.decode()) == number:
                    self._wanted.add(capture)
        for subject, _, former, _ in _said(text, _UNCHANGED):
            self._former[self._number(subject)] = self._number(former)

    def add_objects(self, text: bytes) -> None:
        """Add the objects that captures state."""
        for subject, object_type, _, graph in _said(text, _TYPED):
            capture = self._number(graph)
            self._stating.add(capture)
            self._names.append(hash(subject))
            self._types.append(self._type_codes.setdefault(object_type, len(self._type_codes)))
            self._captures.append(capture)
            self._stated.append(hash((subject, graph)))
        for name, having in self._having.items():
            having.extend(map(hash, _said(text, _FIELDS[name])))

    def holders(self) -> frozenset[int]:
        """Return the captures that state the contents of the wanted ones: for an unchanged page, a former capture."""
        last: dict[int, int] = {}
        for capture in sorted(self._stating):
            last[self._former.get(capture, capture)] = capture
        held = {last.get(self._former[each], each) if each in self._former else each for each in self._wanted}
        return frozenset(held)

    def counts(self, holders: frozenset[int] | None) -> ObjectCounts:
        """Return the numbers of objects stated by ``holders``, or by all captures where that is None."""
        last = self._last(holders)
        types = np.frombuffer(self._types, np.uint16)[last]
        stated = np.frombuffer(self._stated, np.int64)[last]
        names = {code: name.decode() for name, code in self._type_codes.items()}
        complete: dict[tuple[str, str], int] = {}
        for field_name, having in self._having.items():
            found = Counter(types[np.isin(stated, np.frombuffer(having, np.int64))].tolist())
            complete |= {(names[code], field_name): many for code, many in found.items()}
        found = Counter(types.tolist())
        return ObjectCounts({name: found[code] for code, name in names.items() if found[code]}, complete)

    def _last(self, holders: frozenset[int] | None) -> npt.NDArray[np.intp]:
        """Return the index of the last statement of each object, among those of ``holders`` or of all captures."""
        names, places = np.frombuffer(self._names, np.int64), np.arange(len(self._names))
        if holders is not None:
            held = np.isin(np.frombuffer(self._captures, np.uint64), np.fromiter(holders, np.uint64, len(holders)))
            names, places = names[held], places[held]
        _, last = np.unique(names[::-1], return_index=True)
        return places[::-1][last]

    def _number(self, capture: bytes) -> int:
        return self._numbers.setdefault(capture, len(self._numbers))


def _said(text: bytes, wanted: tuple[bytes, re.Pattern[bytes]]) -> Iterator[tuple[bytes, ...]]:
    """Yield the statements of a predicate: subject, literal or IRI, and graph.

    A search is faster than parsing all lines.
    """
    predicate, parts = wanted
    place = text.find(predicate)
    while place >= 0:
        if statement := parts.match(text, text.rfind(b"\n", 0, place) + 1):
            yield statement.groups(b"")
        place = text.find(predicate, place + len(predicate))
