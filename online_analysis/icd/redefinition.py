"""What of a definition may change while its crawl runs, and what a crawl makes of a changed one."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from online_analysis.icd.definition import Icd, changes


class Part(StrEnum):
    """What a change acts on."""

    LIMITS = "limits"
    POLITENESS = "politeness"
    SCOPE = "scope"
    """Which links are wanted, for whatever reason they were refused."""
    WEIGHTS = "weights"


_PARTS = {
    "limits": Part.LIMITS,
    "politeness": Part.POLITENESS,
    "scope": Part.SCOPE,
    "traps": Part.SCOPE,
    "scoring.spam_hosts": Part.SCOPE,
    "scoring.weights": Part.WEIGHTS,
}
_FIXED = frozenset({"limits.page_bytes", "politeness.timeout"})
"""Fields of these sections that connections are made with, which outlive pages."""


@dataclass(frozen=True, slots=True)
class Redefinition:
    """A running crawl's definition with what may change of another one.

    ``taken`` and ``left`` are the paths of the fields that differ, by whether they were taken over; ``parts`` what the
    former act on.
    """

    icd: Icd
    taken: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def parts(self) -> frozenset[Part]:
        """What the changes that are taken over act on."""
        return parts(self.taken)


def part(path: str) -> Part | None:
    """Return what a field acts on that may change while the crawl runs, None for one that may not.

    >>> part("scope.deny"), part("politeness.domains.example.org.delay"), part("seeds")
    (<Part.SCOPE: 'scope'>, <Part.POLITENESS: 'politeness'>, None)
    """
    if path in _FIXED:
        return None
    return next((part for name, part in _PARTS.items() if path == name or path.startswith(f"{name}.")), None)


def parts(paths: Iterable[str]) -> frozenset[Part]:
    """Return all that fields act on."""
    return frozenset(found for path in paths if (found := part(path)) is not None)


def redefined(running: Icd, wanted: Icd) -> Redefinition:
    """Return what a crawl goes by from now on that is given the definition ``wanted`` while it runs.

    Mistakes that are found in it later are placed in the file of ``wanted``.
    """
    limits = wanted.limits.model_copy(update={"page_bytes": running.limits.page_bytes})
    politeness = wanted.politeness.model_copy(update={"timeout": running.politeness.timeout})
    taken = {"weights": wanted.scoring.weights, "spam_hosts": wanted.scoring.spam_hosts}
    scoring = running.scoring.model_copy(update=taken)
    sections = {"limits": limits, "politeness": politeness, "scope": wanted.scope, "traps": wanted.traps}
    icd = running.model_copy(update={**sections, "scoring": scoring})
    icd._source = wanted._source  # noqa: SLF001 - still being made
    return Redefinition(icd, changes(running, icd), changes(icd, wanted))
