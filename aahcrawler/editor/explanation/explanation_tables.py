"""An explanation as tables, for terminals and for plain text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aahcrawler.editor.explanation.explanation_model import (
    ActionView,
    ApplicationTried,
    ConditionTried,
    Explanation,
    ExplanationStep,
    FieldShown,
    GenericReading,
    LevelTried,
    PatternTried,
)

_MAX_LEVELS = 3


@dataclass(frozen=True, slots=True)
class ExplanationSection:
    """A title with rows of texts below it."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(explained: Explanation) -> Iterator[ExplanationSection]:
    """Yield the sections of a page's explanation, the most important first."""
    yield ExplanationSection(
        f"{explained.url} answered {explained.status}, {explained.media_type}",
        ("",),
        tuple((f"redirected from {hop}",) for hop in explained.redirects),
    )
    yield from _recognition(explained)
    if explained.failures:
        yield ExplanationSection("Failures", ("failure",), tuple((failure,) for failure in explained.failures))
    yield from map(_action, explained.actions)
    if explained.listings:
        listed = tuple((each,) for each in explained.listings)
        yield ExplanationSection("Complete listings, asked for where the links of the site run out", ("",), listed)
    if explained.behaviours:
        acts = tuple((each.behaviour, each.act, each.written, str(each.found)) for each in explained.behaviours)
        yield ExplanationSection("What is done in a browser", ("behaviour", "act", "on", "on this page"), acts)
    if explained.refused:
        rows = tuple((each.reason, str(each.count), ", ".join(each.samples)) for each in explained.refused)
        yield ExplanationSection("Links that are not followed", ("reason", "links", "for example"), rows)
    if explained.generic is not None:
        yield _generic(explained.generic)
    yield from _near(explained)


def plain_lines(explained: Explanation) -> Iterator[str]:
    """Yield lines of text without colours, each row in a line of its own."""
    for section in sections(explained):
        yield section.title
        for row in section.rows:
            if not any(section.columns):
                yield "  " + ": ".join(cell.replace("\n", ", ") for cell in row)
                continue
            named = zip(section.columns, row, strict=True)
            yield "  " + "; ".join(_cell(column, cell) for column, cell in named if cell)


def _cell(column: str, cell: str) -> str:
    words = cell.replace("\n", ", ")
    return f"{column}: {words}" if column else words


def print_tables(explained: Explanation, console: Console) -> None:
    """Print tables as wide as the terminal."""
    for section in sections(explained):
        console.print(Text(section.title, style="bold"))
        if section.rows:
            table = Table(box=box.SIMPLE, show_header=any(section.columns))
            for column in section.columns:
                table.add_column(column, overflow="fold")
            for row in section.rows:
                table.add_row(*map(Text, row))
            console.print(table)


def _recognition(explained: Explanation) -> Iterator[ExplanationSection]:
    if explained.recognised is None:
        rivals = " and ".join(explained.rivals)
        why = f"{rivals} claim the page with equal strength" if rivals else "no application shows enough of its signs"
        yield ExplanationSection(f"Application: none known; {why}")
        return
    yield _patterns(f"Application: {explained.application}", explained.recognised)
    level = next((level for level in explained.levels if level.name == explained.level), None)
    if level is None:
        success = 200 <= explained.status < 300
        why = "no level's conditions hold" if success else f"answers with status {explained.status} are not read"
        yield ExplanationSection(f"Level: none; {why}")
        return
    variant = f", variant {explained.variant}" if explained.variant else ""
    yield _conditions(f"Level: {level.name} ({level.role}{variant}), {level.place}", level)


def _patterns(title: str, tried: ApplicationTried) -> ExplanationSection:
    rows = tuple(_pattern(pattern) for pattern in tried.patterns)
    held = f"{tried.held} of {len(tried.patterns)} signs are on the page"
    return ExplanationSection(f"{title}; {held}", ("", "strength", "sign", "cite", "line"), rows)


