"""Make a test from a page: show what the knowledge base reads and what is wrong with its file, then save the page."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count, groupby
from pathlib import Path
from re import fullmatch

from aahcrawler.editor.pages.saved_pages import (
    NO_APPLICATION,
    Expectation,
    ObjectRow,
    SavedPage,
    header_lines,
    pages_folder,
    understood,
    write_page,
)
from aahcrawler.editor.pages.trial import Trial
from aahcrawler.editor.text.file_lines import FileLines, read_files
from aahcrawler.helper import ApplicationAwareHelper, Assistance, FailedAction, Failure
from aahcrawler.page import Page
from knowledge_base.file_selection import chosen_files, files_of
from knowledge_base.model import KnowledgeBase, Signal

_FAULTS = {
    Failure.NOTHING_FOUND: "finds no object, though each page of its level has one; mend its item and its identity",
    Failure.INCOMPLETE: "finds objects but the body of none; mend the select of its field body",
    Failure.ERROR: "cannot be evaluated on this page; mend its expression",
    Failure.TOO_MUCH: "finds more than one page can hold, and the rest was left out; name its elements more exactly",
    Failure.SLOW: "would take too long on this page and was left out; aah kb check says what to write instead",
    Failure.NEEDS_BROWSER: "the page holds nothing before a browser runs its scripts; save another page",
    Failure.RAISED: "met what it is not made for, and the page was read without it: report the page to the project",
    Failure.NOT_SENT: "sends no form, which would change something or lacks a value; give it the value or take it out",
}
_OTHERWISE = "did not do its work"
_SHOWN_OBJECTS = 5
_SHOWN_TEXT = 90
_EMPTY = frozenset({Failure.NOTHING_FOUND.value, Failure.NEEDS_BROWSER.value, Failure.ERROR.value, Failure.SLOW.value})
"""Failures that say already why a page yields nothing."""
_LAST_DAY_THAT_MAY_BE_A_MONTH = 12


@dataclass(frozen=True, slots=True)
class _Fault:
    """An action that failed, in words."""

    application: str
    level: str
    action: str
    words: str
    detail: str

    @classmethod
    def of(cls, failed: FailedAction) -> "_Fault":
        """Return a failure in words; the program's own detail is told where it adds something."""
        is_told = failed.failure in (Failure.ERROR, Failure.SLOW, Failure.NOT_SENT, Failure.TOO_MUCH, Failure.RAISED)
        action = "" if failed.failure is Failure.NEEDS_BROWSER else failed.action
        words = _FAULTS.get(failed.failure, f"{_OTHERWISE}: {failed.failure}")
        return cls(failed.application, failed.level, action, words, failed.detail if is_told else "")

    def place(self, places: FileLines) -> str:
        """Return the line of the action, empty where there is none."""
        return str(places.action(self.application, self.level, self.action)) if self.level and self.action else ""


def problems(assistance: Assistance, places: FileLines) -> Iterator[str]:
    """Yield a line for each fault that reading a page met; actions of a level that failed alike are named together."""
    met = dict.fromkeys(_Fault.of(failed) for failed in assistance.failed_actions)
    ordered = sorted(met, key=lambda fault: (fault.words, fault.detail))
    for (words, detail), alike in groupby(ordered, key=lambda fault: (fault.words, fault.detail)):
        faults = list(alike)
        named = " and ".join(dict.fromkeys(filter(None, (fault.action for fault in faults))))
        where = ", ".join(dict.fromkeys(filter(None, (fault.place(places) for fault in faults))))
        reason = f" ({detail})" if detail else ""
        yield f"{named}{': ' if named else ''}{words}{reason}{f', {where}' if where else ''}"


def rivals(failures: Iterable[FailedAction]) -> str:
    """Return the applications that claim a page with equal strength, empty where none do."""
    return next((failed.application for failed in failures if failed.failure is Failure.CONFLICT), "")


class CaptureError(Exception):
    """The page cannot be saved as requested; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The wanted name, application and level of a saved page; ``negative`` if it is of no level.

    Without an application, the recognised one is used; without a name, the page is named after its level.
    """

    application: str = ""
    name: str = ""
    negative: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Captured:
    """A page that was saved, the values a person should check, and the reason if its test fails already.

    ``problems`` are faults of the application's file that the page shows, each with its remedy.
    """

    saved: SavedPage
    doubts: tuple[str, ...]
    misfits: tuple[str, ...]
    problems: tuple[str, ...] = ()


