"""The quality of a collection by people's judgements: precision, recall, break-even point, and how far judges agree.

Precision is the share of relevant pages among the members of the collection. Recall is the share of members among the
relevant pages that were fetched. At the break-even point of the ranking by score, both are equal. A page is relevant to
the extent that judges with an opinion say so. A page that was sampled at random from a band of relevance stands for as
many pages as the band has for each judged one (Horvitz and Thompson). Intervals hold 95 % of the estimates from
resampled judgements (the rescaled bootstrap of Rao and Wu, 1988, which allows for bands that were judged completely).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import combinations, groupby
from typing import Final

import numpy as np

from aahcrawler.annotations.judgements import DrawnPage, FramePage, Grade, Judgement, Order, Sample, by_page
from aahcrawler.tallies import plural

RESAMPLES: Final = 2_000
_AT_ONCE: Final = 2_000_000
"""The most weights that are held in memory at once."""
MAX_PAIRED: Final = 8
"""The most judges of whom each two are compared."""
_GRADES: Final = (Grade.HIGHLY_RELEVANT, Grade.RELEVANT, Grade.NOT_RELEVANT, Grade.SPAM)

Pages = Callable[[Collection[str]], Mapping[str, FramePage]]
"""Returns the last capture of each given URL, without the URLs that were not captured."""


def in_frame(pages: Iterable[FramePage]) -> Pages:
    """Return a function that finds pages by URL among ``pages``."""
    found = {each.url: each for each in pages}
    return lambda urls: {url: found[url] for url in urls if url in found}


class NoSampleError(Exception):
    """No sample with this number was drawn."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated share with its interval; the ends are None if the judged pages are too few or too similar."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        said = f"{self.value:.3f}"
        return said if self.low is None or self.high is None else f"{said} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of judges on ``pages`` that at least two of them judged: Cohen's kappa for two, Fleiss' for more.

    ``relevance`` compares relevant with not relevant, ``grades`` all grades. Each is None if all answers were the same,
    since chance would then agree as well.
    """

    judges: tuple[str, ...]
    pages: int
    relevance: float | None
    grades: float | None

    @property
    def measure(self) -> str:
        """The name of the kappa."""
        return "Cohen's kappa" if len(self.judges) == 2 else "Fleiss' kappa"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The measures of a collection by judgements. A share is None if it cannot be estimated.

    The estimates rest on ``judged`` pages out of ``pages``, which is None if those are no sample. ``sample`` is the
    number of the sample, ``order`` that of its pages. ``covered`` counts the pages of bands with at least one judged
    page. Not counted: ``unknown`` pages, of which no judge has an opinion; pages judged ``apart`` from the sample; and
    ``uncaptured`` URLs, which the crawl has not captured. ``grades`` counts judgements by grade, ``judges`` by judge.
    ``drawn_bands`` is the number of bands in the sample, ``judged_bands`` of those with a judged page; both are 0
    unless pages were drawn from bands.
    """

    at_least: Grade
    judged: int
    pages: int | None
    covered: int | None
    sample: int | None
    order: Order | None
    members_only: bool
    unknown: int
    apart: int
    uncaptured: int
    precision: Estimate | None
    recall: Estimate | None
    break_even: Estimate | None
    grades: Mapping[Grade, int] = field(default_factory=dict)
    judges: Mapping[str, int] = field(default_factory=dict)
    agreements: Sequence[Agreement] = ()
    drawn_bands: int = 0
    judged_bands: int = 0

    @property
    def is_sparse(self) -> bool:
        """Whether some band of the sample has no judged page yet, so that estimates would leave it out."""
        return self.judged_bands < self.drawn_bands

    @property
    def weighted(self) -> bool:
        """Whether judged pages stand for the others of their bands."""
        return self.order is Order.LOT

    @property
    def basis(self) -> str:
        """Return a sentence on what the estimates rest on."""
        whole = "" if self.pages is None else f" of {self.pages:,}"
        kind = " members of the collection" if self.members_only else ""
        said = [f"{self.judged:,} judged{whole}{kind}"]
        match self.order:
            case Order.LOT:
                said.append("drawn by lot from bands of relevance, and weighted by them")
            case Order.FETCHED:
                said.append("the first that were fetched: they stand for no others")
            case None:
                said.append("not drawn by lot: they stand for no others")
        if self.is_sparse:
            said.append(f"too few judged yet ({self.judged_bands} of {self.drawn_bands} bands)")
        if self.weighted and self.pages != self.covered:
            said.append(f"of {(self.pages or 0) - (self.covered or 0):,} others in bands none is judged")
        counts = (
            (self.unknown, "left out, since no judge knows"),
            (self.apart, "judged apart from the sample, and not counted"),
            (self.uncaptured, "judged that the crawl has not"),
        )
        return "; ".join((*said, *(f"{number:,} {words}" for number, words in counts if number)))


