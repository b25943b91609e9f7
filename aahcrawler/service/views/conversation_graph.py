"""Who answers whom on the sites of a crawl, from annotations: a graph, communities and influence."""

import io
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Final
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation
from aahcrawler.annotations import Kind as About
from aahcrawler.overview.archive_overview import GatheredArchives
from aahcrawler.overview.link_graph import NodeValues, StrongestSites, strongest, write_graphml
from aahcrawler.service.views.enriched_crawl import ALL_TIMES, Enriched, TimeSpan, month_of, value_of
from aahcrawler.service.views.quotations import Quoted, quoted

MAX_PEOPLE: Final = 50
"""People of a site that are listed, those with the most influence first."""
ANSWERS: Final = 12
"""Answers between two people that are shown with their words."""
PICTURED: Final = 18
"""People in the picture, those who answer and are answered most."""


class Voice(BaseModel):
    """A name on a site that answers others or is answered: ``influence`` is its share of all there (PageRank).

    ``community`` is the number of one on the page, 0 for none. ``influence`` is 0 where nobody answers it.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    influence: float
    answers: int
    answered: int
    community: int


class Conversation(BaseModel):
    """Who answers whom on a site. Without names, people are numbered by their influence, the greatest first.

    ``ties`` counts by what the page says: see ``docs/enrichment-steps.md``.
    """

    model_config = ConfigDict(frozen=True)

    site: str
    sites: tuple[str, ...]
    people: int
    answers: int
    ties: Mapping[str, int]
    communities: Mapping[int, int]
    voices: tuple[Voice, ...]
    links: tuple[tuple[str, str, int], ...]
    named: bool
    note: str = ""


class Talk:
    """The graph of who answers whom on one site. Memory grows with people and their ties, not with answers.

    Within a span of time, only answers published then are shown; influence and communities are those of all times.
    """

    def __init__(self, enriched: Enriched, site: str, *, named: bool, span: TimeSpan = ALL_TIMES) -> None:
        self.named, self.note, self._span = named, enriched.note, span
        self._months: Counter[str] = Counter()
        self._dates = enriched.dates()
        sites: Counter[str] = Counter()
        self.ties: Counter[str] = Counter()
        self._edges: dict[tuple[str, str], list[str]] = {}
        self._objects: set[str] = set()
        self._influence: dict[str, float] = {}
        self._communities: dict[str, str] = {}
        every = [each for each in enriched.annotations.of_kind(About.CONVERSATION) if value_of(each, "author")]
        sites.update(map(site_of, every))
        self.sites = tuple(name for name, _ in sorted(sites.items(), key=lambda item: (-item[1], item[0])))
        self.site = site or next(iter(self.sites), "")
        for each in every:
            if site_of(each) == self.site:
                self._add(each)
        members = {name for pair in self._edges for name in pair}
        for each in enriched.annotations.of_kind(About.COMMUNITY):
            if (name := value_of(each, "author")) in members and each.object in self._objects:
                self._communities[name] = each.iri or each.label
                self._influence[name] = float(value_of(each, "influence") or 0)
        order = sorted(members, key=lambda name: (-self._influence.get(name, 0.0), name))
        self.shown = {name: name if named else f"person {number}" for number, name in enumerate(order, 1)}
        known = (self._communities[name] for name in order if name in self._communities)
        numbers = {iri: number for number, iri in enumerate(dict.fromkeys(known), 1)}
        self.community = {name: numbers.get(self._communities.get(name, ""), 0) for name in order}

    def _add(self, each: Annotation) -> None:
        date = self._dates.get(each.object, "")
        self._months[month_of(date)] += 1
        if not self._span.has(date):
            return
        self.ties[value_of(each, "tie")] += 1
        self._objects |= {each.object, value_of(each, "answers")}
        self._edges.setdefault((value_of(each, "author"), each.label), []).append(date)
        self._influence[each.label] = float(value_of(each, "influence") or 0)

    def voices(self) -> Iterator[Voice]:
        """Yield all who answer or are answered, those with the most influence first."""
        answers: Counter[str] = Counter()
        answered: Counter[str] = Counter()
        for (source, target), dates in self._edges.items():
            answers[source] += len(dates)
            answered[target] += len(dates)
        for name, shown in self.shown.items():
            yield Voice(
                name=shown,
                influence=self._influence.get(name, 0.0),
                answers=answers[name],
                answered=answered[name],
                community=self.community[name],
            )

    def told(self) -> Conversation:
        """Return the view of the graph."""
        links = sorted(self._edges.items(), key=lambda item: (-len(item[1]), item[0]))[:MAX_PEOPLE]
        return Conversation(
            site=self.site,
            sites=self.sites,
            people=len(self.shown),
            answers=sum(map(len, self._edges.values())),
            ties=dict(sorted(self.ties.items())),
            communities=dict(sorted(Counter(number for number in self.community.values() if number).items())),
            voices=tuple(islice(self.voices(), MAX_PEOPLE)),
            links=tuple((self.shown[source], self.shown[target], len(dates)) for (source, target), dates in links),
            named=self.named,
            note=self.note,
        )

    def strongest(self) -> StrongestSites:
        """Return those who answer and are answered most, with the answers between them."""
        with self._graph() as base:
            return strongest(base, PICTURED)

    def graphml(self) -> bytes:
        """Return all of it as GraphML: weights are answers; ``pages`` counts those that somebody gave or got.

        Nodes have ``influence`` and, where they are in one, the number of their ``community``.
        """
        written = io.BytesIO()
        influence = {shown: f"{self._influence.get(name, 0.0):.6g}" for name, shown in self.shown.items()}
        community = {self.shown[name]: str(number) for name, number in self.community.items() if number}
        more = (NodeValues("influence", "double", influence), NodeValues("community", "int", community))
        with self._graph() as base:
            write_graphml(base, written, more)
        return written.getvalue()

    @contextmanager
    def _graph(self) -> Iterator[sqlite3.Connection]:
        weights: Counter[str] = Counter()
        for pair, dates in self._edges.items():
            for name in pair:
                weights[name] += len(dates)
        numbers = {name: number for number, name in enumerate(self.shown, 1)}
        with GatheredArchives() as gathered:
            people = ((numbers[name], shown, weights[name], weights[name]) for name, shown in self.shown.items())
            gathered.base.executemany("INSERT INTO site VALUES (?, ?, ?, ?)", people)
            edges = (
                (numbers[source], numbers[target], len(dates), None, None)
                for (source, target), dates in self._edges.items()
            )
            gathered.base.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?)", edges)
            yield gathered.base

    def months(self) -> Mapping[str, int]:
        """Return how many answers there are by month of publication, those without a date under the empty name."""
        return self._months

    def answers(self, enriched: Enriched, who: str, whom: str) -> tuple[Quoted, ...]:
        """Return the first answers that somebody gives to somebody, both as they are shown, with their words.

        None where people are numbered: together, the words would tell who somebody is.
        """
        if not self.named:
            return ()
        found = (
            each
            for each in enriched.annotations.of_kind(About.CONVERSATION)
            if self.shown.get(value_of(each, "author")) == who
            and self.shown.get(each.label) == whom
            and site_of(each) == self.site
            and self._span.has(self._dates.get(each.object, ""))
        )
        return tuple(quoted(enriched.pages, each, self._dates) for each in islice(found, ANSWERS))


def site_of(answer: Annotation) -> str:
    """Return the site of an answer, from the IRI of the person who is answered."""
    parts = answer.iri.split(":")
    return unquote(parts[3]) if len(parts) > 4 and parts[2] == "person" else ""
