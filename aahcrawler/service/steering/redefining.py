"""Limits, weights and scope of a crawl changed in its definition, with what that does shown before."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from aahcrawler.crawls import running_process
from aahcrawler.frontier.protocol import State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.guarded_fields import refuse_machine_fields, refuse_widening
from aahcrawler.service.steering.held_definitions import HeldDefinitions, Rewriting
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.web.problems import BAD_DEFINITION, MistakeView, ProblemError, Shown
from aahcrawler.service.web.roles import Caller
from online_analysis.icd import Icd, changes, redefined


class Section(StrEnum):
    """The parts of a definition that are changed by their fields while a crawl runs."""

    LIMITS = "limits"
    WEIGHTS = "weights"
    SCOPE = "scope"


_PREFIX: Final = {Section.LIMITS: "limits", Section.WEIGHTS: "scoring.weights", Section.SCOPE: "scope"}
_AT_REST = "the crawl goes by it when it is started again (accept_changes)"


class FieldChanged(Shown):
    """A field of the definition with what it meant before and means then, as JSON; None where it meant nothing."""

    field: str
    before: str | None
    after: str | None


class LimitLeft(Shown):
    """A limit: how much there may be, was used, and is left. ``allowed`` and ``left`` are None without a bound."""

    limit: str
    used: float
    allowed: float | None
    left: float | None


class Redefined(Shown):
    """A change of a definition. With ``applied`` it is written; ``detail`` says when the crawl goes by it.

    ``diff`` has the lines of the text that differ. ``left_aside`` are changed fields that a running crawl does not
    take over. ``limits`` is there where limits were changed and the crawl can be asked.
    """

    applied: bool
    fields: tuple[FieldChanged, ...]
    left_aside: tuple[str, ...]
    diff: tuple[str, ...]
    digest: str
    limits: tuple[LimitLeft, ...] = ()
    detail: str


def change(
    reach: CrawlRegistry,
    definitions: HeldDefinitions,
    crawl: Crawl,
    by: str,
    section: Section,
    fields: Mapping[str, JsonValue],
    *,
    preview: bool = False,
) -> Redefined:
    """Change fields of a section, with ``preview`` only say what would change; None puts a field back to its default.

    Raise ``ProblemError`` with the mistakes of the outcome.
    """
    named = {f"{_PREFIX[section]}.{name}": value for name, value in fields.items()}
    if not named:
        raise ProblemError(BAD_DEFINITION, "nothing is named; give at least one field", mistakes=_nothing(section))
    made = definitions.rewritten(crawl, named) if preview else definitions.rewrite(crawl, named)
    shown = _shown(reach, crawl, made, applied=not preview)
    if not preview:
        note(crawl, by, section.value, fields, {"fields": [each.field for each in shown.fields]})
    return shown


def replace(
    reach: CrawlRegistry, definitions: HeldDefinitions, crawl: Crawl, caller: Caller, text: str, digest: str
) -> Redefined:
    """Write the text of a definition anew, which must have been the one with the digest until now.

    Raise ``ProblemError`` with its mistakes, where it reaches what is this machine's own in a way that it did not, and
    where it is wider than it was and the caller may not widen it.
    """

    def check(wanted: Icd, before: Icd) -> None:
        refuse_machine_fields(wanted, before)
        refuse_widening(caller, wanted, before)

    made = definitions.replace(crawl, text, digest, check)
    shown = _shown(reach, crawl, made, applied=True)
    note(
        crawl, caller.name, "definition", {"diff": list(shown.diff)}, {"fields": [each.field for each in shown.fields]}
    )
    return shown


def _nothing(section: Section) -> tuple[MistakeView, ...]:
    problem, advice = "names no field", "give the fields to change with their values"
    return (MistakeView(line=1, field=section.value, problem=problem, advice=advice),)


def _shown(reach: CrawlRegistry, crawl: Crawl, made: Rewriting, *, applied: bool) -> Redefined:
    before, after = made.before.icd.meaning(), made.icd.meaning()
    paths = changes(before, after)
    runs = is_running(crawl)
    left_aside = redefined(made.before.icd, made.icd).left if runs else ()
    limits = _limits(reach, crawl, made.icd) if any(path.startswith("limits.") for path in paths) else ()
    return Redefined(
        applied=applied and bool(made.diff()),
        fields=tuple(FieldChanged(field=path, before=before.get(path), after=after.get(path)) for path in paths),
        left_aside=left_aside,
        diff=made.diff(),
        digest=made.digest,
        limits=limits,
        detail=_when(paths, left_aside, runs=runs),
    )


def is_running(crawl: Crawl) -> bool:
    """Return whether the crawl runs, as far as can be told from here; one on a shared server runs until it is over."""
    return running_process(crawl.folder) is not None or crawl.own_server() is not None or crawl.registered == ""


def _when(paths: tuple[str, ...], left_aside: tuple[str, ...], *, runs: bool) -> str:
    if not paths:
        return "the definition means what it meant"
    if not runs:
        return _AT_REST
    if set(paths) == set(left_aside):
        return f"a running crawl does not take this over; stop it: {_AT_REST}"
    aside = f"; left aside until it is started again: {', '.join(left_aside)}" if left_aside else ""
    return f"the crawl goes by it within some seconds, as crawl.log says{aside}"


def _limits(reach: CrawlRegistry, crawl: Crawl, icd: Icd) -> tuple[LimitLeft, ...]:
    try:
        with reach.frontier(crawl) as frontier:
            used = _used(frontier)
    except ProblemError:  # What is left is told where it can be; the change does not depend on it.
        return ()
    allowed = {"pages": float(icd.limits.pages), "bytes": float(icd.limits.bytes)}
    allowed["time"] = icd.limits.time.total_seconds()
    return tuple(
        LimitLeft(
            limit=f"limits.{name}",
            used=used[name],
            allowed=most or None,
            left=max(0.0, most - used[name]) if most else None,
        )
        for name, most in allowed.items()
    )


def _used(frontier: RedisControl) -> Mapping[str, float]:
    stats, counts = frontier.stats(), frontier.counts()
    pages = counts.pages.get(State.DONE, 0) + counts.pages.get(State.LEASED, 0) + counts.pages.get(State.DUE, 0)
    return {"pages": float(pages), "bytes": stats.get("bytes", 0.0), "time": stats.get("seconds", 0.0)}
