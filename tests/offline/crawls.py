"""Crawls of a small forum, written by hand into segments."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.webobject import Person, Reference, WebObject

BEGUN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
THREAD = "http://forum.test/t/{}"


def graph(number: int) -> str:
    return f"urn:uuid:00000000-0000-4000-8000-{number:012d}"


def capture(number: int, thread: int | None = None) -> CaptureDescription:
    url = THREAD.format(number if thread is None else thread)
    return CaptureDescription(graph(number), url, 200, BEGUN.replace(minute=number % 60), "text/html", depth=1)


def post(
    thread: int, place: int, author: str, body: str, *, title: str = "", day: int = 1, links: Sequence[str] = ()
) -> WebObject:
    url = THREAD.format(thread)
    properties = {
        "title": (title,) if title else (),
        "author": (Person(author, f"http://forum.test/u/{author}"),),
        "date": (datetime(2020, 5, day, 12, tzinfo=UTC),),
        "body": (body,),
        "links": tuple(Reference(link) for link in links),
    }
    present = {name: values for name, values in properties.items() if values}
    return WebObject(f"{url}#p{place}", "post", url, present, url)


@contextmanager
def writer(crawl: Path, *, size: int = 1 << 30) -> Iterator[ObjectWriter]:
    with ObjectWriter(crawl / "objects", "demo", lambda: BEGUN, size=size) as objects:
        yield objects


def write_threads(crawl: Path, threads: range, *, size: int = 1 << 30) -> None:
    """Write a capture for each thread, with one post."""
    with writer(crawl, size=size) as objects:
        for number in threads:
            objects.write(capture(number), [post(number, 1, "ann", f"Text {number} of C:\\users \\\\u0041 \U0001f6b2")])


def segments_of(crawl: Path) -> list[Path]:
    return sorted((crawl / "objects").iterdir())
