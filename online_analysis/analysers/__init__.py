"""The analysers that ship with the crawler, one a module."""

from collections.abc import Iterable, Iterator

from online_analysis.aggregation import OnlineAnalyser
from online_analysis.analysers.application import ApplicationAnalyser
from online_analysis.analysers.entities import EntityAnalyser
from online_analysis.analysers.relevance import OfLinks, RelevanceAnalyser
from online_analysis.analysers.social import ScoredSeed, SocialAnalyser, seeds_of_posts
from online_analysis.analysers.spam import SpamAnalyser
from online_analysis.analysers.temporal import TemporalAnalyser
from online_analysis.analysers.text import TextAnalyser
from online_analysis.analysers.url import UrlAnalyser
from online_analysis.icd import Icd, IcdError
from online_analysis.plugins import guarded, load_plugins
from online_analysis.topic import Topic


def analysers(icd: Icd, topic: Topic) -> tuple[OnlineAnalyser, ...]:
    """Return the analysers of a crawl, including plug-ins that the ICD weighs; none of them raises.

    Left out are analysers without a weight in the ICD, and those without anything to compare with, such as the temporal
    one without an event. With ``scoring.relevance`` all others speak of links alone. Raises IcdError where a plug-in or
    a model is not available.
    """
    others: Iterable[OnlineAnalyser] = (*_shipped(icd, topic), *load_plugins(icd, topic))
    judge = relevance_analyser(icd, topic)
    if judge is not None:
        others = (judge, *map(OfLinks, others))
    return tuple(guarded(each) for each in others)


def relevance_analyser(icd: Icd, topic: Topic) -> RelevanceAnalyser | None:
    """Return the analyser that alone scores the pages of a collection about an event, None where the ICD has none."""
    if icd.scoring.relevance is None or not (icd.topic.has_words or icd.event is not None):
        return None
    words = topic if icd.topic.has_words else None
    return RelevanceAnalyser(icd.scoring.relevance, words, icd.event, icd.posts, icd.pairs)


def _shipped(icd: Icd, topic: Topic) -> Iterator[OnlineAnalyser]:
    def wanted(name: str) -> bool:
        return icd.scoring.weights[name] > 0

    if wanted("text") and icd.topic.has_words:
        yield TextAnalyser(topic)
    if wanted("url"):
        yield UrlAnalyser(topic, icd.scoring.url_patterns)
    if wanted("spam"):
        yield SpamAnalyser(icd.scoring.spam_hosts)
    if wanted("temporal") and icd.event is not None:
        yield TemporalAnalyser(icd.event)
    if wanted("entities") and icd.topic.entities:
        yield _entity_analyser(icd, topic)
    if wanted("social"):
        yield SocialAnalyser(icd.posts, icd.event)
    if wanted("application"):
        yield ApplicationAnalyser()


def _entity_analyser(icd: Icd, topic: Topic) -> EntityAnalyser:
    """Return the analyser with its model loaded; raise IcdError where the model cannot be used."""
    from online_analysis.analysers import gazetteer  # noqa: PLC0415 - spaCy takes seconds to import

    try:
        model = gazetteer.load_model(icd.scoring.entity_model) if icd.scoring.entity_model else None
    except gazetteer.EntityModelError as error:
        raise IcdError([icd.model_mistake(error.problem, error.advice)]) from error
    finder = gazetteer.Gazetteer(icd.topic.entities, lambda code: topic.vector(code).language, model)
    return EntityAnalyser(finder)


__all__ = [
    "ApplicationAnalyser",
    "EntityAnalyser",
    "RelevanceAnalyser",
    "ScoredSeed",
    "SocialAnalyser",
    "SpamAnalyser",
    "TemporalAnalyser",
    "TextAnalyser",
    "UrlAnalyser",
    "analysers",
    "relevance_analyser",
    "seeds_of_posts",
]
