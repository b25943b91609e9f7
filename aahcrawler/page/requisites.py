"""Find the files that a browser shows a page with, and the links that lead to a picture, sound or film."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from io import BytesIO
from itertools import islice
from operator import itemgetter
from typing import Final
from urllib.parse import urlsplit

import imagesize
from lxml.etree import XPath
from lxml.etree import _Element as Element

from aahcrawler.page import Page
from aahcrawler.page.sniffing import sniff
from aahcrawler.query_encoding import in_utf8
from aahcrawler.urls import resolve
from aahcrawler.webobject import Reference, Value, WebObject
from online_analysis.media_types import type_by_url

MAX_REQUISITES = 2_000
"""The most requisites of one page or style sheet that are kept; those that shape the page most come first."""

MAX_STYLESHEET = 4_000_000
"""The most characters of a style sheet that are read."""


_MAX_REFERENCES = 10 * MAX_REQUISITES


_MAX_KEPT = 512
_MAX_KEPT_LENGTH = 20_000
"""Style sheets within pages that are kept, and their characters: 20 MB in all at most."""


class _Rank(IntEnum):
    STYLESHEET = 0
    SCRIPT = 1
    FONT = 2
    IMAGE = 3
    MEDIA = 4


Found = Sequence[tuple[_Rank, str]]
"""References as written, each with what it is needed for, in document order."""

_FONT_FILE = re.compile(r"\.(?:woff2?|ttf|otf|eot)(?:$|[?#])", re.IGNORECASE)
_PRELOADED = {"style": _Rank.STYLESHEET, "script": _Rank.SCRIPT, "font": _Rank.FONT, "image": _Rank.IMAGE}
_IMAGE_RELATIONS = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "image_src"})
_LAZY_ATTRIBUTES = ("data-src", "data-lazy-src", "data-original")
_MEDIA_ATTRIBUTES: Final = ("src", "data-src")
_MAX_SOURCES: Final = 50
_PLAYLIST = re.compile(r"mpegurl|dash\+xml", re.IGNORECASE)
_FILMS: Final = frozenset({"movie", "src", "filename"})
"""Names of the parameters of an ``object`` that say what it plays where it has no ``data``."""
_CANDIDATE = re.compile(r"[\s,]*+(\S++)")
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?+)*+,?+")
_DESCRIPTOR = re.compile(r"\s([0-9]{1,6}(?:\.[0-9]{1,6})?)([wx])(?=[\s,]|$)")
_SIZE = re.compile(
    r"\s*+(?:\(\s*+(min|max)-width\s*+:\s*+([0-9.]{1,9})(px|em|rem)\s*+\)\s*+)?+([0-9.]{1,9})(px|vw)\s*+", re.IGNORECASE
)
_VIEWPORT: Final = 1280.0
"""The width in pixels, one for each dot, of the window that pictures are chosen for."""
_MAX_SIZES: Final = 50
_FONT_FORMATS: Final = ("woff2", "woff", "ttf", "otf", "eot", "svg")
"""The endings of one font's files, those first that browsers prefer."""


def of_page(page: Page) -> tuple[str, ...]:
    """Return the absolute canonical http(s) URLs that a browser needs to show the page, each once.

    Style sheets come first, then scripts, fonts, images and media (sound, film, plug-ins), each kind in document order
    except that those of style attributes come last; at most ``MAX_REQUISITES``. Requisites of linked style sheets are
    not known yet: see ``of_stylesheet``.
    """
    return of_elements((page.tree,), page.base_url)


def of_elements(elements: Iterable[Element], base: str) -> tuple[str, ...]:
    """Return the requisites of the documents that elements belong to, as `of_page` does for a whole page."""
    ranks: dict[str, _Rank] = {}
    for element in elements:
        for rank, reference in _references(element):
            if reference in ranks or len(ranks) < _MAX_REFERENCES:
                ranks[reference] = min(rank, ranks.get(reference, rank))
    return _resolved(base, sorted(ranks, key=ranks.__getitem__))


