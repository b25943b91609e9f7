"""Proposes words, names and seeds that a definition lacks, with the evidence for each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from aahcrawler.urls import queue_of
from offline.refinement.reference_pages import ReferencePage
from online_analysis.icd import Icd
from online_analysis.page_notes import PageNote
from online_analysis.refinement import Outcome, Refinement, Trusted, refine
from online_analysis.topic import Topic
from online_analysis.topic_learning import ReferencePages

_FEWEST_HOLDERS = 3
_LIFT = 2.0
_MOST = 20


@dataclass(frozen=True, slots=True)
class Proposal:
    """A value for a definition: on how many of the relevant pages and of the others it was found, and on which best.

    ``about`` says more of it, such as the weight of a word; mostly empty.
    """

    value: str
    relevant: int
    others: int
    example: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a reference crawl of ``pages`` pages, ``relevant`` ones among them, proposes for a definition.

    ``outcome`` is what the crawl itself would make of the keywords.
    """

    pages: int
    relevant: int
    outcome: Outcome
    keywords: Sequence[Proposal] = ()
    entities: Sequence[Proposal] = ()
    seeds: Sequence[Proposal] = ()

    @property
    def are_none(self) -> bool:
        """Return whether nothing is proposed."""
        return not (self.keywords or self.entities or self.seeds)


def propose(icd: Icd, topic: Topic, seeds: Iterable[str], pages: Iterable[ReferencePage]) -> Proposals:
    """Return what pages propose for a definition; ``seeds`` are its seeds as canonical URLs.

    Keywords are what the crawl itself would learn from these pages (``online_analysis.refinement``). Of other
    sites that content links to, the page to which most of the relevant pages link is proposed as a seed.
    """
    kept, names, sites = ReferencePages(), _Holders(), _Holders()
    linked: Counter[str] = Counter()
    number = relevant = 0
    known = {queue_of(url) for url in seeds}
    for page in pages:
        if page.note.url in kept.seen:
            continue
        kept.add(page.note)
        is_relevant = page.note.worth >= icd.scoring.relevant
        number, relevant = number + 1, relevant + is_relevant
        names.add(page.names, page.note, is_relevant=is_relevant)
        beyond = {url for url in page.links if queue_of(url) not in known}
        sites.add({queue_of(url) for url in beyond}, page.note, is_relevant=is_relevant)
        if is_relevant:
            linked.update(beyond)
    documents = tuple(icd.file_texts[name] for name in icd.topic.documents if name in icd.file_texts)
    found = refine(kept.notes, topic, Trusted(icd.scoring.relevant, frozenset(seeds), documents))
    given = {name.casefold() for name in (*icd.topic.entities, *icd.topic.keywords)}
    return Proposals(
        number,
        relevant,
        found.outcome,
        tuple(_keywords(found, kept.notes, topic, icd.scoring.relevant)),
        tuple(islice((each for each in names.telling(relevant, number) if each.value.casefold() not in given), _MOST)),
        tuple(_entrances(islice(sites.telling(relevant, number), _MOST), linked)),
    )


class _Holders:
    """Counts the pages that hold a value, the relevant ones and the others; the best of them is the example."""

    def __init__(self) -> None:
        self._relevant: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        self._best: dict[str, PageNote] = {}

    def add(self, values: Iterable[str], note: PageNote, *, is_relevant: bool) -> None:
        """Count a page for each of its values."""
        for value in values:
            (self._relevant if is_relevant else self._others)[value] += 1
            best = self._best.get(value)
            if best is None or (-note.worth, note.url) < (-best.worth, best.url):
                self._best[value] = note

    def of(self, value: str, about: str = "") -> Proposal:
        """Return what is known of a value that is on a page at least."""
        return Proposal(value, self._relevant[value], self._others[value], self._best[value].url, about)

    def telling(self, relevant: int, pages: int) -> Iterator[Proposal]:
        """Yield the values of three relevant pages or more, twice as frequent there, the most frequent first."""
        for value, count in sorted(self._relevant.items(), key=lambda item: (-item[1], item[0])):
            if count >= _FEWEST_HOLDERS and count * (pages - relevant) >= _LIFT * self._others[value] * relevant:
                yield self.of(value)


def _keywords(found: Refinement, notes: Sequence[PageNote], topic: Topic, least: float) -> Iterator[Proposal]:
    for text, weight in (found.terms or found.refused).items():
        holders = _Holders()
        for note in notes:
            terms = topic.vector(note.language).language.terms(text)
            if terms and all(term in note.counts for term in terms):
                holders.add((text,), note, is_relevant=note.worth >= least)
        yield holders.of(text, f"weight {weight:g}")


def _entrances(sites: Iterable[Proposal], linked: Counter[str]) -> Iterator[Proposal]:
    """Yield for each site the URL that most of the relevant pages link to, of several the shortest."""
    best: dict[str, str] = {}
    for url, _ in sorted(linked.items(), key=lambda item: (-item[1], len(item[0]), item[0])):
        best.setdefault(queue_of(url), url)
    for each in sites:
        yield replace(each, value=best[each.value], about=f"links to {each.value}")
