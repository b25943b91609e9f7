"""Compare a knowledge base's results on its saved pages with the expected ones, in plain words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import relpath
from pathlib import Path

from aahcrawler.editor.explanation.explanation_model import counts
from aahcrawler.editor.pages.saved_pages import Expectation, ObjectRow, SavedPage, pages_folder, saved_pages, understood
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.site_memory import Sites
from knowledge_base.behaviours import of_level
from knowledge_base.matching import Sight, is_on_host
from knowledge_base.model import Application, KnowledgeBase, Match, PageLevel

MAX_TOLD = 6
"""Differences of one sort that are written out for one page."""

MAX_NOTES = 20
"""Levels without a saved page that are named one by one."""

_SHOWN = 70
_BEFORE = 25


class TrialError(Exception):
    """The requested trial is impossible; the message says which are possible."""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The result for one page: no differences if it is read as expected."""

    page: SavedPage
    differences: tuple[str, ...]


class Trial:
    """Tries pages one by one; results of a page are not cached for the next."""

    def __init__(self, knowledge_base: KnowledgeBase) -> None:
        self._knowledge_base = knowledge_base.confirmed
        self._helper = ApplicationAwareHelper(self._knowledge_base, Sites(most_hosts=0))

    def outcome(self, saved: SavedPage) -> TrialOutcome:
        """Try a page against its own application and against the levels of every other."""
        return TrialOutcome(saved, (*self.misreadings(saved), *self.misfits(saved)))

    def misreadings(self, saved: SavedPage) -> tuple[str, ...]:
        """Return the differences between the expected and the actual results; a line for each difference."""
        assistance = self._helper.assist(saved.page)
        found = understood(saved.page, assistance, computed=True)
        return (*_differences(saved.expected, found), *_behaviours(saved, assistance.match))

    def misfits(self, saved: SavedPage) -> tuple[str, ...]:
        """Say which other levels, of this or any application, fit the page; a line for each."""
        expected = saved.expected
        own = next((app for app in self._knowledge_base.applications if app.name == expected.application), None)
        allowed = {*expected.also, expected.level}
        told = []
        for application, level in self._fitting(saved):
            if application is own and level.name not in allowed:
                told.append(_own_misfit(application, level, expected))
            elif application is not own and not _inherited(level, own):
                told.append(f"level {level.name} of {application.name} fits this page too; make its when narrower")
        return tuple(told)

    def _fitting(self, saved: SavedPage) -> Iterator[tuple[Application, PageLevel]]:
        sight = Sight(saved.page)
        for application in self._knowledge_base.applications:
            if application.hosts and not any(is_on_host(saved.page.url, host) for host in application.hosts):
                continue
            for level in application.levels:
                if any(map(sight.meets, level.when)) and not any(map(sight.meets, level.unless)):
                    yield application, level


def all_pages(folders: Iterable[Path]) -> tuple[SavedPage, ...]:
    """Read the saved pages of several folders; one of a later folder replaces one of the same name."""
    found = {page.name: page for folder in folders for page in saved_pages(pages_folder(folder))}
    return tuple(found[name] for name in sorted(found))


@dataclass(frozen=True)
class Selection:
    """The pages that ``names`` ask for: names of applications, of their files or of single pages; all without any."""

    knowledge_base: KnowledgeBase
    pages: tuple[SavedPage, ...]
    names: tuple[str, ...] = ()

    @cached_property
    def chosen(self) -> tuple[SavedPage, ...]:
        """The pages to try. Raises `TrialError` for an unknown name."""
        for name in self.names:
            if not any(_is_named(page, name) for page in self.pages):
                folders = ", ".join(sorted({page.name.partition("/")[0] for page in self.pages})) or "none yet"
                raise TrialError(f"there is no saved page of {name}; there are pages of {folders}")
        return tuple(page for page in self.pages if not self.names or any(_is_named(page, n) for n in self.names))

    def outcomes(self) -> Iterator[TrialOutcome]:
        """Try the pages one after the other."""
        trial = Trial(self.knowledge_base)
        return map(trial.outcome, self.chosen)


