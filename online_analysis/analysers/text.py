"""Scores a page, and the words around its links, by their relevance to the topic (ARCOMEM, section 4.2).

``online_analysis.similarity`` defines the measure of a text. Keywords are looked for in the content of a document,
since lists and sidebars mention much, and in the entries of a list where it has no content. With reference documents
all of its text is compared, and content counts twice. The document's score is two thirds that of its text as a whole
and one third that of its best content part. A link's score is that of the mean of the document (weight 2), the
paragraph (1) and the anchor (2), those without terms left out: so links beside a match rise above the others of the
page, and links that are a match above these.
"""

from collections.abc import Sequence
from operator import mul

import numpy as np

from online_analysis.aggregation import Scores
from online_analysis.document import Document, PartRole
from online_analysis.similarity import (
    ANCHOR,
    PARAGRAPH,
    Closeness,
    Closenesses,
    Measured,
    Measures,
    score,
    scores,
)
from online_analysis.term_arrays import CountedDocument
from online_analysis.topic import Topic, TopicVector

_WEIGHTS = (2.0, 1.0, 2.0)
"""The weights of document, paragraph and anchor."""
_BESIDE_CONTENT = 0.5


class TextAnalyser:
    """Scores documents and links by their text. Gives no score where there are no terms."""

    name = "text"

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._measures = Measures(topic)

    def analyse(self, document: Document) -> Scores:
        """Score the document and each link by their text. None: there are no terms to go by."""
        counted = self._topic.counting.of(document)
        measure = self._measures.of(document.language)
        measured = measure.units(counted.units, counted.vocabulary)
        page = _page_closeness(document, counted, measured)
        around, clicked = measured.near((PARAGRAPH, ANCHOR))
        links = _link_scores(page, around.at(counted.around), clicked.at(counted.clicked), measure.topic)
        return Scores(self.name, None if page is None else score(measure.topic, page), links)


def _page_closeness(document: Document, counted: CountedDocument, measured: Measured) -> Closeness | None:
    """Measure the page in pieces: its title, its parts, its rest, and the text outside of them."""
    if not counted.units.bounds[counted.pieces[-1]]:
        return None
    content = _places(document, "content")
    about = content or _places(document, "navigation")
    pieces, last = np.array(counted.pieces), len(counted.pieces) - 2
    sizes = pieces[1:] - pieces[:-1]
    speaking = np.zeros(last + 1, np.bool_)
    speaking[[0, *about, last - 1] if about or counted.has_rest else slice(last)] = True
    overall = measured.together(np.where(speaking, 1.0, _BESIDE_CONTENT).repeat(sizes), speaking.repeat(sizes))
    if len(content) < 2:
        return overall
    best = _best(measured.groups(np.arange(last + 1).repeat(sizes), last + 1).at(np.array(content)), measured)
    return Closeness((2 * overall.keywords + best.keywords) / 3, (2 * overall.documents + best.documents) / 3)


def _places(document: Document, role: PartRole) -> Sequence[int]:
    """Return the numbers of the pieces that are parts of a role."""
    return [place for place, part in enumerate(document.parts, 1) if part.role == role]


def _best(near: Closenesses, measured: Measured) -> Closeness:
    place = int(np.argmax(scores(measured.topic, near.keywords, near.documents)))
    return Closeness(float(near.keywords[place]), float(near.documents[place]))


def link_score(
    page: Closeness | None, paragraph: Closeness | None, anchor: Closeness | None, topic: TopicVector
) -> float | None:
    """Return the score of a link by how close page, paragraph and anchor are: None where nothing is."""
    near = (page, paragraph, anchor)
    weights = [weight if each is not None else 0.0 for each, weight in zip(near, _WEIGHTS, strict=True)]
    total = sum(weights)
    if not total:
        return None
    sides = zip(*[each or Closeness(0.0, 0.0) for each in near], strict=True)
    return score(topic, Closeness(*[sum(map(mul, values, weights)) / total for values in sides]))


def _link_scores(
    page: Closeness | None, paragraphs: Closenesses, anchors: Closenesses, topic: TopicVector
) -> tuple[float | None, ...]:
    """Return the score of each link of a page, as ``link_score`` does."""
    of_page, of_paragraphs, of_anchors = _WEIGHTS
    weights = of_page * (page is not None), of_paragraphs * paragraphs.speaking, of_anchors * anchors.speaking
    total = weights[0] + weights[1] + weights[2]
    divisor = total if page is not None else np.where(total == 0.0, 1.0, total)
    near = page or Closeness(0.0, 0.0)
    keywords = near.keywords * weights[0] + paragraphs.keywords * weights[1] + anchors.keywords * weights[2]
    documents = near.documents * weights[0] + paragraphs.documents * weights[1] + anchors.documents * weights[2]
    found: list[float] = scores(topic, keywords / divisor, documents / divisor).tolist()
    if page is not None:
        return tuple(found)
    return tuple([each if weight else None for each, weight in zip(found, total.tolist(), strict=True)])
