"""Describe, copy and delete crawls and collections."""

import logging
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from aahcrawler.crawl_collections import LISTS, TERMS, Collection, CollectionError, CollectionFile, mistakes
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontiers import kept_out
from aahcrawler.layout import DELETED
from aahcrawler.segments.reader import sync_folder
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.held_definitions import HeldDefinitions, refused
from aahcrawler.service.steering.redefining import is_running
from aahcrawler.service.steering.starting_crawls import Created, create, free_id
from aahcrawler.service.steering.steering_log import note
from aahcrawler.service.steering.steering_service import SteeringService
from aahcrawler.service.views.collected_view import collection_file
from aahcrawler.service.web.noted_acts import note_did, note_said
from aahcrawler.service.web.problems import BAD_COLLECTION, CONFLICT, ProblemError, Shown
from aahcrawler.service.web.roles import Caller
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.editing import edited
from online_analysis.icd.form import FormField, form_fields
from online_analysis.icd.new_definition import suggested_id

Value = Annotated[str, Field(max_length=1000)]
Values = Annotated[tuple[Value, ...], Field(max_length=100)]
MULTIPLE_TERMS: Final = ("creator", "publisher", "rights", "language", "subject", "coverage")
"""The terms that may have several values."""


class Description(BaseModel):
    """Title and description of a crawl, and lists of values of other terms of Dublin Core."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Value = Field(min_length=1, examples=["The flood, as the forum saw it"])
    description: Annotated[str, Field(max_length=10_000)] = ""
    creator: Values = ()
    publisher: Values = ()
    rights: Values = ()
    language: Values = ()
    subject: Values = ()
    coverage: Values = ()

    @classmethod
    def of(cls, icd: Icd) -> "Description":
        """Return the description in a definition."""
        return cls(title=icd.title, **icd.metadata.model_dump())

    @property
    def has_terms(self) -> bool:
        """Whether it has more than a title."""
        return any(getattr(self, name) for name in ("description", *MULTIPLE_TERMS))


def terms() -> Mapping[str, FormField]:
    """Return the form fields of the terms that describe a crawl, without the title, by term."""
    return {name: form_fields()[f"metadata.{name}"] for name in ("description", *MULTIPLE_TERMS)}


def describe(definitions: HeldDefinitions, crawl: Crawl, by: str, wanted: Description) -> Description:
    """Write a description into a crawl's definition; return it as it is then.

    Raise ``ProblemError`` with mistakes, and if the definition is not known here.
    """
    made = definitions.rewrite(crawl, _changes(definitions.read(crawl).icd, wanted))
    arguments: dict[str, JsonValue] = {"diff": list(made.diff())}
    note(crawl, by, "describe", arguments, {"title": made.icd.title})
    return Description.of(made.icd)


def _changes(icd: Icd, wanted: Description) -> Mapping[str, JsonValue]:
    """Return the fields that differ; None for those to be removed."""
    before = Description.of(icd).model_dump(mode="json")
    return {
        name if name == "title" else f"metadata.{name}": value or None
        for name, value in wanted.model_dump(mode="json").items()
        if value != before[name]
    }


def copy(helm: SteeringService, crawl: Crawl, caller: Caller, title: str) -> Created:
    """Create a crawl with the definition of another one under a new title; nothing is fetched.

    Its id is derived from the title. Raise ``ProblemError`` if the definition cannot be read, or exceeds the caller's
    rights.
    """
    held = helm.definitions.read(crawl)
    name = free_id(helm.reach, suggested_id(title, held.icd.seeds))
    try:
        text = edited(held.text, {"id": name, "title": title, "output": None})
    except IcdError as error:
        raise refused(error, "the definition cannot be copied") from None
    made = create(helm.reach, helm.definitions, helm.processes, caller, text, begin=False)
    arguments: dict[str, JsonValue] = {"title": title}
    note(crawl, caller.name, "copy", arguments, {"id": made.id})
    return made


_logger = logging.getLogger(__name__)


class Held(Shown):
    """The number of files in a crawl's folder, and their bytes."""

    files: int
    bytes: int


class Deleted(Shown):
    """A deleted crawl, and what was deleted with it."""

    id: str
    held: Held
    detail: str


def held(folder: Path) -> Held:
    """Return number and size of the files in a folder; links are counted but not followed."""
    sizes = [size for path in _files(folder) if (size := _size(path)) is not None]
    return Held(files=len(sizes), bytes=sum(sizes))


