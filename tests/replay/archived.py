"""A crawl's folder with captures made by hand."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from aahcrawler.archive.history import History
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.records import CrawlInfo, Original, Resource
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.exchange import Truncation
from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.capture_lookup import date_of
from aahcrawler.replay.replayed_captures import ReplayedCaptures, Shown
from online_analysis.icd import Icd
from tests.archive.exchanges import exchange_of

MOMENT = "20260102030405"
URL = "http://a.test/dir/page"
HTML = {"Content-Type": "text/html; charset=utf-8"}


class Archived:
    """A crawl that is being written: ``add`` appends captures, ``close`` ends it."""

    def __init__(self, folder: Path, name: str = "test") -> None:
        self.folder, self.name = folder, name
        self.index = IndexWriter(folder / "archive", folder / "indexes")
        self._writer = WarcWriter(folder / "archive", CrawlInfo(name, "AAHCrawler/0.2"), index=self.index)
        folder.mkdir(parents=True, exist_ok=True)
        fields = {"id": name, "contact": "a@example.org", "seeds": [URL], "topic": {"keywords": ["flood"]}}
        icd = Icd.parse("".join(f"{key}: {json.dumps(value)}\n" for key, value in fields.items()).encode())
        (folder / "icd.json").write_text(json.dumps(icd.meaning()), "utf-8")

    def add(
        self,
        body: bytes | str = b"",
        url: str = URL,
        moment: str | datetime = MOMENT,
        headers: Mapping[str, str] = HTML,
        status: int = 200,
        original: WrittenCapture | None = None,
        resources: Sequence[Resource] = (),
        truncated: Truncation | None = None,
        metadata: bytes | None = None,
    ) -> WrittenCapture:
        """Append the response of a URL; with an original of the same payload, as a revisit of that."""
        payload = body.encode() if isinstance(body, str) else body
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        wire = f"HTTP/1.1 {status} Told\r\n{lines}\r\n".encode() + payload
        started = date_of(moment) if isinstance(moment, str) else moment
        exchange = replace(exchange_of(wire, payload, url=url, truncated=truncated), started_at=started)
        digest = hashlib.sha1(payload, usedforsecurity=False).digest()
        held = None
        if original is not None:
            held = Original(original.record_id, original.url, original.warc_date, digest)
        return self._writer.write(exchange, original=held, metadata=metadata, resources=resources)

    def close(self) -> ReplayedCaptures:
        """End the crawl; return what shows its captures."""
        self._writer.close()
        self.index.close()
        with History(self.folder / "archive", self.folder / "indexes"):
            pass
        return ReplayedCaptures(self.folder)


def shown(
    captures: ReplayedCaptures, url: str = URL, moment: str = MOMENT, modifier: Modifier = Modifier.PAGE
) -> Shown:
    """Return what is shown for a URL."""
    return captures.show(Address("test", moment, modifier, url))


def body_of(response: Shown) -> bytes:
    """Return the whole body of a response."""
    return response.body if isinstance(response.body, bytes) else b"".join(response.body)


def now() -> datetime:
    """Return a time with microseconds."""
    return datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
