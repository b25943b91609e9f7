"""Joins the names of one entity across documents, and says what bears it by what all texts tell of it.

What is joined: spellings that differ by accents, umlauts written out or another script; initials with the one whole
name that they fit; letters that some text explains, or that are those of the one organisation beside them;
German names whose adjectives differ by their case; companies with and without their legal form. Surnames alone are not:
within one text the whole name before them tells, between texts nothing does. Names of the crawl's definition are the
ones that others are joined to. Names that texts tell of, and that were missed in others, are added.
"""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

from aahcrawler.annotations import REFINES, Annotation, Kind, annotation_iri
from offline.enrichment.annotator import ObjectText
from offline.enrichment.capitals import NOUNS_WITH_CAPITALS, WITHOUT_CAPITALS, names_by_capitals
from offline.enrichment.document_frequencies import DocumentFrequencies
from offline.enrichment.name_contexts import (
    MAX_NAME,
    NAMED,
    acronyms,
    entity_iri,
    folded_name,
    is_initialed,
    kind_beside,
    kind_by_words,
    tidied,
    with_umlauts_written_out,
    without_legal_form,
)
from offline.enrichment.word_dictionaries import dictionary_code, noun_dictionary

_EDITION: Final = "5"
_AGREEING: Final = 2 / 3
"""The share of what tells what bears a name that has to agree."""
_HINT: Final = 4
"""What a text counts whose words beside a name hint at what bears it, beside a mention of which is told what it names.

In English news a name behind "in" is fifteen times likelier a place than an organisation, while models take every
tenth place for something else, and the same place again and again.
"""
_TOWN: Final = 4
"""What it counts that a dictionary knows a name for a town's: models take many towns for people, by a word or two."""
_HINTS: Final = 2
"""The texts that have to give the same hint."""
_MARGIN: Final = 3
"""By how much more has to tell one kind than others, for a mention to be of it that is told another, or is missed."""
_JOINED: Final = 0.9
"""By how much a name that was joined to another is as certain as before."""
_WRITES: Final = 3
"""How many objects somebody signs with a name, for it to be a person's wherever it stands."""
_TABLE: Final = """CREATE TABLE mention (
  object TEXT, start INTEGER, end INTEGER, folded TEXT, kind TEXT, label TEXT, quote TEXT, beside TEXT, by TEXT
)"""


@dataclass(slots=True)
class _Evidence:
    """What all texts tell of a name: how often each spelling, each kind, and in how many texts each hint."""

    labels: Counter[str] = field(default_factory=Counter)
    defined: set[str] = field(default_factory=set)
    kinds: Counter[Kind] = field(default_factory=Counter)
    hints: Counter[Kind] = field(default_factory=Counter)
    is_author: bool = False
    is_town: bool = False
    """Whether a dictionary has it for a town's name, and it is part of no whole name of a person."""

    def add(self, other: "_Evidence") -> None:
        """Take what is told of a name that means the same; how it is spelt stays."""
        self.kinds += other.kinds
        self.hints += other.hints
        self.is_author |= other.is_author

    @property
    def label(self) -> str:
        return max(self.labels, key=lambda each: (each in self.defined, self.labels[each], not each.isupper(), each))

    @property
    def kind(self) -> tuple[Kind, int]:
        """What bears the name, where most of what tells agrees, and by how much more it tells so than else."""
        telling: Counter[Kind] = Counter({kind: number for kind, number in self.kinds.items() if kind is not Kind.NAME})
        for kind, texts in self.hints.items():
            telling[kind] += _HINT * texts if texts >= _HINTS else 0
        if self.is_town and telling[Kind.PERSON]:
            telling[Kind.PLACE] += _TOWN
        if self.is_author and not telling.total():
            return Kind.PERSON, 0
        best = max(telling, key=lambda kind: (telling[kind], kind), default=Kind.NAME)
        is_agreed = telling.total() > 0 and telling[best] >= _AGREEING * telling.total()
        return (best, 2 * telling[best] - telling.total()) if is_agreed else (Kind.NAME, 0)


