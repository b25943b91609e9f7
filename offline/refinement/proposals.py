"""Proposes words, names and seeds that a definition lacks, with the evidence for each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.layout import TOPIC
from aahcrawler.objects.reader import page_rows
from aahcrawler.urls import queue_of
from offline.rereading import Reader
from online_analysis.analysers.text import TextAnalyser
from online_analysis.document import Document
from online_analysis.icd import Icd
from online_analysis.page_notes import PageNote, note_of
from online_analysis.refinement import Refinement, RefinementOutcome, Trusted, refine
from online_analysis.suggestions import Suggested, Suggestions, names
from online_analysis.topic import Topic, build_topic
from online_analysis.topic_learning import ReferencePages, TopicState


class RefinementError(Exception):
    """Raised where a definition cannot be refined; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class ReferencePage:
    """A page of a reference crawl: its note, the names in its text, and the URLs that its content links to."""

    note: PageNote
    names: frozenset[str]
    links: frozenset[str]


def topic_of(icd: Icd, crawl: Path) -> Topic:
    """Return the topic of a definition; the texts of its documents on the web are those that the crawl has kept.

    Raises ``RefinementError``.
    """
    try:
        texts = TopicState.read(crawl / TOPIC).texts
    except (OSError, ValueError) as error:
        raise RefinementError(f"{crawl / TOPIC}: cannot be read ({error})") from error
    missing = [each.url for each in icd.document_urls() if each.url not in texts]
    if missing:
        raise RefinementError(
            f"{crawl}: has no text of the reference document {missing[0]}; name a crawl of this very definition, "
            "or give the document as a file"
        )
    return build_topic(icd, texts)


def reference_pages(crawl: Path, topic: Topic, reader: Reader) -> Iterator[ReferencePage]:
    """Yield the pages that a crawl has archived, each URL once, as the reader reads them today.

    Their worth is the score of their text by the topic. Pages without words, and those that repeat others, are left
    out. Raises ``ReadError`` and ``SegmentError``.
    """
    analyser = TextAnalyser(topic)
    rows = {row.url: row.capture for row in page_rows(crawl) if row.is_page and not row.trap and row.unchanged is None}
    folder = ArchiveFolder.at(crawl)
    with ArchivedCaptures(folder.crawl or folder.files) as source:
        for record in rows.values():
            capture = source.of_record(record)
            page = None if capture is None else capture.page
            if page is None or not page.is_html:
                continue
            document = reader.read(page, None).document
            worth = analyser.analyse(document).document
            if worth is not None:
                yield _of(document, topic, worth)


def _of(document: Document, topic: Topic, worth: float) -> ReferencePage:
    content = [part.text for part in document.parts if part.role == "content"]
    is_content = [part.role == "content" for part in document.parts]
    links = frozenset(link.url for link in document.outlinks if link.part is not None and is_content[link.part])
    found = frozenset(name for text in content for name in names(text))
    note = note_of(document, topic.counting.of(document), queue_of(document.url), worth)
    return ReferencePage(note, found, links)


_MIN_HOLDERS = 3
_LIFT = 2.0
_MOST = 20


@dataclass(frozen=True, slots=True)
class Proposal:
    """A value for a definition: how many of the relevant pages and of the others contain it, and the best of them.

    ``about`` adds information such as the weight of a word; mostly empty.
    """

    value: str
    relevant: int
    others: int
    example: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a reference crawl of ``pages`` pages, of which ``relevant`` ones, proposes for a definition.

    ``outcome`` is the result if the crawl itself refined its topic.
    """

    pages: int
    relevant: int
    outcome: RefinementOutcome
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
    """Counts the relevant and other pages that contain a value; the best of them is the example."""

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
        """Yield values on at least three relevant pages and twice as frequent there, the most frequent first."""
        for value, count in sorted(self._relevant.items(), key=lambda item: (-item[1], item[0])):
            if count >= _MIN_HOLDERS and count * (pages - relevant) >= _LIFT * self._others[value] * relevant:
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


def suggestions_of(found: Proposals) -> Suggestions:
    """Return proposals as suggestions: their counts are relevant pages, their snippets the URL of the best page."""
    return Suggestions(
        keywords=_suggested(found.keywords, found),
        entities=_suggested(found.entities, found),
        seeds=_suggested(found.seeds, found),
    )


def _suggested(proposals: Sequence[Proposal], found: Proposals) -> tuple[Suggested, ...]:
    most = max((each.relevant for each in proposals), default=0) or 1
    return tuple(
        Suggested(
            each.value, each.relevant, max(0.0001, round(each.relevant / most, 4)), each.example, _note(each, found)
        )
        for each in proposals
    )


def _note(each: Proposal, found: Proposals) -> str:
    others = f"{each.others:,} of {found.pages - found.relevant:,} others"
    pages = f"on {each.relevant:,} of {found.relevant:,} relevant pages, {others}"
    return f"{each.about}; {pages}" if each.about else pages