def shown_by(image: Element) -> str | None:
    """Return the URL, as written, of the picture that an ``img`` shows, None if it shows none.

    A URL for a script to insert comes before the placeholder.
    """
    reference = next((reference for name in _LAZY_ATTRIBUTES if (reference := image.get(name, "").strip())), "")
    reference = reference or image.get("src", "").strip()
    if reference and reference[:5].lower() != "data:":
        return reference
    listed = (image.get(name, "") for name in ("data-srcset", "srcset"))
    return next((found for each in listed for _, found in _of_srcset(each, image.get("sizes", ""))), None)


def played_by(element: Element) -> str | None:
    """Return the URL, as written, of the file that a ``video`` or ``audio`` plays, None if it names none."""
    return next((found for rank, found in _of_media(element) if rank is _Rank.MEDIA), None)


def largest_of(image: Element) -> str | None:
    """Return the URL, as written, of the widest picture that an ``img`` lists for several windows, None without a list.

    >>> from lxml.html import fromstring
    >>> largest_of(fromstring('<img src="s.jpg" srcset="s.jpg 300w, l.jpg 1600w">'))
    'l.jpg'
    """
    listed = [each for name in ("srcset", "data-srcset") for each in _candidates(image.get(name) or "")]
    best = max(listed, key=lambda each: (each[2] == "w", each[1]), default=None)
    return best[0] if best is not None else None


def of_stylesheet(css_text: str, base: str) -> tuple[str, ...]:
    """Return the absolute canonical URLs that a style sheet imports or shows, each once: imports, fonts, images.

    ``base`` is the URL of the style sheet. At most ``MAX_STYLESHEET`` characters are read (`css_urls`).
    """
    found = sorted(_of_css(css_text), key=itemgetter(0))
    return _resolved(base, dict.fromkeys(reference for _, reference in found))


