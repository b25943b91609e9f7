"""Folders of crawls for the tests of the search: pages as WARC records, objects as statements."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aahcrawler.archive.writer import WarcWriter
from aahcrawler.layout import ARCHIVE, OBJECTS
from aahcrawler.metadata import Metadata, write_metadata
from aahcrawler.objects.versions import Changes
from aahcrawler.objects.vocabulary import crawl as crawl_iri
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.search import Found, Question, SearchedFolder, SearchIndex, search
from aahcrawler.search.search_entry import EPOCH
from aahcrawler.webobject import Person, Value, WebObject
from tests.archive.exchanges import INFO, page_exchange

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SITE = "http://forum.test"


@dataclass
class Archive:
    """The writers of a crawl that runs: each capture is a day after the one before."""

    folder: Path
    warc: WarcWriter
    objects: ObjectWriter
    day: int = 0
    records: list[str] = field(default_factory=list)

    def page(self, path: str, text: str, objects: Sequence[WebObject] = (), gone: Sequence[str] = ()) -> str:
        """Capture a page and return the id of its record."""
        url, at = f"{SITE}/{path}", AT + timedelta(days=self.day)
        self.day += 1
        body = f"<html lang=en><title>{path}</title><body><p>{text}</p></body></html>".encode()
        said = write_metadata(Metadata(url=url, application="phpBB", score=0.5, title=path, language="en"))
        kept = self.warc.write(replace(page_exchange(body), url=url, started_at=at), metadata=said)
        described = CaptureDescription(
            kept.record_id, url, 200, at, "text/html", "phpBB", score=0.5, crawl=crawl_iri("floods", 1)
        )
        if gone:
            described = replace(described, changes=Changes(deleted=tuple(gone)), revision_of=self.records[-1])
        self.objects.write(described, objects)
        self.records.append(kept.record_id)
        return kept.record_id


@contextmanager
def running(folder: Path) -> Iterator[Archive]:
    """Lend the writers of a crawl that has begun."""
    (folder / OBJECTS).mkdir(parents=True, exist_ok=True)
    with (
        WarcWriter(folder / ARCHIVE, INFO) as warc,
        ObjectWriter(folder / OBJECTS, "test", lambda: AT) as objects,
    ):
        yield Archive(folder, warc, objects)


def post(name: str, body: str, author: str = "Jo", date: datetime | None = None, title: str = "") -> WebObject:
    """Return a post."""
    properties: dict[str, tuple[Value, ...]] = {"body": (body,), "author": (Person(author),)}
    if date is not None:
        properties["date"] = (date,)
    if title:
        properties["title"] = (title,)
    return WebObject(f"{SITE}/#{name}", "post", f"{SITE}/thread", properties)


def caught_up(folder: Path) -> SearchedFolder:
    """Return a folder, its index brought up to date."""
    with SearchIndex(folder) as index:
        assert index.catch_up()
    return SearchedFolder(folder)


def found(folder: Path, query: str = "", **narrowed: object) -> Found:
    """Bring the index of a folder up to date, and ask it."""
    return search([caught_up(folder).opened()], Question(query, **narrowed))  # type: ignore[arg-type]


def texts(found: Found) -> list[str]:
    """Return the texts of hits."""
    return [hit.entry.text for hit in found.hits]


def names(found: Found) -> list[str]:
    """Return what identifies the objects among hits."""
    return [hit.entry.thing.rpartition("#")[2] for hit in found.hits if hit.entry.kind == "object"]


def seconds(day: int) -> int:
    """Return the moment of a capture in seconds since 1970."""
    return int((AT + timedelta(days=day) - EPOCH).total_seconds())
