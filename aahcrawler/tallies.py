"""The counts of a crawl, by the same names in terminal, ``crawl.json``, report, cockpit, service and metrics.

The frontier adds them up, in the step that finishes a URL; ``crawl.json`` has their values when it was written.
docs/glossary.md defines what is counted: pages, requests, web objects, failures, refusals.
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
"""The reasons for which a failed URL is on the list ``missing.txt``."""
FAILURE: Final = "failed_url"
"""The group of counts of URLs that failed, by reason."""
DENIED: Final = frozenset({"robots", "address"})
"""Reasons for which blocked URLs are shown to people as failed."""


MAX_MISTAKES: Final = 20
"""Mistakes of a file that are listed."""


def mistakes_told(mistakes: Sequence[str]) -> str:
    """Return the first ``MAX_MISTAKES`` mistakes, one a line, and how many more there are.

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
    """The counts of a crawl that people are shown.

    Web objects are counted, each once, when the crawl ends; until then ``objects`` is None, and ``objects_on_pages``
    counts an object once for each page that shows it. ``failures`` and ``refusals`` are counted by reason.
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
        """Build the counts from those of a frontier, or from ``counts_in_summary`` of a ``crawl.json``."""
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
        """Return the number of web objects, or a text that says that they are not yet counted.

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


def counts_in_summary(summary: Mapping[str, object]) -> Mapping[str, float]:
    """Return the counts in a ``crawl.json`` by the frontier's names for them, such as ``pages`` or ``refused:login``.

    Files of version 0.2 lack requests and failures, which are derived from other counts, and count objects once for
    each page. In later files without ``objects_counted``, objects are taken as counted if the crawl has ended.
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
    """Derive failures by reason from other groups: errors, statuses of 400 and more, and forbidden URLs."""
    errors = {f"{FAILURE}:{reason}": float(n) for reason, n in group(tallies, "error").items()}
    answers = {f"{FAILURE}:status {code}": float(n) for code, n in group(tallies, "status").items() if code >= "400"}
    denied = {f"{FAILURE}:{reason}": float(n) for reason, n in group(tallies, "blocked").items() if reason in DENIED}
    return errors | answers | denied


def group(tallies: Mapping[str, float], name: str) -> dict[str, int]:
    """Return the counts of a group by the part of the name after the colon, largest first, without zeros.

    >>> group({"status:404": 1, "status:200": 7, "pages": 7}, "status")
    {'200': 7, '404': 1}
    """
    prefix = f"{name}:"
    found = {word.removeprefix(prefix): int(n) for word, n in tallies.items() if word.startswith(prefix) and n >= 1}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


class CountedName(StrEnum):
    """An enumeration whose members name counts; each has ``words`` that describe it to people."""

    _value_: str
    words: str

    def __new__(cls, name: str, words: str) -> Self:
        """Make a member from its name and its words."""
        found = str.__new__(cls, name)
        found._value_, found.words = name, words
        return found
