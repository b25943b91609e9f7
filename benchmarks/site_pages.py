"""The pages of a recorded site as the crawler would see them, without a network."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from aahcrawler.page import Headers, Page
from benchmarks.recorded import RecordedSite

FETCHED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""The time at which all recorded pages count as fetched: the day of the recordings."""


def recorded_files(site: RecordedSite) -> Iterator[tuple[str, Page]]:
    """Yield every answer that has a body with the name of the file that holds it, in the order of the recording."""
    with (site.folder / "index.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if not row.get("file"):
                continue
            headers = Headers(tuple((str(name), str(value)) for name, value in row["headers"]))
            if not headers.get("Content-Type") and row["content_type"]:
                headers = Headers((*headers.fields, ("Content-Type", str(row["content_type"]))))
            body = (site.folder / row["file"]).read_bytes()
            yield str(row["file"]), Page(row["url"], row["status"], headers, body, FETCHED_AT)


def site_pages(site: RecordedSite) -> Iterator[Page]:
    """Yield the answers with status 200 in HTML or JSON, in the order in which they were recorded."""
    for _, page in recorded_files(site):
        if page.status == 200 and (page.is_html or page.is_json):
            yield page


def fresh(page: Page) -> Page:
    """Return the page as if it had never been parsed, so that only its next reader keeps the tree."""
    return Page(page.url, page.status, page.headers, page.body, page.fetched_at)
