"""Finds objects that say nearly the same: copies, quotations as a whole, press releases with another head."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.traps.sketch import shingles
from offline.enrichment.annotator import ObjectText

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
    clusters nor their IRIs. Versions of one object alone are no cluster. A cluster is labelled by the title of its
    earliest object, by publication where that is known, or by how its text begins. ``confidence`` is the estimated
    likeness to the first text, ``quote`` how the text begins.
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
        members = clusters.members()
        titled = {member.cluster.earliest.key: member.cluster for member in members.values()}
        labels: dict[str, str] = {}
        for given in objects():
            cluster = titled.get(_key(given))
            if cluster is not None:
                labels[cluster.iri] = " ".join(given.title.split())[:_OPENING] or _opening(given)
        for given in objects():
            member = members.get(_key(given))
            if member is not None:
                yield Annotation(
                    object=given.object,
                    capture=given.capture,
                    kind=Kind.CLUSTER,
                    label=labels[member.cluster.iri],
                    annotator=self.name,
                    version=self.version,
                    confidence=round(member.likeness, 4),
                    iri=member.cluster.iri,
                    quote=_opening(given),
                    values=(("objects", str(len(member.cluster.objects))),),
                )


def _key(given: ObjectText) -> bytes:
    return _digest(f"{given.object}\n{given.capture}")


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _opening(given: ObjectText) -> str:
    return " ".join(given.text[: 2 * _OPENING].split())[:_OPENING]


def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    lot = np.random.Generator(np.random.PCG64(1997))
    drawn = lot.integers(0, 1 << 63, (2, _ROWS * _BANDS), np.uint64)
    return drawn[0] * np.uint64(2) + np.uint64(1), drawn[1]


_PERMUTATIONS: Final = _permutations()


@dataclass(frozen=True, slots=True, order=True)
class _Text:
    """A text by its MinHash, in the order of capture. ``signature`` are numbers as bytes."""

    captured: str
    object: bytes
    key: bytes
    published: str
    signature: bytes


def _read(given: ObjectText) -> _Text | None:
    """Return the text of an object, None where it is too short to be compared."""
    hashes = shingles(given.text)
    if len(hashes) < MIN_SHINGLES:
        return None
    factors, offsets = _PERMUTATIONS
    mixed = hashes[:, None] * factors + offsets
    signature = (mixed.min(axis=0) >> np.uint64(32)).astype(np.uint32)
    return _Text(given.captured, _digest(given.object), _key(given), given.published, signature.tobytes())


@dataclass(slots=True)
class _Cluster:
    """Texts that are like the first of them. ``earliest`` is the one published first, ``objects`` are digests."""

    first: _Text
    earliest: _Text
    objects: set[bytes]

    @property
    def iri(self) -> str:
        return f"urn:aahcrawler:cluster:{self.first.key.hex()}"

    def take(self, text: _Text) -> None:
        self.objects.add(text.object)
        if text.published and (not self.earliest.published or text.published < self.earliest.published):
            self.earliest = text


@dataclass(frozen=True, slots=True)
class _Member:
    cluster: _Cluster
    likeness: float


class _Clusters:
    """Clusters of texts, which are taken in the order of capture."""

    def __init__(self) -> None:
        self._members: dict[bytes, _Member] = {}
        self._bands: dict[tuple[int, bytes], list[_Cluster]] = {}

    def add(self, text: _Text) -> None:
        """Put a text into the cluster whose first text it is most like, or into a new one."""
        bands = [(at, text.signature[at : at + 4 * _ROWS]) for at in range(0, len(text.signature), 4 * _ROWS)]
        candidates = {cluster.iri: cluster for band in bands for cluster in self._bands.get(band, ())}
        likenesses = [(_likeness(cluster.first, text), cluster) for cluster in candidates.values()]
        likeness, cluster = max(likenesses, key=lambda each: (each[0], each[1].iri), default=(0.0, None))
        if cluster is None or likeness < ALIKE:
            likeness, cluster = 1.0, _Cluster(text, text, set())
            for band in bands:
                holders = self._bands.setdefault(band, [])
                if len(holders) < _MAX_COMPARED:
                    holders.append(cluster)
        cluster.take(text)
        self._members[text.key] = _Member(cluster, likeness)

    def members(self) -> dict[bytes, _Member]:
        """Return the members of the clusters that have several objects, by their keys."""
        return {key: member for key, member in self._members.items() if len(member.cluster.objects) > 1}


def _likeness(one: _Text, other: _Text) -> float:
    """Estimate the share of stretches that two texts have in common, to within about a twentieth."""
    equal = np.frombuffer(one.signature, np.uint32) == np.frombuffer(other.signature, np.uint32)
    return float(np.count_nonzero(equal)) / len(equal)
