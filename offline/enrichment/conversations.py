"""Tells who answers whom on a site, who has influence, which communities there are, and when they speak.

Social analysis of ARCOMEM, section 3.3. A name is known on one site alone: the same name elsewhere may be another
person's.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Final, Self

import numpy as np
from scipy.sparse import csr_matrix

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.objects.nquads import person
from aahcrawler.tallies import plural
from aahcrawler.webobject import Person
from offline.enrichment.annotator import ObjectText
from offline.enrichment.reply_ties import STRENGTH, Answer, Threads, Tie, TieKind, answers_in
from offline.enrichment.steps import Setting

DAMPING: Final = 0.85
_MAX_ROUNDS: Final = 200
_SETTLED: Final = 1e-10
_MAX_LEVELS: Final = 20
_MAX_PASSES: Final = 20
_GAIN: Final = 1e-9

Edges = Mapping[tuple[int, int], float]
"""Weights above 0 by the numbers of two different people, from one who answers to one who is answered."""


def influence(people: int, edges: Edges) -> list[float]:
    """Return the influence of each of some people: their PageRank (Brin and Page, 1998) by the weights of edges.

    All together have 1. Whoever is answered by many, and by such as are answered themselves, has more. Numbers are
    rounded to six digits.
    """
    if not people:
        return []
    sources, targets = np.array(list(edges) or np.empty((0, 2)), np.int64).T
    weights = np.fromiter(edges.values(), np.float64, len(edges))
    given = np.bincount(sources, weights, people)
    steps = csr_matrix((weights / given[sources], (targets, sources)), shape=(people, people))
    silent = given == 0
    ranks = np.full(people, 1 / people)
    for _ in range(_MAX_ROUNDS):
        former, ranks = ranks, (1 - DAMPING) / people + DAMPING * (steps @ ranks + ranks[silent].sum() / people)
        if np.abs(ranks - former).sum() < _SETTLED:
            break
    return [round(float(rank), 6) for rank in ranks]


@dataclass(frozen=True, slots=True)
class Communities:
    """The community of each of some people, numbered as they come, and how well they are told apart.

    ``modularity`` is the share of ties within communities above what would be there by chance; from .3 on a graph has
    communities indeed (Newman and Girvan, 2004).
    """

    of: tuple[int, ...]
    modularity: float


def communities(people: int, edges: Edges) -> Communities:
    """Return the communities of some people by the Louvain method (Blondel and others, 2008).

    Directions do not matter. People are taken in their order, so equal graphs have equal communities.
    """
    graph = _Graph.of(people, edges)
    members = list(range(people))
    for _ in range(_MAX_LEVELS):
        joined = _numbered(graph.moved())
        members = [joined[number] for number in members]
        if len(set(joined)) == len(joined):
            break
        graph = graph.merged(joined)
    members = _numbered(members)
    return Communities(tuple(members), round(_Graph.of(people, edges).modularity(members), 6))


def _numbered(names: Sequence[int]) -> list[int]:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return [numbers[name] for name in names]


@dataclass(frozen=True, slots=True)
class _Graph:
    """Weights between nodes and others, and those within nodes that were several."""

    near: Sequence[dict[int, float]]
    within: Sequence[float]

    @classmethod
    def of(cls, people: int, edges: Edges) -> "_Graph":
        near: list[dict[int, float]] = [{} for _ in range(people)]
        for (one, other), weight in sorted(edges.items()):
            for source, target in pairwise((one, other, one)):
                near[source][target] = near[source].get(target, 0) + weight
        return cls(near, [0.0] * people)

    def degrees(self) -> list[float]:
        return [sum(near.values()) + 2 * within for near, within in zip(self.near, self.within, strict=True)]

    def moved(self) -> list[int]:
        """Return the community of each node, after each went to that of a neighbour as long as this is a gain."""
        degrees = self.degrees()
        total = sum(degrees) or 1.0
        communities, sums = list(range(len(degrees))), list(degrees)
        for _ in range(_MAX_PASSES):
            is_moving = False
            for node, near in enumerate(self.near):
                own = communities[node]
                sums[own] -= degrees[node]
                weights = {own: 0.0}
                for other, weight in near.items():
                    weights[communities[other]] = weights.get(communities[other], 0.0) + weight
                gains = {each: weight - sums[each] * degrees[node] / total for each, weight in weights.items()}
                best = max(gains, key=lambda each: (gains[each], -each))
                if gains[best] <= gains[own] + _GAIN:
                    best = own
                is_moving |= best != own
                communities[node] = best
                sums[best] += degrees[node]
            if not is_moving:
                break
        return communities

    def merged(self, joined: Sequence[int]) -> "_Graph":
        """Return the graph of communities, numbered from 0 on."""
        count = max(joined) + 1
        near: list[dict[int, float]] = [{} for _ in range(count)]
        within = [0.0] * count
        for node, community in enumerate(joined):
            within[community] += self.within[node]
            for other, weight in self.near[node].items():
                target = joined[other]
                if target == community:
                    within[community] += weight / 2
                else:
                    near[community][target] = near[community].get(target, 0.0) + weight
        return _Graph(near, within)

    def modularity(self, members: Sequence[int]) -> float:
        total = sum(self.degrees())
        if not total:
            return 0.0
        joined = self.merged(members)
        return sum(
            2 * within / total - (degree / total) ** 2
            for within, degree in zip(joined.within, joined.degrees(), strict=True)
        )


MIN_MEMBERS: Final = 3
MIN_MODULARITY: Final = 0.3
"""Modularity from which on the relations of a site make communities (Newman and Girvan, 2004)."""
_LABEL_NAMES: Final = 3
_OPENING: Final = 120
"""Characters of a text that stand for it."""
_MONTH: Final = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Relation:
    """How often one person answers another one on a site, by kind; ``weight`` sums up the strengths.

    ``months`` counts answers by month, ``YYYY-MM``, as far as they are dated.
    """

    source: str
    target: str
    weight: float
    kinds: tuple[tuple[TieKind, int], ...]
    months: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Voice:
    """A name under which objects of a site stand, with their number, by month as well, ``YYYY-MM``.

    ``influence`` is the share of that of all who answer or are answered there, 0 of others, and ``rank`` the place by
    it, 0 of others. ``community`` is the IRI of one, empty where the voice is in none; ``bound`` is the share of the
    voice's ties that are in it.
    """

    name: str
    iri: str
    objects: int
    months: tuple[tuple[str, int], ...]
    influence: float = 0.0
    rank: int = 0
    community: str = ""
    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Community:
    """People of a site who answer one another more than others; the most influential of them make the label."""

    iri: str
    label: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that is said on a site: its voices by name, the relations between these names, its communities by IRI."""

    site: str
    voices: Mapping[str, Voice]
    relations: tuple[Relation, ...]
    communities: Mapping[str, Community]
    modularity: float