def _resolved(base: str, references: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for _, reference in zip(range(_MAX_REFERENCES), references, strict=False):
        stripped = reference.strip()
        if stripped and not stripped.startswith("#") and stripped[:5].lower() != "data:":
            url = resolve(base, stripped)
            if url:
                found[url] = None
        if len(found) == MAX_REQUISITES:
            break
    return tuple(found)


def _references(tree: Element) -> Iterator[tuple[_Rank, str]]:
    for element in tree.iter(*_READERS):
        yield from _READERS[str(element.tag)](element)
    for element in _STYLED(tree):
        if style := element.get("style"):
            yield from _of_css(style)
        if background := element.get("background"):
            yield _Rank.IMAGE, background


def _of_image(element: Element) -> Found:
    found = _attributes(element, "src", *_LAZY_ATTRIBUTES)
    for name in ("srcset", "data-srcset"):
        if listed := element.get(name):
            has_plain = bool(element.get("src")) and name == "srcset"
            found += _of_srcset(listed, element.get("sizes") or "", has_plain=has_plain)
    return found


def _of_link(element: Element) -> Found:
    reference = element.get("href") or ""
    relations = (element.get("rel") or "").lower().split()
    preloaded = _PRELOADED.get((element.get("as") or "").lower())
    if "stylesheet" in relations:
        return [(_Rank.STYLESHEET, reference)]
    if "modulepreload" in relations:
        return [(_Rank.SCRIPT, reference)]
    if preloaded is not None and "preload" in relations:
        listed = _of_srcset(element.get("imagesrcset") or "", element.get("imagesizes") or "")
        return [(preloaded, reference), *listed]
    return [] if _IMAGE_RELATIONS.isdisjoint(relations) else [(_Rank.IMAGE, reference)]


def _of_script(element: Element) -> Found:
    named = (element.get("src"), element.get("href"), element.get("xlink:href"))
    return [(_Rank.SCRIPT, reference) for reference in named if reference]


def _of_style(element: Element) -> Found:
    return _of_css(element.text or "")


def _of_media(element: Element) -> Found:
    """Return still picture and film or sound; of several sources the first file, a stream where there is no file."""
    still = _attributes(element, "poster")
    named = next((found for name in _MEDIA_ATTRIBUTES if (found := (element.get(name) or "").strip())), None)
    sources = [source for source in islice(element.iter("source"), _MAX_SOURCES) if _source(source)]
    files = (source for source in sources if not _PLAYLIST.search(source.get("type") or ""))
    chosen = next(files, sources[0] if sources else None)
    reference = named or (_source(chosen) if chosen is not None else "")
    return [*still, (_Rank.MEDIA, reference)] if reference else still


def _source(source: Element) -> str:
    return (source.get("src") or source.get("data-src") or "").strip()


def _of_track(element: Element) -> Found:
    reference = element.get("src")
    return [(_Rank.MEDIA, reference)] if reference else []


def _of_plugin(element: Element) -> Found:
    """Return what an ``embed`` or ``object`` shows, unless it may be a document, which is fetched as a page."""
    reference = (element.get("data" if element.tag == "object" else "src") or "").strip()
    if reference:
        return [] if shows_document(element, reference) else [(_Rank.MEDIA, reference)]
    if element.tag != "object":
        return []
    films = (each for each in element.iterchildren("param") if (each.get("name") or "").lower() in _FILMS)
    return [(_Rank.MEDIA, found) for each in films if (found := (each.get("value") or "").strip())]


def _of_input(element: Element) -> Found:
    return _attributes(element, "src") if (element.get("type") or "").lower() == "image" else []


def _of_svg(element: Element) -> Found:
    return _attributes(element, "href", "xlink:href")


def _of_source(element: Element) -> Found:
    """Return the pictures among sources; those of sound and film are chosen from where they are played."""
    # The parser takes sources for parents of those that follow.
    outer = next((each for each in element.iterancestors() if each.tag != "source"), None)
    return _of_image(element) if outer is None or outer.tag not in ("audio", "video") else []


def _of_srcset(srcset: str, sizes: str, *, has_plain: bool = False) -> Found:
    """Return the one picture that a browser chooses in a window of usual width, at one pixel for each dot.

    Of sharper ones it chooses none where the element has a plain one as well (``has_plain``).
    """
    widths: dict[float, str] = {}
    densities: dict[float, str] = {}
    for reference, number, unit in _candidates(srcset):
        (widths if unit == "w" else densities).setdefault(number, reference)
    if widths:
        return [(_Rank.IMAGE, _least_enough(widths, _width(sizes)))]
    if densities and not (has_plain and min(densities) > 1):
        return [(_Rank.IMAGE, _least_enough(densities, 1))]
    return []


def _least_enough(candidates: dict[float, str], wanted: float) -> str:
    return candidates[min((number for number in candidates if number >= wanted), default=max(candidates))]


def _width(sizes: str) -> float:
    """Return how many pixels wide a picture is shown; as wide as the window where ``sizes`` is not understood.

    >>> _width("(max-width: 700px) 100vw, 700px"), _width("50vw"), _width("")
    (700.0, 640.0, 1280.0)
    """
    for size in sizes.split(",", _MAX_SIZES)[:_MAX_SIZES]:
        match = _SIZE.fullmatch(size)
        try:
            if match is None or not _holds(match):
                continue
            return float(match[4]) * (_VIEWPORT / 100 if match[5].lower() == "vw" else 1)
        except ValueError:
            continue
    return _VIEWPORT


def _holds(size: re.Match[str]) -> bool:
    if size[1] is None:
        return True
    bound = float(size[2]) * (1 if size[3].lower() == "px" else 16)
    return bound <= _VIEWPORT if size[1].lower() == "min" else bound >= _VIEWPORT


def _candidates(srcset: str) -> Iterator[tuple[str, float, str]]:
    """Yield URL, number and unit of each picture of a ``srcset``, but for those that it holds itself."""
    position = 0
    while match := _CANDIDATE.match(srcset, position):
        reference = match[1].rstrip(",")
        descriptors = None if match[1].endswith(",") else _DESCRIPTORS.match(srcset, match.end())
        told = _DESCRIPTOR.search(descriptors[0]) if descriptors else None
        if reference and reference[:5].lower() != "data:":
            yield (reference, float(told[1]), told[2]) if told else (reference, 1.0, "x")
        position = descriptors.end() if descriptors else match.end()


def _of_css(css: str) -> Found:
    """Return the URLs in a style sheet, cached since many pages of a site share one."""
    return _of_short_css(css) if len(css) <= _MAX_KEPT_LENGTH else _one_format(_read_css(css))


@lru_cache(maxsize=_MAX_KEPT)
def _of_short_css(css: str) -> Found:
    return _one_format(_read_css(css))


def _one_format(found: Found) -> Found:
    """Leave out files of a font that differ in format alone, but for the one that browsers prefer."""
    best: dict[str, int] = {}
    for rank, reference in found:
        if rank is _Rank.FONT:
            stem, place = _format(reference)
            best[stem] = min(place, best.get(stem, place))
    if not best:
        return found
    return [each for each in found if each[0] < _Rank.FONT or _is_best(best, *_format(each[1]))]


def _is_best(best: dict[str, int], stem: str, place: int) -> bool:
    return place == len(_FONT_FORMATS) or best.get(stem, place) == place


def _format(reference: str) -> tuple[str, int]:
    """Return the name of a font without its ending, and the place of that among the formats.

    >>> _format("f/a.eot?#iefix"), _format("b.png")
    (('f/a', 4), ('b', 6))
    """
    stem, _, ending = re.split("[?#]", reference, maxsplit=1)[0].rpartition(".")
    known = ending.lower() in _FONT_FORMATS
    return stem, _FONT_FORMATS.index(ending.lower()) if known else len(_FONT_FORMATS)


def _read_css(css: str) -> Found:
    found: list[tuple[_Rank, str]] = []
    for is_imported, reference in css_urls(css[:MAX_STYLESHEET]):
        shown = _Rank.FONT if _FONT_FILE.search(reference) else _Rank.IMAGE
        found.append((_Rank.STYLESHEET if is_imported else shown, reference))
    return found


def _attributes(element: Element, *names: str) -> list[tuple[_Rank, str]]:
    return [(_Rank.IMAGE, reference) for name in names if (reference := element.get(name))]


_READERS = {
    "img": _of_image,
    "source": _of_source,
    "link": _of_link,
    "script": _of_script,
    "style": _of_style,
    "video": _of_media,
    "audio": _of_media,
    "track": _of_track,
    "bgsound": _of_track,
    "embed": _of_plugin,
    "object": _of_plugin,
    "input": _of_input,
    "use": _of_svg,
    "image": _of_svg,
    "feimage": _of_svg,
}
# Attributes are found sooner than elements that are asked for them.
_STYLED = XPath("//*[@style or @background]")


# Tokens of CSS Syntax Level 3; possessive, and none fails once begun, so that a scan is linear.
_STRING = r""""(?:[^"\\\n]++|\\[\s\S])*+["\\]?+|'(?:[^'\\\n]++|\\[\s\S])*+['\\]?+"""
_COMMENT = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+"
_UNQUOTED = r"(?:[^\s\"'()\\]++|\\(?:[0-9a-fA-F]{1,6}\s?+|[\s\S]))*+"
_URL = rf"(?<![\w-])url\(\s*+({_STRING}|{_UNQUOTED})"
_URL_OR_SRC = rf"(?<![\w-])(?:url\(\s*+|src\(\s*+(?=[\"']))({_STRING}|{_UNQUOTED})"


def _grammar(url: str, more: str = "") -> re.Pattern[str]:
    imports = rf"(@import)(?:\s++|{_COMMENT})*+(?:{url}|({_STRING}))"
    return re.compile(rf"{_COMMENT}|@namespace\b[^;]*+|{imports}|{url}{more}|{_STRING}", re.IGNORECASE)


_CSS = _grammar(_URL)
_CSS_WITH_MORE = _grammar(_URL_OR_SRC, r"|(?<![\w-])(?:-webkit-)?(image-set\()")
"""The grammar of style sheets with functions that few have: it takes longer."""
_IMAGE_SET: Final = 5
"""The group of the latter that matches where an ``image-set()`` begins."""
_IN_SET = re.compile(rf"{_COMMENT}|{_URL_OR_SRC}\s*+\)?+|({_STRING})|([()])", re.IGNORECASE)
"""What stands within ``image-set()``, where a string is a URL unless it stands within another function."""
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\n)|(.)|$)")


