"""Reads the recorded pages of a site with the application-aware helper, without a network: a crawl in seconds.

All pages that a crawl could want are read, in the order of their recording, whether or not links lead to them: so
extraction is measured apart from navigation.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from aahcrawler.editor.pages.saved_pages import as_text
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.page import Page
from aahcrawler.webobject import Reference, WebObject
from benchmarks.site_pages import fresh
from knowledge_base.model import Application
from knowledge_base.url_rules import ParsedUrl

Assist = Callable[[Page], Assistance]
"""A reader of pages: the helper's ``assist``, with the metadata of former crawls filled in."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One page that was read: the helper's result, and the CPU seconds of parsing and reading it."""

    url: str
    assistance: Assistance
    seconds: float


@dataclass
class Reading:
    """The pages of a site as they were read."""

    seen: list[Seen] = field(default_factory=list)

    @property
    def objects(self) -> list[WebObject]:
        """Each object once, as the page that showed it last has it."""
        return list({each.iri: each for seen in self.seen for each in seen.assistance.objects}.values())

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write objects and pages as ``aah objects`` and ``aah pages`` would; return both files."""
        objects, pages = folder / "objects.jsonl", folder / "pages.jsonl"
        objects.write_text(_lines(asdict(row_of(each)) for each in self.objects), "utf-8")
        levels = ((seen.url, seen.assistance.match) for seen in self.seen)
        rows = ({"url": url, "level": match.level.role if match and match.level else None} for url, match in levels)
        pages.write_text(_lines(rows), "utf-8")
        return objects, pages


def wanted(pages: Iterable[Page], application: Application) -> Iterator[Page]:
    """Yield the pages that a crawl of the application would fetch: none that it avoids, each URL once.

    Of several forms of a URL the canonical one counts where it was recorded, else the first.
    """
    pages = tuple(pages)
    recorded = {page.url for page in pages}
    seen: set[str] = set()
    for page in pages:
        canonical = application.canonical(ParsedUrl.parse(page.url))
        if application.refusal(canonical) is not None or canonical.url in seen:
            continue
        if page.url == canonical.url or canonical.url not in recorded:
            seen.add(canonical.url)
            yield page


def read(pages: Iterable[Page], assist: Assist) -> Reading:
    """Read pages one after the other."""
    reading = Reading()
    for page in pages:
        unread = fresh(page)
        started = time.process_time()
        assistance = assist(unread)
        reading.seen.append(Seen(page.url, assistance, time.process_time() - started))
    return reading


def application_of(pages: Iterable[Page], helper: ApplicationAwareHelper) -> Application | None:
    """Return the first application that any of the pages is recognised as."""
    matches = (helper.assist(fresh(page)).match for page in pages)
    return next((match.application for match in matches if match is not None), None)


def understood(assistance: Assistance) -> Metadata:
    """Return the metadata that a crawl stores of a page for the next crawl."""
    match, document = assistance.match, assistance.document
    level = match.level if match is not None else None
    return Metadata(
        application=match.application.name if match is not None else None,
        level=level.name if level is not None else None,
        role=level.role if level is not None else None,
        variant=match.variant if match is not None else "",
        language=document.language,
        title=document.title,
        links=tuple(Link(each.url, LinkType.PAGE, each.anchor, None, each.action) for each in document.outlinks),
        objects=assistance.objects,
        failures=tuple(each.action for each in assistance.failed_actions),
    )


def row_of(web_object: WebObject) -> ObjectRow:
    """Return an object as the tables of a crawl have it."""
    url = web_object.first("url")
    return ObjectRow(
        url=url.url if isinstance(url, Reference) else web_object.source_url,
        type=web_object.type,
        title=as_text(web_object.first("title")),
        author=as_text(web_object.first("author")),
        date=as_text(web_object.first("date")),
        body=as_text(web_object.first("body")),
        part_of=web_object.part_of,
        iri=web_object.iri,
    )


def _lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
