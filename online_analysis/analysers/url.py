"""What the words of a link's address and the ICD's URL patterns say about it."""

from collections.abc import Mapping
from urllib.parse import unquote

from online_analysis.aggregation import Scores
from online_analysis.analysers.text import count_terms, score
from online_analysis.document import Document
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
        self._topic = topic
        ranked = sorted(patterns.items(), key=lambda item: (-len(item[0]), item[0]))
        self._patterns = tuple((UrlPattern.parse(text), value) for text, value in ranked)

    def analyse(self, document: Document) -> Scores:
        """Score the links of a document; its own score is None."""
        topic = self._topic.vector(document.language)
        return Scores(self.name, None, tuple(self._score(link.url, topic) for link in document.outlinks))

    def _score(self, url: str, topic: TopicVector) -> float | None:
        for pattern, value in self._patterns:
            if pattern.matches(url):
                return value
        address = url.partition("://")[2].partition("/")[2]
        words = unquote(address, errors="replace") if "%" in address else address
        return score(count_terms(words, topic), topic) or None
