"""The records of a crawl's archive by kind and URL, as another reader finds them."""

from collections.abc import Iterator
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecord


def records(crawl: Path, kind: str, url: str) -> Iterator[WarcRecord]:
    """Yield the records of a kind and URL, their digests verified."""
    for path in sorted((crawl / "archive").iterdir()):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False, verify_digests=True):
                if record.headers["WARC-Type"] == kind and record.headers.get("WARC-Target-URI") == url:
                    yield record


def blocks(crawl: Path, kind: str, url: str) -> list[bytes]:
    """Return the blocks of the records of a kind and URL."""
    return [record.reader.read() for record in records(crawl, kind, url)]


def fields(crawl: Path, kind: str, url: str) -> dict[str, str]:
    """Return the fields of the first record of a kind and URL."""
    record = next(records(crawl, kind, url))
    return {str(name): str(value) for name, value in record.headers.items()}
