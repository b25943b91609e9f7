"""Loads analysers of other distributions, and isolates the crawl from their errors.

A distribution announces an analyser as an entry point of the group ``aahcrawler.analysers``, ``name = module:factory``.
Of an analyser that an ICD weighs, ``factory(icd, topic)`` is called when the crawl is opened, and again when it has
refined its topic.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points

from online_analysis.aggregation import OnlineAnalyser, Scores
from online_analysis.document import Document
from online_analysis.icd import ANALYSERS, PLUGINS, Icd, IcdError
from online_analysis.icd.reference_files import model_version
from online_analysis.topic import Topic

logger = logging.getLogger(__name__)

Factory = Callable[[Icd, Topic], OnlineAnalyser]
"""The target of an entry point: it makes the analyser of a crawl, whose name is that of the entry point."""


def load_plugins(icd: Icd, topic: Topic) -> tuple[OnlineAnalyser, ...]:
    """Return the plug-ins that an ICD gives a weight, in the order of their names.

    Raises IcdError with all that are not available; each mistake names the distribution.
    """
    loaded, mistakes = [], []
    for name in _weighed(icd):
        try:
            loaded.append(_load(name, icd, topic))
        except _PluginError as error:
            mistakes.append(icd.analyser_mistake(name, str(error), error.advice))
    if mistakes:
        raise IcdError(mistakes)
    return tuple(loaded)


def versions(icd: Icd) -> Mapping[str, str]:
    """Return the versions, by name, of the plug-ins and models that a crawl's scores depend on.

    Equal mappings mean that equal documents get equal scores; the version of a missing plug-in is empty.
    """
    found = {
        name: ", ".join(sorted({_distribution(entry) for entry in entry_points(group=PLUGINS, name=name)}))
        for name in _weighed(icd)
    }
    model = icd.scoring.entity_model
    if model and icd.topic.entities and icd.scoring.weights["entities"] > 0:
        found["entities"] = model_version(model)
    return found


class GuardedAnalyser:
    """Wraps an analyser and gives no scores where it fails, so that its exceptions never end a crawl.

    An invalid result counts as a failure as well: no ``Scores``, another number of links, or a score outside [0, 1].
    The first failure is logged with the analyser's name; later ones are counted in ``failures``.
    """

    def __init__(self, inner: OnlineAnalyser) -> None:
        self.name = inner.name
        self.failures = 0
        self._inner = inner

    def analyse(self, document: Document) -> Scores:
        """Return the analyser's scores, or none where it fails."""
        try:
            scores = self._inner.analyse(document)
            problem = next(_faults(scores, document), "")
        except Exception as error:  # whatever it is, it is the analyser's, and the crawl goes on without it
            problem = f"{type(error).__name__}: {error}"
        if not problem:
            return scores if scores.analyser == self.name else Scores(self.name, scores.document, scores.links)
        self.failures += 1
        if self.failures == 1:
            message = "analyser %s fails on %s (%s); pages it fails on are scored without it, and no more is said of it"
            logger.error(message, self.name, document.url, problem)
        return Scores(self.name, None, (None,) * len(document.outlinks))


def guarded(analyser: OnlineAnalyser) -> OnlineAnalyser:
    """Return an analyser with the same results that never raises."""
    return analyser if isinstance(analyser, GuardedAnalyser) else GuardedAnalyser(analyser)


class _PluginError(Exception):
    """Raised where a plug-in is not available; the message completes the sentence "the analyser ..."."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.advice = advice


def _weighed(icd: Icd) -> list[str]:
    return sorted(name for name, weight in icd.scoring.weights.items() if weight > 0 and name not in ANALYSERS)


def _load(name: str, icd: Icd, topic: Topic) -> OnlineAnalyser:
    entry = _entry_point(name)
    source = _distribution(entry)
    try:
        factory: Factory = entry.load()
        analyser = factory(icd, topic)
    except Exception as error:  # a third party's code may raise anything
        problem = f"of {source} cannot be made ({type(error).__name__}: {error})"
        raise _PluginError(problem, "mend or remove that distribution, or give the analyser the weight 0") from error
    if getattr(analyser, "name", None) != name or not callable(getattr(analyser, "analyse", None)):
        problem = f"of {source} is none: {entry.value} must return an object with `analyse` and the name '{name}'"
        raise _PluginError(problem, "tell its authors, and give the analyser the weight 0")
    return analyser


def _entry_point(name: str) -> EntryPoint:
    found = {_distribution(entry): entry for entry in entry_points(group=PLUGINS, name=name)}
    if not found:
        raise _PluginError("is not installed", "install the distribution that has it, or remove the weight")
    if len(found) > 1:
        raise _PluginError(f"is brought by {' and by '.join(sorted(found))}", "uninstall all but one of them")
    return next(iter(found.values()))


def _distribution(entry: EntryPoint) -> str:
    return f"the distribution '{entry.dist.name} {entry.dist.version}'" if entry.dist else f"'{entry.value}'"


def _faults(scores: object, document: Document) -> Iterator[str]:
    """Yield the faults of an analyser's result; none where it is valid."""
    if not isinstance(scores, Scores):
        yield f"it answers {type(scores).__name__} instead of Scores"
        return
    if scores.links and len(scores.links) != len(document.outlinks):
        yield f"it scores {len(scores.links)} links of {len(document.outlinks)}"
    for score in (scores.document, *scores.links):
        if score is not None and not 0.0 <= score <= 1.0:
            yield f"the score {score!r} is not in [0, 1]"
