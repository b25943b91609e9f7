"""How often a page probably changes before its own visits show it: by similar pages, by its sitemap, by its URL.

The prior of a page gives the probabilities of K rates (``rate_levels``). They are learned in nested groups: all pages,
those of its site, those with the same ``changefreq``, those of its template. In each group, the next larger group
counts as three more pages, and no page is evidence for itself. The prior thus has the role of a Gamma distribution in
Gamma-Poisson models, but not its shape: sites have pages that change hourly and pages that never do, and few between.

Whether rates hold or jump is learned in the same groups: the probabilities of the models of ``RateBeliefs``, by how
well each of them predicts the visits of the other pages.

If many pages are known, a naive Bayes classifier takes the place of the group of all pages. It sorts pages into ten
bins of rates, by those features of Living Web Archives (section 3.3.5.1) that are known before a visit. It is used only
if it predicts the visits of each page from all others better than the rates of all pages do.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from aahcrawler.revisits.revisit_policies import (
    MODEL_WEIGHTS,
    Bounds,
    Floats,
    PageVisit,
    RateBeliefs,
    batched_places,
    rate_levels,
)

STATED: Final[Mapping[str, float]] = {
    "always": 1 / 24,
    "hourly": 1 / 24,
    "daily": 1.0,
    "weekly": 7.0,
    "monthly": 30.4,
    "yearly": 365.0,
    "never": 3650.0,
}
"""Days between changes by ``changefreq`` of a sitemap (sitemaps.org); ``always`` is more often than any crawl visits.
"""
_AS_PAGES: Final = 3.0
"""The number of pages as which the next larger group counts in a group."""
_STATED_WIDTH: Final = math.log(10.0)
"""The standard deviation of the logarithm of the rate, for a ``changefreq`` that was not compared with visits yet."""
_ROUNDS: Final = 8
_MANY: Final = 200
"""The fewest pages with evidence for which URLs are used."""
_BINS: Final = 10
_SPECIAL: Final = "~_?;:,%"
_DIGITS: Final = re.compile(r"\d+")
_Numbers = NDArray[np.intp]


class Ground(StrEnum):
    """What a rate is based on, besides the page's own visits."""

    DATES = "dates of its changes"
    TEMPLATE = "pages like it"
    STATED = "its sitemap"
    SITE = "its site"
    ADDRESS = "its address"
    ALL = "all pages"
    NOTHING = "the first interval"


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What is known about a page. Pages about which the same is known are equal, whatever their URLs.

    ``features`` are those of its URL (``address_features``). ``visits`` are those after the first one. ``age`` is the
    days for which the page had been the same at its first visit, if its server, a list or the page itself gives a date.
    ``stated`` is the ``changefreq`` of its sitemap, empty if it has none. ``listed`` is the number of its changes that
    a list dates, and the days from the first of them to the last.
    """

    site: str
    template: str
    features: tuple[str, ...] = ()
    visits: tuple[PageVisit, ...] = ()
    age: float | None = None
    stated: str = ""
    listed: tuple[int, float] = (0, 0.0)

    @property
    def has_dates(self) -> bool:
        """Whether anything but visits shows when it changed."""
        return self.age is not None or self.listed[0] > 1

    @property
    def is_evidence(self) -> bool:
        """Whether anything about it shows how often pages change."""
        return bool(self.visits) or self.has_dates


@dataclass(frozen=True, slots=True)
class RatePrior:
    """The prior of a page before its own visits, and the evidence that contributes most to it.

    ``shares`` are the probabilities of the K rates, ``weights`` those of the M models of how long a rate lasts.
    """

    shares: Floats
    weights: Floats
    ground: Ground

    @property
    def chances(self) -> Floats:
        """The joint probabilities of models and rates (M x K), with which ``JumpingRate`` begins."""
        return self.weights[:, None] * self.shares


def address_features(url: str) -> tuple[str, ...]:
    """Return features of a canonical URL that may show how often its page changes.

    >>> address_features("http://a.test/news/2026/tide?id=5")
    ('site a.test', 'type ', 'depth 3', 'length 6', '0 news', '1 #', '2 tide', 'sign ?')
    """
    try:
        split = urlsplit(url)
    except ValueError:
        return ()
    *folders, last = split.path.split("/")[1:] or [""]
    suffix = last.rpartition(".")[2].lower()[:8] if "." in last else ""
    first = [_DIGITS.sub("#", each)[:40] for each in (*folders, last) if each][:3]
    return (
        f"site {split.netloc}",
        f"type {suffix}",
        f"depth {min(len(folders) + bool(last), 9)}",
        f"length {len(url).bit_length()}",
        *(f"{place} {word}" for place, word in enumerate(first)),
        *(f"sign {sign}" for sign in _SPECIAL if sign in url.partition("://")[2]),
    )


def learned_priors(pages: Sequence[KnownPage], bounds: Bounds) -> list[RatePrior]:
    """Return the prior of each page, based on all others. Time and memory are linear in the number of pages."""
    if not pages:
        return []
    counted = Counter(pages)
    places = {page: place for place, page in enumerate(counted)}
    known = _Evidence(counted, rate_levels(bounds))
    above, ground = known.by_address()
    shares, grounds = known.by_groups(above, ground)
    weights = known.weights(shares, bounds)
    dates = np.array([_likelihood(replace(page, visits=()), known.rates) for page in known.pages])
    shares = _posterior(shares, dates)
    priors = [
        RatePrior(of_page, of_models, Ground.DATES if page.has_dates else ground)
        for page, of_page, of_models, ground in zip(known.pages, shares, weights, grounds, strict=True)
    ]
    return [priors[places[page]] for page in pages]


class _Evidence:
    """N different pages, and the likelihood of each page's evidence at each of K rates."""

    def __init__(self, counted: Mapping[KnownPage, int], rates: Floats) -> None:
        self.pages = list(counted)
        self.rates = rates
        self.likelihoods = np.array([_likelihood(page, rates) for page in self.pages])
        self.own = np.array([[float(page.is_evidence)] for page in self.pages])
        self.numbers = self.own * np.array([[float(number)] for number in counted.values()])
        self._groups = [
            (Ground.ALL, _numbered("all" for _ in self.pages)),
            (Ground.SITE, _numbered(page.site for page in self.pages)),
            (Ground.STATED, _numbered(page.stated and f"{page.site} {page.stated}" for page in self.pages)),
            (Ground.TEMPLATE, _numbered(page.template and f"{page.template} {page.stated}" for page in self.pages)),
        ]

    def by_address(self) -> tuple[Floats, Ground]:
        """Return the probabilities of rates of each page (N x K) by its URL, or equal ones if URLs do not help."""
        shares = np.full(self.likelihoods.shape, 1 / len(self.rates))
        everybody = np.zeros(len(self.pages), np.intp)
        flat = shares
        for _ in range(_ROUNDS):
            shares = _leaning(flat, *self._others(everybody, _posterior(shares, self.likelihoods)))
        if self.numbers.sum() < _MANY:
            return flat, Ground.NOTHING
        foretold = self._foretold(shares)
        return (foretold, Ground.ADDRESS) if self._score(foretold) > self._score(shares) else (flat, Ground.NOTHING)

    def _foretold(self, shares: Floats) -> Floats:
        """Return the probabilities of rates by naive Bayes, with ``shares`` (N x K) as those of pages of any URL."""
        found = _posterior(shares, self.likelihoods)
        usual = (self.numbers * found).sum(axis=0)
        usual /= usual.sum()
        bin_of = np.minimum(((np.cumsum(usual) - usual / 2) * _BINS).astype(np.intp), _BINS - 1)
        in_bins = np.zeros((len(self.pages), _BINS))
        np.add.at(in_bins.T, bin_of, found.T)
        names = {
            name: place for place, name in enumerate(dict.fromkeys(each for p in self.pages for each in p.features))
        }
        rows = np.array([row for row, page in enumerate(self.pages) for _ in page.features], np.intp)
        named = np.array([names[each] for page in self.pages for each in page.features], np.intp)
        counts = np.zeros((len(names), _BINS))
        np.add.at(counts, named, (self.numbers * in_bins)[rows])
        of_all = (self.numbers * in_bins).sum(axis=0) - self.own * in_bins
        others = counts[named] - (self.own * in_bins)[rows]
        usually = others.sum(axis=1, keepdims=True) / of_all.sum(axis=1, keepdims=True)[rows]
        told = np.log((others + usually + 1e-9) / (of_all[rows] + 1)) - np.log(usually + 1e-9)
        evidence = np.zeros_like(in_bins)
        np.add.at(evidence, rows, told)
        factors = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        return _posterior(shares, factors[:, bin_of])

    def _score(self, shares: Floats) -> float:
        """Return the log-likelihood of all visits if ``shares`` are the priors."""
        return float((self.numbers[:, 0] * np.log((shares * self.likelihoods).sum(axis=1))).sum())

    def by_groups(self, above: Floats, ground: Ground) -> tuple[Floats, list[Ground]]:
        """Return the probabilities of rates of each page (N x K) by its groups, and its smallest group with evidence.

        ``above`` are the probabilities for a page that belongs to no group.
        """
        groups = self._groups if ground is Ground.NOTHING else self._groups[1:]
        stated = np.array([_stated_factor(page.stated, self.rates) for page in self.pages])
        shares = above
        for _ in range(_ROUNDS):
            found, shares = _posterior(shares, self.likelihoods), above
            for name, (of_page, is_in) in groups:
                lean = _posterior(shares, stated) if name is Ground.STATED else shares
                shares = np.where(is_in, _leaning(lean, *self._others(of_page, found)), shares)
        grounds = [ground for _ in self.pages]
        for name, (of_page, is_in) in groups:
            says = is_in if name is Ground.STATED else is_in & (self._others(of_page, stated)[1] > 0)
            for place in np.flatnonzero(says):
                grounds[place] = name
        return shares, grounds

    def weights(self, shares: Floats, bounds: Bounds) -> Floats:
        """Return the probabilities of the models of how long a rate lasts (N x M), by the visits of the page's groups.

        ``shares`` (N x K) are the probabilities of rates with which each page begins.
        """
        flat = np.tile(np.array(MODEL_WEIGHTS), (len(self.pages), 1))
        likelihoods = np.ones_like(flat)
        for part in batched_places(len(self.pages)):
            beliefs = RateBeliefs(bounds, flat[part, :, None] * shares[part, None, :])
            beliefs.observe_all([page.visits for page in self.pages[part]])
            likelihoods[part] = np.exp(beliefs.foretold - beliefs.foretold.max(axis=1, keepdims=True))
        weights = flat
        for _ in range(_ROUNDS):
            found, weights = _posterior(weights, likelihoods), flat
            for _name, (of_page, is_in) in self._groups:
                weights = np.where(is_in, _leaning(weights, *self._others(of_page, found)), weights)
        return weights

    def _others(self, of_page: _Numbers, found: Floats) -> tuple[Floats, Floats]:
        """Return the sum of ``found`` over the other pages of each page's group (N x K), and their number."""
        sums = np.zeros((int(of_page.max()) + 1, found.shape[1] + 1))
        weighed = np.hstack((found, np.ones((len(found), 1))))
        np.add.at(sums, of_page, self.numbers * weighed)
        others = np.maximum(sums[of_page] - self.own * weighed, 0.0)
        return others[:, :-1], others[:, -1:]


