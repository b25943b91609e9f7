"""Joins the names of one entity across documents, and says what bears it where most texts that tell agree.

What is joined: spellings that differ by accents, umlauts written out or another script; initials with the one whole
name that they fit; letters that some text explains. Surnames alone are not: within one text the whole name before them
tells, between texts nothing does. Names of the crawl's definition are the ones that others are joined to.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

from aahcrawler.annotations import REFINES, Annotation, Kind, annotation_iri
from offline.enrichment.annotator import ObjectText
from offline.enrichment.entity_names import (
    entity_iri,
    folded_name,
    is_initialed,
    tidied,
    with_umlauts_written_out,
)

_EDITION: Final = "1"
NAMED: Final = frozenset({Kind.PERSON, Kind.ORGANISATION, Kind.PLACE, Kind.NAME})
_AGREEING: Final = 2 / 3
"""The share of the texts that tell what bears a name which have to agree."""
_JOINED: Final = 0.9
"""By how much a name that was joined to another is as certain as before."""
_WRITES: Final = 3
"""How many objects somebody signs with a name, for it to be a person's wherever it stands."""
_TABLE: Final = """CREATE TABLE name (
  folded TEXT, kind TEXT, label TEXT, is_defined INTEGER, times INTEGER, PRIMARY KEY (folded, kind, label)
) WITHOUT ROWID"""
_COUNT: Final = """INSERT INTO name VALUES (?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET
times = times + 1, is_defined = max(is_defined, excluded.is_defined)"""


@dataclass(frozen=True, slots=True)
class Entity:
    """Who or what bears a name: the name as it is shown, and what it is."""

    label: str
    kind: Kind
    times: int
    is_defined: bool = False


class Consolidation:
    """Annotates names again that mean the same as others, or of which other texts tell what bears them.

    Each annotation stands in the place of one of those by name that it is made of. Memory use grows with the number of
    different names.
    """

    name = "consolidation"

    def __init__(self) -> None:
        self.version = f"{_EDITION} anyascii-{_anyascii()}" if _anyascii() else _EDITION

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        """Yield what the names that are known of objects mean, where that is more than was said of them."""
        entities, explained = _entities(objects, known)
        joined = _joined(entities, explained)
        for each in known():
            if each.kind not in NAMED:
                continue
            own = folded_name(each.label)
            target = joined.get(own, own)
            entity = entities[target]
            kind = entity.kind if each.kind is Kind.NAME or entity.kind is not Kind.NAME else each.kind
            if (entity_iri(entity.label), kind) != (each.iri, each.kind):
                yield replace(
                    each,
                    kind=kind,
                    label=entity.label,
                    annotator=self.name,
                    version=self.version,
                    confidence=round(each.confidence * (_JOINED if target != own else 1.0), 3),
                    iri=entity_iri(entity.label),
                    values=tuple(sorted((*each.values, (REFINES, annotation_iri(each))))),
                )

    def told(self, _: Mapping[str, int]) -> Iterator[str]:
        """Yield what is missing."""
        if not _anyascii():
            yield "names in different scripts are not joined: install anyascii (the extra `enrich`)"


def _entities(
    objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
) -> tuple[dict[str, Entity], dict[str, set[str]]]:
    """Return what bears each folded name, and the names that some texts explain shorter ones by."""
    explained: dict[str, set[str]] = defaultdict(set)
    with closing(sqlite3.connect("", isolation_level=None)) as base:
        base.execute(_TABLE)
        base.execute("BEGIN")
        for each in known():
            if each.kind in NAMED:
                details, folded = dict(each.values), folded_name(each.label)
                base.execute(_COUNT, (folded, each.kind, each.label, details.get("by") == "definition"))
                if details.get("by") == "acronym":
                    explained[folded_name(each.quote)].add(folded)
        found = base.execute("SELECT folded, kind, label, is_defined, times FROM name ORDER BY folded, kind, label")
        names: dict[str, list[tuple[str, str, int, int]]] = defaultdict(list)
        for folded, *told in found:
            names[folded].append((told[0], told[1], told[2], told[3]))
    writing = _writing(objects, names)
    return {folded: _entity(told, is_author=folded in writing) for folded, told in names.items()}, explained


