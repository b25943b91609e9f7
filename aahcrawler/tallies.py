"""What a crawl counts, as every place tells it: terminal, ``crawl.json``, report, cockpit, service and metrics.

Each count is added up in one place, the frontier, in the step that finishes a URL, and ``crawl.json`` has what it was
when it was written. docs/glossary.md says what is counted: pages, requests, web objects, failures, refusals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

NOT_COUNTED: Final = "not yet counted"
ENDED: Final = frozenset({"finished", "stopped"})
"""States of ``crawl.json`` in which a crawl has ended in good order."""
NO_CAPTURE: Final = "no capture"
"""Why a URL failed that no source of the definition has."""
SOURCES_UNAVAILABLE: Final = "archive unavailable"
"""Why a URL failed that no source has, where some of them could not be asked."""
MISSING_REASONS: Final = frozenset({NO_CAPTURE, SOURCES_UNAVAILABLE})
"""Why URLs are on the list of what is missing."""
FAILURE: Final = "failed_url"
"""The counts of URLs that failed, by reason."""
DENIED: Final = frozenset({"robots", "address"})
"""Reasons for which a URL is blocked that a person sees among failed ones."""


MAX_MISTAKES: Final = 20
"""Mistakes of a file that are told one by one."""


def mistakes_told(mistakes: Sequence[str]) -> str:
    """Return mistakes a line each: the first ``MAX_MISTAKES``, and how many more there are.

    >>> mistakes_told([f"line {number}" for number in range(22)]).splitlines()[-2:]
    ['line 19', 'and 2 more mistakes']
    """
    left = len(mistakes) - MAX_MISTAKES
    return "\n".join([*mistakes[:MAX_MISTAKES], *([f"and {plural(left, 'more mistake')}"] if left > 0 else [])])


def plural(count: float, one: str, many: str = "") -> str:
    """Return a number with its noun.

    >>> plural(1, "page"), plural(1200, "page"), plural(2, "entry", "entries")
    ('1 page', '1,200 pages', '2 entries')
    """
    return f"{count:,.0f} {one if count == 1 else many or one + 's'}"


@dataclass(frozen=True, slots=True)
class CrawlCounts:
    """What is counted of a crawl.

    ``objects`` is None where web objects are not yet counted: a page adds those that it shows, and which of them other
    pages show, too, is known when the crawl ends. Until then there are ``objects_on_pages``, in which an object counts
    for each page. ``failures`` and ``refusals`` are by reason.
    """

    pages: int
    relevant: int
    requests: int
    objects: int | None
    objects_on_pages: int
    failures: Mapping[str, int]
    refusals: Mapping[str, int]

    @classmethod
    def of(cls, tallies: Mapping[str, float]) -> Self:
        """Return what a frontier or a ``crawl.json`` counts, by its names."""
        objects = int(tallies.get("objects", 0))
        is_counted = tallies.get("objects_counted", 0) == tallies.get("answers", 0)
        return cls(
            pages=int(tallies.get("pages", 0)),
            relevant=int(tallies.get("relevant", 0)),
            requests=int(tallies.get("requests", 0)),
            objects=objects if is_counted else None,
            objects_on_pages=objects,
            failures=group(tallies, FAILURE),
            refusals=group(tallies, "refused"),
        )

    @property
    def objects_in_words(self) -> str:
        """The number of web objects, or that they are not yet counted.

        >>> CrawlCounts.of({"objects": 1200, "answers": 7, "objects_counted": 7}).objects_in_words
        '1,200'
        >>> CrawlCounts.of({"objects": 1200, "answers": 7}).objects_in_words
        'not yet counted (1,200 on pages so far)'
        """
        return (
            f"{NOT_COUNTED} ({self.objects_on_pages:,} on pages so far)"
            if self.objects is None
            else f"{self.objects:,}"
        )


def said(summary: Mapping[str, object]) -> Mapping[str, float]:
    """Return the counts of a ``crawl.json`` by their names with the frontier: ``pages``, ``refused:login``.

    Version 0.2 did not count requests and failures by these names, and objects for each page that shows them; later
    ones that do not say whether objects are counted have done so when the crawl ended.
    """
    found: dict[str, float] = {}
    for name, value in summary.items():
        words = {name: value} if not isinstance(value, dict) else {f"{name}:{word}": n for word, n in value.items()}
        found |= {word: float(n) for word, n in words.items() if isinstance(n, int | float)}
    if "objects_counted" not in found and "requests" in found and summary.get("state") in ENDED:
        found["objects_counted"] = found.get("answers", 0.0)
    if FAILURE not in summary:
        found |= _failures(found)
    found.setdefault("requests", found.get("answers", 0.0))
    return found


def _failures(tallies: Mapping[str, float]) -> Mapping[str, float]:
    """Return failures as other groups count them: errors, answers that are errors, what must not be fetched."""
    errors = {f"{FAILURE}:{reason}": float(n) for reason, n in group(tallies, "error").items()}
    answers = {f"{FAILURE}:status {code}": float(n) for code, n in group(tallies, "status").items() if code >= "400"}
    denied = {f"{FAILURE}:{reason}": float(n) for reason, n in group(tallies, "blocked").items() if reason in DENIED}
    return errors | answers | denied


def group(tallies: Mapping[str, float], name: str) -> dict[str, int]:
    """Return the counts of a group by their second word, largest first; none that is 0.

    >>> group({"status:404": 1, "status:200": 7, "pages": 7}, "status")
    {'200': 7, '404': 1}
    """
    prefix = f"{name}:"
    found = {word.removeprefix(prefix): int(n) for word, n in tallies.items() if word.startswith(prefix) and n >= 1}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


class CountedName(StrEnum):
    """A name by which something is counted, with its ``words`` for people."""

    _value_: str
    words: str

    def __new__(cls, name: str, words: str) -> Self:
        """Return the name."""
        found = str.__new__(cls, name)
        found._value_, found.words = name, words
        return found
