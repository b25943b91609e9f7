"""What the words of a link's address and the ICD's URL patterns say about it."""

from collections.abc import Mapping

from online_analysis.aggregation import Scores
from online_analysis.document import Document
from online_analysis.similarity import ANCHOR, Closeness, Measures, score
from online_analysis.topic import Topic, TopicVector
from online_analysis.url_patterns import UrlPattern


class UrlAnalyser:
    """Scores links only, by their addresses.

    The score of a URL pattern that matches is the link's; of several, that of the longest. Otherwise the words of
    path and query are scored as an anchor text is. A link whose address has none of the topic's terms gets None: most
    addresses say nothing, so that is no sign against it.
    """

    name = "url"

    def __init__(self, topic: Topic, patterns: Mapping[str, float]) -> None:
        self._counting = topic.counting
        self._measures = Measures(topic)
        ranked = sorted(patterns.items(), key=lambda item: (-len(item[0]), item[0]))
        self._patterns = tuple((UrlPattern.parse(text), value) for text, value in ranked)

    def analyse(self, document: Document) -> Scores:
        """Score the links of a document; its own score is None."""
        measure = self._measures.of(document.language)
        urls = [link.url for link in document.outlinks]
        measure.learn(zip(urls, self._counting.of(document).addresses, strict=True))
        near = zip(urls, measure.near(urls, ANCHOR), strict=True)
        return Scores(self.name, None, tuple([self._score(url, each, measure.topic) for url, each in near]))

    def _score(self, url: str, closeness: Closeness | None, topic: TopicVector) -> float | None:
        for pattern, value in self._patterns:
            if pattern.matches(url):
                return value
        return score(topic, closeness) or None if closeness is not None else None
