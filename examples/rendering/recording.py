"""A site in the recorded-site format: index.jsonl, pages/, truth.jsonl, pages.jsonl and site.json."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Literal

from examples.rendering.prose import Body, plain

Level = Literal["intermediate", "terminal", "other"]
Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
HTML = "text/html; charset=UTF-8"


@dataclass(frozen=True, slots=True)
class TrueObject:
    """One post, comment or article as it was written: a line of truth.jsonl.

    ``url`` is absolute. ``shown`` names the fields that the page prints; the body always is.
    """

    id: str
    url: str
    kind: Literal["post", "reply", "comment", "article", "page"]
    title: str | None
    author: str | None
    date: datetime
    body: Body
    parent: str | None = None
    anchor: str | None = None
    shown: frozenset[str] = frozenset({"title", "author", "date"})

    def row(self) -> dict[str, Json]:
        """Return the line as data."""
        shown: dict[str, Json] = {"body": True, "whole_body": True}
        shown |= {name: name in self.shown for name in ("title", "author", "date")}
        row: dict[str, Json] = {"id": self.id, "url": self.url, "kind": self.kind, "title": self.title}
        row |= {"author": self.author, "date": self.date.astimezone(UTC).isoformat(), "body": plain(self.body)}
        row |= {"parent": self.parent, "anchor": self.anchor, "shown": shown}
        return row


@dataclass(frozen=True, slots=True)
class PageKind:
    """What a page is: its level and kind, how many objects it holds, and the path that it repeats, if any.

    ``on_topic`` says of a page with objects whether it is about the flood; None of all others.
    """

    level: Level
    name: str
    objects: int = 0
    dup_of: str | None = None
    on_topic: bool | None = None


@dataclass(slots=True)
class Recording:
    """A site being written. Paths are server-relative and may have a query; each is recorded once."""

    host: str
    app: str
    theme: str
    settings: dict[str, Json] = field(default_factory=dict)
    _index: list[dict[str, Json]] = field(default_factory=list)
    _pages: list[dict[str, Json]] = field(default_factory=list)
    _truth: list[dict[str, Json]] = field(default_factory=list)
    _files: dict[str, bytes] = field(default_factory=dict)
    _paths: set[str] = field(default_factory=set)

    def url(self, path: str) -> str:
        """Return the absolute address of a path of this site."""
        return f"http://{self.host}{path}"

    def page(self, path: str, html: str, kind: PageKind, content_type: str = HTML) -> None:
        """Record a page that is answered with 200."""
        self._record(path, html.encode(), content_type, kind, ".html")

    def file(self, path: str, body: bytes, content_type: str) -> None:
        """Record something that is not a page: an image, a style sheet, robots.txt, a feed."""
        suffix = PurePosixPath(path.split("?", maxsplit=1)[0]).suffix or ".txt"
        self._record(path, body, content_type, PageKind("other", "file"), suffix)

    def same(self, path: str, of: str, kind: PageKind) -> None:
        """Record a page that is answered with the very bytes of the recorded path ``of``."""
        self._claim(path)
        original = next(row for row in self._index if row["url"] == self.url(of))
        self._index.append(original | {"url": self.url(path)})
        self._page_row(path, kind)

    def redirect(self, path: str, location: str, status: int = 301) -> None:
        """Record an answer that leads elsewhere; ``location`` is a path of this site or an absolute address."""
        target = self.url(location) if location.startswith("/") else location
        self._claim(path)
        headers: Json = [["Location", target]]
        row: dict[str, Json] = {"url": self.url(path), "file": None, "status": status, "content_type": HTML}
        self._index.append(row | {"headers": headers, "referrer": None})
        self._page_row(path, PageKind("other", "redirect"))

    def truth(self, objects: Iterable[TrueObject]) -> None:
        """Record what was written on the site."""
        self._truth.extend(one.row() for one in objects)

    def robots(self, *lines: str) -> None:
        """Record robots.txt."""
        self.file("/robots.txt", ("\n".join(lines) + "\n").encode(), "text/plain")

    def files(self) -> Mapping[str, bytes]:
        """Return the whole site as file contents by path below the site's folder."""
        return self._files | {
            "index.jsonl": _lines(self._index),
            "pages.jsonl": _lines(self._pages),
            "truth.jsonl": _lines(self._truth),
            "site.json": (json.dumps(self._summary(), indent=1, ensure_ascii=False) + "\n").encode(),
        }

    def _record(self, path: str, body: bytes, content_type: str, kind: PageKind, suffix: str) -> None:
        self._claim(path)
        name = f"pages/{len(self._index) + 1:05d}{suffix}"
        self._files[name] = body
        row: dict[str, Json] = {"url": self.url(path), "file": name, "status": 200, "content_type": content_type}
        self._index.append(row | {"headers": [], "referrer": None})
        self._page_row(path, kind)

    def _claim(self, path: str) -> None:
        if path in self._paths:
            raise ValueError(f"{self.url(path)} is recorded twice: give one of the two pages another path")
        self._paths.add(path)

    def _page_row(self, path: str, kind: PageKind) -> None:
        row: dict[str, Json] = {"url": self.url(path), "level": kind.level, "kind": kind.name, "objects": kind.objects}
        row |= {"dup_of": self.url(kind.dup_of)} if kind.dup_of else {}
        row |= {"on_topic": kind.on_topic} if kind.on_topic is not None else {}
        self._pages.append(row)

    def _summary(self) -> dict[str, Json]:
        pages = [row for row in self._index if row["status"] == 200 and "html" in str(row["content_type"])]
        summary: dict[str, Json] = {"app": self.app, "theme": self.theme, "version": "written for the demo"}
        summary |= {"base": self.url(""), "ignore_params": [], "urls": len(self._index), "html_200": len(pages)}
        summary |= {"levels": _counts(self._pages, "level"), "objects": _counts(self._truth, "kind")}
        return summary | self.settings


def _counts(rows: list[dict[str, Json]], name: str) -> dict[str, Json]:
    counts = Counter(str(row[name]) for row in rows)
    return {value: counts[value] for value in sorted(counts)}


def _lines(rows: list[dict[str, Json]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