@dataclass(frozen=True, slots=True)
class Entity:
    """Who or what bears a name: the name as it is shown, and what it is, with how much more tells so than else."""

    label: str
    kind: Kind
    margin: int
    times: int
    is_defined: bool


class Consolidation:
    """Annotates names again that mean the same as others, or of which other texts tell what bears them.

    Each annotation stands in the place of one of those by name that it is made of, but those of names that were missed.
    Memory use grows with the number of different names.
    """

    name = "consolidation"

    def __init__(self) -> None:
        scripts = f"anyascii-{_anyascii()}" if _anyascii() else ""
        nouns = f"simplemma-{version('simplemma')}" if dictionary_code("de") else ""
        self.version = " ".join(filter(None, (_EDITION, scripts, nouns)))

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        """Yield what the names that are known of objects mean, where that is more than was said of them.

        The objects are read four times.
        """
        with closing(sqlite3.connect("", isolation_level=None)) as base:
            mentions = _Mentions(base, known())
            evidence = mentions.evidence()
            for folded in _writing(objects, evidence):
                evidence[folded].is_author = True
            joined = _joined(_entities(evidence), mentions)
            for name, target in joined.items():
                evidence[target].add(evidence[name])
            _hint_by_surnames(evidence)
            _know_towns(evidence)
            entities = _entities(evidence)
            for each in known():
                if each.kind in NAMED:
                    yield from self._refined(each, entities, joined)
            yield from self._missed(objects, mentions, entities, joined)

    def _refined(
        self, each: Annotation, entities: Mapping[str, Entity], joined: Mapping[str, str]
    ) -> Iterator[Annotation]:
        own = folded_name(each.label)
        target = joined.get(own, own)
        entity = entities[target]
        is_surer = each.kind is Kind.NAME or target != own or entity.margin >= _MARGIN
        is_belied = _is_belied(entity.kind, each.label, dict(each.values).get("beside", ""))
        kind = entity.kind if entity.kind is not Kind.NAME and is_surer and not is_belied else each.kind
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

    def _missed(
        self,
        objects: Callable[[], Iterator[ObjectText]],
        mentions: "_Mentions",
        entities: Mapping[str, Entity],
        joined: Mapping[str, str],
    ) -> Iterator[Annotation]:
        written = {
            quote: entity
            for quote, folded in mentions.written_often()
            if (entity := entities[joined.get(folded, folded)]).margin >= _MARGIN
        }
        missed = MissedNames({quote: entity.kind for quote, entity in written.items()}, objects())
        for given in objects():
            for each in missed.of(given, mentions.places(given.object)):
                quote = given.text[each.start : each.end]
                label = written[quote].label if quote in written else quote
                yield Annotation(
                    given.object,
                    given.capture,
                    each.kind,
                    label,
                    self.name,
                    self.version,
                    each.confidence,
                    entity_iri(label),
                    each.start,
                    each.end,
                    quote,
                    values=(("by", each.by),),
                )

    def told(self, _: Mapping[str, int]) -> Iterator[str]:
        """Yield what is missing."""
        if not _anyascii():
            yield "names in different scripts are not joined: install anyascii (the extra `enrich`)"


