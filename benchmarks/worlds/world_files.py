"""Writes a world as ``aah simulate`` reads it: WARC files, topics by lot, labels, and what it was made of."""

import csv
import gzip
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from uuid import NAMESPACE_URL, uuid5

from benchmarks.worlds.prose import ArchivedPage, ArchivedResponse
from offline.simulation import cosine_judge
from offline.simulation.judge import load_judge

Topics = Mapping[str, Sequence[Sequence[str]]]

TOPICS, SAMPLES, SEEDS = 5, 4, 20
_MIN_URLS, _MAX_SHARE = 60, 0.12
"""The pages that a label needs to be a topic, and the share of the world it may have at most."""
_RELEVANT = (60, 0.2)
"""The same bounds for the pages relevant to a sample: with fewer or more, an order of fetching shows little."""
_SHARED = 0.3
"""A label that shares this part of its pages with another one is the same topic."""
_OF_ONE_SITE = 2
"""The most topics that are sections of one site: their labels begin with its host."""
_TRIED = 60


class LotError(Exception):
    """The labels of a world do not make enough topics."""


def drawn(folder: Path, labels: Mapping[str, Sequence[str]], random: Random) -> Topics:
    """Return topics with their samples of seeds: random labels, and random seeds from the pages that have them.

    A label is skipped if it is nearly another topic's, or if the cosine judge finds too few or too many pages relevant
    to one of its samples. Raises ``LotError``.
    """
    relevant = _Relevant(folder)
    topics: dict[str, Sequence[Sequence[str]]] = {}
    taken: list[frozenset[str]] = []
    for label, pages in _candidates(labels, random):
        samples = [sorted(random.sample(sorted(pages), SEEDS)) for _ in range(SAMPLES)]
        site = label.partition("/")[0]
        crowded = sum(topic.partition("/")[0] == site for topic in topics) >= _OF_ONE_SITE
        if crowded or any(_same(pages, other) for other in taken) or not all(map(relevant.fits, samples)):
            continue
        topics[label] = samples
        taken.append(pages)
        if len(topics) == TOPICS:
            return topics
    raise LotError(f"{folder}: {len(topics)} labels make topics, {TOPICS} are needed")


def _candidates(labels: Mapping[str, Sequence[str]], random: Random) -> Iterator[tuple[str, frozenset[str]]]:
    by_label: dict[str, set[str]] = {}
    for url, names in labels.items():
        for name in names:
            by_label.setdefault(name, set()).add(url)
    fitting = sorted(name for name, urls in by_label.items() if _MIN_URLS <= len(urls) <= _MAX_SHARE * len(labels))
    random.shuffle(fitting)
    return ((name, frozenset(by_label[name])) for name in fitting[:_TRIED])


def _same(pages: frozenset[str], other: frozenset[str]) -> bool:
    return len(pages & other) > _SHARED * min(len(pages), len(other))


class _Relevant:
    """Counts the pages relevant to a sample, by the cosine judge."""

    def __init__(self, folder: Path) -> None:
        self._judge = load_judge(cosine_judge.FILE)
        self._numbers, self._counts, _ = self._judge.read_world(str(folder))

    def fits(self, sample: Sequence[str]) -> bool:
        seeds = [self._numbers[self._judge.key(url)] for url in sample]
        relevance = array("d", self._judge.relevance(self._counts, seeds)[2])
        fewest, widest = _RELEVANT
        return fewest <= sum(each > cosine_judge.THRESHOLD for each in relevance) <= widest * len(relevance)


_DATE = "2026-01-02T03:04:05Z"
"""The date of all records: the same packages make the same bytes."""


def write_responses(folder: Path, name: str, responses: Iterable[ArchivedResponse]) -> Mapping[str, tuple[str, ...]]:
    """Write a response record for each page or redirect, the first for a URL; return the labels of pages by URL."""
    labels: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    with (folder / f"{name}.warc.gz").open("wb") as file:
        for response in responses:
            if response.url in seen:
                continue
            seen.add(response.url)
            file.write(gzip.compress(_record(response), mtime=0))
            if isinstance(response, ArchivedPage):
                labels[response.url] = response.labels
    return labels


def write_labels(folder: Path, labels: Mapping[str, Sequence[str]]) -> None:
    """Write ``topics.tsv``: each page with its narrowest label and all its labels, separated by bars."""
    with (folder / "topics.tsv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
        table.writerow(("url", "topic", "tags"))
        for url, names in labels.items():
            table.writerow((url, names[0] if names else "", "|".join(names)))


def write_topics(folder: Path, topics: Topics, sources: Mapping[str, str]) -> None:
    """Write ``topics.json`` and, as ``sources.json``, the versions of the packages that the world was made of."""
    (folder / "topics.json").write_text(json.dumps(topics, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "sources.json").write_text(json.dumps(sources, indent=1) + "\n", "utf-8")


def _record(response: ArchivedResponse) -> bytes:
    if isinstance(response, ArchivedPage):
        status, own, body = "200 OK", "Content-Type: text/html", response.body
    else:
        status, own, body = "301 Moved Permanently", f"Location: {response.target}", b""
    message = f"HTTP/1.1 {status}\r\n{own}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    fields = (
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <{uuid5(NAMESPACE_URL, response.url).urn}>",
        f"WARC-Date: {_DATE}",
        f"WARC-Target-URI: {response.url}",
        "Content-Type: application/http;msgtype=response",
        f"Content-Length: {len(message)}",
    )
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + message + b"\r\n\r\n"
