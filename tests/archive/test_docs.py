"""``docs/warc.md``: its records are what the writer writes, and it explains every finding of a check."""

import gzip
import hashlib
import io
import itertools
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aahcrawler.archive.checking import NOTES
from aahcrawler.archive.records import CrawlInfo, Identified, Original, Resource
from aahcrawler.archive.scanning import Problem
from aahcrawler.archive.writer import Identity, WarcWriter
from aahcrawler.exchange import Exchange
from aahcrawler.metadata import Link, LinkType, Metadata, write_metadata

PAGE = Path(__file__).parents[2] / "docs" / "warc.md"
URL = "http://forum.example.org/viewtopic.php?t=7"
BODY = b"<!DOCTYPE html><title>Bicycles</title><p>Hello!"
RENDERED = BODY + b"<p>Two replies"
IDS = "urn:uuid:5a0e1b7c-0000-4000-8000-{:012d}"
BEGUN = datetime(2026, 11, 21, 8, 0, 1, 250_000, UTC)
INFO = CrawlInfo(
    crawl="bicycles",
    software="AAHCrawler/0.2.0",
    operator="Example City Archive",
    contact="archive@example.org",
    robots="obey",
    user_agent="AAHCrawler/0.2.0 (+mailto:archive@example.org)",
    description="Bicycle forums",
    definition='{"id":"bicycles","seeds":["http://forum.example.org/"],"topic":{"keywords":["bicycle"]}}',
    crawl_number=1,
)
METADATA = Metadata(
    url="http://forum.example.org/viewtopic.php?t=7",
    application="phpBB",
    level="thread",
    role="terminal",
    language="en",
    title="Bicycles",
    score=0.75,
    relevant=True,
    priority=0.5,
    links=(
        Link("http://forum.example.org/viewtopic.php?t=8", anchor="Next", score=0.25),
        Link("http://forum.example.org/style.css", LinkType.REQUISITE),
    ),
)
REQUEST = b"GET /viewtopic.php?t=7 HTTP/1.1\r\nHost: forum.example.org\r\n"


def answer(head: bytes, body: bytes, request: bytes, days: int) -> Exchange:
    wire = head + (b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"")
    digest = hashlib.sha1(body, usedforsecurity=False).digest()
    date = BEGUN + timedelta(days=days)
    return Exchange(URL, "GET", request, io.BytesIO(wire), len(wire), digest, "192.0.2.7", date)


def written(folder: Path) -> list[str]:
    """Write what the page shows; return the records, with line feeds alone."""
    numbers = itertools.count(1)
    identity = Identity(lambda: IDS.format(next(numbers)), lambda: BEGUN)
    head = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: "7a"\r\nTransfer-Encoding: chunked\r\n\r\n'
    asked = REQUEST + b'If-None-Match: "7a"\r\n\r\n'
    html = Identified("text/html", "en")
    with WarcWriter(folder, INFO, identity=identity) as writer:
        first = answer(head, BODY, REQUEST + b"\r\n", 0)
        capture = writer.write(first, html, metadata=write_metadata(METADATA))
        original = Original(capture.record_id, capture.url, capture.warc_date, first.payload_digest, chunked=True)
        same = answer(head.replace(b"7a", b"7b"), BODY, asked, 30)
        unmodified = answer(b'HTTP/1.1 304 Not Modified\r\nETag: "7b"\r\n\r\n', b"", asked.replace(b"7a", b"7b"), 60)
        assert writer.write(same, html, original=original).revisit
        assert writer.write(unmodified, original=original).revisit
        scripted = answer(head, BODY, REQUEST + b"\r\n", 90)
        document = Resource.rendered_dom(URL, RENDERED, f"{URL}#p1", record_id=IDS.format(13))
        writer.write(scripted, html, metadata=write_metadata(METADATA), resources=(document,))
    (path,) = folder.iterdir()
    parts = gzip.decompress(path.read_bytes()).split(b"WARC/1.1\r\n")[1:]
    return [(b"WARC/1.1\r\n" + part).decode().replace("\r\n", "\n").rstrip("\n") for part in parts]


def test_every_record_is_as_it_is_written(tmp_path: Path) -> None:
    shown = re.findall(r"```warc\n(.*?)\n```", PAGE.read_text("utf-8"), re.DOTALL)
    records = {part.split("\n")[2]: part for part in written(tmp_path)}
    for text in shown:
        assert records[text.split("\n")[2]] == text.rstrip("\n")
    kinds = {text.split("\n")[1] for text in shown}
    assert kinds == {
        f"WARC-Type: {kind}" for kind in ("warcinfo", "response", "request", "metadata", "revisit", "resource")
    }
    assert len(shown) == 8


def test_every_finding_is_explained() -> None:
    rows = re.findall(
        r"^\| (note: )?`([^`]+)` \|", PAGE.read_text("utf-8").split("## What a check says")[1], re.MULTILINE
    )
    assert {text: bool(note) for note, text in rows} == {problem.value: problem in NOTES for problem in Problem}
