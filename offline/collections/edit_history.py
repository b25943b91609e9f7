"""The edit history of a wiki's page: until when it grew, and which version was current then.

Klein, Balakireva and Van de Sompel (WebSci 2018, section 3.1) take the version at the change point of the edit
frequency for the one that describes the event: later ones tell what came of it, and of others like it. Histories are
answers of MediaWiki's API (``action=query&prop=revisions``), in either of its JSON formats.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MAX_BYTES: Final = 500_000_000
"""Bytes of a file of revisions; a longer one is refused."""
MIN_DAYS: Final = 4
"""Days of the shortest history in which a change can be told: two on each side, as their variance is needed."""
LEAST_VARIANCE: Final = 1 / 12
"""The variance of what rounding leaves open: edits a day are whole numbers, so that no days are exactly alike."""
_FIRST: Final = datetime(1995, 1, 1, tzinfo=UTC)
"""No wiki has edits before the first one began (WikiWikiWeb, 1995)."""
_DAY: Final = timedelta(days=1)


class HistoryError(Exception):
    """Raised for a file that holds no revisions; the message names the file and says what to do."""


@dataclass(frozen=True, slots=True, order=True)
class Revision:
    """A version of a page: ``saved`` is aware and in UTC, ``number`` its id."""

    saved: datetime
    number: int


@dataclass(frozen=True, slots=True)
class EditHistory:
    """The versions of a page in the order in which they were saved; ``unread`` counts those without a usable time."""

    revisions: tuple[Revision, ...]
    unread: int = 0

    def change_point(self) -> datetime | None:
        """Return the moment after which the page was edited less: the end of a day; None where there is none yet."""
        if not self.revisions:
            return None
        first = self.revisions[0].saved.date()
        days = np.array([(each.saved.date() - first).days for each in self.revisions])
        counts = np.bincount(days).astype(np.float64)
        before = change_of(counts)
        if before is None or counts[before:].mean() >= counts[:before].mean():
            return None
        midnight = datetime(first.year, first.month, first.day, tzinfo=UTC)
        return midnight + before * _DAY - timedelta(seconds=1)

    def current_at(self, moment: datetime) -> Revision | None:
        """Return the version that readers saw at a moment, None before the first one."""
        return next((each for each in reversed(self.revisions) if each.saved <= moment), None)


def change_of(values: NDArray[np.float64]) -> int | None:
    """Return how many values come before the one change in mean and variance of a normal series; None without one.

    This is ``cpt.meanvar`` of R's package *changepoint* (Killick and Eckley 2014) for at most one change, with the
    modified Bayesian information criterion (Zhang and Siegmund 2007): the likelihood has to gain ``3 ln n`` and the
    logarithms of both lengths. Linear in the number of values.
    """
    n = len(values)
    if n < MIN_DAYS:
        return None
    before = np.arange(2, n - 1)
    sums: NDArray[np.float64] = np.cumsum(values)
    squares: NDArray[np.float64] = np.cumsum(values * values)
    cost = _cost(sums[before - 1], squares[before - 1], before) + _cost(
        sums[-1] - sums[before - 1], squares[-1] - squares[before - 1], n - before
    )
    best = int(cost.argmin())
    penalty = 3 * np.log(n) + np.log(before[best]) + np.log(n - before[best] + 1)
    whole = _cost(sums[-1:], squares[-1:], np.array([n]))[0]
    return int(before[best]) if whole - cost[best] >= penalty else None


def _cost(total: NDArray[np.float64], squares: NDArray[np.float64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return twice the negative log-likelihood of series, without what all have in common."""
    variance = np.maximum(squares / n - (total / n) ** 2, LEAST_VARIANCE)
    return np.asarray(n * np.log(variance), np.float64)


def read_history(files: Iterable[Path]) -> EditHistory:
    """Read answers of the API, one or several JSON values in each file, in any order. Raises ``HistoryError``."""
    return read_histories({str(file): _content(file) for file in files})


def read_histories(contents: Mapping[str, bytes]) -> EditHistory:
    """Read the contents of such files by their names. Raises ``HistoryError``."""
    found: dict[int, Revision] = {}
    unread = 0
    for name, content in contents.items():
        for answer in _answers(name, content):
            for written in revisions_in(answer):
                revision = _revision(written)
                if revision is None:
                    unread += 1
                else:
                    found[revision.number] = revision
    if not found:
        raise HistoryError(
            f"{', '.join(contents)}: no revisions; save answers of api.php?action=query&prop=revisions as JSON"
        )
    return EditHistory(tuple(sorted(found.values())), unread)


def history_of(answers: Iterable[object]) -> EditHistory:
    """Return the history that answers of the API tell; it may be empty."""
    found = [_revision(written) for answer in answers for written in revisions_in(answer)]
    usable = {each.number: each for each in found if each is not None}
    return EditHistory(tuple(sorted(usable.values())), found.count(None))


def revisions_in(answer: object) -> Iterator[dict[str, Any]]:
    """Yield the revisions of an answer of the API, as it wrote them; nothing of what is no answer with revisions."""
    if isinstance(answer, list):
        for each in answer:
            yield from revisions_in(each)
        return
    query = answer.get("query") if isinstance(answer, dict) else None
    pages = query.get("pages") if isinstance(query, dict) else None
    listed: Sequence[object] = (
        tuple(pages.values()) if isinstance(pages, dict) else pages if isinstance(pages, list) else ()
    )
    for page in listed:
        revisions = page.get("revisions") if isinstance(page, dict) else None
        yield from (each for each in revisions or () if isinstance(each, dict))


def _revision(written: dict[str, Any]) -> Revision | None:
    number, saved = written.get("revid"), written.get("timestamp")
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(saved, str):
        return None
    try:
        moment = datetime.fromisoformat(saved).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return Revision(moment, number) if _FIRST <= moment <= datetime.now(UTC) + _DAY else None


def _content(file: Path) -> bytes:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise HistoryError(f"{file}: has more than {MAX_BYTES:,} bytes; ask the API for ids and timestamps alone")
        return file.read_bytes()
    except OSError as error:
        raise HistoryError(f"{file}: cannot be read ({' '.join(str(error).split())[:200]})") from error


def _answers(name: str, content: bytes) -> Iterator[object]:
    try:
        text = content.decode("utf-8-sig").lstrip()
        decoder, at = json.JSONDecoder(), 0
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            yield value
            at += len(text[at : at + 1000]) - len(text[at : at + 1000].lstrip())
    except (ValueError, RecursionError) as error:
        advice = "save answers of api.php?action=query&prop=revisions&format=json"
        raise HistoryError(
            f"{name}: cannot be read as JSON ({' '.join(str(error).split())[:200]}); {advice}"
        ) from error
