"""Shows the captures of one crawl: finds the capture of an address, and makes it safe for a browser."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from aahcrawler.page import Headers, Page, sniff
from aahcrawler.page.onward import refresh
from aahcrawler.replay import own_pages
from aahcrawler.replay.addresses import PAGES, Address, Modifier
from aahcrawler.replay.archived_streams import ArchivedStream, StreamFormat, format_of, play_stream
from aahcrawler.replay.banner import BannerInfo, Made, banner, colour
from aahcrawler.replay.css_rewriting import rewrite_css
from aahcrawler.replay.html_rewriting import Rewritten, Surroundings, rewrite_html
from aahcrawler.replay.object_finding import ShownObject, find_objects
from aahcrawler.replay.own_pages import as_file, original_of, told_of
from aahcrawler.replay.page_marks import FindWords, mark_words, no_words, outline
from aahcrawler.replay.recorded_responses import MAX_DECODED, MAX_SHOWN, RecordedResponse, RecordedResponses
from aahcrawler.streams import UnreadableManifestError

_HTML: Final = {"Content-Type": "text/html; charset=utf-8"}
_CSS: Final = {"Content-Type": "text/css; charset=utf-8"}
_PLAYED: Final = re.compile(
    r"(?:audio|video|font)/[a-z0-9.+-]{1,80}|application/(?:ogg|font-woff2?|x-font-[a-z]{3,5}|vnd\.ms-fontobject)|"
    r"image/(?:png|apng|jpeg|jpg|pjpeg|gif|webp|avif|bmp|tiff|jxl|svg\+xml|x-icon|vnd\.microsoft\.icon)"
)
"""Media types of pictures, fonts, sound and film: no browser takes one of these for a document that may run scripts."""
_TEXTS: Final = re.compile(r"text/.*|application/(?:.*\+)?(?:json|xml|javascript|ecmascript|x-javascript|rdf|x-sh|sql)")
_KEPT_STATUS: Final = frozenset({403, 404, 410, 500, 503})
_BEGINNING: Final = 20_000
_SUBTITLES: Final = "text/vtt"


@dataclass(frozen=True, slots=True)
class Annotations:
    """What is to be marked on a page: its web objects in their order, scores of links by canonical URL, and words."""

    objects: tuple[ShownObject, ...] = ()
    link_scores: Mapping[str, float] = field(default_factory=dict)
    words: str = ""


Annotate = Callable[[str, RecordedResponse], Annotations | None]
"""Returns what is to be marked on a response of the crawl with an id; None for nothing."""


def no_annotations(_crawl: str, _response: RecordedResponse) -> Annotations | None:
    """Mark nothing."""
    return None


@dataclass(frozen=True, slots=True)
class Shown:
    """A response of the replay. ``found`` are the numbers of the objects that were outlined.

    A large ``body`` is given in pieces that can be read once. ``size`` is the number of its bytes, which allows ranges
    of it to be sent; None where it is unknown, or the response is no file.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes | Iterator[bytes]
    found: frozenset[int] = frozenset()
    size: int | None = None