def css_urls(css: str) -> Iterator[tuple[bool, str]]:
    """Yield whether a URL of a style sheet is that of an imported one, and the URL as written, in their order.

    Their queries are in UTF-8, whatever the style sheet is written in (CSS Values 4). URLs in comments do not count,
    and strings only where they are URLs: in ``@import``, ``src()`` and ``image-set()``. Time is linear.
    """
    lower, at = css.lower(), 0
    grammar = _CSS_WITH_MORE if "image-set(" in lower or "src(" in lower else _CSS
    while match := grammar.search(css, at):
        at = match.end()
        imports, imported_url, imported, shown = match.group(1, 2, 3, 4)
        if match.lastindex == _IMAGE_SET:
            pictures, at = _read_set(css, at)
            yield from ((False, _of_token(each)) for each in pictures)
        elif imports or shown:
            yield bool(imports), _of_token(imported_url or imported or shown or "")


def _read_set(css: str, at: int) -> tuple[list[str], int]:
    """Return the tokens of all pictures of an ``image-set()``, and where it ends."""
    found: list[str] = []
    depth = 1
    while depth and (match := _IN_SET.search(css, at)):
        at = match.end()
        url, text, sign = match.groups()
        depth += {"(": 1, ")": -1}.get(sign, 0)
        token = url or (text if depth == 1 else None)
        found.extend([token] if token else [])
    return found, at if not depth else len(css)