def lines_of(outcome: TrialOutcome) -> Iterator[str]:
    """Yield lines for people on the result of a page."""
    yield f"{'FAILED' if outcome.differences else 'ok    '}  {outcome.page.name}"
    for difference in outcome.differences:
        yield f"          {difference}"
    if outcome.differences:
        yield f"          to see why: aah kb explain {min(relpath(outcome.page.file), str(outcome.page.file), key=len)}"


def notes(selection: Selection) -> Iterator[str]:
    """Yield the parts of the tried applications without a saved page: levels, and a page that must be of none."""
    tried = {page.expected.application for page in selection.chosen}
    missing = [
        f"{application} has no saved page of level {level}; add one: aah kb capture"
        for application, level in levels_without_page(selection.knowledge_base, selection.pages)
        if not selection.names or application in tried
    ] + [
        f"{application} has no page without a level, such as a login form; add one: aah kb capture --negative"
        for application in without_negative_page(selection.knowledge_base, selection.pages)
        if not selection.names or application in tried
    ]
    yield from (f"missing {line}" for line in missing[:MAX_NOTES])
    if len(missing) > MAX_NOTES:
        yield f"missing and {len(missing) - MAX_NOTES} more"


def summary(tried: int, failed: int) -> str:
    """Count in one line.

    >>> summary(12, 1)
    '12 pages, 1 failed'
    """
    return f"{tried} page{'' if tried == 1 else 's'}, {failed or 'none'} failed"


def levels_without_page(knowledge_base: KnowledgeBase, saved: Iterable[SavedPage]) -> tuple[tuple[str, str], ...]:
    """Return application and level of each level without a saved page."""
    shown = {(page.expected.application, page.expected.level) for page in saved}
    levels = ((app.name, level.name) for app in knowledge_base.applications for level in app.levels)
    return tuple(level for level in levels if level not in shown)


def without_negative_page(knowledge_base: KnowledgeBase, saved: Iterable[SavedPage]) -> tuple[str, ...]:
    """Return the applications without a saved page that must have no level."""
    shown = {page.expected.application for page in saved if page.expected.level is None}
    return tuple(app.name for app in knowledge_base.applications if app.name not in shown)


def _is_named(page: SavedPage, name: str) -> bool:
    return name in (page.name, page.name.partition("/")[0], page.expected.application)


def _own_misfit(application: Application, level: PageLevel, expected: Expectation) -> str:
    if expected.level is None:
        return f"level {level.name} of {application.name} fits this page, which is of none; make its when narrower"
    return (
        f"level {level.name} fits this page as well as {expected.level}; make its when narrower or add an unless, "
        f'or, where that is meant, write "also": ["{level.name}"] into the expectation'
    )


def _inherited(level: PageLevel, own: Application | None) -> bool:
    """Return whether an application has the level from the same file as the page's own application."""
    if own is None:
        return False
    return any(level.name == other.name and _signs(level) == _signs(other) for other in own.levels)


def _signs(level: PageLevel) -> list[tuple[str, str]]:
    return [(when.selector.source if when.selector else "", repr(when.rule)) for when in level.when]


def _differences(expected: Expectation, found: Expectation) -> Iterator[str]:
    if (expected.application, expected.level) != (found.application, found.level):
        yield from _changed("application", expected.application, found.application)
        yield from _changed("level", expected.level, found.level)
    yield from _pairs("action", expected.failed, found.failed, "works", "fails")
    if expected.application is None:
        return
    yield from _objects(expected.objects, found.objects)
    yield from _pairs("link", expected.links, found.links, "missing", "additional")
    refused = {url: found.refused[url] for url in expected.refused if url in found.refused}
    yield from _pairs("refused", expected.refused, refused, "not refused", "")
    for url in sorted(found.refused.keys() & expected.links.keys()):
        yield f"link {url}: refused as {found.refused[url]} although it is expected"


