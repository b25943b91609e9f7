"""Scores links by the words of their URLs and by the ICD's URL patterns."""

from collections.abc import Mapping, Sequence

from online_analysis.aggregation import Scores
from online_analysis.document import Document
from online_analysis.similarity import ANCHOR, Measure, Measures, scores
from online_analysis.term_arrays import MAX_PARAGRAPH_LENGTH, words_of
from online_analysis.topic import Topic
from online_analysis.url_patterns import UrlPattern

_REMEMBERED = 20_000


class UrlAnalyser:
    """Scores links only, by their URLs.

    A URL that matches a URL pattern gets the pattern's score; of several patterns, that of the longest. Otherwise the
    words of path and query are scored as an anchor text is. A link whose URL has none of the topic's terms gets None,
    since most URLs say nothing and that is no sign against them. Scores of a bounded number of URLs are cached.
    """

    name = "url"

    def __init__(self, topic: Topic, patterns: Mapping[str, float]) -> None:
        self._counting = topic.counting
        self._measures = Measures(topic)
        self._remembered: dict[str | None, dict[str, float | None]] = {}
        ranked = sorted(patterns.items(), key=lambda item: (-len(item[0]), item[0]))
        self._patterns = tuple((UrlPattern.parse(text), value) for text, value in ranked)

    def analyse(self, document: Document) -> Scores:
        """Score the links of a document; its own score is None."""
        measure = self._measures.of(document.language)
        remembered = self._remembered.setdefault(measure.topic.language.code, {})
        if len(remembered) > _REMEMBERED:
            remembered.clear()
        urls = [link.url for link in document.outlinks]
        new = [url for url in dict.fromkeys(urls) if url not in remembered]
        if new:
            remembered.update(zip(new, self._scores(new, measure), strict=True))
        return Scores(self.name, None, tuple(map(remembered.__getitem__, urls)))

    def _scores(self, urls: Sequence[str], measure: Measure) -> list[float | None]:
        vocabulary = self._counting.vocabulary(measure.topic.language)
        units = vocabulary.read([words_of(url)[:MAX_PARAGRAPH_LENGTH] for url in urls])
        (near,) = measure.units(units, vocabulary).near([ANCHOR])
        found = (near.speaking * scores(measure.topic, near.keywords, near.documents)).tolist()
        return [self._score(url, score) for url, score in zip(urls, found, strict=True)]

    def _score(self, url: str, of_words: float) -> float | None:
        for pattern, value in self._patterns:
            if pattern.matches(url):
                return value
        return of_words or None
