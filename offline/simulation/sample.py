"""The samples of a simulation: topics with seeds, and the budget of pages of each crawl."""

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from aahcrawler.frontier.protocol import FrontierSettings, Update
from aahcrawler.helper import Assistance
from aahcrawler.pipeline.analysis import ScoredPage, score
from offline.simulation.page_data import Understood
from offline.simulation.visits import Judged
from offline.simulation.world import World
from online_analysis.aggregation import OnlineAnalyser, Scores
from online_analysis.analysers import analysers
from online_analysis.icd import Icd, IcdError
from online_analysis.topic import build_topic


class WorldError(Exception):
    """Raised for a folder without a world in which to simulate crawls; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One crawl to simulate: the seeds of a topic. ``pages`` is its budget, None if it is not given."""

    topic: str
    number: int
    seeds: tuple[str, ...]
    pages: int | None = None

    @property
    def name(self) -> str:
        """The name of the sample in ``reference.json``."""
        return f"{self.topic}#{self.number}"


def read_samples(folder: Path) -> tuple[Sample, ...]:
    """Return the samples of a world's ``topics.json``, with budgets from ``reference.json`` if it exists.

    Raises ``WorldError``.
    """
    if not folder.is_dir():
        raise WorldError(f"{folder}: is no folder. Name one with *.warc.gz and topics.json.")
    topics = _json(folder / "topics.json", "it names the topics and, for each, lists of seed URLs")
    reference = _json(folder / "reference.json", "") if (folder / "reference.json").exists() else {}
    samples = tuple(_samples(folder, topics, _budgets(folder, reference)))
    if not samples:
        raise WorldError(f"{folder}/topics.json: holds no samples")
    return samples


def _json(path: Path, purpose: str) -> Mapping[str, object]:
    try:
        read = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise WorldError(f"{path}: is missing; {purpose}") from None
    except (OSError, ValueError) as error:
        raise WorldError(f"{path}: cannot be read ({error})") from error
    if not isinstance(read, dict):
        raise WorldError(f"{path}: is no JSON object")
    return read


def _budgets(folder: Path, reference: Mapping[str, object]) -> Mapping[str, int]:
    budgets = {}
    for name, row in reference.items():
        pages = row.get("R") if isinstance(row, dict) else None
        if not isinstance(pages, int) or pages < 1:
            raise WorldError(f"{folder}/reference.json: {name!r} has no whole number R above 0")
        budgets[name] = pages
    return budgets


def _samples(folder: Path, topics: Mapping[str, object], budgets: Mapping[str, int]) -> Iterator[Sample]:
    for topic, lists in topics.items():
        if not isinstance(lists, list) or not all(isinstance(seeds, list) for seeds in lists):
            raise WorldError(f"{folder}/topics.json: {topic!r} is no list of lists of seed URLs")
        for number, seeds in enumerate(lists):
            if not seeds or not all(isinstance(seed, str) for seed in seeds):
                raise WorldError(f"{folder}/topics.json: sample {number} of {topic!r} is no list of seed URLs")
            yield Sample(topic, number, tuple(seeds), budgets.get(f"{topic}#{number}"))


_OWN = frozenset({"id", "seeds", "topic", "output"})


def read_template(path: Path | None) -> Mapping[str, object]:
    """Return the fields of a definition that simulated crawls share; none without a file.

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

    The whole world is in its scope, and everything else has its default, unless the template says otherwise. Raises
    ``WorldError`` for seeds that no definition can have.
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
    """Return those frontier settings of a definition that decide which page comes next."""
    return FrontierSettings(update=Update(icd.scoring.update), balance=icd.scoring.balance)


class AnalyserJudge:
    """Scores pages as a crawl of a definition does, with the built-in analysers."""

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
        """Return each analyser's scores of a page and of its outlinks."""
        return self._scored(understood).scores

    def _scored(self, understood: Understood) -> ScoredPage:
        return score(Assistance(None, understood.document), self._analysers, self._weights)