def _writing(objects: Callable[[], Iterator[ObjectText]], names: Mapping[str, object]) -> frozenset[str]:
    """Return the names of several words that authors sign with."""
    signed: dict[str, int] = defaultdict(int)
    for each in objects():
        folded = folded_name(each.author)
        if " " in folded and folded in names:
            signed[folded] += 1
    return frozenset(folded for folded, times in signed.items() if times >= _WRITES)


def _entity(told: list[tuple[str, str, int, int]], *, is_author: bool) -> Entity:
    """Return what bears a name, given kind, label, whether it is of the definition, and how often."""
    counts: dict[str, int] = defaultdict(int)
    labels: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for kind, label, is_defined, times in told:
        counts[kind] += times
        labels[label] = max(labels[label][0], is_defined), labels[label][1] + times
    telling = {kind: count for kind, count in counts.items() if kind != Kind.NAME}
    best = max(telling, key=lambda kind: (telling[kind], kind), default="")
    is_agreed = bool(best) and telling[best] >= _AGREEING * sum(telling.values())
    kind = Kind(best) if is_agreed else Kind.PERSON if is_author and not telling else Kind.NAME
    label = max(labels, key=lambda each: (labels[each], not each.isupper(), each))
    return Entity(label, kind, sum(counts.values()), is_defined=any(is_defined for is_defined, _ in labels.values()))


def _joined(entities: Mapping[str, Entity], explained: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the folded name that each of some others is joined to; whatever could be joined to several is left."""
    joined: dict[str, str] = {}
    for spellings in _alike(entities):
        alike = {_target(joined, name) for name in spellings}
        best = max(alike, key=lambda name: (entities[name].is_defined, entities[name].times, name.isascii(), name))
        joined |= {name: best for name in alike if name != best}
    for short, names in explained.items():
        targets = {_target(joined, name) for name in names} - {short}
        if short in entities and len(targets) == 1 and short not in joined:
            joined[short] = next(iter(targets))
    surnames: dict[str, set[str]] = defaultdict(set)
    for name, entity in entities.items():
        if entity.kind in (Kind.PERSON, Kind.NAME) and not _has_initials(entity.label):
            surnames[name.split()[-1]].add(_target(joined, name))
    for name, entity in entities.items():
        if name not in joined and _has_initials(entity.label):
            fitting = [each for each in surnames[name.split()[-1]] if is_initialed(entity.label, entities[each].label)]
            if len(fitting) == 1:
                joined[name] = fitting[0]
    return {name: _target(joined, name) for name in joined}


def _target(joined: Mapping[str, str], name: str) -> str:
    """Return the name that a name is joined to in the end, which is itself joined to none."""
    while name in joined:
        name = joined[name]
    return name


def _alike(entities: Mapping[str, Entity]) -> Iterator[list[str]]:
    """Yield names that are one in different spellings: with umlauts written out, or in another script."""
    by_spelling: dict[str, set[str]] = defaultdict(set)
    for name, entity in entities.items():
        by_spelling[with_umlauts_written_out(entity.label)].add(name)
        if " " in name and _anyascii() and not name.isascii():
            by_spelling[_romanised(name)].add(name)
    for _, names in sorted(by_spelling.items()):
        if len(names) > 1:
            yield sorted(names)


def _has_initials(label: str) -> bool:
    """Return whether a name begins with an initial.

    >>> _has_initials("J.Smith"), _has_initials("Jo Smith")
    (True, False)
    """
    first, *others = tidied(label.replace(".", ". ")).split(" ")
    return bool(others) and len(first.rstrip(".")) == 1


def _romanised(name: str) -> str:
    from anyascii import anyascii  # noqa: PLC0415 - it may be missing

    return folded_name(anyascii(name))


def _anyascii() -> str:
    try:
        return version("anyascii") if find_spec("anyascii") else ""
    except PackageNotFoundError:
        return ""