class ReplayedCaptures:
    """Shows the captures in the folder of a crawl. Thread-safe."""

    def __init__(self, crawl: Path, annotate: Annotate = no_annotations, find_words: FindWords = no_words) -> None:
        self.responses = RecordedResponses(crawl)
        self._annotate, self._find_words = annotate, find_words

    def show(self, address: Address, *, in_part: bool = False) -> Shown:
        """Return the response for an address. Raises ``NoIndexError`` where the archive has no index.

        With ``in_part``, the size of a file is counted where need be, so that a range of it can be sent.
        """
        response = self.responses.nearest(address.url, address.moment)
        if response is None:
            return Shown(404, _HTML, own_pages.not_captured(address))
        if response.location:
            target = replace(address, moment=response.moment, url=response.location)
            return Shown(302, {**told_of(response), "Location": target.path}, b"")
        match address.modifier:
            case Modifier.FILE:
                body = self._body(response)[1]
                size = self._size(response, body, in_part=in_part)
                return Shown(
                    200, {**told_of(response), **original_of(response), **as_file(response.url)}, body, size=size
                )
            case Modifier.STYLE:
                return self._style_sheet(address, response)
            case Modifier.MEDIA:
                return self._media(address, response, in_part=in_part)
            case Modifier.IMAGE:
                return self._file(response, {}, in_part=in_part)
            case _:
                return self._document(address, response)

    def shown_page(
        self,
        address: Address,
        response: RecordedResponse,
        page: Page,
        marks: Annotations | None,
        *,
        made: Made = "",
    ) -> Shown:
        """Return an HTML page with its objects and links marked; the page's tree is changed.

        ``made`` is as in ``BannerInfo``.
        """
        objects = marks.objects if marks is not None else ()
        elements = find_objects(page.tree, objects)
        onward = refresh(page)
        here = replace(address, moment=response.moment, url=response.url)
        rewritten = rewrite_html(page.tree, page.text[:_BEGINNING], Surroundings(here, page.base_url))
        for each in objects:
            if each.number in elements:
                outline(elements[each.number], each)
        scored = _colour_links(rewritten, marks.link_scores if marks is not None else {})
        words = marks.words if marks is not None else ""
        places = mark_words(rewritten.tree, partial(self._find_words, words)) if words else 0
        told = BannerInfo(
            (len(elements), len(objects)) if objects else None,
            scored,
            onward.url if onward is not None else "",
            not page.complete,
            made,
            (words, places) if words else None,
        )
        above = banner(address, response, told) if address.modifier in PAGES else ""
        body = own_pages.framed(here, above) if above and rewritten.framed else rewritten.markup(above)
        return Shown(_status(response.status), {**told_of(response), **_HTML}, body, frozenset(elements))

    def _document(self, address: Address, response: RecordedResponse) -> Shown:
        """Return a page; a capture that is no page is shown within one of the replay's own."""
        document = self.responses.document(response)
        if document is not None and address.modifier is not Modifier.SENT:
            page = self.responses.page(response, document)
            play_stream(self.responses, response, page)
            made: Made = "data" if document.made_of else "rendered"
            return self.shown_page(address, response, page, self._marks(address, response), made=made)
        declared = response.headers.media_type
        if format_of(self.responses.decoded(response, _BEGINNING)[0]) is StreamFormat.HLS:
            return self._around(address, response, StreamFormat.HLS)
        if _PLAYED.fullmatch(declared):
            return self._around(address, response, declared)
        page = self.responses.page(response)
        if page.is_html:
            shown = self._marks(address, response)
            return self.shown_page(address, response, page, shown, made="" if document is None else "sent")
        if _TEXTS.fullmatch(page.media_type):
            cut = not page.complete or len(page.text) > own_pages.MAX_TEXT_LENGTH
            above = banner(address, response, BannerInfo(cut=cut)) if address.modifier in PAGES else ""
            body = own_pages.shown_as_text(address, page.text, above)
            return Shown(_status(response.status), {**told_of(response), **_HTML}, body)
        return self._around(address, response, sniff(page.body[:_BEGINNING]) or page.media_type)

    def _around(self, address: Address, response: RecordedResponse, media_type: str) -> Shown:
        here = Address(address.crawl, response.moment, address.modifier, response.url)
        above = banner(address, response, BannerInfo(cut=not response.whole)) if address.modifier in PAGES else ""
        size = response.headers.get("Content-Length")
        told = f", {int(size):,} bytes" if size.isascii() and size.isdigit() and len(size) < 16 else ""
        is_known = _PLAYED.fullmatch(media_type) or media_type == StreamFormat.HLS
        known = media_type if is_known else f"application/{media_type.rpartition('/')[2]}"
        body = own_pages.shown_media(here, known, told, above)
        return Shown(_status(response.status), {**told_of(response), **_HTML}, body)

    def _marks(self, address: Address, response: RecordedResponse) -> Annotations | None:
        """Return what the address asks to be marked."""
        if address.modifier is Modifier.WORDS:
            return Annotations(words=address.words)
        if address.modifier not in (Modifier.OBJECTS, Modifier.LINKS, Modifier.BOTH):
            return None
        marks = self._annotate(address.crawl, response)
        if marks is None or address.modifier is Modifier.BOTH:
            return marks
        return (
            Annotations(marks.objects) if address.modifier is Modifier.OBJECTS else Annotations((), marks.link_scores)
        )

    def _style_sheet(self, address: Address, response: RecordedResponse) -> Shown:
        body, whole = self.responses.decoded(response, MAX_SHOWN)
        parameters = response.headers.get("Content-Type").partition(";")[2]
        headers = Headers((("Content-Type", f"text/css;{parameters}"),))
        text = Page(response.url, response.status, headers, body, response.date, whole).text
        rewritten = rewrite_css(text, Surroundings(address, response.url).link)
        return Shown(_status(response.status), {**told_of(response), **_CSS}, rewritten.encode("utf-8", "replace"))

    def _media(self, address: Address, response: RecordedResponse, *, in_part: bool) -> Shown:
        """Return sound, film, the manifest of a stream or a part of one (parts, such as keys, may be of any type)."""
        beginning, _ = self.responses.decoded(response, _BEGINNING)
        found = format_of(beginning)
        if found is not None:
            return self._manifest(address, response, found)
        is_text = response.headers.media_type == _SUBTITLES
        otherwise = {"Content-Type": _SUBTITLES} if is_text else as_file(response.url)
        return self._file(response, otherwise, in_part=in_part)

    def _manifest(self, address: Address, response: RecordedResponse, found: StreamFormat) -> Shown:
        try:
            shown = ArchivedStream(self.responses, response, address).shown(found)
        except UnreadableManifestError:
            return Shown(404, {**told_of(response), **as_file(response.url)}, b"")
        told = {"AAH-Left-Out": str(shown.left_out)} if shown.left_out else {}
        return Shown(_status(response.status), {**told_of(response), **told, "Content-Type": found}, shown.body)

    def _file(self, response: RecordedResponse, otherwise: Mapping[str, str], *, in_part: bool) -> Shown:
        """Return pictures, sound and the like unchanged, and other types with the header fields ``otherwise``.

        If ``otherwise`` is empty, other types are not shown, since a browser must not interpret them.
        """
        beginning, body = self._body(response)
        media_type = response.headers.media_type
        if not _PLAYED.fullmatch(media_type):
            media_type = sniff(beginning[:_BEGINNING])
        fields = {"Content-Type": media_type} if _PLAYED.fullmatch(media_type) else otherwise
        if not fields:
            return Shown(404, {**told_of(response), **as_file(response.url)}, b"")
        size = self._size(response, body, in_part=in_part)
        return Shown(_status(response.status), {**told_of(response), **fields}, body, size=size)

    def _size(self, response: RecordedResponse, body: bytes | Iterator[bytes], *, in_part: bool) -> int | None:
        return len(body) if isinstance(body, bytes) else self.responses.size(response, counting=in_part)

    def _body(self, response: RecordedResponse) -> tuple[bytes, bytes | Iterator[bytes]]:
        """Return the beginning of a decoded payload, and the whole of it.

        A payload in a content coding is bounded, since its decoded size is unknown; others are read while they are
        sent.
        """
        if any(value.strip().lower() not in ("", "identity") for value in response.headers.all("Content-Encoding")):
            body, _ = self.responses.decoded(response, MAX_DECODED)
            return body, body
        pieces = self.responses.payload(response)
        first = next(pieces, b"")
        return first, chain((first,), pieces)


def _colour_links(rewritten: Rewritten, scores: Mapping[str, float]) -> bool:
    """Colour the links that have a score; return whether there are any."""
    scored = [(link, scores[url]) for link, url in rewritten.links if url in scores]
    for link, score in scored:
        colour(link, score)
    return bool(scored)


def _status(status: int) -> int:
    """Return the status with which a capture is shown; some others make browsers ask again, or show nothing.

    >>> _status(200), _status(206), _status(401), _status(410), _status(504)
    (200, 200, 404, 410, 500)
    """
    if status in _KEPT_STATUS:
        return status
    return 200 if status < 400 else 404 if status < 500 else 500
