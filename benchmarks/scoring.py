"""Measures the cost of scoring a page against a topic: the document, every paragraph around a link, every anchor.

Three ways do the same work on the same documents in one run: the crawler's text analyser; scikit-learn's
``HashingVectorizer`` over all units, and cosines; cosines of dictionaries, with cached stems. Beside them stands how
long lxml takes to parse the page. A page's document comes from the helper, which is not measured.
"""

import argparse
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Protocol

import numpy as np
import Stemmer
from lxml import html

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from benchmarks import results
from benchmarks.scored_pages import TOPIC, archived, generated
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load
from online_analysis.analysers import TextAnalyser
from online_analysis.document import Document
from online_analysis.topic import Topic

_ROUNDS, _PAGES = 5, 60
_FEWEST_UNITS, _MOST_UNITS = 60, 160
_WORD = re.compile(r"\w\w+")


@dataclass(frozen=True, slots=True)
class Case:
    """A page, and the document that the helper makes of it."""

    body: bytes
    document: Document

    @property
    def units(self) -> int:
        """The number of texts that are scored: title, parts, paragraphs and anchors."""
        return 1 + len(self.document.parts) + len(paragraphs(self.document)) + len(anchors(self.document))


class Method(Protocol):
    """One way to score a document."""

    def score(self, document: Document) -> Sequence[float | None]:
        """Return the score of the document, and then those of its links."""
        ...


class Crawler:
    """The text analyser, as a crawl uses it."""

    def __init__(self, keywords: Sequence[str], texts: Sequence[str]) -> None:
        self._analyser = TextAnalyser(Topic(keywords, texts))

    def score(self, document: Document) -> Sequence[float | None]:
        """Analyse the document."""
        scores = self._analyser.analyse(document)
        return (scores.document, *scores.links)


