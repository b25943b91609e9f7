"""Recorded sites read page by page by a helper that knows no application at all, and scored against their truth."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from aahcrawler import urls
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Headers, Page
from aahcrawler.webobject import Person, WebObject
from benchmarks import recorded
from knowledge_base.model import KnowledgeBase
from tests.recorded_site import recorded_site

RECORDED = datetime(2026, 11, 21, 0, 30, tzinfo=UTC)
EVERY = 10
"""Of the pages of a site only one in so many is read: enough to notice what breaks, in seconds."""

SITES = ("mediawiki/vector", "pelican/simple", "phpbb/prosilver", "wordpress/twentytwentytwo")
OTHERS = (
    "hexo/icarus",
    "hexo/landscape",
    "hexo/next",
    "mediawiki/monobook",
    "mybb/cerise",
    "mybb/default",
    "pelican/bootstrap2",
    "pelican/notmyidea",
    "serendipity/2k11",
    "serendipity/bulletproof",
    "smf/default",
    "wordpress/twentytwentyone",
)
ALL = [*SITES, *(pytest.param(name, marks=pytest.mark.soak) for name in OTHERS)]


def rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def write(file: Path, lines: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def local(url: str) -> str:
    parts = urlsplit(url)
    return unquote(parts.path or "/") + ("?" + unquote(parts.query) if parts.query else "")


class Sample:
    """One page in so many of a recorded site, duplicates and profiles apart, and what is true of these pages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = json.loads((folder / "site.json").read_text())["base"].rstrip("/")
        listed = [row for row in rows(folder / "pages.jsonl") if not row.get("dup_of")]
        wanted = [row for row in listed if row.get("objects") or row["level"] != "terminal"]
        self.asked = {local(row["url"]) for row in wanted[::EVERY]}
        self._index = {local(row["url"]): row for row in rows(folder / "index.jsonl")}

    def pages(self) -> Iterator[Page]:
        for address in sorted(self.asked):
            row = self._index.get(address)
            if row is not None and row["status"] == 200 and "html" in (row["content_type"] or ""):
                url = urls.canonicalize(row["url"] if "://" in row["url"] else self.base + row["url"]) or ""
                fields = tuple((str(name), str(value)) for name, value in row["headers"])
                yield Page(url, 200, Headers(fields), (self.folder / row["file"]).read_bytes(), RECORDED)

    def reduced(self, folder: Path) -> recorded.RecordedSite:
        """Write the truth of the sample alone."""
        write(
            folder / "truth.jsonl",
            [row for row in rows(self.folder / "truth.jsonl") if local(row["url"]) in self.asked],
        )
        for name in ("pages.jsonl", "index.jsonl"):
            (folder / name).write_bytes((self.folder / name).read_bytes())
        return recorded.RecordedSite("", "", folder)


def row_of(item: WebObject) -> dict[str, Any]:
    author, date = item.first("author"), item.first("date")
    return {
        "url": item.source_url,
        "type": item.type,
        "title": item.first("title"),
        "author": author.name if isinstance(author, Person) else None,
        "date": date.isoformat() if isinstance(date, datetime) else None,
        "body": item.first("body"),
    }


@pytest.mark.parametrize("name", ALL)
def test_most_posts_of_unknown_applications_are_found(name: str, tmp_path: Path) -> None:
    sample = Sample(recorded_site(name).folder)
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    objects: dict[str, WebObject] = {}
    read: list[dict[str, Any]] = []
    for page in sample.pages():
        assistance = helper.assist(page)
        assert assistance.match is None
        read.append({"url": page.url, "level": None})
        objects.update({item.iri: item for item in assistance.objects})
    site = sample.reduced(tmp_path)
    scores = recorded.score(
        site,
        write(tmp_path / "objects.jsonl", [row_of(item) for item in objects.values()]),
        pages=write(tmp_path / "read.jsonl", read),
        scorer=recorded.SHARED / "score.py",
    )
    assert (scores["recall"] or 0) >= 0.88
    assert (scores["precision"] or 0) >= 0.9
    assert (scores["false_objects"] or 0) <= 0.12
    assert (scores["date"] or 0) >= 0.85
