"""Finds topics in counts of words, by NMF or by LDA. Importing it takes the seconds that scikit-learn takes."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from offline.enrichment.topic_texts import FittedTopics

Numbers = NDArray[np.float64]

_SEED: Final = 2014
_ROUNDS: Final = 100
_PRECISION: Final = 1e-3
_STEPS: Final = 60
"""Steps by which the topics of a text are found; always as many, so that no text depends on those beside it."""
_TINY: Final = 1e-12
_RELEVANCE: Final = 0.6


@dataclass(frozen=True, slots=True)
class Nmf:
    """Non-negative matrix factorisation (Lee and Seung, 1999) of tf-idf, begun with a singular value decomposition."""

    name: str = "nmf-1"

    def fit(self, counts: csr_matrix, number: int) -> FittedTopics:
        """Fit ``number`` topics to texts; ``counts`` has a row for each text, a column for each term."""
        idf = np.log(counts.shape[0] / np.maximum(1, _texts_with(counts))) + 1
        model = NMF(number, init="nndsvd", random_state=_SEED, max_iter=_ROUNDS, tol=_PRECISION)
        with _quietly():
            model.fit(_weighed(counts, idf))
        terms = np.asarray(model.components_, np.float64)
        lengths = np.linalg.norm(terms, axis=1, keepdims=True)
        return _NmfTopics(terms / np.maximum(lengths, _TINY), idf)


@dataclass(frozen=True, slots=True)
class _NmfTopics:
    terms: Numbers
    idf: Numbers

    def shares(self, counts: csr_matrix) -> Numbers:
        likeness = np.asarray(_weighed(counts, self.idf) @ self.terms.T)
        between = self.terms @ self.terms.T
        weights = likeness.copy()
        with _quietly():
            for _ in range(_STEPS):  # The multiplicative updates of Lee and Seung.
                weights *= likeness / np.maximum(weights @ between, _TINY)
        return _as_shares(weights)


@dataclass(frozen=True, slots=True)
class Lda:
    """Latent Dirichlet allocation (Blei, Ng and Jordan, 2003) by variational inference.

    Terms name a topic by their relevance (Sievert and Shirley, 2014): how likely they are in it, and how much likelier
    than elsewhere.
    """

    name: str = "lda-1"

    def fit(self, counts: csr_matrix, number: int) -> FittedTopics:
        """Fit ``number`` topics to texts; ``counts`` has a row for each text, a column for each term."""
        model = LatentDirichletAllocation(number, random_state=_SEED, max_iter=10, learning_method="batch")
        with _quietly():
            model.fit(counts)
        likely = model.components_ / model.components_.sum(axis=1, keepdims=True)
        anywhere = np.maximum(_TINY, np.asarray(counts.sum(axis=0)).ravel() / counts.sum())
        relevance = likely * (likely / anywhere) ** ((1 - _RELEVANCE) / _RELEVANCE)
        return _LdaTopics(relevance / np.linalg.norm(relevance, axis=1, keepdims=True), model)


@dataclass(frozen=True, slots=True)
class _LdaTopics:
    terms: Numbers
    model: Any

    def shares(self, counts: csr_matrix) -> Numbers:
        with _quietly():
            found = np.asarray(self.model.transform(counts), np.float64)
        found[np.asarray(counts.sum(axis=1)).ravel() == 0] = 0
        return _as_shares(found)


MODELS: Final[dict[str, type[Nmf] | type[Lda]]] = {"nmf": Nmf, "lda": Lda}


def _texts_with(counts: csr_matrix) -> Numbers:
    return np.asarray((counts > 0).sum(axis=0), np.float64).ravel()


def _weighed(counts: csr_matrix, idf: Numbers) -> csr_matrix:
    """Return tf-idf, each row with a length of 1."""
    weighed = counts.astype(np.float64)
    weighed.data = 1 + np.log(weighed.data)
    weighed = weighed @ diags(idf)
    lengths = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return csr_matrix(diags(1 / np.maximum(lengths, _TINY)) @ weighed)


def _as_shares(weights: Numbers) -> Numbers:
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), _TINY), np.float64)


@cache
def _threads() -> ThreadpoolController:
    """Return what limits the threads of the libraries that are loaded by now; to look for them takes long."""
    return ThreadpoolController()


@contextmanager
def _quietly() -> Iterator[None]:
    """Let a model stop after its rounds, and compute in one thread.

    More rounds hardly change which terms name a topic. More threads wait for one another on a busy machine, and add
    numbers in another order.
    """
    with warnings.catch_warnings(), _threads().limit(limits=1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