class _Mentions:
    """All places of names, in a temporary table."""

    def __init__(self, base: sqlite3.Connection, known: Iterator[Annotation]) -> None:
        self._base = base
        base.execute(_TABLE)
        base.execute("BEGIN")
        base.executemany(
            "INSERT INTO mention VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (_row(each) for each in known if each.kind in NAMED),
        )
        base.execute("COMMIT")
        base.execute("CREATE INDEX mention_by_object ON mention (object, start)")
        base.execute("CREATE INDEX mention_by_name ON mention (folded, object)")

    def evidence(self) -> dict[str, _Evidence]:
        """Return what is told of each folded name."""
        found: dict[str, _Evidence] = {}
        rows = self._base.execute(
            "SELECT folded, kind, label, max(by = 'definition'), count(*) FROM mention "
            "GROUP BY folded, kind, label ORDER BY folded"
        )
        for folded, kind, label, is_defined, times in rows:
            each = found.setdefault(folded, _Evidence())
            each.labels[label] += times
            each.kinds[Kind(kind)] += times
            if is_defined:
                each.defined.add(label)
        hints = self._base.execute(
            "SELECT folded, beside, count(DISTINCT object) FROM mention WHERE beside != '' GROUP BY folded, beside"
        )
        for folded, kind, texts in hints:
            found[folded].hints[Kind(kind)] += texts
        return found

    def explained(self) -> dict[str, set[str]]:
        """Return the names that some texts explain letters by, all folded."""
        explained: dict[str, set[str]] = defaultdict(set)
        for letters, folded in self._base.execute("SELECT DISTINCT quote, folded FROM mention WHERE by = 'acronym'"):
            explained[folded_name(letters)].add(folded)
        return explained

    def stand_together(self, one: str, other: str) -> bool:
        """Return whether two folded names are in one object."""
        found = self._base.execute(
            "SELECT 1 FROM mention first JOIN mention second USING (object) "
            "WHERE first.folded = ? AND second.folded = ? LIMIT 1",
            (one, other),
        )
        return found.fetchone() is not None

    def written_often(self) -> Iterator[tuple[str, str]]:
        """Yield words that are the name of one entity in several objects, with that, folded."""
        yield from self._base.execute(
            "SELECT quote, min(folded) FROM mention GROUP BY quote "
            "HAVING count(DISTINCT object) > 1 AND min(folded) = max(folded) ORDER BY quote"
        )

    def places(self, iri: str) -> list[tuple[int, int]]:
        """Return where names stand in an object."""
        return self._base.execute("SELECT start, end FROM mention WHERE object = ? ORDER BY start", (iri,)).fetchall()


def _row(each: Annotation) -> tuple[str, int, int, str, str, str, str, str, str]:
    details = dict(each.values)
    return (
        each.object,
        each.start,
        each.end,
        folded_name(each.label),
        each.kind.value,
        each.label,
        each.quote,
        details.get("beside", ""),
        details.get("by", ""),
    )


def _writing(objects: Callable[[], Iterator[ObjectText]], names: Mapping[str, object]) -> frozenset[str]:
    """Return the names of several words that authors sign with."""
    signed: Counter[str] = Counter()
    for each in objects():
        folded = folded_name(each.author)
        if " " in folded and folded in names:
            signed[folded] += 1
    return frozenset(folded for folded, times in signed.items() if times >= _WRITES)


def _entities(evidence: Mapping[str, _Evidence]) -> dict[str, Entity]:
    return {
        folded: Entity(each.label, *each.kind, each.labels.total(), bool(each.defined))
        for folded, each in evidence.items()
    }


def _joined(entities: Mapping[str, Entity], mentions: _Mentions) -> dict[str, str]:
    """Return the folded name that each of some others is joined to; whatever could be joined to several is left."""
    joined: dict[str, str] = {}
    for spellings in _alike(entities):
        alike = {_target(joined, name) for name in spellings}
        best = max(alike, key=lambda name: (entities[name].is_defined, entities[name].times, name.isascii(), name))
        joined |= {name: best for name in alike if name != best}
    for short, names in (*mentions.explained().items(), *_lettered(entities, mentions)):
        targets = {_target(joined, name) for name in names} - {short}
        if short in entities and len(targets) == 1 and short not in joined:
            joined[short] = next(iter(targets))
    surnames: dict[str, set[str]] = defaultdict(set)
    for name, entity in entities.items():
        if not _has_initials(entity.label) and kind_by_words(entity.label, "") is Kind.NAME:
            surnames[name.split()[-1]].add(_target(joined, name))
    for name, entity in entities.items():
        if name not in joined and _has_initials(entity.label):
            fitting = [each for each in surnames[name.split()[-1]] if is_initialed(entity.label, entities[each].label)]
            if len(fitting) == 1:
                joined[name] = fitting[0]
    return {name: _target(joined, name) for name in joined}


