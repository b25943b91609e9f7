"""Pages written by hand after the templates of each application, with what is expected of them."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aahcrawler.page import Headers, Page
from aahcrawler.webobject import Person, Reference, WebObject

FOLDER = Path(__file__).parents[2] / "knowledge_base" / "applications" / "pages"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class SavedPage:
    """A page and its expectation."""

    name: str
    page: Page
    expected: dict[str, Any]


def html_page(url: str, markup: str | bytes, status: int = 200, *more: tuple[str, str]) -> Page:
    body = markup if isinstance(markup, bytes) else markup.encode()
    return Page(url, status, Headers((("Content-Type", "text/html; charset=UTF-8"), *more)), body, NOW)


def saved_pages() -> list[SavedPage]:
    pages = []
    for file in sorted(FOLDER.glob("*/*.html")):
        expected = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        pages.append(
            SavedPage(f"{file.parent.name}/{file.stem}", html_page(expected["url"], file.read_bytes()), expected)
        )
    return pages


def plain(item: WebObject) -> dict[str, str | None]:
    """Write an object the way expectations do."""
    author, date, parent = item.first("author"), item.first("date"), item.first("parent")
    title, body = item.first("title"), item.first("body")
    row = {
        "iri": item.iri,
        "type": item.type,
        "title": str(title) if title is not None else None,
        "author": author.name if isinstance(author, Person) else None,
        "date": date.isoformat() if isinstance(date, datetime) else None,
        "body": str(body) if body is not None else None,
        "part_of": item.part_of,
    }
    if isinstance(parent, Reference):
        row["parent"] = parent.url
    return row
