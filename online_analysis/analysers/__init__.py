"""Analysers that ship with the crawler, one a module."""

from online_analysis.aggregation import OnlineAnalyser
from online_analysis.analysers.spam import SpamAnalyser
from online_analysis.analysers.text import TextAnalyser
from online_analysis.analysers.url import UrlAnalyser
from online_analysis.icd import Icd
from online_analysis.topic import Topic


def analysers(icd: Icd, topic: Topic) -> tuple[OnlineAnalyser, ...]:
    """Return the analysers of a crawl; one that the ICD gives no weight is left out, it would change nothing."""
    shipped: tuple[OnlineAnalyser, ...] = (
        TextAnalyser(topic),
        UrlAnalyser(topic, icd.scoring.url_patterns),
        SpamAnalyser(icd.scoring.spam_hosts),
    )
    return tuple(analyser for analyser in shipped if icd.scoring.weights[analyser.name] > 0)


__all__ = ["SpamAnalyser", "TextAnalyser", "UrlAnalyser", "analysers"]