@dataclass(frozen=True, slots=True)
class _Truths:
    """The judged pages as parallel arrays: relevance, score, membership, weight and band of each."""

    relevant: np.ndarray
    scores: np.ndarray
    member: np.ndarray
    weights: np.ndarray
    bands: np.ndarray


def evaluate(
    judgements: Sequence[Judgement],
    samples: Sequence[Sample],
    pages: Pages,
    *,
    at_least: Grade = Grade.RELEVANT,
    sample: int | None = None,
) -> Evaluation:
    """Measure a collection by judgements, those of one sample if any was drawn.

    ``sample`` is the sample's number, from 1. Without one, take the random sample over all pages with the most judged
    pages, or else such a sample over members; if there is none, every judged page counts as one. Raise
    ``NoSampleError``.
    """
    if sample is not None and not 1 <= sample <= len(samples):
        raise NoSampleError(f"there is no sample {sample}; {len(samples)} were drawn")
    chosen = sample or _best(judgements, samples)
    drawn = samples[chosen - 1] if chosen else None
    judged = by_page(judgements)
    counted = {
        url: [each for each in said if drawn is None or drawn.id in each.samples] for url, said in judged.items()
    }
    counted = {url: said for url, said in counted.items() if said}
    found = pages(judged.keys())
    held = {url: each for url, each in found.items() if url in counted}
    if drawn is not None:
        held = {each.url: found.get(each.url, _former(each)) for each in drawn.drawn if each.url in counted}
    known = {url: [each.grade for each in counted[url] if each.grade is not Grade.UNKNOWN] for url in held}
    truth = {url: sum(is_relevant(each, at_least) for each in said) / len(said) for url, said in known.items() if said}
    rested = _truths(truth, held, drawn)
    precision, recall, even = _estimates(rested, drawn, (_precision, _recall, _break_even))
    lot = drawn.drawn if drawn is not None and drawn.order is Order.LOT else ()
    has_recall = drawn is None or not drawn.members
    return Evaluation(
        at_least=at_least,
        judged=len(truth),
        pages=None if drawn is None else drawn.pages,
        covered=None if drawn is None else sum(drawn.bands[band] for band in set(rested.bands.tolist())),
        sample=chosen,
        order=None if drawn is None else drawn.order,
        members_only=drawn is not None and drawn.members,
        unknown=len(known) - len(truth),
        apart=sum(url in found for url in judged.keys() - counted.keys()),
        uncaptured=sum(url not in found and url not in held for url in judged),
        precision=precision,
        recall=recall if has_recall else None,
        break_even=even if has_recall else None,
        grades=dict(Counter(each.grade for each in judgements)),
        judges=dict(sorted(Counter(each.by for each in judgements).items())),
        agreements=tuple(agreements(judgements, at_least)),
        drawn_bands=len({each.band for each in lot}),
        judged_bands=len({each.band for each in lot if each.url in held}),
    )


def is_relevant(grade: Grade, at_least: Grade) -> bool:
    """Return whether a grade is at least ``at_least``, the lowest grade that counts as relevant."""
    return _GRADES.index(grade) <= _GRADES.index(at_least)


def _best(judgements: Sequence[Judgement], samples: Sequence[Sample]) -> int | None:
    counts = Counter(name for each in judgements for name in each.samples)
    lots = [
        (not each.members, counts[each.id], -number)
        for number, each in enumerate(samples, 1)
        if each.order is Order.LOT and counts[each.id]
    ]
    return -max(lots)[2] if lots else None


def _former(page: DrawnPage) -> FramePage:
    """Return a drawn page as it was then, since the last crawl has no capture of it."""
    return FramePage(page.url, page.record, page.captured, page.score, page.is_member)


def _truths(truth: Mapping[str, float], held: Mapping[str, FramePage], drawn: Sample | None) -> _Truths:
    """Return the judged pages as arrays, sorted by descending score."""
    in_band = {} if drawn is None else {each.url: each for each in drawn.drawn}
    scores = {url: (in_band[url].score if url in in_band else held[url].score) or 0.0 for url in truth}
    order = sorted(truth, key=lambda url: (-scores[url], url))
    bands = np.array([in_band[url].band if url in in_band else 0 for url in order], dtype=np.intp)
    weights = np.ones(len(order))
    if drawn is not None and drawn.order is Order.LOT:
        judged = np.bincount(bands, minlength=len(drawn.bands))
        weights = np.array(drawn.bands)[bands] / judged[bands]
    return _Truths(
        np.array([truth[url] for url in order]),
        np.array([scores[url] for url in order]),
        np.array([float(held[url].is_member) for url in order]),
        weights,
        bands,
    )