class Hashing:
    """``HashingVectorizer`` over all units at once; the document is the sum of title and parts."""

    def __init__(self, keywords: Sequence[str], texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415 - it takes seconds

        self._vectorizer = HashingVectorizer(stop_words="english", alternate_sign=False, norm=None)
        topic = np.asarray(self._vectorizer.transform([*keywords, *texts]).sum(axis=0)).ravel()
        self._topic = topic / np.linalg.norm(topic)

    def score(self, document: Document) -> Sequence[float | None]:
        """Take cosines of all units with the topic."""
        around, clicked = paragraphs(document), anchors(document)
        whole = [document.title, *(part.text for part in document.parts)]
        vectors = self._vectorizer.transform([*whole, *around, *clicked])
        lengths = np.sqrt(np.asarray(vectors.power(2).sum(axis=1)).ravel())
        cosines = (vectors @ self._topic) / np.maximum(lengths, 1.0)
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        total = csr_matrix(np.ones((1, len(whole)))) @ vectors[: len(whole)]
        page = float((total @ self._topic).item() / max(np.linalg.norm(total.data), 1.0))
        places = {text: len(whole) + place for place, text in enumerate((*around, *clicked))}
        return (page, *_link_scores(document, page, lambda text: float(cosines[places[text]])))


class Dictionaries:
    """Cosines of dictionaries; each word is stemmed once a run, and the document is the sum of title and parts."""

    def __init__(self, keywords: Sequence[str], texts: Sequence[str]) -> None:
        self._stemmer = Stemmer.Stemmer("english", 0)
        self._stems: dict[str, str] = {}
        topic: Counter[str] = Counter()
        for text in (*keywords, *texts):
            topic.update(self._count(text))
        length = math.sqrt(sum(count * count for count in topic.values()))
        self._topic = {term: count / length for term, count in topic.items()}

    def score(self, document: Document) -> Sequence[float | None]:
        """Take cosines of all units with the topic."""
        total: Counter[str] = Counter()
        for text in (document.title, *(part.text for part in document.parts)):
            total.update(self._count(text))
        page = self._cosine(total)
        texts = (*paragraphs(document), *anchors(document))
        cosines = {text: self._cosine(self._count(text)) for text in texts}
        return (page, *_link_scores(document, page, cosines.__getitem__))

    def _count(self, text: str) -> Counter[str]:
        stems, counts = self._stems, Counter[str]()
        for word in _WORD.findall(text.lower()):
            stem = stems.get(word)
            if stem is None:
                stem = stems[word] = self._stemmer.stemWord(word)
            counts[stem] += 1
        return counts

    def _cosine(self, counts: Mapping[str, int]) -> float:
        topic = self._topic
        dot = sum(count * topic[term] for term, count in counts.items() if term in topic)
        return dot / (math.sqrt(sum(count * count for count in counts.values())) or 1.0)


METHODS: Mapping[str, Callable[[Sequence[str], Sequence[str]], Method]] = {
    "aahcrawler": Crawler,
    "hashing_vectorizer": Hashing,
    "dict_cosine": Dictionaries,
}


def paragraphs(document: Document) -> list[str]:
    """Return the text around links, each once."""
    return list(dict.fromkeys(link.context for link in document.outlinks if link.context))


def anchors(document: Document) -> list[str]:
    """Return the texts of links, each once."""
    return list(dict.fromkeys(link.anchor for link in document.outlinks if link.anchor))


def _link_scores(document: Document, page: float, cosine: Callable[[str], float]) -> Iterator[float]:
    for link in document.outlinks:
        paragraph = cosine(link.context) if link.context else 0.0
        anchor = cosine(link.anchor) if link.anchor else 0.0
        yield (2 * page + paragraph + 2 * anchor) / 5


def cases(pages: Iterable[Page], number: int) -> list[Case]:
    """Return the first pages that have about a hundred units."""
    helper = ApplicationAwareHelper(load(SHIPPED))
    read = (Case(page.body, helper.assist(page).document) for page in pages)
    return list(islice((case for case in read if _FEWEST_UNITS <= case.units <= _MOST_UNITS), number))


def measure(found: Sequence[Case], rounds: int) -> list[results.Row]:
    """Score the pages with each method, and parse them; no method meets a page twice.

    The first share of the pages warms caches up, and each of the others is a round; the median round counts. Methods
    take turns after every page, in an order that rotates, so that what else the machine does meets all of them alike.
    """
    size = len(found) // (rounds + 1)
    texts = [part.text for case in found[:5] for part in case.document.parts]
    works: dict[str, Callable[[Case], object]] = {
        name: partial(_scored, make(TOPIC, texts)) for name, make in METHODS.items()
    }
    works["parse"] = lambda case: html.document_fromstring(case.body)
    seconds: dict[str, list[float]] = {name: [0.0] * (rounds + 1) for name in works}
    names = list(works)
    for place, case in enumerate(found[: size * (rounds + 1)]):
        turn = place % len(names)
        for name in (*names[turn:], *names[:turn]):
            seconds[name][place // size] += _timed(works[name], case)
    parse = median(seconds.pop("parse")[1:]) / size
    shape = {
        "units_per_page": sum(case.units for case in found) / len(found),
        "bytes_per_page": round(sum(len(case.body) for case in found) / len(found)),
        "pages": size * rounds,
    }
    return [
        {
            "method": name,
            "pages_per_second": size / median(spent[1:]),
            "ms_per_page": 1000 * median(spent[1:]) / size,
            "parse_ms_per_page": 1000 * parse,
            **shape,
        }
        for name, spent in seconds.items()
    ]


def _scored(method: Method, case: Case) -> Sequence[float | None]:
    return method.score(case.document)


def _timed(work: Callable[[Case], object], case: Case) -> float:
    started = time.process_time()
    work(case)
    return time.process_time() - started


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows as JSON")
    parser.add_argument("--world", type=Path, help="take pages from the WARC files of a folder instead of making them")
    parser.add_argument("--pages", type=int, default=_PAGES, help="pages in each of the rounds")
    parser.add_argument("--seed", type=int, default=0, help="where chance begins in pages that are made")
    options = parser.parse_args()
    pages = archived(options.world) if options.world else generated(options.seed)
    found = cases(pages, options.pages * (_ROUNDS + 1))
    if len(found) <= _ROUNDS:
        raise SystemExit(f"{options.world}: has only {len(found)} pages of {_FEWEST_UNITS} to {_MOST_UNITS} units")
    results.report(measure(found, _ROUNDS), options.json)


if __name__ == "__main__":
    main()
