"""Reads documents through a child process that is killed when it takes too long."""

import json
import os
import re
import selectors
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from lxml import etree

from aahcrawler import urls
from aahcrawler.documents.content import ENCRYPTED
from aahcrawler.documents.formats import OFFICE, RDF, SPREADSHEETS, format_of, is_document
from aahcrawler.page import Headers, Page, sniff
from aahcrawler.page.transcript import Sheet, Transcript, TranscriptLink

SECONDS: Final = 120.0
"""The most seconds that one document may take in all; the pages read until then count. The child bounds the work: a
busy machine is no reason to cut a document off.
"""
SERVED: Final = 100
"""The number of documents after which a child is replaced, to free its leaked memory."""
CHILD: Final = (sys.executable, "-P", "-m", "aahcrawler.documents.child")
"""The command that runs ``aahcrawler.documents.child``."""
_MAX_ANSWER_LENGTH = 32_000_000
MAX_ALTERNATES: Final = 10
_RELATIONS: Final = frozenset({"alternate", "describedby", "meta"})
_LINKS: Final = re.compile(r'<[^>]*+>(?:[^,"]|"[^"]*+")*+')
_TARGET: Final = re.compile(r"<\s*+([^>]*?)\s*+>")
_HEAD: Final = 4_000


def rdf_alternates(page: Page) -> tuple[str, ...]:
    """Return the URLs of the first RDF documents that a page names as other forms of it, or as its description.

    It does so in its header (RFC 8288) or, where it is HTML, by ``link`` elements.
    """
    named = [
        (_TARGET.match(each), each) for field in page.headers.all("Link") for each in _LINKS.findall(field[:_HEAD])
    ]
    found = [(target[1], _parameter(each, "rel"), _parameter(each, "type")) for target, each in named if target]
    links = page.tree.iter("link") if page.is_html else ()
    found += [(link.get("href") or "", link.get("rel") or "", link.get("type") or "") for link in links]
    others = (
        urls.resolve(page.base_url, reference)
        for reference, relation, media_type in found
        if not _RELATIONS.isdisjoint(relation.lower().split()) and media_type.partition(";")[0].strip().lower() in RDF
    )
    return tuple(islice(dict.fromkeys(each for each in others if each and each != page.url), MAX_ALTERNATES))


def _parameter(link: str, name: str) -> str:
    found = re.search(rf';\s*+{name}\s*+=\s*+(?:"([^"]*+)"|([^\s;,"]++))', link, re.IGNORECASE)
    return (found[1] or found[2] or "") if found else ""


class NotComparedError(Exception):
    """Raised for a document of which is not known all that it says, or that takes too long to be compared."""


@dataclass(frozen=True, slots=True)
class Statements:
    """What a document says: ``digest`` is the same of all that say the same, in whatever order.

    ``parts`` are its statements, rows or values, each with how often it stands there; None where they are too many to
    be held.
    """

    digest: str
    parts: Counter[str] | None


class DocumentReader:
    """Reads documents of all formats (``aahcrawler.documents.formats``), one at a time. Thread-safe.

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

    def read(self, page: Page) -> Transcript:
        """Return the transcript of a document, an empty one for another file. No file's content raises an error."""
        found, ended = self._lines(_Request(page, format_of(page), "contents"))
        return _transcript(found, complete=ended)

    def statements(self, page: Page) -> Statements:
        """Return what a document says, as its format divides it (``DocumentFormat.parts``).

        Raise ``NotComparedError`` for what cannot be read to its end, or be compared within the bounds of the child
        process.
        """
        if not page.complete:
            raise NotComparedError("it was cut when it was fetched")
        found, ended = self._lines(_Request(page, format_of(page), "parts"))
        if error := next((line for line in found if "error" in line), None):
            raise NotComparedError(error.get("told") or error["error"])
        if not ended:
            raise NotComparedError("it takes too long: too large, or alike in too many ways")
        last = found[-1]
        return Statements(last["digest"], Counter(line["part"] for line in found[:-1]) if last["all"] else None)

    def columns(self, page: Page) -> Mapping[str, Sequence[str]]:
        """Return the columns of each table of a document in their order there, by the table's name.

        The only table of a document has none. Nothing is returned of other documents, and of what cannot be read.
        """
        found, _ = self._lines(_Request(page, format_of(page), "columns"))
        return next((line["columns"] for line in found if "columns" in line), {})

    def _lines(self, request: "_Request") -> tuple[list[Any], bool]:
        with self._lock:
            lines = _Lines(self._seconds)
            try:
                found = list(self._answer(request, lines))
            except (OSError, ValueError, RecursionError):
                found = lines.read
            if not lines.ended:
                self._end()
        return found, lines.ended

    def close(self) -> None:
        """End the child process, and with it what is being read."""
        if (child := self._child) is not None:
            child.kill()
        with self._lock:
            self._end()

    def _answer(self, request: "_Request", lines: "_Lines") -> Iterator[Any]:
        child = self._ready()
        assert child.stdin is not None  # noqa: S101
        assert child.stdout is not None  # noqa: S101
        sender = threading.Thread(target=_send, args=(child.stdin, request), daemon=True)
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


class _Request(NamedTuple):
    page: Page
    media_type: str
    wanted: str


def _send(pipe: Any, request: _Request) -> None:
    page = request.page
    head = {
        "length": len(page.body),
        "media_type": request.media_type,
        "url": page.url,
        "content_type": page.headers.get("content-type")[:_HEAD],
        "encoding": "" if request.media_type in {"", *OFFICE, *SPREADSHEETS} else page.encoding,
        "wanted": request.wanted,
    }
    with suppress(OSError, ValueError):
        pipe.write(json.dumps(head).encode() + b"\n" + page.body)
        pipe.flush()


def _transcript(lines: list[Any], *, complete: bool) -> Transcript:
    errors = {line["error"] for line in lines if "error" in line}
    about = lines[0] if lines and "title" in lines[0] else {}
    sheets = tuple(
        Sheet(line["text"], tuple(TranscriptLink(**link) for link in line["links"])) for line in lines if "text" in line
    )
    return Transcript(
        str(about.get("title", "")),
        _moment(about.get("created", "")),
        sheets,
        complete and not errors,
        str(about.get("author", "")),
        encrypted=ENCRYPTED in errors,
        problem=next((line.get("told", "") for line in lines if "error" in line), ""),
        entries=about.get("entries"),
    )


def _moment(written: str) -> datetime | None:
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(written).astimezone(UTC) if written else None
    return None


MAX_DOCUMENT_BYTES: Final = 50_000_000
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
    if len(body) > MAX_DOCUMENT_BYTES:
        return GivenText("", (), f"the file is larger than {MAX_DOCUMENT_BYTES:,} bytes")
    # Each child imports this module, too, and what this brings along takes longer than all else that it imports.
    from online_analysis.icd import plain_text  # noqa: PLC0415

    headers = Headers((("Content-Type", media_type),) if media_type else ())
    page = Page("http://file.invalid/", 200, headers, body, datetime.now(UTC))
    if is_document(page):
        return _of_document(page, reader)
    if page.is_html or sniff(body, media_type) == "text/html":
        return GivenText(plain_text(body, html=True), _links(page))
    if b"\0" in body[:100_000] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return GivenText("", (), "the file is neither text nor HTML, PDF, DOCX, ODT or EPUB")
    return GivenText(plain_text(body, html=False))


def _of_document(page: Page, reader: DocumentReader) -> GivenText:
    found = reader.read(page)
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