_Measure = Callable[[_Truths, np.ndarray], float]


def _precision(truths: _Truths, weights: np.ndarray) -> float:
    return _ratio(float(weights @ (truths.relevant * truths.member)), float(weights @ truths.member))


def _recall(truths: _Truths, weights: np.ndarray) -> float:
    return _ratio(float(weights @ (truths.relevant * truths.member)), float(weights @ truths.relevant))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else np.nan


def _break_even(truths: _Truths, weights: np.ndarray) -> float:
    """Return the precision of the n pages with the best scores, n being the number of relevant pages.

    Pages of equal score share the last places.
    """
    ends = np.append(np.flatnonzero(np.diff(truths.scores)), len(truths.scores) - 1)
    pages = np.concatenate(([0.0], np.cumsum(weights)[ends]))
    relevant = np.concatenate(([0.0], np.cumsum(weights * truths.relevant)[ends]))
    whole = float(relevant[-1])
    return _ratio(float(np.interp(whole, pages, relevant)), whole)


def _estimates(truths: _Truths, drawn: Sample | None, measures: Sequence[_Measure]) -> Sequence[Estimate | None]:
    if not len(truths.weights):
        return [None for _ in measures]
    made = [[each(truths, weights) for each in measures] for block in _resampled(truths, drawn) for weights in block]
    is_whole = drawn is not None and drawn.order is Order.LOT and len(truths.weights) == drawn.pages
    values = (each(truths, truths.weights) for each in measures)
    return [_estimate(value, of_one, is_whole) for value, of_one in zip(values, np.array(made).T, strict=True)]


