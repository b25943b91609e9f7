"""The Intelligent Crawl Definition of a simulated crawl, and the analysers that it asks for."""

from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from aahcrawler.frontier.protocol import FrontierSettings, Update
from aahcrawler.helper import Assistance
from aahcrawler.pipeline.score import ScoredPage, score
from offline.simulation.page_data import Understood
from offline.simulation.sample import Sample, WorldError
from offline.simulation.visits import Judged
from offline.simulation.world import World
from online_analysis.aggregation import OnlineAnalyser, Scores
from online_analysis.analysers import analysers
from online_analysis.icd import Icd, IcdError
from online_analysis.topic import build_topic

_OWN = frozenset({"id", "seeds", "topic", "output"})


def read_template(path: Path | None) -> Mapping[str, object]:
    """Return the fields of a definition that simulated crawls share; none of them without a file.

    Seeds and topic are those of each sample. Raises ``WorldError``.
    """
    if path is None:
        return {}
    try:
        Icd.load(path)
        fields = yaml.safe_load(path.read_text("utf-8"))
    except (IcdError, OSError, ValueError, yaml.YAMLError) as error:
        raise WorldError(str(error)) from error
    return {name: value for name, value in fields.items() if name not in _OWN}


def definition(sample: Sample, template: Mapping[str, object]) -> Icd:
    """Return the definition of a sample's crawl: its seeds are both the starting points and the reference documents.

    All of the world is in its scope, and everything else is as it ships, unless the template says otherwise.
    Raises ``WorldError`` for seeds that no definition can hold.
    """
    fields: dict[str, object] = {
        "contact": "simulation@example.org",
        "scope": {"sites": "anywhere"},
        **template,
        "id": "simulation",
        "seeds": list(sample.seeds),
        "topic": {"documents": list(sample.seeds)},
    }
    try:
        return Icd.parse(yaml.safe_dump(fields, allow_unicode=True).encode(), Path(f"{sample.name}.yaml"))
    except IcdError as error:
        raise WorldError(str(error)) from error


def frontier_settings(icd: Icd) -> FrontierSettings:
    """Return the frontier settings of a definition, as far as they decide which page comes next."""
    return FrontierSettings(update=Update(icd.scoring.update), balance=icd.scoring.balance)


class AnalyserJudge:
    """Scores pages as a crawl of a definition does, with the analysers that ship."""

    def __init__(self, icd: Icd, world: World) -> None:
        texts = {name: world.understood(world.seeds([name])[0]).document.text for name in icd.topic.documents}
        self.topic = build_topic(icd, texts)
        """The topic that the analysers compare with."""
        self._analysers: Sequence[OnlineAnalyser] = analysers(icd, self.topic)
        self._weights = icd.scoring.weights

    def __call__(self, understood: Understood) -> Judged:
        """Return the score of a page and those of its outlinks."""
        page = self._scored(understood)
        links = page.links
        return Judged(
            page.score, array("d", [link.score for link in links]), array("d", [link.weight for link in links])
        )

    def analysed(self, understood: Understood) -> tuple[Scores, ...]:
        """Return what each analyser says of a page and of its outlinks."""
        return self._scored(understood).scores

    def _scored(self, understood: Understood) -> ScoredPage:
        return score(Assistance(None, understood.document), self._analysers, self._weights)