def delete(helm: SteeringService, crawl: Crawl, confirmed: str, forget: Callable[[Path], None]) -> Deleted:
    """Delete the folder of a crawl; ``confirmed`` is its id, typed by the operator.

    The folder is first renamed, atomically, so that it is no crawl any more; then its files are deleted, after a crash
    by the next service that starts. ``forget`` is called with the folder before, to close what is open in it. Raise
    ``ProblemError`` if the id is wrong, if the crawl runs or is in use, or if it has no folder here.
    """
    if confirmed != crawl.id:
        raise ProblemError(CONFLICT, f"nothing was deleted: type {crawl.id}, the crawl's short name, to confirm it")
    if crawl.folder is None or crawl.registered is not None:
        raise ProblemError(CONFLICT, f"{crawl.id} is a crawl of a shared server, and is not deleted from here")
    with helm.processes.starting(crawl.id):
        if is_running(crawl):
            raise ProblemError(CONFLICT, f"{crawl.id} runs; stop it first")
        helm.reach.gateway.release(crawl)
        forget(crawl.folder)
        try:
            with kept_out(crawl.folder, alone=True):
                found, gone = held(crawl.folder), _moved_aside(crawl.folder)
        except FrontierUnavailableError as error:
            raise ProblemError(CONFLICT, f"{crawl.id} cannot be deleted now: {error}") from error
        finally:
            helm.reach.gateway.lend_again(crawl)
    note_did(crawl.id, "delete")
    detail = f"{found.files:,} files with {found.bytes:,} bytes are out of reach now, and are being removed"
    note_said(f"{crawl.id}: {detail}", refused=False)
    _remove_beside(gone)
    return Deleted(id=crawl.id, held=found, detail=detail)


def go_on_deleting(folders: Iterable[Path]) -> None:
    """Delete, in the background, the folders whose deletion was interrupted."""
    for folder in folders:
        _remove_beside(folder)


def _moved_aside(folder: Path) -> Path:
    """Rename the folder of a crawl so that it is no crawl any more; return its new path."""
    gone = folder.with_name(f"{DELETED}{folder.name}-{secrets.token_hex(4)}")
    try:
        folder.rename(gone)
        sync_folder(folder.parent)
    except OSError as error:
        raise ProblemError(CONFLICT, f"the folder cannot be deleted: {error.strerror}") from error
    return gone


def _remove_beside(folder: Path) -> None:
    threading.Thread(target=_remove, args=(folder,), name="deleting", daemon=True).start()


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        _logger.info("%s: another process removes it, too", folder)
    except OSError as error:
        _logger.error("%s: not all could be removed (%s); the next start of the service tries again", folder, error)


def _files(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        yield from (Path(root, name) for name in names)


def _size(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except OSError:
        return None


T = TypeVar("T")


def put_collection(reach: CrawlRegistry, name: str, wanted: Collection) -> bool:
    """Create or replace a collection; return whether it is new. Raise ``ProblemError``.

    Crawls that no longer exist may stay in it, but cannot be added.
    """
    file = collection_file(reach, name, is_new=True)

    def done() -> bool:
        known = file.read().crawls if file.path.exists() else ()
        file.check([file.folder(crawl) for crawl in wanted.crawls if crawl not in known])
        if not file.path.exists():
            file.create(wanted)
            return True
        file.change({term: getattr(wanted, term) for term in (*TERMS, "crawls")})
        return False

    is_new = _told(file, done)
    note_did(name, "collect")
    return is_new


def describe_collection(reach: CrawlRegistry, name: str, changes: Mapping[str, JsonValue]) -> None:
    """Change the description of a collection. Raise ``ProblemError`` with each mistake."""
    file = collection_file(reach, name)
    _told(file, lambda: file.change({term: changes[term] for term in TERMS if term in changes}))
    note_did(name, "describe_collection")


def add_to_collection(reach: CrawlRegistry, name: str, folder: str) -> None:
    """Add the folder of a crawl. Raise ``ProblemError``."""
    file = collection_file(reach, name)
    _told(file, lambda: file.add([file.folder(folder)]))
    note_did(name, "add_to_collection")
    note_said(f"{folder} is in {name}", refused=False)


def remove(reach: CrawlRegistry, name: str, folder: str) -> None:
    """Remove a crawl's folder from a collection. Raise ``ProblemError``."""
    file = collection_file(reach, name)
    _told(file, lambda: file.remove([file.folder(folder)]))
    note_did(name, "remove_from_collection")
    note_said(f"{folder} is not in {name} any more", refused=False)


def delete_collection(reach: CrawlRegistry, name: str) -> None:
    """Delete a collection, and no crawl. Raise ``ProblemError``."""
    file = collection_file(reach, name)
    _told(file, file.delete)
    note_did(name, "delete_collection")


def described_by(fields: Mapping[str, str]) -> Collection:
    """Return the collection in a form; lists have one value a line. Raise ``ProblemError``."""
    lists = {name: [line.strip() for line in fields.get(name, "").splitlines() if line.strip()] for name in LISTS}
    said = {name: " ".join(fields.get(name, "").split()) for name in ("title", "description", "date")}
    try:
        return Collection.model_validate({**said, **lists})
    except ValidationError as error:
        raise ProblemError(BAD_COLLECTION, ". ".join(mistakes(error))) from None


def _told(file: CollectionFile, act: Callable[[], T]) -> T:
    try:
        return act()
    except CollectionError as error:
        raise ProblemError(
            BAD_COLLECTION, str(error).replace(f"{file.path}: ", "").replace(f"{file.place}/", "")
        ) from None
