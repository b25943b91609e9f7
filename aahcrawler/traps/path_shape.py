"""URLs that are traps by their looks alone, whatever is behind them."""

from collections.abc import Iterator, Sequence

from aahcrawler.traps.reasons import Trap

SAME = 4
"""The most times that one segment with a letter may occur in a path, adjacent or not, before the path repeats."""


def misshapen(url: str, *, repeats: int, segments: int, parameters: int) -> Trap | None:
    """Return the reason why a canonical URL looks like a trap, None where it does not; a bound of 0 is no bound.

    A path repeats where a stretch of it stands there more than ``repeats`` times in a row, or one segment more than
    ``SAME`` times at all: relative links that are resolved against an error page make such paths. Heritrix has the same
    rules (``PathologicalPathDecideRule``, ``TooManyPathSegmentsDecideRule``). Stretches of digits alone are dates and
    numbers of files, and may repeat. ``parameters`` counts the parts between ``&`` and ``;`` in the query.

    >>> misshapen("http://a.test/a/b/a/b/a/b/", repeats=2, segments=20, parameters=20)
    <Trap.REPEATING: 'repeating'>
    """
    path, _, query = url.partition("?")
    parts = path.split("/")[3:]
    if segments and len(parts) > segments:
        return Trap.SEGMENTS
    if parameters and query and query.count("&") + query.count(";") >= parameters:
        return Trap.PARAMETERS
    if repeats and len(parts) > repeats and len(set(parts)) < len(parts) and _repeats(parts, repeats):
        return Trap.REPEATING
    return None


def _repeats(parts: Sequence[str], repeats: int) -> bool:
    worded = [part for part in parts if part and not part.isdigit()]
    if any(worded.count(part) > SAME for part in set(worded)):
        return True
    return any(_longest_run(parts, length) >= repeats * length for length in _lengths(len(parts), repeats))


def _lengths(size: int, repeats: int) -> Iterator[int]:
    yield from range(1, size // (repeats + 1) + 1)


def _longest_run(parts: Sequence[str], length: int) -> int:
    """Return the longest run of segments, one with a letter among them, that equal those ``length`` before them."""
    longest = run = letters = 0
    for before, part in zip(parts, parts[length:], strict=False):
        same = before == part and part != ""
        run = run + 1 if same else 0
        letters = letters + (not part.isdigit()) if same else 0
        if letters:
            longest = max(longest, run)
    return longest