def capture(page: Page, knowledge_base: KnowledgeBase, folders: Sequence[Path], wish: Wish) -> Captured:
    """Save a page and its results in the last of the folders. Raises `CaptureError`."""
    if wish.name and not fullmatch(r"[a-z0-9][a-z0-9.-]*", wish.name):
        raise CaptureError(f"{wish.name} is no name for a page; write small letters, digits and hyphens: thread-2")
    page = replace(page, fetched_at=page.fetched_at.replace(microsecond=0))
    assistance = ApplicationAwareHelper(knowledge_base.confirmed).assist(page)
    found = understood(page, assistance)
    if claiming := rivals(assistance.failed_actions):
        raise CaptureError(
            f"{claiming} claim this page with equal strength, so that it is read as of none; make a sign of one of "
            "them weaker, or add one that only its own pages have"
        )
    wish = replace(wish, application=wish.application or found.application or "")
    if not wish.application:
        raise CaptureError(
            "no application is recognised on this page; aah kb explain says why. If it is a page of an application "
            "nevertheless, name that: --application NAME"
        )
    stem, name = _described(folders, wish.application)
    _check(page, found, wish, name)
    file = _file(pages_folder(folders[-1]) / stem, wish.name, found.level or "other")
    expected = found.model_copy(update={"headers": header_lines(kept_headers(page, knowledge_base))})
    saved = SavedPage(f"{file.parent.name}/{file.stem}", file, page, expected)
    if not wish.replace and (file.exists() or file.with_suffix(".json").exists()):
        raise CaptureError(f"{file} is there already; choose another name with --as, or add --replace")
    write_page(file, page.body, expected)
    places = FileLines(read_files(chosen_files(folders).applications))
    faults = tuple(problems(assistance, places))
    return Captured(saved, tuple(doubts(expected)), Trial(knowledge_base).misfits(saved), faults)


def told_of(captured: Captured) -> Iterator[str]:
    """Yield lines for people on the saved page and the values to check."""
    yield from description(captured.saved.expected.model_copy(update={"failed": {}}))
    yield f"saved: {captured.saved.file} and {captured.saved.file.with_suffix('.json').name}"
    if captured.problems or captured.misfits:
        yield "saved although this is wrong; mend the application's file, then capture again with --replace:"
        yield from (f"  - {problem}" for problem in captured.problems)
        yield from (f"  - {misfit} (aah kb test fails until then)" for misfit in captured.misfits)
    if captured.doubts:
        yield "please compare with the page in a browser, and mend the .json where it is wrong:"
        yield from (f"  - {doubt}" for doubt in captured.doubts)


def description(expected: Expectation) -> Iterator[str]:
    """Yield lines for people on the results of a page."""
    yield f"application: {expected.application or 'none known'}"
    yield f"level: {expected.level or 'none'}"
    for action, failure in expected.failed.items():
        yield f"failed: {action} ({failure})"
    yield f"objects: {len(expected.objects)}"
    for row in expected.objects[:_SHOWN_OBJECTS]:
        yield f"  {row.type} {row.iri}"
        values = {"title": row.title, "author": row.author, "date": row.date, "body": row.body, "parent": row.parent}
        yield from (f"    {name}: {_short(value)}" for name, value in values.items() if value is not None)
        yield from (f"    {name}: {_short('; '.join(many))}" for name, many in row.more.items())
    if len(expected.objects) > _SHOWN_OBJECTS:
        yield f"  ... and {len(expected.objects) - _SHOWN_OBJECTS} more"
    yield f"links: {_counted(action or 'within the content' for action in expected.links.values())}"
    yield f"refused: {_counted(expected.refused.values())}"


def doubts(expected: Expectation) -> Iterator[str]:
    """Yield the values that a person should compare with the page in a browser, because a machine cannot check them."""
    if expected.level is None:
        return
    failed = frozenset(expected.failed.values())
    if expected.objects:
        yield from _doubts_of_objects(expected.objects, failed)
    if not expected.objects and not any(expected.links.values()):
        if failed.isdisjoint(_EMPTY):
            yield "no object was extracted and no link was chosen: is there really nothing on this page?"
    elif not expected.links:
        yield "no link is followed: does the page really lead nowhere, not even to a second page?"


def slug(name: str) -> str:
    """Turn the name of an application into the name of its file.

    >>> slug("Stack Exchange 2.0")
    'stack-exchange-2-0'
    """
    spelled = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in name.lower())
    return "-".join(spelled.split())


