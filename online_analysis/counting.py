"""What one tokenisation of a document gives: its terms by unit, for all who look at them.

The text and URL analysers, the link ranker and batch prioritisation read the same ``CountedDocument``, so that a page
is split into words and stemmed once, whoever asks first (the units are those of ARCOMEM, section 4.2: the document, the
paragraph around a link, its anchor).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from urllib.parse import unquote

from online_analysis.document import Document
from online_analysis.terms import Language, Lexicon

Terms = tuple[str, ...]
"""The stems of a piece of text in its order, without stop words."""

LONGEST_PARAGRAPH = 1_000
"""Of a paragraph and an anchor this many characters count."""
_LONGEST_REMEMBERED = 200
_REMEMBERED_TEXTS = 20_000


class CountedDocument:
    """The terms of one document, in the language of the document.

    ``title``, each of ``parts`` (as many as ``Document.parts``) and ``rest`` are terms in the order of the text.
    ``paragraphs`` and ``anchors`` run parallel to ``Document.outlinks``; equal texts have the very same tuple. What is
    asked for seldom is worked out when it is asked for first.
    """

    def __init__(self, document: Document, language: Language, units: "UnitTerms") -> None:
        self.language = language
        self.title = units[document.title]
        self.parts = tuple(units.of_lines(part.text) for part in document.parts)
        self.rest = units.of_lines(document.rest)
        self.paragraphs = tuple([units[link.context] for link in document.outlinks])
        self.anchors = tuple([units[link.anchor] for link in document.outlinks])
        self._document = document
        self._units = units

    @property
    def around_links(self) -> Iterator[tuple[str, Terms]]:
        """The texts of paragraphs and anchors with their terms; some come several times."""
        links = self._document.outlinks
        yield from zip((link.context for link in links), self.paragraphs, strict=True)
        yield from zip((link.anchor for link in links), self.anchors, strict=True)

    @cached_property
    def outside(self) -> Terms:
        """The terms of the paragraphs around links that are in no part, nor in the rest, each paragraph once."""
        if all(link.part is not None for link in self._document.outlinks):
            return ()
        texts = (*(part.text for part in self._document.parts), self._document.rest)
        read = {line for text in texts for line in text.split("\n")}
        links = zip(self._document.outlinks, self.paragraphs, strict=True)
        around = {link.context: terms for link, terms in links if link.part is None and link.context not in read}
        return tuple(chain.from_iterable(around.values()))

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How often each term occurs in title, parts, rest and outside of them: the vector of the whole page."""
        return Counter(chain(self.title, *self.parts, self.rest, self.outside))

    @cached_property
    def addresses(self) -> tuple[Terms, ...]:
        """The terms of path and query of each link's address, parallel to ``Document.outlinks``."""
        return tuple([self._units[words_of(link.url)] for link in self._document.outlinks])


class UnitTerms(dict[str, Terms]):
    """The terms of texts of one page by the text; one that was met on this page, or a short one on any, is looked up.

    Of a text that is no line of a part the first thousand characters count.
    """

    def __init__(self, anywhere: Callable[[str], Terms]) -> None:
        super().__init__()
        self._anywhere = anywhere

    def __missing__(self, text: str) -> Terms:
        terms = self[text] = self._anywhere(text[:LONGEST_PARAGRAPH])
        return terms

    def of_lines(self, text: str) -> Terms:
        """Return the terms of a text line by line: a paragraph that holds links is a line of its part as well."""
        return tuple(chain.from_iterable(map(self._of_line, text.split("\n"))))

    def _of_line(self, line: str) -> Terms:
        return self[line] if len(line) <= LONGEST_PARAGRAPH else self._anywhere(line)


class Counting:
    """Counts the terms of documents, each once: what was counted last is handed out again.

    Not for several threads, as the lexicon. Equal documents have equal terms, whatever was counted before.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._remembering: dict[Language, Callable[[str], Terms]] = {}
        self._last: tuple[Document, CountedDocument] | None = None

    def of(self, document: Document) -> CountedDocument:
        """Return the terms of a document."""
        if self._last is None or self._last[0] is not document:
            language = self._lexicon.language(document.language)
            self._last = document, CountedDocument(document, language, UnitTerms(self._terms(language)))
        return self._last[1]

    def _terms(self, language: Language) -> Callable[[str], Terms]:
        if language not in self._remembering:
            self._remembering[language] = _remembering(language)
        return self._remembering[language]


def words_of(url: str) -> str:
    """Return path and query of an absolute URL as text.

    >>> words_of("https://a.test/wind%20power?q=rotor")
    'wind power?q=rotor'
    """
    address = url.partition("://")[2].partition("/")[2]
    return unquote(address, errors="replace") if "%" in address else address


def summed(units: Iterable[Terms]) -> Counter[str]:
    """Return how often each term occurs in several units together."""
    return Counter(chain.from_iterable(units))


def _remembering(language: Language) -> Callable[[str], Terms]:
    """Split texts of a language; the terms of short ones, such as anchors, are remembered up to a bound."""
    split = language.terms
    remembered = lru_cache(_REMEMBERED_TEXTS)(lambda text: tuple(split(text)))

    def terms(text: str) -> Terms:
        return remembered(text) if len(text) <= _LONGEST_REMEMBERED else tuple(split(text))

    return terms
