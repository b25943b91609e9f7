"""The samples of a simulation: topics with seeds, and the budget of pages of each crawl."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


class WorldError(Exception):
    """Raised for a folder that holds no world to simulate crawls in; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One crawl to simulate: the seeds of a topic. ``pages`` is its budget, None where nothing says."""

    topic: str
    number: int
    seeds: tuple[str, ...]
    pages: int | None = None

    @property
    def name(self) -> str:
        """The name that ``reference.json`` knows it by."""
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