def _pattern(pattern: PatternTried) -> tuple[str, ...]:
    state = "holds" if pattern.held else "does not hold, though its text is there" if pattern.seen else "does not hold"
    state = "\n".join((state, *map(str, pattern.steps)))
    return state, pattern.strength, pattern.written, pattern.cite or "no cite", pattern.place


def _conditions(title: str, level: LevelTried) -> ExplanationSection:
    return ExplanationSection(title, ("", "condition", "how far", "line"), tuple(map(_condition, level.conditions)))


def _condition(condition: ConditionTried) -> tuple[str, ...]:
    state = "holds" if condition.held else "does not hold"
    if condition.tag == "unless" and condition.held:
        state = "holds, so the page is not of this level"
    far = [] if condition.address_fits or condition.tag == "unless" else ["the URL does not fit"]
    far += map(str, condition.steps)
    return f"{condition.tag} {state}", condition.written, "\n".join(far), condition.place


def _action(action: ActionView) -> ExplanationSection:
    noun = "object" if action.sort == "extract" else "link"
    to = f" to level {action.to}" if action.to else ""
    rows = [
        *(("by", action.by) for _ in [0] if action.by),
        *(("for example", sample) for sample in action.samples),
        *(row for each in action.fields for row in _field(each)),
        *_steps(action.steps),
    ]
    return ExplanationSection(
        f"Action {action.name}: {action.count} {noun}{'' if action.count == 1 else 's'}{to}, {action.place}",
        ("", ""),
        tuple(rows),
    )


def _field(shown: FieldShown) -> Iterator[tuple[str, str]]:
    by = f" by {shown.by}" if shown.by else ""
    yield f"field {shown.name}", f"{shown.count}{by}: {' | '.join(shown.samples)}" if shown.count else "nothing"
    yield from _steps(shown.steps)


def _steps(steps: Iterable[ExplanationStep]) -> Iterator[tuple[str, str]]:
    return (("how far", str(step)) for step in steps)


def _generic(generic: GenericReading) -> ExplanationSection:
    rows = [
        ("title", generic.title),
        ("language", generic.language),
        ("published", generic.published),
        ("content", f"{generic.characters} characters: {generic.content}" if generic.content else "none"),
        ("links", str(generic.links)),
        *(("object", written) for written in generic.objects),
        *([("object", f"none: {generic.no_object}")] if generic.no_object else []),
    ]
    return ExplanationSection("Read as a page of no known application", ("", ""), tuple(row for row in rows if row[1]))


def _near(explained: Explanation) -> Iterator[ExplanationSection]:
    others = [level for level in explained.levels if level.name != explained.level]
    if not explained.level:
        for level in sorted(others, key=_promise, reverse=True)[:_MAX_LEVELS]:
            yield _conditions(f"Almost level {level.name}{_why(level)}, {level.place}", level)
    elif others:
        also = ", ".join(level.name for level in others if level.fits)
        yield ExplanationSection(
            f"Other levels that would fit, but come later: {also}" if also else "No other level fits"
        )
    if explained.application:
        rows = tuple(
            (each.name, f"{each.held} of {len(each.patterns)} signs") for each in explained.nearest if each.held
        )
        if rows:
            yield ExplanationSection("Other applications with signs on the page", ("application", "signs"), rows)
    else:
        for each in explained.nearest:
            yield _patterns(f"Almost {each.name}", each)


def _why(level: LevelTried) -> str:
    met = any(condition.held for condition in level.conditions if condition.tag == "when")
    return "; an unless keeps the page out" if met else "; no when holds"


def _promise(level: LevelTried) -> tuple[bool, bool, int]:
    """Return a sort key of levels by how near they come to fitting."""
    wanted = [condition for condition in level.conditions if condition.tag == "when"]
    addresses = any(condition.address_fits for condition in wanted)
    return any(condition.held for condition in wanted), addresses, max((len(each.steps) for each in wanted), default=0)