def _of_token(token: str) -> str:
    if token[:1] in ('"', "'"):
        token = token[1:-1] if len(token) > 1 and token[-1] == token[0] else token[1:]
    return in_utf8(_ESCAPE.sub(_unescaped, token))


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return match[3] or ""


MAX_FRAMES: Final = 100
"""The most frames of one page that are found."""

_NAMES: Final = {"frame": "src", "iframe": "src", "embed": "src", "object": "data", "layer": "src", "ilayer": "src"}
_DOCUMENTS: Final = frozenset({"", "text/html", "application/xhtml+xml", "application/pdf", "text/plain"})
"""Declared types of what ``embed`` and ``object`` show that may be a document with links."""
_PICTURES_AND_MEDIA: Final = re.compile(
    r"\.(?:avif|bmp|gif|ico|jpe?g|png|svgz?|webp|aac|aiff?|au|flac|m4[av]|midi?|mp[34]|mpe?g|mov|avi|wm[av]|web[ma]|mkv|"
    r"og[agv]|opus|wav|r[am]m?|swf|flv|dcr|3gp)(?:$|[?#])",
    re.IGNORECASE,
)
"""The endings of files that ``embed`` and ``object`` show without being documents with links."""
_LAZY: Final = ("data-src", "data-lazy-src")


def frames(page: Page) -> tuple[str, ...]:
    """Return the canonical http(s) URLs of documents within a page, each once, in their order.

    They are those of ``frame``, ``iframe``, ``embed`` and ``object``, and of ``layer`` and ``ilayer``, the frames of
    Netscape 4; what declares to be no document is none.
    """
    found: dict[str, None] = {}
    for reference in _document_references(page):
        url = resolve(page.base_url, reference)
        if url is not None and url != page.url:
            found[url] = None
        if len(found) == MAX_FRAMES:
            break
    return tuple(found)


def shows_document(element: Element, reference: str) -> bool:
    """Tell whether what an ``embed`` or ``object`` shows may be a document: by its type, else by the URL's ending."""
    declared = (element.get("type") or "").partition(";")[0].strip().lower()
    return declared in _DOCUMENTS and bool(declared or not _PICTURES_AND_MEDIA.search(reference))


def _document_references(page: Page) -> Iterator[str]:
    for element in page.tree.iter(*_NAMES):
        if element.get("srcdoc") is not None:
            continue
        for name in (_NAMES[str(element.tag)], *_LAZY):
            reference = (element.get(name) or "").strip()
            if reference and not reference.lower().startswith(("about:", "javascript:", "data:", "blob:")):
                if element.tag not in ("embed", "object") or shows_document(element, reference):
                    yield reference
                break


