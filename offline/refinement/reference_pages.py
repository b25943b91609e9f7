"""Reads the pages of a reference crawl from its archive, by the topic of the definition that is to be refined."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.layout import TOPIC
from aahcrawler.objects.reader import page_rows
from aahcrawler.urls import queue_of
from offline.rereading import Reader
from online_analysis.analysers.text import TextAnalyser
from online_analysis.capitalised_names import names
from online_analysis.document import Document
from online_analysis.icd import Icd
from online_analysis.page_notes import PageNote, note_of
from online_analysis.topic import Topic, build_topic
from online_analysis.topic_state import TopicState


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
