"""Begin the file of an application: draft it, check that it loads, save it, describe the next steps."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.editor.drafting.draft import Draft, DraftError, WantedDraft, draft
from aahcrawler.editor.drafting.level_plans import TERMS, Given
from aahcrawler.editor.drafting.pattern_drafting import Known
from aahcrawler.editor.pages.page_capture import description, slug
from aahcrawler.editor.pages.saved_pages import pages_folder, saved_pages, understood
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from knowledge_base.file_selection import SHIPPED, chosen_files
from knowledge_base.loader import SCHEMA, load, load_files
from knowledge_base.matching import Sight
from knowledge_base.model import KnowledgeBase

MAX_SHOWN = 10
"""The most doubtful guesses that are listed."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A wanted file: for an application with a name and a kind, and, with ``site``, for one site alone."""

    name: str
    kind: str
    site: bool = False


@dataclass(frozen=True, slots=True)
class Begun:
    """A written file, and its results on the pages it was made from."""

    file: Path
    knowledge_base: KnowledgeBase
    pages: tuple[Page, ...]
    draft: Draft


def begin(wish: Wish, given: Given, folders: Sequence[Path]) -> Begun:
    """Write a first draft into the last of the folders.

    Signs are compared with the applications of all folders and of the shipped knowledge base. Raises `DraftError`
    before anything is written, and `knowledge_base.loader.LoadError` if the folders contain mistakes already.
    """
    file = folders[-1] / "applications" / f"{_file_name(wish.name)}.xml"
    _check(wish, given, file)
    filled = [folder for folder in folders if any(folder.glob("*/*.xml"))]
    everywhere = tuple(dict.fromkeys((SHIPPED, *filled)))
    known = _known(everywhere)
    _check_known(wish, given, known.knowledge_base)
    schema = os.path.relpath(SCHEMA, file.parent.resolve())
    made = draft(WantedDraft(wish.name, wish.kind, schema, wish.site), given, known)
    knowledge_base = _loaded(made.file, file.name, everywhere)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(made.file)
    return Begun(file, knowledge_base, given.pages, made)


def lines_of(begun: Begun, named: str) -> Iterator[str]:
    """Yield lines for people on the written file, its results, and the next steps.

    ``named`` is the first page as it would be typed.
    """
    yield f"written: {begun.file}"
    for page in begun.pages:
        yield f"what it makes of {page.url}:"
        found = understood(page, ApplicationAwareHelper(begun.knowledge_base).assist(page))
        yield from (f"  {line}" for line in description(found))
    yield from _doubts_of(begun)
    yield "next:"
    yield f"  aah kb explain {named}    what each sign and action finds on a page"
    yield f"  aah kb check {begun.file.parents[1]}    whether the file is valid and takes no time"
    yield f"  aah kb capture {named} --application {begun.file.stem} --as NAME    save the page as a test"
    yield f"  aah kb test {begun.file.stem}    try all saved pages"


def _doubts_of(begun: Begun) -> Iterator[str]:
    """Yield lines on what the file is for, what was left out of it, and its guesses, the most doubtful first."""
    made = begun.draft
    if made.of_site:
        yield "this file is for this site alone: write signs of the software in place of the host, and it is for all"
    yield from (f"left out: {said}" for said in made.left_out)
    text = EntryText(made.file)
    guesses = made.file.decode("utf-8").count("<!-- guess: ")
    yield f"{guesses} places are marked <!-- guess: ... -->. Check each, correct it if necessary, remove the comment."
    yield "the most doubtful guesses, each with what else could be right:"
    for doubt in made.doubts[:MAX_SHOWN]:
        yield f"  line {text.line(doubt.place)}: {doubt.said}"
        yield from (f"    or {alternative.said}" for alternative in doubt.alternatives)
    if len(made.doubts) > MAX_SHOWN:
        yield f"  and {len(made.doubts) - MAX_SHOWN} more"


def _known(folders: Sequence[Path]) -> Known:
    pages = [Sight(saved.page) for folder in folders for saved in saved_pages(pages_folder(folder))]
    return Known(load(*folders), pages)


def _check(wish: Wish, given: Given, file: Path) -> None:
    if wish.kind not in TERMS:
        raise DraftError(f"there is no kind {wish.kind}; write --kind with one of {', '.join(TERMS)}")
    if file.exists():
        raise DraftError(f"{file} is there already; choose another name, or move it away")
    if not given.contents:
        raise DraftError("give at least one page with content: --from URL")
    for page in given.pages:
        if not page.is_html or page.status != 200:
            raise DraftError(f"{page.url} answers {page.status} {page.media_type}; give an HTML page that is there")


def _check_known(wish: Wish, given: Given, known: KnowledgeBase) -> None:
    """Raise `DraftError` if the application is known already."""
    if wish.name in [application.name for application in known.applications]:
        raise DraftError(f"there is a file for {wish.name} already; choose another name")
    helper = ApplicationAwareHelper(known)
    for page in given.pages:
        match = helper.assist(page).match
        if match is not None and not wish.site:
            level = f"level {match.level.name}" if match.level else "no level"
            raise DraftError(
                f"{page.url} is known already: {match.application.name}, {level}. Edit that file (aah kb explain shows "
                "what it does), or write one for this site alone with --site"
            )


def _file_name(name: str) -> str:
    found = slug(name)
    if not found:
        raise DraftError(f"{name!r} has no letter a to z or digit to name a file after; spell it with some")
    return found


def _loaded(data: bytes, name: str, folders: Sequence[Path]) -> KnowledgeBase:
    """Load the draft together with all other files, from a temporary folder."""
    files = chosen_files(folders)
    with tempfile.TemporaryDirectory(prefix="aah-") as folder:
        file = Path(folder) / name
        file.write_bytes(data)
        return load_files(files.kinds, (*files.applications, file))
