"""Collections are made, changed and deleted; no crawl is changed by any of that."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from aahcrawler.crawl_collections import LISTS, TERMS, Collection, CollectionError, CollectionFile, mistakes
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.collection_view import collection_file
from aahcrawler.service.web.noted_acts import note_did, note_said
from aahcrawler.service.web.problems import BAD_COLLECTION, ProblemError

T = TypeVar("T")


def put_collection(reach: CrawlRegistry, name: str, wanted: Collection) -> bool:
    """Make a collection what is wanted; return whether it is new. Raise ``ProblemError``.

    Crawls that are gone may stay in it, and no other that is none can be added.
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


def describe(reach: CrawlRegistry, name: str, changes: Mapping[str, JsonValue]) -> None:
    """Change what a collection is described by. Raise ``ProblemError`` with each mistake."""
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
    """Take the folder of a crawl out of a collection. Raise ``ProblemError``."""
    file = collection_file(reach, name)
    _told(file, lambda: file.remove([file.folder(folder)]))
    note_did(name, "remove_from_collection")
    note_said(f"{folder} is not in {name} any more", refused=False)


def delete(reach: CrawlRegistry, name: str) -> None:
    """Delete a collection, and no crawl. Raise ``ProblemError``."""
    file = collection_file(reach, name)
    _told(file, file.delete)
    note_did(name, "delete_collection")


def described_by(fields: Mapping[str, str]) -> Collection:
    """Return what the fields of a form say, a line for each value of a list. Raise ``ProblemError``."""
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
