"""Make the definition of a collection from an event's page: obtain what is needed, and write the files."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from aahcrawler.tombstones import replace_durably
from offline.collections.event_definition import Definition, Materials, Sought
from offline.collections.event_page import CitedPage, EventPage, EventPageError, read_event_page
from offline.collections.reference_pages import (
    EditHistory,
    Fetching,
    HadReference,
    ReferenceReader,
    Revision,
    WikiAddress,
    archived_references,
    fetching,
    read_history,
)
from offline.collections.wikitext import read_wikitext, wikitext_of
from online_analysis.icd import Politeness

MAX_PAGE_BYTES: Final = 50_000_000
"""The most bytes of a page's file; a longer one is refused."""
Tell = Callable[[str], object]


class DefinitionExistsError(Exception):
    """Raised when a file to be written already exists; the message names it."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a definition is made from: the file of a page or, to be fetched, its URL, and files of its history.

    References are taken from an ``archive``, a folder of a crawl or an import, or else fetched if that is allowed.
    """

    page: str
    history: tuple[Path, ...] = ()
    archive: Path | None = None
    fetch: bool = False
    allow_private: bool = False


def materials_for(given: Given, sought: Sought, tell: Tell, politeness: Politeness | None = None) -> Materials:
    """Return what a definition is made from; ``tell`` is called with what is fetched and what is inconsistent.

    Raises ``EventPageError``, ``HistoryError``, ``FetchingError``, ``SegmentError``.
    """
    if not given.fetch:
        page = _read_page(given.page)
        history = read_history(given.history) if given.history else EditHistory(())
        return _with_archive(_of_version(page, history, tell), given, sought, tell)

    async def get() -> Materials:
        manners = politeness or Politeness()
        async with fetching(sought.contact, manners, tell, allow_private=given.allow_private) as fetched:
            found = await _fetched(given, fetched, tell)
            if given.archive is not None:
                return found
            had = await fetched.references(_wanted(found.page, sought), ReferenceReader())
            return replace(found, references=tuple(had))

    return _with_archive(asyncio.run(get()), given, sought, tell)


async def _fetched(given: Given, fetched: Fetching, tell: Tell) -> Materials:
    """Return the version of a page that was current at the change point, fetched from the wiki unless a file has it."""
    page = None if "://" in given.page else _read_page(given.page)
    address = given.page if page is None else page.url
    history = read_history(given.history) if given.history else EditHistory(())
    if page is not None and not address:
        tell(f"{given.page}: does not tell its address, so that its history is not asked for")
        return _of_version(page, history, tell)
    wiki = WikiAddress.parse(address)
    history = history if given.history else await fetched.history(wiki)
    change, version = _version(history)
    if page is None or (version is not None and version.number != page.revision):
        page = await fetched.version(wiki, version)
    return Materials(page, change, history.revisions[-1] if history.revisions else None)


def _version(history: EditHistory) -> tuple[datetime | None, Revision | None]:
    change = history.change_point()
    return change, None if change is None else history.current_at(change)


def _of_version(page: EventPage, history: EditHistory, tell: Tell) -> Materials:
    """Return a saved page with what its history shows; report if it is another version than it should be."""
    change, version = _version(history)
    if history.unread:
        tell(f"{history.unread} versions of the history have no time that can be read, and are left out")
    if history.revisions and change is None:
        tell("the edits have no change point yet: the page is taken as it was saved")
    if version is not None and version.number != page.revision:
        saved = "a version that it does not tell" if page.revision is None else f"version {page.revision}"
        tell(
            f"the page is {saved}; version {version.number} was current at the change point, {change:%Y-%m-%d}: save"
            f" that one (oldid={version.number}), or give --fetch"
        )
    return Materials(page, change, history.revisions[-1] if history.revisions else None)


def _read_page(name: str) -> EventPage:
    path = Path(name)
    if "://" in name:
        raise EventPageError(f"{name}: is a URL; give --fetch to fetch it, or save the page and give the file")
    if path.stat().st_size > MAX_PAGE_BYTES:
        raise EventPageError(f"{name}: has more than {MAX_PAGE_BYTES:,} bytes; save the page alone")
    try:
        body = path.read_bytes()
        written = wikitext_of(body)
        return read_event_page(body) if written is None else read_wikitext(*written, path.stem.replace("_", " "))
    except EventPageError as error:
        raise EventPageError(f"{name}: {error}") from None


def _with_archive(materials: Materials, given: Given, sought: Sought, tell: Tell) -> Materials:
    """Return materials with the references found in the archive, if there is one."""
    if given.archive is None:
        return materials
    time, wanted = materials.page.time, _wanted(materials.page, sought)
    if time is None:
        tell("without the date of the event nobody knows which captures of references to take")
        return materials
    had: Sequence[HadReference] = tuple(archived_references(given.archive, wanted, time.start, ReferenceReader()))
    tell(f"{given.archive}: holds {len(had)} of {len(wanted)} references")
    return replace(materials, references=tuple(had), archive=str(given.archive))


def _wanted(page: EventPage, sought: Sought) -> Sequence[CitedPage]:
    return [each for each in page.references if sought.all_references or not each.other]


def write_definition(definition: Definition, folder: Path, *, overwrite: bool = False) -> Path:
    """Write a definition and its texts to a folder; return the definition's file, which is written last.

    Raises ``DefinitionExistsError``, having written nothing, if one of the files exists, unless they may be
    overwritten.
    """
    files = {**definition.texts, f"{definition.name}.yaml": definition.yaml}
    if not overwrite:
        for name in files:
            if (folder / name).exists():
                raise DefinitionExistsError(f"{folder / name}: exists; give --overwrite, or another --output")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(path, content.encode("utf-8", "replace"))
    return folder / f"{definition.name}.yaml"