def _doubts_of_objects(objects: tuple[ObjectRow, ...], failed: Collection[str]) -> Iterator[str]:
    yield f"are there {len(objects)} objects on the page, no more and no fewer?"
    for name in ("author", "date", "body"):
        if name == "body" and Failure.INCOMPLETE.value in failed:
            continue  # It is told among what is wrong.
        without = [row for row in objects if getattr(row, name) is None]
        if without:
            share = f"{len(without)} of {len(objects)}"
            yield f"{share} have no {name}, the first is {without[0].iri}: does the page show one?"
    if objects[0].title is None:
        yield "the first object has no title: does the page show one?"
    first = next((row for row in objects if row.date), None)
    if first is not None and first.date is not None:
        yield _doubt_of_date(first.iri, datetime.fromisoformat(first.date))
    last = next((row for row in reversed(objects) if row.body), None)
    if last is not None and last.body is not None:
        end = " ".join(last.body.split()[-6:])[-60:]
        yield f'does the text of {last.iri} end with "{end}", with nothing of its surroundings?'


def _doubt_of_date(iri: str, moment: datetime) -> str:
    written = f"{moment:%d %B %Y %H:%M} UTC"
    if moment.day <= _LAST_DAY_THAT_MAY_BE_A_MONTH and moment.day != moment.month:
        return (
            f"is the date of {iri} {written}, or are day and month the wrong way round (order=)? And is the zone right?"
        )
    return f"is the date of {iri} {written}, in the right time zone (zone=)?"


def _file(folder: Path, name: str, level: str) -> Path:
    """Return the file of a page, named after its level and a number if no name was given."""
    free = (level if number == 1 else f"{level}-{number}" for number in count(1))
    name = name or next(name for name in free if not (folder / f"{name}.html").exists())
    return folder / f"{name}.html"


def _check(page: Page, found: Expectation, wish: Wish, application: str | None) -> None:
    if page.status != 200 or not (page.is_html or found.level):
        raise CaptureError(
            f"{page.url} answers {page.status} {page.media_type}; only pages that are there and can be read are saved"
        )
    if wish.negative:
        if found.level is not None:
            raise CaptureError(
                f"this page is read as {found.application}, level {found.level}; no level may hold for a negative "
                f"page. Leave --negative away, or make the when of {found.level} narrower first"
            )
        if found.application not in (None, application):
            raise CaptureError(
                f"this page is recognised as {found.application}, not {wish.application}; see: aah kb explain"
            )
        return
    if found.application is None or found.level is None:
        what = "application" if found.application is None else "level"
        raise CaptureError(
            f"no {what} is recognised on this page; aah kb explain says why. If that is right, save it with --negative"
        )
    if found.application != application:
        raise CaptureError(f"this page is recognised as {found.application}; write --application {found.application!r}")


def _described(folders: Sequence[Path], application: str) -> tuple[str, str | None]:
    """Return the folder for an application's pages, and its name; ``application`` may be its file's name."""
    if application == NO_APPLICATION:
        return NO_APPLICATION, None
    files = [file for file in files_of(folders) if file.parent.name == "applications"]
    for file in reversed(files):
        name = next((each.name for each in read_files((file,))), None)
        if application in (file.stem, name):
            return file.stem, name
    known = ", ".join(sorted({file.stem for file in files})) or "none"
    raise CaptureError(f"no file describes {application}, only: {known}; begin one with aah kb new")


def kept_headers(page: Page, knowledge_base: KnowledgeBase) -> Iterator[tuple[str, str]]:
    """Yield the header fields that recognition may use; of a cookie only its name, as the value may be secret."""
    looked_at = {
        pattern.name
        for app in knowledge_base.applications
        for pattern in app.patterns
        if pattern.signal is Signal.HEADER
    }
    for name, value in page.headers.fields:
        if name.lower() == "set-cookie":
            yield name, value.partition("=")[0].strip() + "="
        elif name.lower() in looked_at | {"content-type"}:
            yield name, " ".join(value.split())


def _counted(words: Iterable[str]) -> str:
    counts = Counter(words)
    return ", ".join(f"{count} {word}" for word, count in counts.most_common()) or "none"


def _short(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= _SHOWN_TEXT else f"{line[:_SHOWN_TEXT]}... ({len(value):,} characters)"