class Conversations:
    """Annotates objects with whom they answer, and with the community of who speaks in them.

    ``answers`` yields which objects say that they answer or quote others (``reply_ties.answers_in``). Beside that count
    people whom a text calls, names or has words of, parts of other objects, and, weakly, whoever opened the thread; the
    kind is in ``values``, and ``confidence`` is its strength. Objects without author are nobody's. Of several versions
    of an object the last counts. ``conversations`` returns the same as graphs.
    """

    name = "conversations"
    version = "3"

    def __init__(self, answers: Callable[[], Iterable[Answer]] = tuple) -> None:
        self._answers = answers
        self._told: tuple[str, ...] = ()

    @classmethod
    def of(cls, setting: Setting) -> Self:
        """Return the annotator of a crawl, by what its objects say of one another."""
        return cls(lambda: answers_in(setting.crawl))

    def annotate(
        self,
        objects: Callable[[], Iterator[ObjectText]],
        known: Callable[[], Iterator[Annotation]],  # noqa: ARG002 - rests on the objects alone
    ) -> Iterator[Annotation]:
        """Annotate all objects, which are read three times."""
        threads = Threads(objects(), self._answers())
        found = conversations_of(threads, objects())
        self._told = tuple(_told(threads, found))
        for given in filter(threads.is_current, objects()):
            own = threads.spoken[given.object]
            conversation = found[own.site]
            voice = conversation.voices[own.name]
            for tie in threads.ties(given):
                yield self._relation(given, tie, conversation)
            if voice.community:
                yield self._membership(given, voice, conversation)

    def told(self, _: Mapping[str, int]) -> Iterator[str]:
        """Yield what was found by the last run, or why there is nothing."""
        yield from self._told

    def _relation(self, given: ObjectText, tie: Tie, conversation: Conversation) -> Annotation:
        own = " ".join(given.author.split())
        answered = conversation.voices[tie.name]
        values = {
            "author": own,
            "influence": f"{answered.influence:.6f}",
            "strength": f"{STRENGTH[tie.kind]:g}",
            "tie": tie.kind.value,
        }
        return Annotation(
            object=given.object,
            capture=given.capture,
            kind=Kind.CONVERSATION,
            label=tie.name,
            annotator=self.name,
            version=self.version,
            confidence=STRENGTH[tie.kind],
            iri=answered.iri,
            start=tie.start,
            end=tie.end,
            quote=given.text[tie.start : tie.end] if tie.start >= 0 else _opening(given),
            values=tuple(sorted((values | ({"answers": tie.answered} if tie.answered else {})).items())),
        )

    def _membership(self, given: ObjectText, voice: Voice, conversation: Conversation) -> Annotation:
        community = conversation.communities[voice.community]
        return Annotation(
            object=given.object,
            capture=given.capture,
            kind=Kind.COMMUNITY,
            label=community.label,
            annotator=self.name,
            version=self.version,
            confidence=voice.bound,
            iri=community.iri,
            quote=given.author,
            values=(
                ("author", voice.name),
                ("influence", f"{voice.influence:.6f}"),
                ("members", str(len(community.members))),
                ("rank", str(voice.rank)),
            ),
        )


