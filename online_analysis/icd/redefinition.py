"""Applies those changes to a definition that a running crawl allows."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from online_analysis.icd.definition import Icd, changes


class Part(StrEnum):
    """A part of the crawl that a change affects."""

    LIMITS = "limits"
    POLITENESS = "politeness"
    SCOPE = "scope"
    """The links that are wanted, whatever the reason for a refusal."""
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
    """The definition of a running crawl with the changes applied that another one brings.

    ``taken`` and ``left`` are the paths of the fields that differ, by whether they were applied; ``parts`` are the
    parts of the crawl affected by applied changes.
    """

    icd: Icd
    taken: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def parts(self) -> frozenset[Part]:
        """The parts of the crawl affected by the applied changes."""
        return parts(self.taken)


def part(path: str) -> Part | None:
    """Return the part of the crawl that a field affects, None where the field may not change while the crawl runs.

    >>> part("scope.deny"), part("politeness.domains.example.org.delay"), part("seeds")
    (<Part.SCOPE: 'scope'>, <Part.POLITENESS: 'politeness'>, None)
    """
    if path in _FIXED:
        return None
    return next((part for name, part in _PARTS.items() if path == name or path.startswith(f"{name}.")), None)


def parts(paths: Iterable[str]) -> frozenset[Part]:
    """Return all parts of the crawl that fields affect."""
    return frozenset(found for path in paths if (found := part(path)) is not None)


def redefined(running: Icd, wanted: Icd) -> Redefinition:
    """Return the definition of a running crawl after it is given ``wanted``, with the changes applied or left out.

    Mistakes that are found in it later are reported for the file of ``wanted``.
    """
    limits = wanted.limits.model_copy(update={"page_bytes": running.limits.page_bytes})
    politeness = wanted.politeness.model_copy(update={"timeout": running.politeness.timeout})
    taken = {"weights": wanted.scoring.weights, "spam_hosts": wanted.scoring.spam_hosts}
    scoring = running.scoring.model_copy(update=taken)
    sections = {"limits": limits, "politeness": politeness, "scope": wanted.scope, "traps": wanted.traps}
    icd = running.model_copy(update={**sections, "scoring": scoring})
    icd._source = wanted._source  # noqa: SLF001 - still being made
    return Redefinition(icd, changes(running, icd), changes(icd, wanted))
