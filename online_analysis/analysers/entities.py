"""Scores pages, and the words around their links, by the ICD's entities they name (ARCOMEM, section 4.2).

The entity finder tells how far each mention overlaps with the name: 1 for the whole name. A part of
a name counts as the whole one on a page that has the whole name as well. With ``n`` the mentions of an entity, those in
the title counted twice and all of them damped by ``sqrt(1800 / length)`` in texts of more than 1,800 characters::

    strength = 1 - 0.5 ** n                     page = 1 - product over the entities of (1 - 0.6 * strength)

A short page that names one entity once has 0.3, one that names two of them throughout 0.8. The score of a paragraph or
an anchor is the best overlap in it; that of a link is the mean of the page (weight 2), the paragraph (1) and the anchor
(2), those without letters left out.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from online_analysis.aggregation import Scores
from online_analysis.document import Document, Outlink

_OF_ONE_ENTITY = 0.6
_UNDAMPED_LENGTH = 1_800
_MAX_PART_LENGTH = 20_000
_MAX_PARAGRAPH_LENGTH = 1_000
_REMEMBERED_TEXTS = 10_000
_DOCUMENT_WEIGHT, _PARAGRAPH_WEIGHT, _ANCHOR_WEIGHT = 2.0, 1.0, 2.0


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text that names an entity. ``overlap``, in (0, 1], is the share of the name that matches.

    ``short`` marks a part of the name, such as a family name, that may stand for the whole.
    """

    entity: str
    overlap: float = 1.0
    short: bool = False


class EntityFinder(Protocol):
    """Finds entities by their names."""

    def find(self, text: str, language: str | None) -> Sequence[Mention]:
        """Return the mentions in a text of a language (ISO 639-1); equal texts give equal mentions."""
        ...


class EntityAnalyser:
    """Scores documents and links by the entities that they name. Gives no score where there is no text.

    Of each part the first 20,000 characters are read, of a paragraph the first thousand. The mentions in short texts
    are cached up to a bound, since most anchors of a site occur on many of its pages.
    """

    name = "entities"

    def __init__(self, finder: EntityFinder) -> None:
        self._find = finder.find
        self._remembered = lru_cache(_REMEMBERED_TEXTS)(lambda text, language: tuple(finder.find(text, language)))

    def analyse(self, document: Document) -> Scores:
        """Score the document and each link by the names in their text."""
        texts = [part.text for part in document.parts if part.role == "content"]
        texts = texts or [part.text for part in document.parts]
        texts += [document.rest] if document.rest else []
        title = self._remembered(document.title[:_MAX_PARAGRAPH_LENGTH], document.language)
        mentions = [each for text in texts for each in self._find(text[:_MAX_PART_LENGTH], document.language)]
        whole = frozenset(mention.entity for mention in (*title, *mentions) if not mention.short)
        page = None
        if document.title or texts:
            page = _page_score((*title, *title, *mentions), whole, sum(map(len, texts)))
        links = tuple(self._link_score(link, page, whole, document.language) for link in document.outlinks)
        return Scores(self.name, page, links)

    def _link_score(
        self, link: Outlink, page: float | None, whole: frozenset[str], language: str | None
    ) -> float | None:
        paragraph = self._local_score(link.context, whole, language)
        anchor = self._local_score(link.anchor, whole, language)
        total = weights = 0.0
        for value, weight in ((page, _DOCUMENT_WEIGHT), (paragraph, _PARAGRAPH_WEIGHT), (anchor, _ANCHOR_WEIGHT)):
            if value is not None:
                total += weight * value
                weights += weight
        return total / weights if weights else None

    def _local_score(self, text: str, whole: frozenset[str], language: str | None) -> float | None:
        if not text or not any(map(str.isalpha, text)):
            return None
        found = self._remembered(text[:_MAX_PARAGRAPH_LENGTH], language)
        return max((_weight(mention, whole) for mention in found), default=0.0)


def _page_score(mentions: Iterable[Mention], whole: frozenset[str], length: int) -> float:
    counts: dict[str, float] = {}
    damping = min(1.0, math.sqrt(_UNDAMPED_LENGTH / length)) if length else 1.0
    for mention in mentions:
        counts[mention.entity] = counts.get(mention.entity, 0.0) + _weight(mention, whole) * damping
    return 1.0 - math.prod(1.0 - _OF_ONE_ENTITY * (1.0 - math.exp2(-count)) for _, count in sorted(counts.items()))


def _weight(mention: Mention, whole: frozenset[str]) -> float:
    return 1.0 if mention.short and mention.entity in whole else mention.overlap