def _behaviours(saved: SavedPage, match: Match | None) -> Iterator[str]:
    """Yield where behaviours would act on another number of elements than is expected."""
    level = match.level.name if match is not None and match.level is not None else None
    known = match.application.behaviours if match is not None else ()
    found = counts(of_level(level, known), saved.page)
    for name, number in saved.expected.behaviours.items():
        if not any(each.name == name for each in known):
            yield f"behaviour {name}: the application has none of this name"
        elif found.get(name, 0) != number:
            yield f"behaviour {name}: expected to act on {number}, found {found.get(name, 0) or 'nothing'}"


def _changed(name: str, expected: str | None, found: str | None) -> Iterator[str]:
    if expected != found:
        yield f"{name}: {_apart(expected, found)}"


def _apart(expected: str | None, found: str | None) -> str:
    """Show two values from shortly before the place where they differ.

    >>> _apart("Ada", None)
    'expected "Ada", found nothing'
    """
    start = 0
    if expected is not None and found is not None:
        same = next((i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), None)
        parting = min(len(expected), len(found)) if same is None else same
        start = max(0, parting - _BEFORE)
    return f"expected {_quoted(expected, start)}, found {_quoted(found, start)}"


def _quoted(value: str | None, start: int) -> str:
    if value is None:
        return "nothing"
    piece = value[start : start + _SHOWN].replace("\n", "\\n")
    return f'"{"..." if start else ""}{piece}{"..." if len(value) > start + _SHOWN else ""}"'


def _pairs(
    what: str, expected: Mapping[str, str | None], found: Mapping[str, str | None], missing: str, additional: str
) -> Iterator[str]:
    """Compare URLs (or names of actions) and the word that goes with each."""
    lines = [
        *(f"{what} {name}: {missing}{_by(expected[name])}" for name in expected if name not in found),
        *(f"{what} {name}: {additional}{_by(found[name])}" for name in found if name not in expected),
        *(
            f"{what} {name}: {_apart(expected[name], found[name])}"
            for name in expected
            if name in found and expected[name] != found[name]
        ),
    ]
    yield from _shortened(what, lines)


def _by(word: str | None) -> str:
    return f" ({word})" if word else ""


def _shortened(what: str, lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MAX_TOLD]
    if len(lines) > MAX_TOLD:
        yield f"and {len(lines) - MAX_TOLD} more differences of this sort ({what})"


def _objects(expected: Sequence[ObjectRow], found: Sequence[ObjectRow]) -> Iterator[str]:
    pairs = partners(expected, found)
    lines = []
    for row in expected:
        partner = pairs.get(row.iri)
        if partner is None:
            lines.append(f"object {row.iri}: missing ({_glimpse(row)})")
        else:
            lines += [f"object {row.iri}: {difference}" for difference in _fields(row, partner)]
    taken = {row.iri for row in pairs.values()}
    lines += [f"object {row.iri}: additional ({_glimpse(row)})" for row in found if row.iri not in taken]
    if not lines and [row.iri for row in expected] != [row.iri for row in found]:
        lines.append(f"objects come in another order: {', '.join(row.iri for row in found)}")
    yield from _shortened("objects", lines)


def partners(expected: Sequence[ObjectRow], found: Sequence[ObjectRow]) -> dict[str, ObjectRow]:
    """Return for each expected object, by its IRI, the one that was found: that of its IRI, else of its words."""
    by_iri = {row.iri: row for row in found}
    wanted = {row.iri for row in expected}
    pairs = {row.iri: by_iri[row.iri] for row in expected if row.iri in by_iri}
    free = [row for row in found if row.iri not in wanted]
    for row in expected:
        alike = next((other for other in free if row.body and other.body == row.body), None)
        if row.iri not in pairs and alike is not None:
            pairs[row.iri] = alike
            free.remove(alike)
    return pairs


def _fields(expected: ObjectRow, found: ObjectRow) -> Iterator[str]:
    for name in ("iri", "type", "title", "author", "date", "body", "part_of", "parent"):
        yield from _changed(name, getattr(expected, name), getattr(found, name))
    for name, values in expected.more.items():
        yield from _changed(name, "; ".join(values), "; ".join(found.more.get(name, ())) or None)


def _glimpse(row: ObjectRow) -> str:
    words = " ".join((row.title or row.body or "").split())
    return f"{row.type}: {words[:_SHOWN]}" if words else row.type
