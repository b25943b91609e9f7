"""Recorded sites crawled breadth-first through the helper, without a network, and scored against their truth."""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from aahcrawler import urls
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.page import Headers, Page
from aahcrawler.webobject import Person, WebObject
from benchmarks import recorded
from tests.recorded_site import recorded_site
from tests.shipped import shipped

RECORDED = datetime(2026, 11, 21, 0, 30, tzinfo=UTC)
MAX_REQUESTS = 400
SITE = "mediawiki/vector"
"""A wiki. A blog is crawled over HTTP (``tests/crawl/test_recorded.py``)."""
CLAIMED = ("wordpress/twentytwentytwo", "mybb/default")
"""A blog and a forum, whose pages are read in part."""
OTHERS = (
    "mediawiki/monobook",
    "wordpress/twentytwentyone",
    "phpbb/prosilver",
    "mybb/cerise",
    "smf/default",
    "hexo/landscape",
    "hexo/next",
    "pelican/bootstrap2",
    "pelican/notmyidea",
    "pelican/simple",
    "serendipity/2k11",
    "serendipity/bulletproof",
)
SOAK = [pytest.param(name, marks=pytest.mark.soak) for name in OTHERS]


def rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


class Recording:
    """The pages of a recorded site by their addresses, as its server would answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        for row in rows(folder / "index.jsonl"):
            self._rows.setdefault(self._key(row["url"]), row)
        self.start = urls.canonicalize(json.loads((folder / "site.json").read_text())["base"] + "/") or ""

    @staticmethod
    def _key(url: str) -> tuple[str, str]:
        parts = urlsplit(url)
        return unquote(parts.path or "/"), unquote(parts.query)

    def page(self, url: str) -> Page:
        row = self._rows.get(self._key(url))
        if row is None:
            return Page(url, 404, Headers((("Content-Type", "text/html"),)), b"<title>404 Not Found</title>", RECORDED)
        body = (self.folder / row["file"]).read_bytes() if row.get("file") else b""
        headers = [(name, value) for name, value in row["headers"] if name.lower() != "content-type"]
        fields = (*headers, ("Content-Type", row["content_type"] or ""))
        return Page(url, row["status"], Headers(fields), body, RECORDED)


def crawl(recording: Recording, helper: ApplicationAwareHelper) -> Iterator[tuple[str, Assistance]]:
    """Fetch breadth-first from the front page, never leaving the host; redirects cost a request of their own."""
    queue, seen = deque([recording.start]), {recording.start}
    host = urlsplit(recording.start).netloc
    while queue and len(seen) < MAX_REQUESTS:
        url = queue.popleft()
        page = recording.page(url)
        assistance = helper.assist(page)
        yield url, assistance
        target = urls.resolve(url, page.headers.get("Location")) if 300 <= page.status < 400 else None
        found = [helper.canonical(target)] if target else [link.url for link in assistance.document.outlinks]
        for link in found:
            if link not in seen and urlsplit(link).netloc == host:
                seen.add(link)
                queue.append(link)


def row_of(item: WebObject) -> dict[str, object]:
    author, date = item.first("author"), item.first("date")
    return {
        "url": item.source_url,
        "type": item.type,
        "title": item.first("title"),
        "author": author.name if isinstance(author, Person) else None,
        "date": date.isoformat() if isinstance(date, datetime) else None,
        "body": item.first("body"),
    }


def write(file: Path, lines: list[dict[str, object]]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", [SITE, *(pytest.param(name, marks=pytest.mark.soak) for name in CLAIMED), *SOAK])
def test_everything_is_collected_and_little_else_requested(name: str, tmp_path: Path) -> None:
    site = recorded_site(name)
    objects: dict[str, WebObject] = {}
    requests: list[dict[str, object]] = []
    levels: list[dict[str, object]] = []
    for url, assistance in crawl(Recording(site.folder), ApplicationAwareHelper(shipped())):
        level = assistance.match.level if assistance.match else None
        requests.append({"url": url})
        levels.append({"url": url, "level": level.role if level else None})
        assert not assistance.failed_actions, url
        for item in assistance.objects:
            objects.setdefault(item.iri, item)
    scores = recorded.score(
        site,
        write(tmp_path / "objects.jsonl", [row_of(item) for item in objects.values()]),
        write(tmp_path / "requests.jsonl", requests),
        write(tmp_path / "pages.jsonl", levels),
    )
    floors = dict.fromkeys(("recall", "title", "author", "date", "time", "level_accuracy"), 0.99) | {"precision": 0.98}
    assert {
        name: scores[name]
        for name, floor in floors.items()
        if (1 if (score := scores[name]) is None else score) < floor
    } == {}
    assert (scores["duplicate_share"] or 0) <= 0.01
    assert (scores["false_objects"] or 0) <= 0.01
    assert (scores["requests_per_needed_page"] or 99) <= 1.3


@pytest.mark.parametrize("name", [SITE, *CLAIMED, *SOAK])
def test_no_other_application_claims_a_page(name: str) -> None:
    recording, knowledge_base = Recording(recorded_site(name).folder), shipped()
    pages = [recording.page(row["url"]) for row in list(rows(recording.folder / "index.jsonl"))[:15]]
    everything = ApplicationAwareHelper(knowledge_base)
    own = next((match for page in pages if (match := everything.assist(page).match) is not None), None)
    others = tuple(app for app in knowledge_base.applications if own is None or app is not own.application)
    helper = ApplicationAwareHelper(replace(knowledge_base, applications=others))
    claimed = {page.url: match.application.name for page in pages if (match := helper.assist(page).match) is not None}
    assert own is not None
    assert claimed == {}
