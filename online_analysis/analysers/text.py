"""How much a page and the words around its links speak of the topic (ARCOMEM, section 4.2).

``online_analysis.similarity`` says how a text is measured. Keywords are looked for in the content of a document, since
lists and sidebars mention much. With reference documents all of its text is compared, and content counts twice. The
document's score is two thirds that of its text as a whole and one third that of its best content part. A link's score
is that of the mean of the document (weight 2), the paragraph (1) and the anchor (2), those without terms left out: so
links beside a match rise above the others of the page, and links that are a match above these.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from online_analysis.aggregation import Scores
from online_analysis.counting import CountedDocument
from online_analysis.document import Document
from online_analysis.similarity import (
    ANCHOR,
    PARAGRAPH,
    Closeness,
    Measure,
    Measures,
    score,
)
from online_analysis.topic import Topic, TopicVector

_DOCUMENT_WEIGHT, _PARAGRAPH_WEIGHT, _ANCHOR_WEIGHT = 2.0, 1.0, 2.0
_BESIDE_CONTENT = 0.5


class TextAnalyser:
    """Scores documents and links. Silent where there are no terms."""

    name = "text"

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._measures = Measures(topic)

    def analyse(self, document: Document) -> Scores:
        """Score the document and each link by their text. None: there are no terms to go by."""
        counted = self._topic.counting.of(document)
        measure = self._measures.of(document.language)
        page = _page_closeness(document, counted, measure)
        paragraphs = measure.near([link.context for link in document.outlinks], PARAGRAPH)
        anchors = measure.near([link.anchor for link in document.outlinks], ANCHOR)
        links = tuple(link_scores(page, paragraphs, anchors, measure.topic))
        return Scores(self.name, None if page is None else score(measure.topic, page), links)


def _page_closeness(document: Document, counted: CountedDocument, measure: Measure) -> Closeness | None:
    """Measure the page and, along with it, the texts of its links."""
    content = [place for place, part in enumerate(document.parts, 1) if part.role == "content"]
    pieces = (counted.title, *counted.parts, counted.rest, counted.outside)
    speaking = (0, *content, len(pieces) - 2) if content or counted.rest else range(len(pieces) - 1)
    shares = [1.0 if place in speaking else _BESIDE_CONTENT for place in range(len(pieces))]
    measured = measure.page(pieces, shares, counted.around_links)
    if not any(pieces):
        return None
    overall = Closeness(measured.keywords(speaking), measured.compared.together)
    if len(content) < 2:
        return overall
    best = max(map(measured.piece, content), key=partial(score, measure.topic))
    return Closeness((2 * overall.keywords + best.keywords) / 3, (2 * overall.documents + best.documents) / 3)


def link_scores(
    page: Closeness | None,
    paragraphs: Sequence[Closeness | None],
    anchors: Sequence[Closeness | None],
    topic: TopicVector,
) -> Iterator[float | None]:
    """Yield the score of each link of a page, by how close page, paragraph and anchor are: None where nothing is."""
    of_page = _DOCUMENT_WEIGHT if page is not None else 0.0
    page_keywords, page_documents = page or (0.0, 0.0)
    for paragraph, anchor in zip(paragraphs, anchors, strict=True):
        weight, keywords, documents = of_page, of_page * page_keywords, of_page * page_documents
        if paragraph is not None:
            weight += _PARAGRAPH_WEIGHT
            keywords += _PARAGRAPH_WEIGHT * paragraph[0]
            documents += _PARAGRAPH_WEIGHT * paragraph[1]
        if anchor is not None:
            weight += _ANCHOR_WEIGHT
            keywords += _ANCHOR_WEIGHT * anchor[0]
            documents += _ANCHOR_WEIGHT * anchor[1]
        yield score(topic, Closeness(keywords / weight, documents / weight)) if weight else None
