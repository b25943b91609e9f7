"""Tells whom an object answers, by what its page says of it."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Final, Self

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import site_of
from aahcrawler.objects.reader import texts
from offline.enrichment.annotator import ObjectText
from online_analysis.terms import function_words

MAX_CHARACTERS: Final = 20_000
"""Characters of a text in which people are looked for that it calls."""
MAX_ANSWERED: Final = 20
"""People that one object answers at most."""
_MAX_NAME: Final = 80
_MAX_NAME_WORDS: Final = 3
_ANSWERS: Final = frozenset({"reply", "answer", "comment"})
"""Types of objects that open no thread."""
_CALL: Final = re.compile(r"(?<![\w@./:])@(?=\w)")
_PART: Final = re.compile(r"[\w.\-]+")
_BARE_PART: Final = re.compile(r"[\w.\-]*\w")
"""The same without what ends a sentence or a line."""
_MIN_GIVEN: Final = 3
"""Letters of a given name by which somebody with a surname may be called."""
_FUNCTION_WORDS: Final = ("en", "de", "fr", "es", "it", "nl", "pt")
_REPLYING: Final = re.compile(
    r"(?:(?:re|aw|antw(?:ort)?|sv|rv|vs|odp|rif|ynt|r)(?:\[\d+\])?[:：][ \t]*)+", re.IGNORECASE
)
"""What mail puts before the subject of what it answers."""
_ANSWERING: Final = re.compile(rb"^<([^<>\n]+)> <%s> <([^<>\n]+)> " % re.escape(v.PROPERTIES["parent"].encode()), re.M)


_GREETING: Final = re.compile(
    r"^[ \t]*(?:(?:hi|hello|hey|dear|thanks|thank you|hallo|moin|liebe|lieber|danke|bonjour|salut|cher|chère|merci|hola"
    r"|querido|querida|gracias|ciao|caro|cara|grazie|dag|beste|bedankt|olá|caro|obrigado),?[ \t]+)?(?=\w)",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a line begins, behind a greeting."""
_ADDRESSED: Final = re.compile(r"[ \t]*(?:[,:!–—]|-[ \t]|$)", re.MULTILINE)
_SAYING: Final = re.compile(
    r"\b(?:wrote|writes|said|says|posted|mentioned|pointed out|asked|suggested|schrieb|schreibt|geschrieben|sagte"
    r"|meinte|erwähnte|fragte|écrit|écrivait|dit|disait|mentionné|demandait|escribió|dijo|decía|mencionó|preguntó|scritto"
    r"|scriveva|detto|diceva|schreef|zei|vroeg|escreveu|disse|perguntou)\b",
    re.IGNORECASE,
)
"""Verbs of what somebody has said: that is quoted or answered."""
_BEFORE_SAYING: Final = 120
"""Characters before such a verb in which who said it is looked for."""
_ENDS: Final = re.compile(r"[.,;:!?]\s|\n")
_BEHIND_SAYING: Final = re.compile(r"[ \t]+(?=\w)")
_ATTRIBUTED: Final = re.compile(r"[ \t]*(?:[:<(]|$)", re.MULTILINE)
"""What stands behind a name that stands behind such a verb ("am 3. Mai schrieb Anna:")."""
_BETWEEN: Final = 2
"""Words between a name and the verb at most ("as Anna already wrote")."""


class TieKind(StrEnum):
    """What a page says of an object by which it answers somebody. Order in a thread alone is no answer."""

    REPLY = "reply"
    """It names the object that this one answers or quotes."""
    CALL = "call"
    """The text calls somebody who speaks in the same thread: ``@name``."""
    QUOTE = "quote"
    """The text has words of an object of the same page: behind a sign such as ``>``, or ten in a row."""
    NAMED = "named"
    """A line begins with the name of somebody who speaks in the same thread, or says that they said something."""
    NESTED = "nested"
    """It shows the object as a part of another one, as comments of an article are."""
    OPENER = "opener"
    """It says no more than which thread the object is in: whoever opened that is answered, though weakly.

    Where nothing says that objects are in a thread, as in guestbooks and lists of comments, a subject that is answered
    ("Re: Pumps") makes one.
    """


STRENGTH: Final[Mapping[TieKind, float]] = {
    TieKind.REPLY: 1.0,
    TieKind.CALL: 1.0,
    TieKind.QUOTE: 0.75,
    TieKind.NAMED: 0.75,
    TieKind.NESTED: 0.5,
    TieKind.OPENER: 0.25,
}
"""What a tie counts, and how sure it is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An object that answers or quotes another one, as the page of the former says; both are IRIs."""

    object: str
    answered: str


