"""A fetched page, parsed once and shared by detection, actions, text and links.

Stages of reading it that fail cost their own result only, and are noted.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Final, TypeVar, cast
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from aahcrawler.page import jsontree, markup, onward
from aahcrawler.page.dates import Order
from aahcrawler.page.record_shape import RecordShape
from aahcrawler.page.sniffing import HTML, XHTML, is_xml, read_as, xhtml_prefix
from aahcrawler.page.transcript import Transcript
from aahcrawler.urls import DocumentBase, resolve
from knowledge_base.element_index import Elements

T = TypeVar("T")

_MAX_MESSAGE_LENGTH = 200
_OWN = ("aahcrawler", "knowledge_base", "online_analysis", "offline")
_MAX_FAILURES = 100
"""Different failures of one page that are kept."""


class PageGivenUpError(BaseException):
    """Raised where a page takes so long that it is not read any further.

    It is no ``Exception``, so that neither a stage nor a library holds it up.
    """


@dataclass(frozen=True, slots=True)
class FailedStage:
    """A stage of reading that raised: its name, and what was raised where (``KeyError: 'a' (outline.py:71)``)."""

    stage: str
    error: str


class FailedStages:
    """What failed on one page so far, each failure once."""

    def __init__(self) -> None:
        self._found: dict[FailedStage, None] = {}

    def __iter__(self) -> Iterator[FailedStage]:
        return iter(tuple(self._found))

    def __len__(self) -> int:
        return len(self._found)

    def attempt(self, stage: str, work: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """Return the result of a stage; where it raises, note that and return what there is without it.

        Errors of this machine are raised: memory that is spent, and what the operating system refused.
        """
        try:
            return work()
        except Exception as error:
            if is_of_machine(error):
                raise
            self.add(stage, error)
        return otherwise()

    def add(self, stage: str, error: BaseException) -> None:
        """Note that a stage raised an error."""
        self.take((FailedStage(stage, describe_error(error)),))

    def take(self, failed: Iterable[FailedStage]) -> None:
        """Note stages that raised."""
        for each in failed:
            if len(self._found) < _MAX_FAILURES:
                self._found[each] = None


def is_of_machine(error: BaseException) -> bool:
    """Return whether an error says something of this machine, and nothing of a page.

    Libraries raise ``OSError`` without a number for documents that they cannot read.
    """
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None)


def describe_error(error: BaseException) -> str:
    """Return an error in one line, with the innermost line of this project that it came from."""
    said = " ".join(f"{type(error).__name__}: {error}".split())[:_MAX_MESSAGE_LENGTH]
    place = _place(error.__traceback__)
    return f"{said} ({place})" if place else said


def _place(traceback: TracebackType | None) -> str:
    place = ""
    for frame, line in walk_tb(traceback):
        module = str(frame.f_globals.get("__name__", ""))
        if module != __name__ and module.partition(".")[0] in _OWN:
            place = f"{Path(frame.f_code.co_filename).name}:{line}"
    return place


PARSED_BYTES = 10_000_000
"""The first bytes of a body, which are decoded and parsed; the rest is archived only."""

MAX_HELD = 20_000
"""Elements of a page that are kept as objects while the page is."""

_NEAR = 10_000
"""Bytes before the end of a beginning within which a tag is looked for."""

_HTML_TYPES = frozenset({HTML, XHTML})
_OF_THE_PAYLOAD = frozenset({"content-type", "content-encoding", "content-length", "transfer-encoding"})
_UNKNOWN_TYPES = frozenset({"unknown/unknown", "application/unknown", "*/*"})


@dataclass(frozen=True)
class Headers:
    """Response header fields in their order; names are looked up without regard to case."""

    fields: tuple[tuple[str, str], ...] = ()

    def get(self, name: str, default: str = "") -> str:
        """Return the first field of that name."""
        return next(iter(self.all(name)), default)

    def all(self, name: str) -> list[str]:
        """Return every field of that name, in order."""
        wanted = name.lower()
        return [value for key, value in self.fields if key.lower() == wanted]

    @property
    def media_type(self) -> str:
        """The declared type and subtype in lower case; the last of several, empty if none is declared."""
        return next(reversed(self.media_types), "")

    @property
    def media_types(self) -> tuple[str, ...]:
        """All declared types and subtypes, in lower case and in their order."""
        values = (value for field in self.all("content-type") for value in field.split(","))
        named = (value.partition(";")[0].strip().lower() for value in values)
        return tuple(each for each in named if _MEDIA_TYPE.fullmatch(each) and each not in _UNKNOWN_TYPES)


@dataclass(frozen=True)
class Page:
    """One response as the helper and the analysers see it.

    ``body`` is after transfer and content decoding and may have been cut at the crawl's size limit (``complete`` is
    False then). ``fetched_at`` is aware and in UTC. The instance keeps its parsed tree, which is shared: treat it as
    read-only. Only the first ``PARSED_BYTES`` of a body are decoded and parsed. ``transcript`` is the text and the
    links of a document such as PDF, None if it was not read. ``order`` is that of day and month in the dates of the
    page's site, None if unknown. ``shared_titles`` are the parts that the titles of its site have in common, in lower
    case without spaces and signs, ``record_shapes`` those of the records that pages like it have shown,
    ``repeated_lines`` the digests of lines that articles of its site have in common. ``rendered`` says that the body is
    not what the server sent, but the document that a browser made of it; ``document_url`` is the URL that it had then,
    empty where that is ``url``, and ``sent_encoding`` the encoding of what the server sent. ``memento`` says that
    it was taken from an archive, so that ``fetched_at`` is its Memento-Datetime (RFC 7089).
    """

    url: str
    status: int
    headers: Headers
    body: bytes
    fetched_at: datetime
    complete: bool = True
    transcript: Transcript | None = None
    order: Order | None = None
    shared_titles: frozenset[str] = frozenset()
    record_shapes: tuple[RecordShape, ...] = ()
    repeated_lines: frozenset[int] = frozenset()
    rendered: bool = False
    document_url: str = ""
    sent_encoding: str = ""
    memento: bool = False

    @cached_property
    def media_type(self) -> str:
        """The type and subtype that the body is read as, in lower case: ``text/html``; see `sniffing.read_as`."""
        field = next(reversed(self.headers.all("content-type")), "")
        no_sniff = self.headers.get("x-content-type-options").partition(",")[0].strip().lower() == "nosniff"
        return read_as(self.body, self.headers.media_types, field, no_sniff=no_sniff)

    @cached_property
    def encoding(self) -> str:
        """The encoding of the body, the name of a Python codec: BOM, header, meta, then a guess, as in browsers.

        Labels that nobody knows are passed over, and so is a declared encoding in which most of what is no ASCII means
        nothing. The guess is UTF-8 if the bytes allow it.
        """
        return (
            markup.of_bom(self.body)
            or markup.believed(self.body, self._declared_encodings())
            or markup.guessed(self.body[:PARSED_BYTES], (urlsplit(self.url).hostname or "").rpartition(".")[2])
        )

    def _declared_encodings(self) -> Iterator[str]:
        yield from map(markup.of_field, self.headers.all("content-type"))
        yield markup.declared(self.body, self.media_type) or ("utf-8" if is_xml(self.media_type) else "")

    @property
    def is_content(self) -> bool:
        """Return whether the body is what was asked for: of a success, or of a redirect that names no place to go."""
        if self.status < 300:
            return True
        return self.status < 400 and self.status != 304 and onward.location(self.url, self.status, self.headers) is None

    @property
    def is_html(self) -> bool:
        """Return whether the page can be parsed as HTML."""
        return self.media_type in _HTML_TYPES

    @property
    def is_json(self) -> bool:
        """Return whether the page declares that it is JSON; a page without a declaration is never treated as JSON."""
        return self.media_type == "application/json" or (
            self.media_type.startswith("application/") and self.media_type.endswith("+json")
        )

    @cached_property
    def text(self) -> str:
        """The decoded body without byte order mark; bytes that mean nothing become U+FFFD."""
        codec = getincrementaldecoder(self.encoding)(errors="replace")
        cut = len(self.body) > PARSED_BYTES
        return codec.decode(self.body[:PARSED_BYTES], final=not cut).removeprefix("\ufeff")

    @cached_property
    def tree(self) -> HtmlElement:
        """The document element; an empty document for a body that holds no markup. Never raises on hostile input.

        JSON is a tree as well, see `aahcrawler.page.jsontree.parse`; a body of another media type has an empty
        document. Elements are nested at most 2,048 deep, the markup beyond is left out, and so are attributes that
        a tag has beyond ``markup.MAX_ATTRIBUTES``.
        """
        tree = self._parsed()
        # lxml makes an object of an element whenever it is met and nobody holds one.
        self.__dict__["_met"] = tuple(islice(tree.iter(), MAX_HELD))
        return tree

    def _parsed(self) -> HtmlElement:
        if self.is_json:
            return jsontree.parse(self.text)
        if not self.is_html:
            return markup.empty()
        raw = self.body[:PARSED_BYTES] if self.encoding == "utf-8" else self.text.encode("utf-8", "replace")
        html = markup.as_html(raw, xhtml_prefix(raw) or b"") if self.media_type == XHTML else raw
        tree = markup.with_early_elements(markup.with_shadow_roots(markup.parse(html)))
        return markup.with_inner_documents(tree) if b"srcdoc" in raw.lower() else tree

    def of_site(
        self,
        order: Order | None,
        shared_titles: frozenset[str] = frozenset(),
        record_shapes: tuple[RecordShape, ...] = (),
        repeated_lines: frozenset[int] = frozenset(),
    ) -> "Page":
        """Return the page with what is known of its site. The parsed tree is shared."""
        page = replace(
            self,
            order=order,
            shared_titles=shared_titles,
            record_shapes=record_shapes,
            repeated_lines=repeated_lines,
        )
        page.__dict__["tree"], page.__dict__["_met"] = self.tree, self.__dict__.get("_met")
        page.__dict__["failed"] = self.failed
        return page

    @cached_property
    def language(self) -> str | None:
        """The language that the document element declares, in lower case: ``de``, ``en-gb``; None without one."""
        declared = (self.tree.get("lang") or self.tree.get("xml:lang") or "").strip().lower().replace("_", "-")
        return declared or None

    def as_rendered(self, dom: bytes, document_url: str = "", most: int = PARSED_BYTES) -> "Page":
        """Return the page as a browser left it: a document in UTF-8 of at most ``most`` bytes, else the same answer."""
        kept = (field for field in self.headers.fields if field[0].lower() not in _OF_THE_PAYLOAD)
        return replace(
            self,
            headers=Headers((*kept, ("Content-Type", "text/html; charset=utf-8"))),
            body=dom[:most],
            complete=len(dom) <= most,
            transcript=None,
            rendered=True,
            document_url=document_url,
            sent_encoding=self.sent_encoding or self.encoding,
        )

    def beginning(self, size: int) -> "Page":
        """Return the page as if it ended after ``size`` bytes, before a tag if one is near; itself if it is shorter.

        Such a page is incomplete, and its encoding that of the whole.
        """
        if len(self.body) <= size:
            return self
        end = max(self.body.rfind(b"<", size - _NEAR, size), 0) or size
        while end and self.body[end] & 0xC0 == 0x80:  # Within a character of UTF-8.
            end -= 1
        end -= end % 2 if self.encoding.startswith("utf-16") else 0
        page = replace(self, body=self.body[:end], complete=False)
        page.__dict__["media_type"], page.__dict__["encoding"] = self.media_type, self.encoding
        return page

    def once(self, make: Callable[["Page"], T]) -> T:
        """Return the result of a function of the page, computed once and kept as long as the page. Do not change it."""
        made: dict[object, object] = self.__dict__.setdefault("_made", {})
        if make not in made:
            made[make] = make(self)
        return cast("T", made[make])

    def keep(self, made: Mapping[Callable[["Page"], object], object], failed: Iterable[FailedStage]) -> None:
        """Take over what another process found: results of functions of the page (``once``), and stages that raised."""
        self.__dict__.setdefault("_made", {}).update(made)
        self.failed.take(failed)

    @cached_property
    def failed(self) -> FailedStages:
        """The stages of reading the page that raised so far."""
        return FailedStages()

    def attempt(self, stage: str, work: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """Return the result of a stage of reading the page, and of ``otherwise`` where it raises, which is noted."""
        return self.failed.attempt(stage, work, otherwise)

    def forget(self) -> None:
        """Drop all that was made of the page, which may be many times as large as it."""
        self.__dict__.pop("_made", None)

    @cached_property
    def elements(self) -> Elements:
        """The elements of the tree by class and id."""
        return Elements(self.tree, len(self.body))

    @cached_property
    def base_url(self) -> str:
        """The base of relative links (HTML, section 2.4.3): the URL of the first ``base`` that counts, else its own.

        Links of HTML have queries in the document's encoding, which the base knows (``DocumentBase``) unless it is UTF.
        """
        own = resolve(self.url, self.document_url) or self.url if self.document_url else self.url
        codec = self.sent_encoding or self.encoding
        if self.is_html and not codec.startswith("utf-"):
            own = DocumentBase(own, codec)
        return based(own, self.tree)


_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+|\*/\*")


_MAX_BASES: Final = 50
"""The most ``base`` elements that are looked at."""
_OTHER_SCHEME: Final = re.compile(r"\s*(?!(?:https?|data|javascript):)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_INERT: Final = frozenset({"template", "noscript", "noframes", "noembed", "iframe", "textarea", "title", "xmp"})
"""Elements whose content is a fragment of its own or, in browsers that run scripts, text."""
_FOREIGN: Final = frozenset({"svg", "math"})
_OF_HTML_WITHIN: Final = frozenset({"foreignobject", "desc", "annotation-xml", "mi", "mn", "mo", "ms", "mtext"})
"""Elements of SVG and MathML whose content is HTML again; a ``title`` is rarely one of SVG."""


def based(own: str, tree: HtmlElement) -> str:
    """Return the base of a document's links, whose URL, or whose surroundings' base, is ``own``.

    One of another scheme than http(s) makes relative links lead nowhere; none is that of data or of a script.
    """
    reference = base_reference(tree)
    if reference is None:
        return own
    url = resolve(own, reference)
    if url is None:
        url = reference.strip() if _OTHER_SCHEME.match(reference) else str(own)
    return DocumentBase(url, own.codec) if isinstance(own, DocumentBase) else url


def base_reference(tree: HtmlElement) -> str | None:
    """Return what the first ``base`` that browsers heed has for a URL, None where there is none."""
    elements = islice(tree.iter("base"), _MAX_BASES)
    return next((each.get("href") for each in elements if each.get("href") is not None and _is_heeded(each)), None)


def _is_heeded(base: HtmlElement) -> bool:
    """Return whether a ``base`` is an element of HTML in the tree of its document."""
    is_of_html = False
    for outer in base.iterancestors():
        if outer.tag in _INERT or outer.get("shadowrootmode") is not None:
            return False
        if outer.tag in _FOREIGN and not is_of_html:
            return False
        is_of_html = is_of_html or outer.tag in _OF_HTML_WITHIN
    return True