KINDS: Final = frozenset({"image", "audio", "video"})

_PAGES_OF_FILES: Final = frozenset(
    {"attachment", "attachments", "blame", "blob", "browse", "browser", "cgit", "gitweb", "src", "viewvc", "wiki"}
)
"""Folders in which trackers, wikis and source browsers show a page about a file under the file's name."""
_VECTORS: Final = frozenset({"image/svg+xml", "image/vnd.microsoft.icon"})
_SEGMENTS: Final = re.compile(r"/+")


def kind_of_file(url: str, declared: str | None = None) -> str | None:
    """Return whether a URL is that of an ``image``, ``audio`` or ``video`` file, None where it may be that of a page.

    ``declared`` is the media type that a link gives; without one the ending of the path decides. Drawings and icons are
    no pictures that somebody took.

    >>> kind_of_file("http://a.test/big/tower.JPG"), kind_of_file("http://a.test/get?id=3", "video/mp4")
    ('image', 'video')
    >>> kind_of_file("http://a.test/attachment/7/tower.jpg"), kind_of_file("http://a.test/wiki/File:Tower.jpg")
    (None, None)
    """
    media_type = (declared or "").partition(";")[0].strip().lower() or type_by_url(url) or ""
    kind = media_type.partition("/")[0]
    if kind not in KINDS or media_type in _VECTORS:
        return None
    if not declared and not _PAGES_OF_FILES.isdisjoint(_SEGMENTS.split(urlsplit(url).path.lower())[:-1]):
        return None
    return kind


def linked_file(link: Element, url: str) -> str | None:
    """Return the kind of the file that a link to a URL, an ``a`` or ``area``, leads to, as ``kind_of_file`` does."""
    return kind_of_file(url, link.get("type"))


MAX_LINKS: Final = 5_000
"""The most links of one page that are looked at."""
_FOREIGN: Final = re.compile(
    r"(ftps?|sftp|tftp|gophers?|gemini|spartan|titan|nex|finger|wais|dict|s?news|nntp|magnet|ed2k|ip[fn]s|dat|hyper|dweb"
    r"|file|smb|nfs|rsync|svn|git|rtsps?|rtmp|mmsh?|telnet):(.+)",
    re.IGNORECASE | re.DOTALL,
)
"""Links whose schemes name documents, files and places (IANA's registry of URI schemes, and what is common without it).

Others name people, programs and actions, such as ``mailto`` and ``javascript``, or are no schemes: ``Talk:Harbour``.
"""


def foreign_links(page: Page) -> Mapping[str, int]:
    """Return by scheme how many different links, and frames, of a page lead to documents by other ways than HTTP."""
    found = set()
    for element in islice(page.tree.iter("a", "area", "frame", "iframe"), MAX_LINKS):
        match = _FOREIGN.fullmatch((element.get("href") or element.get("src") or "").strip())
        if match is not None:
            found.add((match[1].lower(), match[2]))
    return Counter(scheme for scheme, _ in found)


_KINDS: Final = {"image": "image", "audio": "audio", "video": "video"}
_MEASURED: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""Formats whose head tells for certain how large a picture is."""
_HEAD: Final = 1 << 18


def media_file(page: Page) -> WebObject | None:
    """Return a fetched file as an object named by its URL; None where its bytes are no picture, sound or film.

    ``format`` is its media type, whatever the server declares; ``size`` its bytes, absent where it did not come whole;
    ``width`` and ``height`` those of a picture in pixels, as it is shown.
    """
    media_type = sniff(page.body, page.media_type)
    kind = _KINDS.get(media_type.partition("/")[0])
    if kind is None:
        return None
    known: dict[str, tuple[Value, ...]] = {"format": (media_type,), "url": (Reference(page.url),)}
    if page.complete:
        known["size"] = (len(page.body),)
    if media_type in _MEASURED:
        width, height = imagesize.get(BytesIO(page.body[:_HEAD]))
        if width > 0 and height > 0:
            known |= {"width": (width,), "height": (height,)}
    return WebObject(page.url, kind, page.url, known)
