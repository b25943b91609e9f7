"""Says in plain words what was learned: in the place of what, from how many pages, and by which means."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aahcrawler.adaptation.store.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.report.adaptation_section import FAILURE_WORDS, METHOD_WORDS
from knowledge_base.model import Application, Extract, KnowledgeBase, Navigate
from knowledge_base.selectors import Selector


@dataclass(frozen=True, slots=True)
class Compared:
    """A part of an action: in the application's file, and as learned."""

    part: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def compared(learned: Learned, knowledge_base: KnowledgeBase) -> tuple[Compared, ...]:
    """Return the parts of a learned item that differ from those it replaces."""
    application = next((each for each in knowledge_base.applications if each.name == learned.application), None)
    before = dict(_replaced_parts(learned, application)) if application is not None else {}
    after = dict(_learned_parts(learned))
    rows = (Compared(part, before.get(part, ()), after.get(part, ())) for part in dict.fromkeys((*after, *before)))
    return tuple(row for row in rows if row.before != row.after)


def described(learned: Learned) -> Iterator[str]:
    """Yield lines for people on a learned item and the quality of its evidence."""
    method = METHOD_WORDS.get(learned.method, learned.method)
    sure = f"learned {method} on {learned.date:%Y-%m-%d %H:%M}, confidence {learned.confidence:.2f} of 1"
    match learned:
        case LearnedSign():
            of = f"sign of level {learned.level}" if learned.level else "sign of the application"
            yield f"{learned.name}: {learned.application}, {of}, on {learned.site}"
            yield f"  it is on {len(learned.pages)} pages, and on none of {learned.others} of other levels"
        case LearnedAction() | LearnedLinks():
            what = "objects" if isinstance(learned, LearnedAction) else "links"
            place = f"level {learned.level}, action {learned.action}"
            why = FAILURE_WORDS.get(learned.failure, learned.failure)
            yield f"{learned.name}: {learned.application}, {place}, on {learned.site}"
            yield f"  the file's action {why}"
            yield (
                f"  on {len(learned.pages)} pages it found {learned.before} {what}, and what was learned finds "
                f"{learned.after}"
            )
    yield f"  {sure}"


def _replaced_by(learned: LearnedAction, application: Application) -> Extract | None:
    """Return the action of the level that a learned one is in the place of, None if the level has none."""
    level = next((each for each in application.levels if each.name == learned.level), None)
    named = (action for action in level.actions if action.name == learned.action) if level is not None else ()
    return next((action for action in named if isinstance(action, Extract)), None)


def _replaced_parts(learned: Learned, application: Application) -> Iterator[tuple[str, tuple[str, ...]]]:
    level = next((each for each in application.levels if each.name == learned.level), None)
    match learned:
        case LearnedAction():
            replaced = _replaced_by(learned, application)
            yield from _parts(replaced) if replaced is not None else ()
        case LearnedLinks() if level is not None:
            named = (each for each in level.actions if isinstance(each, Navigate) and each.name == learned.action)
            sources = (source.selector for action in named for source in action.sources)
            yield "links", _shown(sources)
        case LearnedSign():
            signs = level.when if level is not None else application.patterns
            yield "sign", _shown(sign.selector for sign in signs if sign.selector is not None)


def _learned_parts(learned: Learned) -> Iterator[tuple[str, tuple[str, ...]]]:
    match learned:
        case LearnedAction():
            yield from _parts(learned.wrapper.action)
        case LearnedLinks():
            documented = " (documented URLs)" if learned.documented else ""
            yield "links", tuple(f"{each}{documented}" for each in _shown((learned.expression.selector,)))
        case LearnedSign():
            yield "sign", _shown((learned.expression.selector,))


def _parts(action: Extract) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "item", _shown(action.items)
    if action.identity is not None:
        yield "identity", _shown(action.identity.selectors)
    if action.parent is not None:
        yield "parent", _shown(action.parent.selectors)
    fields: dict[str, tuple[str, ...]] = {}
    for field in action.fields:
        fields[field.name] = (*fields.get(field.name, ()), *_shown(field.selectors))
    yield from fields.items()


def _shown(selectors: Iterable[Selector]) -> tuple[str, ...]:
    return tuple(f"{each.css or each.source}{f' @{each.attribute}' if each.attribute else ''}" for each in selectors)
