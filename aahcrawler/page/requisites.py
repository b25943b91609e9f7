"""Find page requisites: the style sheets, scripts, fonts and images that a browser fetches to show a page."""

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache

from lxml.etree import XPath
from lxml.etree import _Element as Element

from aahcrawler.page import Page
from aahcrawler.urls import resolve

MAX_REQUISITES = 2_000
"""The most requisites of one page or style sheet that are kept; those that shape the page most come first."""

MAX_STYLESHEET = 4_000_000
"""The most characters of a style sheet that are read."""


_MAX_REFERENCES = 10 * MAX_REQUISITES


_MOST_KEPT = 512
_LONGEST_KEPT = 20_000
"""Style sheets within pages that are kept, and their characters: 20 MB in all at most."""


class _Rank(IntEnum):
    STYLESHEET = 0
    SCRIPT = 1
    FONT = 2
    IMAGE = 3


Found = Iterator[tuple[_Rank, str]]

_FONT_FILE = re.compile(r"\.(?:woff2?|ttf|otf|eot)(?:$|[?#])", re.IGNORECASE)
_PRELOADED = {"style": _Rank.STYLESHEET, "script": _Rank.SCRIPT, "font": _Rank.FONT, "image": _Rank.IMAGE}
_IMAGE_RELATIONS = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "image_src"})
_LAZY_ATTRIBUTES = ("data-src", "data-lazy-src", "data-original")
_CANDIDATE = re.compile(r"[\s,]*+(\S++)")
_DESCRIPTORS = re.compile(r"(?:[^,(]++|\([^)]*+\)?+)*+,?+")

# Tokens of CSS Syntax Level 3; possessive, and none fails once begun, so that a scan is linear.
_STRING = r""""(?:[^"\\\n]++|\\[\s\S])*+["\\]?+|'(?:[^'\\\n]++|\\[\s\S])*+['\\]?+"""
_COMMENT = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+"
_URL = rf"(?<![\w-])url\(\s*+({_STRING}|(?:[^\s\"'()\\]++|\\(?:[0-9a-fA-F]{{1,6}}\s?+|[\s\S]))*+)"
_CSS = re.compile(
    rf"{_COMMENT}|@namespace\b[^;]*+|(@import)(?:\s++|{_COMMENT})*+(?:{_URL}|({_STRING}))|{_URL}|{_STRING}",
    re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\n)|(.)|$)")


def of_page(page: Page) -> tuple[str, ...]:
    """Return the absolute canonical http(s) URLs that a browser needs to show the page, each once.

    Style sheets come first, then scripts, fonts and images, each kind in document order except that those of style
    attributes come last; at most ``MAX_REQUISITES``. Requisites of linked style sheets are not known yet: see
    ``of_stylesheet``.
    """
    return of_elements((page.tree,), page.base_url)


def of_elements(elements: Iterable[Element], base: str) -> tuple[str, ...]:
    """Return the requisites of the documents that elements belong to, as `of_page` does for a whole page."""
    ranks: dict[str, _Rank] = {}
    for rank, reference in (found for element in elements for found in _references(element)):
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
    return next((found for each in listed for _, found in _of_srcset(each) if found[:5].lower() != "data:"), None)


def of_stylesheet(css_text: str, base: str) -> tuple[str, ...]:
    """Return the absolute canonical URLs that a style sheet imports or shows, in order, each once.

    ``base`` is the URL of the style sheet. URLs in comments and strings do not count, except for the string of
    an ``@import``. Time is linear; at most ``MAX_STYLESHEET`` characters are read.
    """
    return _resolved(base, dict.fromkeys(reference for _, reference in _of_css(css_text)))


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


def _references(tree: Element) -> Found:
    for element in tree.iter(*_READERS):
        yield from _READERS[str(element.tag)](element)
    for element in _STYLED(tree):
        yield from _of_css(element.get("style") or "")
        yield from _attributes(element, "background")


def _of_image(element: Element) -> Found:
    yield from _attributes(element, "src", *_LAZY_ATTRIBUTES)
    for name in ("srcset", "data-srcset", "imagesrcset"):
        yield from _of_srcset(element.get(name) or "")


def _of_link(element: Element) -> Found:
    reference = element.get("href") or ""
    relations = (element.get("rel") or "").lower().split()
    preloaded = _PRELOADED.get((element.get("as") or "").lower())
    if "stylesheet" in relations:
        yield _Rank.STYLESHEET, reference
    elif "modulepreload" in relations:
        yield _Rank.SCRIPT, reference
    elif preloaded is not None and "preload" in relations:
        yield preloaded, reference
        yield from _of_srcset(element.get("imagesrcset") or "")
    elif not _IMAGE_RELATIONS.isdisjoint(relations):
        yield _Rank.IMAGE, reference


def _of_script(element: Element) -> Found:
    for reference in (element.get("src"), element.get("href"), element.get("xlink:href")):
        if reference:
            yield _Rank.SCRIPT, reference


def _of_style(element: Element) -> Found:
    return _of_css(element.text or "")


def _of_video(element: Element) -> Found:
    return _attributes(element, "poster")


def _of_input(element: Element) -> Found:
    if (element.get("type") or "").lower() == "image":
        yield from _attributes(element, "src")


def _of_svg(element: Element) -> Found:
    return _attributes(element, "href", "xlink:href")


def _of_source(element: Element) -> Found:
    """Yield the pictures among sources; sound and film are no requisites of their page."""
    parent = element.getparent()
    if parent is None or parent.tag not in ("audio", "video"):
        yield from _of_image(element)


def _of_srcset(srcset: str) -> Found:
    position = 0
    while match := _CANDIDATE.match(srcset, position):
        reference = match[1].rstrip(",")
        if reference:
            yield _Rank.IMAGE, reference
        ended = match[1].endswith(",")
        descriptors = None if ended else _DESCRIPTORS.match(srcset, match.end())
        position = descriptors.end() if descriptors else match.end()


def _of_css(css: str) -> Found:
    """Yield the URLs in a style sheet, cached since many pages of a site share one."""
    if not css:
        return iter(())
    return iter(_told_of_css(css) if len(css) <= _LONGEST_KEPT else _read_css(css))


@lru_cache(maxsize=_MOST_KEPT)
def _told_of_css(css: str) -> tuple[tuple[_Rank, str], ...]:
    return tuple(_read_css(css))


def _read_css(css: str) -> Found:
    for match in _CSS.finditer(css[:MAX_STYLESHEET]):
        imports, imported_url, imported, shown = match.groups()
        if imports:
            yield _Rank.STYLESHEET, _unquoted(imported_url or imported or "")
        elif shown:
            reference = _unquoted(shown)
            yield (_Rank.FONT if _FONT_FILE.search(reference) else _Rank.IMAGE), reference


def _unquoted(token: str) -> str:
    if token[:1] in ('"', "'"):
        token = token[1:-1] if len(token) > 1 and token[-1] == token[0] else token[1:]
    return _ESCAPE.sub(_unescaped, token)


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return match[3] or ""


def _attributes(element: Element, *names: str) -> Found:
    for name in names:
        reference = element.get(name)
        if reference:
            yield _Rank.IMAGE, reference


_READERS = {
    "img": _of_image,
    "source": _of_source,
    "link": _of_link,
    "script": _of_script,
    "style": _of_style,
    "video": _of_video,
    "input": _of_input,
    "use": _of_svg,
    "image": _of_svg,
}
# Attributes are found sooner than elements that are asked for them.
_STYLED = XPath("//@style/.. | //@background/..")