_WAYS: Final = {
    TieKind.REPLY: "as the page says it",
    TieKind.CALL: "by @name",
    TieKind.NAMED: "by name",
    TieKind.QUOTE: "by quoting",
    TieKind.NESTED: "as comments of a text",
    TieKind.OPENER: "by the thread alone",
}


def _told(threads: Threads, found: Mapping[str, Conversation]) -> Iterator[str]:
    """Say who answers whom in numbers, or why nobody is known to answer anybody."""
    ways: Counter[TieKind] = Counter()
    for conversation in found.values():
        for relation in conversation.relations:
            ways.update(dict(relation.kinds))
    if ways:
        people = sum(
            len({name for each in told.relations for name in (each.source, each.target)}) for told in found.values()
        )
        sites = sum(bool(each.relations) for each in found.values())
        told = ", ".join(f"{ways[kind]:,} {way}" for kind, way in _WAYS.items() if ways[kind])
        answers = f"{plural(ways.total(), 'answer')} among {people:,} people on {plural(sites, 'site')}"
        yield f"{answers}: {told}"
    elif not threads.spoken:
        yield "nobody answers anybody: no object says who wrote it"
    elif not threads.together:
        yield "nobody answers anybody: no two people speak in the same thread, below the same text or on the same page"
    else:
        speakers = plural(threads.together, "object")
        yield f"nobody answers anybody: of {speakers} beside those of others none quotes, calls or names somebody"


def _opening(given: ObjectText) -> str:
    return " ".join(given.text[: 2 * _OPENING].split())[:_OPENING]


@dataclass(slots=True)
class _Counts:
    """What is counted of one person's answers to another one."""

    kinds: Counter[TieKind]
    months: Counter[str]

    @property
    def weight(self) -> float:
        return sum(STRENGTH[kind] * number for kind, number in self.kinds.items())


def _month(published: str) -> list[str]:
    found = _MONTH.match(published)
    return [found[0]] if found else []


