"""Reads documents through a child process that is killed when it takes too long."""

import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from lxml import etree

from aahcrawler import urls
from aahcrawler.documents.content import ENCRYPTED
from aahcrawler.page import Headers, Page, sniff
from aahcrawler.page.transcript import Sheet, Transcript, TranscriptLink
from online_analysis.icd import plain_text

DOCUMENTS: Final = frozenset(
    {
        "application/pdf",
        "application/epub+zip",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.text-template",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    }
)
"""The media types of documents that are read."""
SECONDS: Final = 120.0
"""The most seconds that one document may take in all; the pages read until then count. The child bounds the work: a
busy machine is no reason to cut a document off.
"""
SERVED: Final = 100
"""The number of documents after which a child is replaced, to free its leaked memory."""
CHILD: Final = (sys.executable, "-P", "-m", "aahcrawler.documents.child")
"""The command that runs ``aahcrawler.documents.child``."""
_MAX_ANSWER_LENGTH = 32_000_000


def is_document(page: Page) -> bool:
    """Return whether a page is a document that can be read: by its declared type, else by its bytes."""
    if page.media_type in DOCUMENTS:
        return True
    return not (page.is_html or page.is_json) and sniff(page.body, page.media_type) in DOCUMENTS


class DocumentReader:
    """Reads PDF, DOCX, ODT and EPUB files, one at a time. Thread-safe.

    The child process is started with the first document and ends with ``close``, with this process, or with a document
    that takes too much time or memory, or crashes it. The pages of such a document that were read until then are
    returned.
    """

    def __init__(self, seconds: float = SECONDS, command: Sequence[str] = CHILD) -> None:
        self._seconds = seconds
        self._command = command
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._served = 0

    def read(self, body: bytes) -> Transcript:
        """Return the transcript of a document, an empty one for another file. No file's content raises an error."""
        with self._lock:
            lines = _Lines(self._seconds)
            try:
                found = list(self._answer(body, lines))
            except (OSError, ValueError, RecursionError):
                found = lines.read
            if not lines.ended:
                self._end()
        return _transcript(found, complete=lines.ended)

    def close(self) -> None:
        """End the child process."""
        with self._lock:
            self._end()

    def _answer(self, body: bytes, lines: "_Lines") -> Iterator[Any]:
        child = self._ready()
        assert child.stdin is not None  # noqa: S101
        assert child.stdout is not None  # noqa: S101
        sender = threading.Thread(target=_send, args=(child.stdin, body), daemon=True)
        sender.start()
        yield from lines.of(child.stdout.fileno())
        if lines.ended:
            sender.join()

    def _ready(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._served < SERVED and self._child.poll() is None:
            self._served += 1
            return self._child
        self._end()
        self._served = 1
        self._child = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class _Lines:
    """The lines of one response, as they arrive. ``ended`` tells whether the last one has come."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self.ended = False
        self.read: list[Any] = []

    def of(self, descriptor: int) -> Iterator[Any]:
        """Yield lines up to the last one.

        Fewer when time runs out, the response is too long, or the child has ended.
        """
        pending, size = bytearray(), 0
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while size < _MAX_ANSWER_LENGTH and selector.select(max(0.0, self._deadline - time.monotonic())):
                came = os.read(descriptor, 1 << 16)
                if not came:
                    return
                size += len(came)
                pending += came
                if b"\n" not in came:
                    continue
                *lines, pending = pending.split(b"\n")
                for line in lines:
                    sheet = json.loads(line)
                    if sheet is None:
                        self.ended = True
                        return
                    self.read.append(sheet)
                    yield sheet


def _send(pipe: Any, body: bytes) -> None:
    with suppress(OSError, ValueError):
        pipe.write(len(body).to_bytes(8) + body)
        pipe.flush()


def _transcript(lines: list[Any], *, complete: bool) -> Transcript:
    errors = {line["error"] for line in lines if "error" in line}
    about = lines[0] if lines and "title" in lines[0] else {}
    sheets = tuple(_sheet(line) for line in lines if "text" in line)
    return Transcript(
        str(about.get("title", "")),
        _moment(about.get("created", "")),
        sheets,
        complete and not errors,
        str(about.get("author", "")),
        encrypted=ENCRYPTED in errors,
    )


def _moment(written: str) -> datetime | None:
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(written).astimezone(UTC) if written else None
    return None


def _sheet(sheet: Any) -> Sheet:
    return Sheet(sheet["text"], tuple(TranscriptLink(**link) for link in sheet["links"]))


LARGEST: Final = 50_000_000
_MAX_LINKS: Final = 5_000


@dataclass(frozen=True, slots=True)
class GivenText:
    """The text of a file and the web URLs that it links to; ``problem`` says why some may be missing.

    ``problem`` is empty where everything was read.
    """

    text: str
    links: tuple[str, ...] = ()
    problem: str = ""


def given_text(body: bytes, media_type: str, reader: DocumentReader) -> GivenText:
    """Return the text of a file; ``media_type`` is as declared by its sender, and may be empty or wrong.

    Never raises, whatever the file contains. Documents are read by the reader's process, in bounded time.
    """
    if len(body) > LARGEST:
        return GivenText("", (), f"the file is larger than {LARGEST:,} bytes")
    headers = Headers((("Content-Type", media_type),) if media_type else ())
    page = Page("http://file.invalid/", 200, headers, body, datetime.now(UTC))
    if is_document(page):
        return _of_document(body, reader)
    if page.is_html or sniff(body, media_type) == "text/html":
        return GivenText(plain_text(body, html=True), _links(page))
    if b"\0" in body[:100_000] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return GivenText("", (), "the file is neither text nor HTML, PDF, DOCX, ODT or EPUB")
    return GivenText(plain_text(body, html=False))


def _of_document(body: bytes, reader: DocumentReader) -> GivenText:
    found = reader.read(body)
    text = "\n\n".join(filter(None, (found.title, *(sheet.text for sheet in found.sheets))))
    links = dict.fromkeys(link.address for sheet in found.sheets for link in sheet.links)
    problem = ""
    if found.encrypted:
        problem = "the document is encrypted"
    elif not text.strip():
        problem = "the document holds no text"
    elif not found.complete:
        problem = "the document was not read to its end"
    return GivenText(text, tuple(links)[:_MAX_LINKS], problem)


def _links(page: Page) -> tuple[str, ...]:
    """Return the absolute web URLs that an HTML file links to; relative links are left out."""
    try:
        found = page.tree.xpath("//a/@href")
    except (etree.XPathError, ValueError):
        return ()
    addresses = (urls.canonicalize(str(each).strip()) for each in found[: 2 * _MAX_LINKS])
    return tuple(dict.fromkeys(each for each in addresses if each))[:_MAX_LINKS]
