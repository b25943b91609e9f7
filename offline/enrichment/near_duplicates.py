"""Finds objects that say nearly the same: copies, quotations as a whole, press releases with another head."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.traps.sketch import shingles
from offline.enrichment.annotator import CollectionAnnotator, ObjectText

MIN_SHINGLES: Final = 8
"""Different stretches of three words that a text has at least that is compared: thanks and greetings are no copies."""
ALIKE: Final = 0.75
"""The share of all stretches of two texts that both have (Jaccard) from which on they say nearly the same."""
_ROWS: Final = 4
_BANDS: Final = 16
_MAX_COMPARED: Final = 32
"""Texts that share a band with another one that it is compared with, the earliest."""
_OPENING: Final = 120
"""Characters of a text that stand for it."""


class NearDuplicates:
    """Annotates objects of which others say nearly the same with the cluster of them.

    Texts are compared by MinHash (Broder, 1997) over stretches of three words, as near-duplicate pages are
    (``aahcrawler.traps.sketch``); of a long text its two ends count. Each text is compared with the first text of a
    cluster alone, the one captured first, so no cluster drifts from text to text, and later captures change neither
    clusters nor their IRIs. Versions of one object alone are no cluster. ``confidence`` is the estimated likeness to
    the first text, ``quote`` how the text begins.
    """

    name = "near-duplicates"
    version = "1"

    def annotate(
        self,
        objects: Callable[[], Iterator[ObjectText]],
        known: Callable[[], Iterator[Annotation]],  # noqa: ARG002 - rests on the texts alone
    ) -> Iterator[Annotation]:
        """Annotate the objects that have near duplicates. All are read three times, half a KiB is kept of each."""
        clusters = _Clusters()
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
            labels[first] = " ".join(given.title.split())[:_OPENING] or _opening(given)
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
    if len(hashes) < MIN_SHINGLES:
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


class _Clusters:
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
        if cluster is None or likeness < ALIKE:
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