@dataclass(frozen=True, slots=True)
class Tie:
    """That an object answers somebody, by name. ``answered`` is the IRI of the object that it answers.

    That is empty where the text calls or names somebody, at ``start`` to ``end``, which are -1 otherwise.
    """

    name: str
    kind: TieKind
    answered: str = ""
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Spoken:
    """An object of which is known whose it is: the version of it that was captured last.

    ``site`` is the host without ``www.``: a name is that of one person there at most. ``first`` is when the object was
    captured first. ``subject`` is the title in small letters, without what says that it answers another one
    (``is_answer``).
    """

    site: str
    name: str
    type: str
    part_of: str
    published: str
    captured: str
    capture: str
    first: str
    is_in_thread: bool = False
    subject: str = ""
    is_answer: bool = False


def answers_in(crawl: Path) -> Iterator[Answer]:
    """Yield which objects of a crawl's folder say that they answer others. Raises ``ReadError``."""
    for text in texts(crawl):
        for found in _ANSWERING.finditer(text):
            yield Answer(found[1].decode(), found[2].decode())


def _name_at(text: str, start: int, names: Mapping[str, str]) -> tuple[str, int]:
    """Return the longest of some names, given without capitals, that stands at a place, and its end; else nothing."""
    parts = list(islice(_PART.finditer(text, start, start + _MAX_NAME), _MAX_NAME_WORDS))
    written = (text[start : part.end()] for part in reversed(parts))
    for called in chain.from_iterable((each, each.rstrip(".-")) for each in written):
        name = names.get(called.casefold())
        if name is not None:
            return name, start + len(called)
    return "", start


@dataclass(frozen=True, slots=True)
class _Called:
    """Those who speak together, by what they are called in small letters, and the words that this begins with."""

    names: Mapping[str, str]
    first_words: frozenset[str]

    @classmethod
    def of(cls, names: Set[str]) -> Self:
        """Return what some people are called.

        Somebody with a surname is called by what comes before it where nobody else has the same and it is no function
        word.
        """
        called = {name.casefold(): name for name in sorted(names, reverse=True)}
        given: defaultdict[str, set[str]] = defaultdict(set)
        for name in names:
            first, _, rest = name.partition(" ")
            if rest and len(first) >= _MIN_GIVEN:
                given[first.casefold()].add(name)
        for first, whole in given.items():
            if len(whole) == 1 and first not in _no_given_names():
                called.setdefault(first, min(whole))
        return cls(called, frozenset(found[0] for found in map(_BARE_PART.match, called) if found))

    def may_be_in(self, text: str) -> bool:
        """Return whether a text has a word that one of the names begins with: most texts name nobody."""
        return not self.first_words.isdisjoint(_BARE_PART.findall(text.casefold()))


@cache
def _no_given_names() -> frozenset[str]:
    return frozenset(word.casefold() for word in function_words(_FUNCTION_WORDS))


