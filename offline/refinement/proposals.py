"""Propose words, names and seeds that a definition lacks, in a file that an archivist reviews."""

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import yaml

from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.layout import TOPIC
from aahcrawler.objects.reader import page_rows
from aahcrawler.urls import queue_of
from offline.rereading import Reader
from online_analysis.analysers.text import TextAnalyser
from online_analysis.document import Document
from online_analysis.icd import Icd
from online_analysis.icd.editing import edited
from online_analysis.refinement import PageNote, Refinement, RefinementOutcome, Trusted, note_of, refine
from online_analysis.suggestions import Suggested, Suggestions, names
from online_analysis.topic import Topic, build_topic
from online_analysis.topic_learning import ReferencePages, TopicState


class RefinementError(Exception):
    """Raised when a definition cannot be refined; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class ReferencePage:
    """A page of a reference crawl: its note, the names in its text, and the URLs that its content links to."""

    note: PageNote
    names: frozenset[str]
    links: frozenset[str]


def topic_of(icd: Icd, crawl: Path) -> Topic:
    """Return the topic of a definition, with the texts that the crawl has stored of its documents on the web.

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
    """Yield the pages that a crawl has archived, each URL once, as the reader reads them now.

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
_MAX_PROPOSALS = 20


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
    """What a reference crawl of ``pages`` pages, ``relevant`` of them relevant, proposes for a definition.

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

    Keywords are those that the crawl itself would learn from these pages (``online_analysis.refinement``). For each
    other site to which content links, the page with links from the most relevant pages is proposed as a seed.
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
        tuple(
            islice(
                (each for each in names.telling(relevant, number) if each.value.casefold() not in given), _MAX_PROPOSALS
            )
        ),
        tuple(_entrances(islice(sites.telling(relevant, number), _MAX_PROPOSALS), linked)),
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
        """Return the proposal of a value that is on at least one page."""
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
    """Yield for each site the URL with links from the most relevant pages; of several, the shortest."""
    best: dict[str, str] = {}
    for url, _ in sorted(linked.items(), key=lambda item: (-item[1], len(item[0]), item[0])):
        best.setdefault(queue_of(url), url)
    for each in sites:
        yield replace(each, value=best[each.value], about=f"links to {each.value}")


def suggestions_of(found: Proposals) -> Suggestions:
    """Return proposals as suggestions: their counts are of relevant pages, their snippets the URL of the best page."""
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


FIELDS = ("keywords", "entities", "seeds")
_PLAIN = re.compile(r"[^\W\d_][\w'’./:?=&+~%-]*(?: [\w'’./:?=&+~%-]+)*")
"""Scalars that need no quotes anywhere in YAML, unless they are words with a meaning of their own."""
_MAX_BYTES = 1_000_000


def scalar(text: str) -> str:
    """Return a text in a form that YAML reads as this text, quoted if necessary.

    >>> scalar("solar power"), scalar("yes"), scalar("a: b")
    ('solar power', '"yes"', '"a: b"')
    """
    is_plain = _PLAIN.fullmatch(text) and ": " not in text and not text.endswith(":")
    return text if is_plain and yaml.safe_load(text) == text else json.dumps(text, ensure_ascii=False)


def review_text(found: Proposals, icd: Path, crawl: Path, review: Path) -> str:
    """Return the content of a review file."""
    return "\n".join((*_head(found, icd, crawl, review), *_sections(found))) + "\n"


def read_review(path: Path) -> Mapping[str, Sequence[str]]:
    """Return what was left in a review file, by field. Raises ``RefinementError``."""
    try:
        content = path.read_bytes()
        if len(content) > _MAX_BYTES:
            raise RefinementError(f"{path}: is larger than {_MAX_BYTES:,} bytes; it is no review file")
        data = yaml.load(content, Loader=yaml.BaseLoader)  # noqa: S506  All scalars are strings, and no objects are made.
    except OSError as error:
        raise RefinementError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RefinementError(f"{path}: is no YAML: {error}") from error
    if not isinstance(data, dict):
        raise RefinementError(f"{path}: holds none of {', '.join(FIELDS)}; write it with `aah icd refine`")
    return {name: _values(path, name, value) for name, value in data.items()}