def _hint_by_surnames(evidence: Mapping[str, _Evidence]) -> None:
    """Count what hints that a surname alone is a person's for the whole name, where one alone ends with it."""
    whole: dict[str, list[str]] = defaultdict(list)
    for name, each in evidence.items():
        if " " in name and not _has_initials(each.label):
            whole[name.split()[-1]].append(name)
    for name, (fitting, *others) in whole.items():
        if name in evidence and not others and evidence[name].kind[0] is Kind.PERSON:
            evidence[fitting].hints[Kind.PERSON] += evidence[name].hints[Kind.PERSON]


def _know_towns(evidence: Mapping[str, _Evidence]) -> None:
    """Mark single names that are told for people's and that the German dictionary has for towns'.

    Names that are a word of a whole name of a person are left: they may be short for that.
    """
    dictionary = noun_dictionary("de")
    if dictionary is None:
        return
    of_people = {
        word for name, each in evidence.items() if " " in name and each.kinds[Kind.PERSON] for word in name.split()
    }
    for name, each in evidence.items():
        if " " not in name and each.kinds[Kind.PERSON] and name not in of_people:
            each.is_town = dictionary.is_town(each.label)


def _lettered(entities: Mapping[str, Entity], mentions: _Mentions) -> Iterator[tuple[str, set[str]]]:
    """Yield letters with the names that they may be cut from, all folded, where one of those stands beside them."""
    cut: dict[str, set[str]] = defaultdict(set)
    for name, entity in entities.items():
        if entity.kind in (Kind.ORGANISATION, Kind.NAME):
            for letters in acronyms(entity.label):
                cut[letters].add(name)
    for short, entity in entities.items():
        names = cut.get(entity.label.upper(), set())
        is_cut = len(names) == 1 and not entity.label[1:].islower()
        if is_cut and mentions.stand_together(short, next(iter(names))):
            yield short, names


def _target(joined: Mapping[str, str], name: str) -> str:
    """Return the name that a name is joined to in the end, which is itself joined to none."""
    while name in joined:
        name = joined[name]
    return name


def _alike(entities: Mapping[str, Entity]) -> Iterator[list[str]]:
    """Yield names that are one in different spellings.

    They differ by umlauts written out, another script, the case of German adjectives, or the legal form of a company.
    One company without such a form is not told from two with different ones, which are left.
    """
    by_spelling: dict[str, set[str]] = defaultdict(set)
    by_company: dict[str, set[str]] = defaultdict(set)
    is_german = any(" " in name and entity.kind is not Kind.PERSON for name, entity in entities.items())
    dictionary = noun_dictionary("de") if is_german else None
    of_people = {name.split()[-1] for name, entity in entities.items() if " " in name and entity.kind is Kind.PERSON}
    for name, entity in entities.items():
        by_spelling[with_umlauts_written_out(entity.label)].add(name)
        if " " in name and not name.isascii() and _anyascii():
            by_spelling[_romanised(name)].add(name)
        if dictionary is not None and entity.kind is not Kind.PERSON:
            by_spelling[with_umlauts_written_out(dictionary.uninflected(entity.label))].add(name)
        if (company := folded_name(without_legal_form(entity.label))) != name and company not in of_people:
            by_company[company].add(name)
    for company, names in by_company.items():
        bare = entities.get(company)
        if bare is not None and bare.kind in (Kind.ORGANISATION, Kind.NAME) and len(names) == 1:
            by_spelling[f"{company}, of any form"] = {company, *names}
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


@cache
def _anyascii() -> str:
    try:
        return version("anyascii") if find_spec("anyascii") else ""
    except PackageNotFoundError:
        return ""


MAX_NAMES: Final = 200
"""Names that are added to one object."""
_ELSEWHERE, _AMONG_NOUNS = 0.6, 0.5
_PAIR: Final = re.compile(r"(?<![\w-])([a-zäöüß]+|\d+) ([A-ZÄÖÜ][\w-]*\w)(?! [A-ZÄÖÜ])")
"""A word with a capital behind one without, and no other capital behind it."""
_TO_PLACES: Final = frozenset({"in", "nach", "aus"})
_BARE: Final = frozenset(
    {"ab", "bei", "bis", "dass", "für", "gegen", "hat", "ist", "über", "um", "und", "von", "wie", "zwischen"}
)
"""Words before which names stand without an article, and nouns of many things do as well."""
_NO_PLACES: Final = ("ung", "ungen", "heit", "keit", "ion", "tät", "ismus", "schaft", "nis")
"""Ends of German words for what is no place."""
_TEXTS: Final = 2
"""Texts that have to name a word as a place."""
_WAYS: Final = 2
"""Different words before it, in all texts: "in Bezug" is always "in"."""
_WITH_ARTICLE: Final = 0.2
"""Texts with an article or an adjective before it, for each one that names it as a place, at most."""


