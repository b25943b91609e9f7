"""Recognises URLs that look like traps by their form alone, whatever they lead to."""

from collections.abc import Iterator, Sequence

from aahcrawler.tallies import CountedName


class Trap(CountedName):
    """The reasons for which a link is not followed, or a queued page not fetched. Refusals are counted by them."""

    REPEATING = "repeating", "parts of the path repeat"
    """Parts of its path repeat: ``/a/b/a/b/a/b/``."""
    SEGMENTS = "segments", "the path has too many parts"
    """Its path has more segments than ``traps.segments``."""
    PARAMETERS = "parameters", "the URL has too many parameters"
    """Its query has more parameters than ``traps.parameters``."""
    NOVELTY = "novelty", "pages like these brought nothing new"
    """Pages with URLs like this one have brought nothing new for too long."""
    BARREN = "barren", "pages like these led to no content"
    """Pages with URLs like this one have led to no object and to no link: to logins, copies, errors, forms."""
    REPEATED = "repeated", "pages like these show only what other pages show"
    """Pages with URLs like this one have shown nothing but objects that other pages show."""
    COPY = "copy", "the same page without a part of the URL that changes nothing"
    """The same page is known without a part of this URL that was found to change nothing."""
    SESSION = "session", "known pages under another session"
    """The same page is known under another id of a session, one of a kind that was found out."""
    NEAR_DUPLICATE = "near_duplicate", "on a copy of another page"
    """The link is on a page with the same content as another page of the site."""
    SOFT_404 = "soft_404", "on a page that says that it is not there"
    """The link is on a page that reports, with status 200, that there is no such page."""


SAME = 4
"""The most times that one segment with a letter may occur in a path, adjacent or not, before the path repeats."""


def misshapen(url: str, *, repeats: int, segments: int, parameters: int) -> Trap | None:
    """Return the reason why a canonical URL looks like a trap, None where it does not; a bound of 0 is no bound.

    A path is repeating where a sequence of segments occurs more than ``repeats`` times in a row, or one segment more
    than ``SAME`` times in all: relative links that are resolved against an error page make such paths. Heritrix has the
    same rules (``PathologicalPathDecideRule``, ``TooManyPathSegmentsDecideRule``). Sequences of digits alone are dates
    and numbers of files, and may repeat. ``parameters`` bounds the parts between ``&`` and ``;`` in the query.

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
    """Return the longest run of segments, at least one with a letter, that equal those ``length`` before them."""
    longest = run = letters = 0
    for before, part in zip(parts, parts[length:], strict=False):
        same = before == part and part != ""
        run = run + 1 if same else 0
        letters = letters + (not part.isdigit()) if same else 0
        if letters:
            longest = max(longest, run)
    return longest
