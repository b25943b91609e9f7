"""The share of the gap between FIRST and the oracle that an order closes, with its interval."""

from collections.abc import Mapping, Sequence
from random import Random

from offline.simulation.judge import JudgedRow
from offline.simulation.measures import Row

ROUNDS = 2000
"""The samples of samples of an interval."""


def closed(found: Sequence[float], first: Sequence[float], oracle: Sequence[float]) -> float | None:
    """Return the share of the gap over the summed harvests of all samples; None where there is no gap.

    >>> closed([0.5, 0.7], [0.4, 0.4], [0.8, 0.8])
    0.5
    """
    gap = sum(oracle) - sum(first)
    return round((sum(found) - sum(first)) / gap, 4) if gap > 0 else None


def interval(found: Sequence[float], first: Sequence[float], oracle: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the share by a paired bootstrap over samples, always the same; None without a gap."""
    random, samples, shares = Random(0), range(len(found)), []
    for _ in range(ROUNDS):
        drawn = [random.choice(samples) for _ in samples]
        share = closed(*([values[at] for at in drawn] for values in (found, first, oracle)))
        if share is not None:
            shares.append(share)
    shares.sort()
    return (shares[len(shares) // 40], shares[-1 - len(shares) // 40]) if shares else None


def gap_rows(rows: Sequence[Row], first: str, oracle: str) -> Sequence[JudgedRow]:
    """Return the gap at R and R/3 of each strategy, as judges of worlds report them; none where it cannot be told."""
    harvests = {row.strategy: [list(at) for at in zip(*row.by_sample.values(), strict=True)] for row in rows}
    if not harvests.get(first) or not harvests.get(oracle):
        return ()
    return [{"strategy": name, **_cells(own, harvests[first], harvests[oracle])} for name, own in harvests.items()]


def _cells(
    own: Sequence[Sequence[float]], first: Sequence[Sequence[float]], oracle: Sequence[Sequence[float]]
) -> Mapping[str, float | list[float]]:
    cells: dict[str, float | list[float]] = {}
    for at, *triple in zip(("R", "R/3"), own, first, oracle, strict=True):
        gap, around = closed(*triple), interval(*triple)
        if gap is not None and around is not None:
            cells |= {f"gap@{at}": gap, f"gap95@{at}": list(around)}
    return cells
