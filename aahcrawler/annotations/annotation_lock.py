"""Who writes annotations in a crawl's folder, or takes some out, is alone in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from aahcrawler.layout import ANNOTATIONS, LOCK


class AnnotationsBusyError(Exception):
    """Raised while another process writes annotations of a crawl; the message tells what to do."""


@contextmanager
def annotating(crawl: Path) -> Iterator[Path]:
    """Keep others from writing annotations of a crawl meanwhile; give their folder, which is made where it is missing.

    Crawls go on: they write none. Raise ``AnnotationsBusyError`` and ``OSError``.
    """
    folder = crawl / ANNOTATIONS
    folder.mkdir(exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise AnnotationsBusyError(f"{crawl}: aah enrich is at work here; wait for its end, or end it") from error
    try:
        yield folder
    finally:
        lock.release()