def _likelihood(page: KnownPage, rates: Floats) -> Floats:
    """Return the likelihood of what was seen of a page at each rate (a Poisson process), scaled to at most 1."""
    told = np.zeros(len(rates))
    for visit in page.visits:
        expected = rates * visit.days
        told += np.log(-np.expm1(-expected)) if visit.changed else -expected
    if page.age is not None:
        told += np.log(rates) - rates * page.age
    changes, days = page.listed
    if changes > 1:
        told += (changes - 1) * np.log(rates) - rates * days
    likelihood: Floats = np.exp(told - told.max())
    return likelihood


def _posterior(shares: Floats, likelihoods: Floats) -> Floats:
    found = shares * likelihoods
    posterior: Floats = found / found.sum(axis=1, keepdims=True)
    return posterior


def _leaning(above: Floats, total: Floats, number: Floats) -> Floats:
    """Return the probabilities of rates in groups with these sums and numbers of pages, smoothed by ``above``."""
    summed = (_AS_PAGES * above + total) / (_AS_PAGES + number)
    shares: Floats = summed / summed.sum(axis=1, keepdims=True)
    return shares


def _numbered(keys: Iterable[str]) -> tuple[_Numbers, NDArray[np.bool_]]:
    """Return the number of each page's group, and whether it is in one (N x 1)."""
    places: dict[str, int] = {}
    listed = list(keys)
    numbers = np.array([places.setdefault(key, len(places)) for key in listed], np.intp)
    return numbers, np.array([[bool(key)] for key in listed])


def _stated_factor(stated: str, rates: Floats) -> Floats:
    """Return the likelihood, at each rate, that a page's sitemap states this."""
    days = STATED.get(stated)
    if days is None:
        return np.ones(len(rates))
    factor: Floats = np.exp(-((np.log(rates * days) / _STATED_WIDTH) ** 2) / 2)
    return factor