@dataclass(frozen=True, slots=True)
class MissedName:
    """A name in a text: its place, what bears it, and how that is known."""

    start: int
    end: int
    kind: Kind
    confidence: float
    by: str


class MissedNames:
    """Finds names that ``known`` tells by their words, and German places by all ``objects``.

    Memory use grows with the number of different places, and is 8 MiB beside.
    """

    def __init__(self, known: Mapping[str, Kind], objects: Iterable[ObjectText]) -> None:
        self._known = known
        self._seen = DocumentFrequencies()
        for given in objects:
            if given.language in NOUNS_WITH_CAPITALS:
                self._seen.add({f"{_way(before)} {word}" for _, before, word in _pairs(given.text)})
                self._seen.add({f"{before}+{word}" for _, before, word in _pairs(given.text) if _way(before) != "-"})

    def of(self, given: ObjectText, places: Sequence[tuple[int, int]]) -> Iterator[MissedName]:
        """Yield the names of an object that stand at none of the places of names that are known of it, in order."""
        if given.language in WITHOUT_CAPITALS:
            return
        at, found = 0, 0
        for each in self._candidates(given):
            while at < len(places) and places[at][1] <= each.start:
                at += 1
            if (at == len(places) or each.end <= places[at][0]) and found < MAX_NAMES:
                found += 1
                yield each

    def _candidates(self, given: ObjectText) -> Iterator[MissedName]:
        if given.language in NOUNS_WITH_CAPITALS:
            nouns = noun_dictionary(given.language)
            for start, before, word in _pairs(given.text):
                if nouns is not None and nouns.head(word):
                    continue
                kind = self._known.get(word) if nouns is not None else None
                if kind is not None and not _is_belied_at(given, start, start + len(word), kind):
                    yield MissedName(start, start + len(word), kind, _ELSEWHERE, "elsewhere")
                elif _way(before) != "-" and self._is_place(word):
                    yield MissedName(start, start + len(word), Kind.PLACE, _AMONG_NOUNS, "nouns")
            return
        for each in names_by_capitals(given.text, given.language):
            kind = self._known.get(given.text[each.start : each.end])
            if kind is not None and not _is_belied_at(given, each.start, each.end, kind):
                yield MissedName(each.start, each.end, kind, _ELSEWHERE, "elsewhere")

    def _is_place(self, word: str) -> bool:
        named = self._seen[f"+ {word}"]
        if named < _TEXTS or word.endswith(_NO_PLACES) or self._seen[f"- {word}"] > _WITH_ARTICLE * named:
            return False
        return sum(self._seen[f"{before}+{word}"] > 0 for before in _TO_PLACES | _BARE) >= _WAYS


def _is_belied(kind: Kind, name: str, beside: str) -> bool:
    """Return whether a single name that other texts tell for a person's stands where those of places do."""
    return kind is Kind.PERSON and " " not in name and beside == Kind.PLACE


def _is_belied_at(given: ObjectText, start: int, end: int, kind: Kind) -> bool:
    """Return the same of a place in a text; what stands beside it is read where it may tell alone."""
    if kind is not Kind.PERSON:
        return False
    return _is_belied(kind, given.text[start:end], kind_beside(given.text, start, end, given.language))


def _way(before: str) -> str:
    """Return how a word stands behind another one: as a place (``+``), bare (``0``), or as nouns do (``-``)."""
    return "+" if before in _TO_PLACES else "0" if before in _BARE else "-"


def _pairs(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield words with capitals within sentences, with their place and the word before."""
    for found in _PAIR.finditer(text):
        if len(found[2]) <= MAX_NAME:
            yield found.start(2), found[1], found[2]