def _estimate(value: float, resampled: np.ndarray, is_whole: bool) -> Estimate | None:
    if np.isnan(value):
        return None
    made = np.sort(resampled[~np.isnan(resampled)])
    if len(made) < RESAMPLES // 2:
        return Estimate(value)
    low, high = float(made[len(made) // 40]), float(made[-1 - len(made) // 40])
    return Estimate(value, low, high) if low < high or is_whole else Estimate(value)


def _resampled(truths: _Truths, drawn: Sample | None) -> Iterator[np.ndarray]:
    """Yield arrays of weights of the judged pages, one row for each resample; the same on all machines.

    A band with a single judged page is resampled together with the next band.
    """
    lot, groups = np.random.PCG64(0), list(_resampling_groups(truths.bands, drawn))
    at_once = min(RESAMPLES, max(1, _AT_ONCE // len(truths.weights)))
    for begin in range(0, RESAMPLES, at_once):
        rows = min(at_once, RESAMPLES - begin)
        made = np.tile(truths.weights, (rows, 1))
        for places, size in groups:
            count = len(places)
            if count < 2:
                continue
            picked = (lot.random_raw(rows * (count - 1)) % np.uint64(count)).astype(np.intp)
            cells = np.repeat(np.arange(rows), count - 1) * count + picked
            times = np.bincount(cells, minlength=rows * count).reshape(rows, count)
            spread = 1.0 if size is None else np.sqrt(max(0.0, 1 - count / size))
            made[:, places] *= 1 - spread + spread * count / (count - 1) * times
        yield made


def _resampling_groups(bands: np.ndarray, drawn: Sample | None) -> Iterator[tuple[np.ndarray, int | None]]:
    """Yield the indexes of pages that are resampled together, and how many pages they stand for; None for any."""
    if drawn is None or drawn.order is not Order.LOT:
        yield np.arange(len(bands)), None
        return
    groups: list[list[int]] = []
    for band in sorted(set(bands.tolist())):
        if groups and np.isin(bands, groups[-1]).sum() < 2:
            groups[-1].append(band)
        else:
            groups.append([band])
    if len(groups) > 1 and np.isin(bands, groups[-1]).sum() < 2:
        alone = groups.pop()
        groups[-1] += alone
    for group in groups:
        yield np.flatnonzero(np.isin(bands, group)), sum(drawn.bands[band] for band in group)


def agreements(judgements: Sequence[Judgement], at_least: Grade = Grade.RELEVANT) -> Iterator[Agreement]:
    """Yield the agreement of all judges, and of each two if there are more; answers without opinion are left out."""
    known = [each for each in judgements if each.grade is not Grade.UNKNOWN]
    judges = sorted({each.by for each in known})
    if len(judges) > 2:
        yield from _agreed(known, tuple(judges), at_least)
    if len(judges) <= MAX_PAIRED:
        for pair in combinations(judges, 2):
            yield from _agreed([each for each in known if each.by in pair], pair, at_least)


def _agreed(judgements: Sequence[Judgement], judges: tuple[str, ...], at_least: Grade) -> Iterator[Agreement]:
    ordered = sorted(judgements, key=lambda each: (each.page.url, each.by))
    said = [[each.grade for each in of_page] for _, of_page in groupby(ordered, key=lambda each: each.page.url)]
    common = [grades for grades in said if len(grades) > 1]
    if common:
        kappa = cohen_kappa if len(judges) == 2 else fleiss_kappa
        flags = [[is_relevant(each, at_least) for each in grades] for grades in common]
        yield Agreement(judges, len(common), kappa(flags), kappa(common))


def cohen_kappa(answers: Sequence[Sequence[object]]) -> float | None:
    """Return Cohen's kappa of pairs of answers; None if all answers are the same.

    >>> cohen_kappa([("yes", "yes"), ("no", "no"), ("yes", "no"), ("no", "no")])
    0.5
    """
    count = len(answers)
    first, second = Counter(one for one, _ in answers), Counter(other for _, other in answers)
    chance = sum(first[each] * second[each] for each in first) / count**2
    agreed = sum(one == other for one, other in answers) / count
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def fleiss_kappa(answers: Sequence[Sequence[object]]) -> float | None:
    """Return Fleiss' kappa of the answers to each item, at least two for each; None if all answers are the same.

    Items may have different numbers of answers: an item is weighted by its pairs of answers, an answer by its share of
    the item's.
    """
    count = len(answers)
    shares: Counter[object] = Counter()
    agreed = 0.0
    for given in answers:
        counts = Counter(given)
        agreed += sum(n * (n - 1) for n in counts.values()) / (len(given) * (len(given) - 1)) / count
        for answer, n in counts.items():
            shares[answer] += n / len(given) / count  # type: ignore[assignment]
    chance = sum(share**2 for share in shares.values())
    return None if len(shares) == 1 else (agreed - chance) / (1 - chance)


def figures(found: Evaluation) -> Mapping[str, str]:
    """Return the estimates in words, by name; empty if too few pages are judged."""
    if found.is_sparse:
        return {}
    named = {"Precision": found.precision, "Recall": found.recall, "Break-even point": found.break_even}
    return {name: str(each) for name, each in named.items() if each is not None}


def section(found: Evaluation) -> tuple[str, str]:
    """Return heading and HTML of the report's section."""
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in figures(found).items())
    agreed = "".join(
        f"<tr><th>{escape(', '.join(each.judges))}</th><td>{each.measure}</td><td>{each.pages:,}</td>"
        f"<td>{_kappa(each.relevance)}</td><td>{_kappa(each.grades)}</td></tr>"
        for each in found.agreements
    )
    head = "<tr><th>Judges</th><td></td><td>pages</td><td>relevant or not</td><td>grades</td></tr>"
    table = f'<div class="wide"><table>{head}{agreed}</table></div>' if agreed else ""
    why = f"Relevant is what was judged {found.at_least.words.lower()} or more; intervals of 95 %."
    shares = f"<table>{rows}</table>" if rows else ""
    return "By the judgements of people", f"{shares}<p>{escape(found.basis)}. {why}</p>{table}"


def _kappa(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def as_json(found: Evaluation) -> Mapping[str, object]:
    """Return an evaluation as a JSON object, with its basis in words."""
    return {**asdict(found), "basis": found.basis}


def as_text(found: Evaluation) -> Iterator[str]:
    """Yield the lines that show an evaluation on a terminal."""
    for name, value in figures(found).items():
        yield f"  {name:<18}{value}"
    yield f"  {found.basis}"
    yield "  judgements: " + ", ".join(f"{n:,} {grade.words.lower()}" for grade, n in sorted(found.grades.items()))
    yield "  judges: " + ", ".join(f"{name} {n:,}" for name, n in found.judges.items())
    for each in found.agreements:
        told = ", ".join(
            f"{kind} {value:.2f}"
            for kind, value in (("relevant or not", each.relevance), ("grades", each.grades))
            if value is not None
        )
        pages = plural(each.pages, "page")
        yield f"  {each.measure} of {', '.join(each.judges)} on {pages}: {told or 'all gave one answer'}"
