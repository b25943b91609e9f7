"""Counts the terms of a document by unit in one tokenisation, shared by all analysers.

The text analyser, page notes and batch prioritisation read the same ``CountedDocument``, so that a page is split into
words and stemmed once (the units are those of ARCOMEM, section 4.2: the document, the paragraph around a link, its
anchor).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from urllib.parse import unquote

import numpy as np

from online_analysis.document import Document
from online_analysis.term_arrays import Terms, Vocabulary
from online_analysis.terms import Language, Lexicon

MAX_PARAGRAPH_LENGTH = 1_000
"""The number of characters read of a title, a paragraph and an anchor."""


class CountedDocument:
    """The terms of one document, in the language of the document.

    ``units`` are its texts. The document itself comes first, in pieces: its title, each of ``Document.parts`` by lines,
    its rest by lines, and the paragraphs outside of these; ``pieces`` has the unit that each of these begins with, and
    the one behind the last. Other texts around links follow. ``around`` and ``clicked`` run parallel to
    ``Document.outlinks``: they are the units of paragraphs and of anchors.

    The other properties are terms as strings, made when they are asked for: ``title``, each of ``parts`` (as many as
    ``Document.parts``), ``rest``, and ``outside``, the paragraphs around links that are in no part, nor in the rest,
    each once; ``paragraphs`` and ``anchors`` run parallel to ``Document.outlinks``.
    """

    def __init__(self, document: Document, language: Language, vocabulary: Vocabulary) -> None:
        self.language = language
        self.vocabulary = vocabulary
        texts, self.pieces = _lines(document)
        places = dict(zip(texts, range(len(texts)), strict=True))
        if places[texts[0]] == 0:
            del places[texts[0]]  # The title is in no part.
        links = document.outlinks
        contexts, anchors = [link.context for link in links], [link.anchor for link in links]
        outside = {each.context: None for each in links if each.part is None and each.context not in places}
        if max(map(len, texts)) > MAX_PARAGRAPH_LENGTH:  # Around a link only its beginning counts.
            places = {text: place for text, place in places.items() if len(text) <= MAX_PARAGRAPH_LENGTH}
        self.pieces.append(len(texts) + len(outside))
        for text in chain(outside, contexts, anchors):
            if text not in places:
                places[text] = len(texts)
                texts.append(text[:MAX_PARAGRAPH_LENGTH])
        found = np.fromiter(map(places.__getitem__, chain(contexts, anchors)), np.intp, 2 * len(links))
        self.around, self.clicked = found[: len(links)], found[len(links) :]
        self.units = vocabulary.read(texts)

    @property
    def title(self) -> Terms:
        """The terms of the title."""
        return self._piece(0)

    @cached_property
    def parts(self) -> tuple[Terms, ...]:
        """The terms of each part."""
        return tuple([self._piece(place) for place in range(1, len(self.pieces) - 3)])

    @property
    def rest(self) -> Terms:
        """The terms of the rest."""
        return self._piece(len(self.pieces) - 3)

    @property
    def has_rest(self) -> bool:
        """Return whether the rest has any terms."""
        start, end = self.units.bounds[self.pieces[-3:-1]].tolist()
        return bool(start < end)

    @property
    def outside(self) -> Terms:
        """The terms of the paragraphs outside of all that."""
        return self._piece(len(self.pieces) - 2)

    @cached_property
    def paragraphs(self) -> tuple[Terms, ...]:
        """The terms of the paragraph around each link; equal texts have the very same tuple."""
        return self._texts(self.around.tolist())

    @cached_property
    def anchors(self) -> tuple[Terms, ...]:
        """The terms of each anchor; equal texts have the very same tuple."""
        return self._texts(self.clicked.tolist())

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Return the count of each term in title, parts, rest and outside of them: the vector of the whole page."""
        return Counter(self.units.of(0, self.pieces[-1]))

    def _piece(self, place: int) -> Terms:
        return self.units.of(self.pieces[place], self.pieces[place + 1])

    def _texts(self, units: Sequence[int]) -> tuple[Terms, ...]:
        terms = {unit: self.units.of(unit, unit + 1) for unit in dict.fromkeys(units)}
        return tuple(map(terms.__getitem__, units))


def _lines(document: Document) -> tuple[list[str], list[int]]:
    """Return the title and the lines of parts and rest, and where each of these begins, and outside of them.

    A paragraph that holds links is a line of its part as well.
    """
    lines, begins = [document.title[:MAX_PARAGRAPH_LENGTH]], [0]
    for text in (*[part.text for part in document.parts], document.rest):
        begins.append(len(lines))
        lines += text.split("\n")
    begins.append(len(lines))
    return lines, begins


class Counting:
    """Counts the terms of documents, each once: the last result is remembered.

    Not for several threads, as the lexicon. Equal documents have equal terms, whatever was counted before.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._vocabularies: dict[Language, Vocabulary] = {}
        self._last: tuple[Document, CountedDocument] | None = None

    def of(self, document: Document) -> CountedDocument:
        """Return the terms of a document."""
        if self._last is None or self._last[0] is not document:
            language = self._lexicon.language(document.language)
            self._last = document, CountedDocument(document, language, self.vocabulary(language))
        return self._last[1]

    def vocabulary(self, language: Language) -> Vocabulary:
        """Return the vocabulary for pages of a language: the same one until it is full, then a new one."""
        vocabulary = self._vocabularies.get(language)
        if vocabulary is None or vocabulary.is_full:
            vocabulary = self._vocabularies[language] = Vocabulary(language)
        return vocabulary


def words_of(url: str) -> str:
    """Return path and query of an absolute URL as text.

    >>> words_of("https://a.test/wind%20power?q=rotor")
    'wind power?q=rotor'
    """
    path = url.partition("://")[2].partition("/")[2]
    return unquote(path, errors="replace") if "%" in path else path