class Threads:
    """The objects of a collection by who speaks in them and what they are parts of; about half a KiB for each."""

    def __init__(self, objects: Iterable[ObjectText], answers: Iterable[Answer]) -> None:
        self.spoken: dict[str, Spoken] = {}
        for given in objects:
            self._add(given)
        self._answered: defaultdict[str, set[str]] = defaultdict(set)
        for answer in answers:
            if answer.object in self.spoken and answer.answered in self.spoken:
                self._answered[answer.object].add(answer.answered)
        parts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for iri, spoken in sorted(self.spoken.items()):
            if spoken.part_of:
                parts[spoken.site, spoken.part_of].append(iri)
        self._openers: dict[str, str] = {}
        for iris in parts.values():
            self._openers |= self._openers_of(iris)
        self._names = {thread: _Called.of({self.spoken[iri].name for iri in iris}) for thread, iris in parts.items()}

    @property
    def together(self) -> int:
        """How many objects are in a whole in which several people speak."""
        counts = Counter((each.site, each.part_of) for each in self.spoken.values() if each.part_of)
        names = {(each.site, each.part_of, each.name) for each in self.spoken.values() if each.part_of}
        speakers = Counter((site, part_of) for site, part_of, _ in names)
        return sum(number for whole, number in counts.items() if speakers[whole] > 1)

    def is_current(self, given: ObjectText) -> bool:
        """Return whether this is the version of an object that counts, and somebody's."""
        spoken = self.spoken.get(given.object)
        return spoken is not None and spoken.capture == given.capture

    def ties(self, given: ObjectText) -> list[Tie]:
        """Return whom an object answers, each once, by the surest kind, in the order of names; never its own author."""
        own = self.spoken[given.object]
        found: dict[str, Tie] = {}
        for tie in self._told(given, own):
            if tie.name != own.name:
                found.setdefault(tie.name, tie)
        if not found:
            opener = self._openers.get(given.object, "")
            if opener and opener != given.object and self.spoken[opener].name != own.name:
                found[self.spoken[opener].name] = Tie(self.spoken[opener].name, TieKind.OPENER, opener)
        return [found[name] for name in sorted(found)][:MAX_ANSWERED]

    def _told(self, given: ObjectText, own: Spoken) -> Iterator[Tie]:
        for iri in sorted(self._answered.get(given.object, ())):
            if self.spoken[iri].site == own.site:
                yield Tie(self.spoken[iri].name, TieKind.REPLY, iri)
        called = self._names.get((own.site, own.part_of))
        text = given.text[:MAX_CHARACTERS]
        names = called.names if called is not None and called.may_be_in(text) else {}
        yield from self._calls(text, names) if names else ()
        for iri in given.quoted:
            if iri in self.spoken and self.spoken[iri].site == own.site:
                yield Tie(self.spoken[iri].name, TieKind.QUOTE, iri)
        yield from self._named(text, names) if names else ()
        whole = self.spoken.get(own.part_of)
        if whole is not None and whole.site == own.site and given.object not in self._answered:
            yield Tie(whole.name, TieKind.NESTED, own.part_of)

    @staticmethod
    def _calls(text: str, names: Mapping[str, str]) -> Iterator[Tie]:
        """Yield who of a thread is called, by the longest of the names that stand behind an at sign."""
        for found in _CALL.finditer(text):
            name, end = _name_at(text, found.end(), names)
            if name:
                yield Tie(name, TieKind.CALL, "", found.start(), end)

    @staticmethod
    def _named(text: str, names: Mapping[str, str]) -> Iterator[Tie]:
        """Yield who of a thread is addressed where a line begins, and of whom is said that they said something."""
        for found in _GREETING.finditer(text):
            name, end = _name_at(text, found.end(), names)
            if name and _ADDRESSED.match(text, end):
                yield Tie(name, TieKind.NAMED, "", found.end(), end)
        for found in _SAYING.finditer(text):
            parts = list(_PART.finditer(text, max(0, found.start() - _BEFORE_SAYING), found.start()))
            for part in reversed(parts[-_BETWEEN - _MAX_NAME_WORDS :]):
                name, end = _name_at(text, part.start(), names)
                is_near = len(parts) - sum(each.start() < end for each in parts) <= _BETWEEN
                if name and is_near and not _ENDS.search(text, end, found.start()):
                    yield Tie(name, TieKind.NAMED, "", part.start(), end)
                    break
            if behind := _BEHIND_SAYING.match(text, found.end()):
                name, end = _name_at(text, behind.end(), names)
                if name and _ATTRIBUTED.match(text, end):
                    yield Tie(name, TieKind.NAMED, "", behind.end(), end)

    def _add(self, given: ObjectText) -> None:
        name, site = " ".join(given.author.split()), given.site.removeprefix("www.") or site_of(given.url)
        if not name or not site:
            return
        former = self.spoken.get(given.object)
        first = min(given.captured, former.first) if former is not None else given.captured
        if former is not None and (former.captured, former.capture) >= (given.captured, given.capture):
            self.spoken[given.object] = replace(former, first=first)
            return
        answering = _REPLYING.match(title := " ".join(given.title.split()))
        self.spoken[given.object] = Spoken(
            *(site, name, given.type, given.part_of, given.published, given.captured, given.capture, first),
            is_in_thread=given.is_in_thread,
            subject=title[answering.end() if answering else 0 :].casefold(),
            is_answer=answering is not None,
        )

    def _openers_of(self, iris: Sequence[str]) -> dict[str, str]:
        """Return the object that opens the thread of each of some parts of one whole, where that is certain."""
        if any(self.spoken[iri].is_in_thread for iri in iris):
            return dict.fromkeys(iris, self._opener(iris))
        by_subject: defaultdict[str, list[str]] = defaultdict(list)
        for iri in iris:
            by_subject[self.spoken[iri].subject].append(iri)
        openers: dict[str, str] = {}
        for subject, those in by_subject.items():
            opening = [iri for iri in those if not self.spoken[iri].is_answer]
            if subject and len(opening) == 1:
                openers |= {iri: opening[0] for iri in those if iri != opening[0]}
        return openers

    def _opener(self, iris: Sequence[str]) -> str:
        """Return the object that opens a thread, empty where that is in doubt.

        That is the only one of a type that opens threads beside such as answer, else the only one published first.
        """
        opening = [iri for iri in iris if self.spoken[iri].type not in _ANSWERS]
        if len(opening) == 1 < len(iris):
            return opening[0]
        if len(opening) != len(iris) or not all(self.spoken[iri].published for iri in iris):
            return ""
        earliest = min(self.spoken[iri].published for iri in iris)
        first = [iri for iri in iris if self.spoken[iri].published.startswith(earliest)]
        return first[0] if len(first) == 1 else ""
