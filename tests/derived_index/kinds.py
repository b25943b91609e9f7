"""The indexes that can be built again, each with writers of its sources and what it holds, in no order."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from aahcrawler.archive.ledger import Ledger
from aahcrawler.archive.record_access import Appended
from aahcrawler.archive.writer import Identity, WarcWriter
from aahcrawler.derived_index import DerivedIndex
from aahcrawler.event_index import EventIndex
from aahcrawler.frontier.protocol import Offer
from aahcrawler.layout import (
    ARCHIVE,
    CHANGE_LOG,
    CHANGES,
    FORMER,
    HISTORY,
    INDEXES,
    LOG,
    NQUADS,
    OBJECTS,
    REFUSAL_LOG,
    REFUSED,
    WARC,
)
from aahcrawler.objects.writer import ObjectWriter
from aahcrawler.page_index import PageIndex
from aahcrawler.refusals import RefusalLog
from aahcrawler.revisits.change_index import ChangeIndex
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.revisits.visit_record import ChangeKind, Place, VisitRecord, milliseconds
from aahcrawler.service.views.refused_links import RefusalsIndex
from tests.archive.exchanges import INFO, STARTED, exchange_of
from tests.page_index.test_page_index import AT, capture, post

Held = dict[str, list[tuple[Any, ...]]]


class Kind(ABC):
    """An index, and how its sources are written; entry ``n`` is the same whoever writes it."""

    folder: str
    """The folder of its sources, and their extension."""
    extension: str
    questions: ClassVar[dict[str, str]]

    @abstractmethod
    def index(self, folder: Path) -> DerivedIndex[Any]:
        """Return its index in a crawl's folder."""

    @abstractmethod
    def writer(self, folder: Path, name: str) -> tuple[Callable[[int], object], Callable[[], object]]:
        """Return what adds an entry to a source, and what closes it."""

    def held(self, index: DerivedIndex[Any]) -> Held:
        """Return what an index that is open holds."""
        return {
            question: sorted(map(tuple, index.base.execute(question)), key=repr) for question in self.questions.values()
        }


class Captures(Kind):
    folder, extension = ARCHIVE, WARC
    questions: ClassVar = {
        "captures": "SELECT url, date, status, offset, name, current FROM captures JOIN segment ON segment.id = file",
        "last": "SELECT name, offset, last.record FROM last JOIN segment ON segment.id = file",
    }

    def index(self, folder: Path) -> DerivedIndex[Appended]:
        return Ledger(folder / INDEXES / HISTORY, folder / ARCHIVE, lambda: 0.0)

    def writer(self, folder: Path, name: str) -> tuple[Callable[[int], object], Callable[[], object]]:
        ids = iter(range(sys.maxsize))
        at = sum(map(ord, name))
        identity = Identity(lambda: f"urn:uuid:00000000-0000-4000-8000-{at:06d}{next(ids):06d}", lambda: STARTED)
        writer = WarcWriter(folder / ARCHIVE, replace(INFO, crawl=name), identity=identity)

        def add(number: int) -> None:
            exchange = exchange_of(b"HTTP/1.1 200 OK\r\n\r\n%d" % number, b"%d" % number, url=f"http://a.test/{number}")
            writer.write(replace(exchange, started_at=STARTED + timedelta(seconds=number)))

        return add, writer.close


class Pages(Kind):
    folder, extension = OBJECTS, NQUADS
    questions: ClassVar = {
        "captures": "SELECT record, at, url, status, objects, name, place FROM capture"
        " JOIN segment ON segment.id = segment",
        "objects": "SELECT iri, type, title, author, excerpt, deleted, at FROM object",
        "words": "SELECT iri FROM words JOIN object ON object.id = words.rowid WHERE words MATCH 'body'",
        "tally": "SELECT * FROM tally WHERE n != 0",
    }

    def index(self, folder: Path) -> DerivedIndex[bytes]:
        return PageIndex(folder)

    def writer(self, folder: Path, name: str) -> tuple[Callable[[int], object], Callable[[], object]]:
        writer = ObjectWriter(folder / OBJECTS, name, lambda: AT)
        return lambda number: writer.write(capture(number), [post(number, body=f"Body {number}")]), writer.close


class Events(Kind):
    folder, extension = FORMER, ""
    questions: ClassVar = {"events": "SELECT at, level, crawl, subsystem, message FROM event"}

    def index(self, folder: Path) -> DerivedIndex[bytes]:
        return EventIndex(folder)

    def writer(self, folder: Path, name: str) -> tuple[Callable[[int], object], Callable[[], object]]:
        path = folder / FORMER / str(1 + ord(name) - ord("a")) / LOG
        path.parent.mkdir(parents=True, exist_ok=True)

        def add(number: int) -> None:
            with path.open("a") as file:
                file.write(f"2026-01-01T10:00:00.{number:03d}Z INFO crawl.core event {number}\n")

        return add, lambda: None


class Refusals(Kind):
    folder, extension = REFUSED, REFUSAL_LOG
    questions: ClassVar = {
        "links": "SELECT link.url, site.name, reason.name, page.url, score FROM link JOIN site ON site.id = site"
        " JOIN reason ON reason.id = reason JOIN page ON page.id = page",
        "failed": "SELECT failed.url, name, kind FROM failed JOIN reason ON reason.id = reason",
        "counts": "SELECT name, links FROM reason",
    }

    def index(self, folder: Path) -> DerivedIndex[bytes]:
        return RefusalsIndex(folder, 1)

    def writer(self, folder: Path, name: str) -> tuple[Callable[[int], object], Callable[[], object]]:
        log = RefusalLog(folder / REFUSED, name, 1, lambda: STARTED)

        def add(number: int) -> None:
            url = f"http://site{number % 3}.test/{number}"
            if number % 2:
                log.failed(url, f"status {500 + number % 4}", "page", "http://a.test/")
            else:
                log.refused("http://a.test/", "en", {"other_site": [Offer(url, "site.test", 0.5, 1, "page")]})

        return add, log.close


class Changes(Kind):
    folder, extension = CHANGES, CHANGE_LOG
    questions: ClassVar = {
        "visits": "SELECT url, visit.at, crawl, state, kind, previous FROM visit JOIN page ON page.id = page",
        "places": "SELECT template, path, visits, pages FROM place",
        "servers": "SELECT * FROM server",
    }

    def index(self, folder: Path) -> DerivedIndex[bytes]:
        return ChangeIndex(folder)

    def writer(self, folder: Path, name: str) -> tuple[Callable[[int], object], Callable[[], object]]:
        log, begun = ChangeLog(folder / CHANGES, name, 1, lambda: STARTED), milliseconds(STARTED)
        places = (Place("html/body/p", numbers=True, alone=True),)

        def add(number: int) -> None:
            url, at = f"http://{name}.test/{number % 3}", begun + 1_000 * number
            modified = "Wed, 01 Jan 2020 00:00:00 GMT"
            seen = VisitRecord(url=url, at=at, status=200, payload=str(number), modified=modified, template=name)
            log.visited(seen.model_copy(update={"kind": ChangeKind.CONTENT, "places": places}))

        return add, log.close


KINDS: dict[str, Kind] = {
    "captures": Captures(),
    "pages": Pages(),
    "events": Events(),
    "refusals": Refusals(),
    "changes": Changes(),
}