def _values(path: Path, name: object, values: object) -> Sequence[str]:
    if name not in FIELDS:
        raise RefinementError(f"{path}: {name} is no field of a review; there are {', '.join(FIELDS)}")
    if values in ("", None):
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) and value.strip() for value in values):
        raise RefinementError(f"{path}: {name} is no list of texts; write one a line, such as `  - solar power`")
    return [" ".join(value.split()) for value in values]


def _head(found: Proposals, icd: Path, crawl: Path, review: Path) -> Iterator[str]:
    yield f"# Proposals for {icd.name}, from {found.pages:,} pages of {crawl}, {found.relevant:,} of them relevant."
    yield "# Delete the lines that are not about your subject. Then:"
    yield f"#     aah icd merge {icd} {review}"
    if found.outcome is not RefinementOutcome.TAKEN:
        yield f"# A crawl would not learn the keywords by itself: {found.outcome.value}."


def _sections(found: Proposals) -> Iterator[str]:
    sections = zip(FIELDS, (found.keywords, found.entities, found.seeds), strict=True)
    for name, proposals in sections:
        yield ""
        yield f"{name}:" if proposals else f"{name}: []"
        for each in proposals:
            yield f"  - {scalar(each.value)}  # {_evidence(each, found)}"


def _evidence(each: Proposal, found: Proposals) -> str:
    about = f"{each.about}; " if each.about else ""
    others = f"{each.others:,} of {found.pages - found.relevant:,} others"
    return f"{about}on {each.relevant:,} of {found.relevant:,} relevant pages, {others}, such as {each.example}"


PLACES: Mapping[str, str] = {"keywords": "topic.keywords", "entities": "topic.entities", "seeds": "seeds"}


@dataclass(frozen=True, slots=True)
class Merged:
    """The new content of a definition's file, and what was added, without what the definition already had."""

    content: bytes
    added: Mapping[str, Sequence[str]]


def merge(path: Path, reviewed: Mapping[str, Sequence[str]]) -> Merged:
    """Return the file of a definition with the reviewed values added.

    Raises ``IcdError`` for a definition with mistakes, before or after, and ``RefinementError`` where the file is
    written so that values have to be added by hand.
    """
    icd = Icd.load(path)
    had: Mapping[str, Sequence[str]] = {
        "keywords": icd.topic.keywords,
        "entities": icd.topic.entities,
        "seeds": icd.seeds,
    }
    added = {name: new for name, values in reviewed.items() if (new := _new(values, had[name]))}
    content = path.read_bytes()
    changes = {
        f"{PLACES[name]}[{place}]": value
        for name, values in added.items()
        for place, value in enumerate(values, len(had[name]))
    }
    merged = edited(content.decode("utf-8"), changes, str(path)).encode()
    _check(path, merged, {name: [*had[name], *added.get(name, ())] for name in had}, icd)
    return Merged(merged, added)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file's content, either whole or not at all, keeping its permissions. Raises ``RefinementError``."""
    try:
        target = path.resolve()
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            file.write(content)
        shutil.copymode(target, file.name)
        Path(file.name).replace(target)
    except OSError as error:
        raise RefinementError(f"{path}: cannot be written ({error.strerror})") from error


def _new(values: Sequence[str], had: Sequence[str]) -> list[str]:
    known = {value.casefold() for value in had}
    return [value for value in dict.fromkeys(values) if value.casefold() not in known]


def _check(path: Path, merged: bytes, wanted: Mapping[str, Sequence[str]], before: Icd) -> None:
    """Raise ``RefinementError`` unless the merged file has the wanted meaning and keeps its former one."""
    after = Icd.parse(merged, path)
    topic = before.topic.model_copy(update={name: tuple(wanted[name]) for name in ("keywords", "entities")})
    expected = before.model_copy(update={"topic": topic, "seeds": after.seeds})
    is_right = len(after.seeds) == len(wanted["seeds"]) and after.model_dump() == expected.model_dump()
    if not is_right:
        raise _by_hand(path, "the outcome would say something else")


def _by_hand(path: Path, why: str) -> RefinementError:
    return RefinementError(f"{path}: is left as it is, since {why}; add the values by hand")