def conversations_of(threads: Threads, objects: Iterable[ObjectText]) -> dict[str, Conversation]:
    """Return the conversation of each site, from the objects that ``threads`` was made of."""
    relations: defaultdict[str, dict[tuple[str, str], _Counts]] = defaultdict(dict)
    for given in filter(threads.is_current, objects):
        own = threads.spoken[given.object]
        for tie in threads.ties(given):
            counts = relations[own.site].setdefault((own.name, tie.name), _Counts(Counter(), Counter()))
            counts.kinds[tie.kind] += 1
            counts.months.update(_month(own.published))
    voices: defaultdict[str, defaultdict[str, _Said]] = defaultdict(lambda: defaultdict(_Said))
    for spoken in threads.spoken.values():
        said = voices[spoken.site][spoken.name]
        said.objects += 1
        said.first = min(said.first or spoken.first, spoken.first)
        said.months.update(_month(spoken.published))
    return {site: _conversation(site, voices[site], relations[site]) for site in sorted(voices)}


@dataclass(slots=True)
class _Said:
    """What is counted of a person: objects, when the first of them was captured, and their months."""

    objects: int = 0
    first: str = ""
    months: Counter[str] = field(default_factory=Counter)


def _conversation(site: str, said: Mapping[str, _Said], relations: Mapping[tuple[str, str], _Counts]) -> Conversation:
    names = sorted({name for pair in relations for name in pair})
    numbers = {name: number for number, name in enumerate(names)}
    edges = {(numbers[one], numbers[other]): counts.weight for (one, other), counts in sorted(relations.items())}
    ranks = dict(zip(names, influence(len(names), edges), strict=True))
    ranked = sorted(names, key=lambda name: (-ranks[name], name))
    parted = communities(len(names), edges)
    groups: defaultdict[int, list[str]] = defaultdict(list)
    for name in ranked if parted.modularity >= MIN_MODULARITY else ():
        groups[parted.of[numbers[name]]].append(name)
    found = {
        name: community
        for members in groups.values()
        if len(members) >= MIN_MEMBERS
        for community in [_community(site, members, said)]
        for name in members
    }
    bound = _bound(relations, found)
    places = {name: place for place, name in enumerate(ranked, 1)}
    voices = {
        name: Voice(
            name=name,
            iri=person(Person(name), site).strip("<>"),
            objects=counts.objects,
            months=tuple(sorted(counts.months.items())),
            influence=ranks.get(name, 0.0),
            rank=places.get(name, 0),
            community=found[name].iri if name in found else "",
            bound=bound.get(name, 0.0),
        )
        for name, counts in sorted(said.items())
    }
    return Conversation(
        site,
        voices,
        tuple(
            Relation(
                one, other, counts.weight, tuple(sorted(counts.kinds.items())), tuple(sorted(counts.months.items()))
            )
            for (one, other), counts in sorted(relations.items())
        ),
        {community.iri: community for community in found.values()},
        parted.modularity,
    )


def _community(site: str, members: Sequence[str], said: Mapping[str, _Said]) -> Community:
    """Return a community of people, the most influential first, known by whoever of them was captured first."""
    oldest = min(members, key=lambda name: (said[name].first, name))
    digest = blake2b(f"{site}\n{oldest}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    return Community(f"urn:aahcrawler:community:{digest}", ", ".join(members[:_LABEL_NAMES]), tuple(members))


def _bound(relations: Mapping[tuple[str, str], _Counts], found: Mapping[str, Community]) -> dict[str, float]:
    """Return which share of the weight of a person's relations is within the person's community."""
    all_weights: defaultdict[str, float] = defaultdict(float)
    own_weights: defaultdict[str, float] = defaultdict(float)
    for (one, other), counts in sorted(relations.items()):
        for name, neighbour in ((one, other), (other, one)):
            all_weights[name] += counts.weight
            if name in found and found[name] is found.get(neighbour):
                own_weights[name] += counts.weight
    return {name: round(own_weights[name] / all_weights[name], 4) for name in found}
