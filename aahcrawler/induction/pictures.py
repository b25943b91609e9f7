"""Find the pictures that are content of a page, and the target of each: its file, or a page of its own."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import unquote, urlsplit

from lxml.etree import _Element as Element

from aahcrawler.induction.outline import Outline
from aahcrawler.page import Page, requisites
from aahcrawler.page.requisites import kind_of_file, linked_file
from aahcrawler.page.text import fold
from aahcrawler.page.zones import Hidden, Zone, Zones
from aahcrawler.urls import queue_of, resolve

MAX_PICTURES: Final = 2_000
"""How many pictures of one page are examined."""

MIN_SIDE: Final = 40
"""The fewest pixels of both sides of a picture, if the page declares them: smaller ones are icons."""

_SHOWN_OFTEN: Final = 2
"""A file that a page shows more often than this is a bullet, a star or a smiley."""
_FULL_SIZED: Final = (
    *("data-full", "data-full-src", "data-full-url", "data-fullsize", "data-fullsize-src", "data-full-size"),
    *("data-large", "data-large-src", "data-large-file", "data-large_image", "data-big", "data-image"),
    *("data-orig-file", "data-original-file", "data-hires", "data-highres", "data-high-res-src", "data-zoom"),
    *("data-zoom-image", "data-zoom-src", "data-mfp-src", "data-pswp-src", "data-fancybox-href", "data-src"),
    *("data-href", "data-url", "data-original", "data-download-url"),
)
"""Attributes that give the large file to scripts, the unambiguous ones first."""
_DECORATION: Final = re.compile(
    r"(?:^|[\W_])(?:logos?|icons?|ico|avatars?|gravatars?|smil(?:e|ey|ies|eys)|emojis?|emoticons?|badges?|buttons?|btn|"
    r"banners?|sprites?|spacer|pixel|blank|bullets?|flags?|ratings?|stars?|captcha|loading|spinner|arrows?|"
    r"ads?|adverts?|sponsors?|userpics?|headshot|themes?|skins?)(?:$|[\W_])",
    re.IGNORECASE,
)
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BESIDE: Final = frozenset({Zone.MENU, Zone.DROPPED, Zone.SIDE})
_LENGTH: Final = re.compile(r"\s*(\d{1,5})(?:px|\.\d+)?\s*")
_ENDINGS: Final = re.compile(
    r"\.(?:jpe?g|png|gif|bmp|tiff?|webp|heic|avif|mp4|mov|avi|webm|nef|cr2|raw)\b", re.IGNORECASE
)
_CAMERA_NAME: Final = re.compile(
    r"(?:img|image|dscn?|dscf|pict?|photo|foto|bild|p|cimg|pxl|vid|mvi)?[\W_]*\d[\d\W_]*", re.I
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in the content of a page. URLs are absolute and canonical.

    ``place`` is that of the ``img`` in the outline, ``link`` that of the link around it, None without one. ``file`` is
    the full-size picture, sound or film that the page gives for it, of some ``kind``; None if it gives none. ``target``
    is the page to which the link leads. ``width`` and ``height`` are those declared, 0 if they are not.
    """

    place: int
    shown: str
    link: int | None = None
    file: str | None = None
    kind: str = "image"
    target: str | None = None
    width: int = 0
    height: int = 0


def pictures(page: Page, outline: Outline) -> tuple[Picture, ...]:
    """Return the pictures in the content of a page, in document order.

    Logos, icons, avatars, smileys, advertising, and pictures in menus, sidebars and footers are left out.
    """
    places = list(islice((place for place, tag in enumerate(outline.tags) if tag == "img"), MAX_PICTURES))
    if not places:
        return ()
    zones, hidden = Zones(page.tree), page.once(Hidden.of)
    site = queue_of(page.url)
    found: list[Picture] = []
    for place in places:
        element = outline.elements[place]
        if zones.of(element) in _BESIDE or hidden.covers(element):
            continue
        picture = _picture(page, outline, place)
        if picture is not None and not _is_decoration(outline, picture, site):
            found.append(picture)
    times = Counter(each.shown for each in found)
    return tuple(each for each in found if times[each.shown] <= _SHOWN_OFTEN)


def _picture(page: Page, outline: Outline, place: int) -> Picture | None:
    element = outline.elements[place]
    reference = requisites.shown_by(element)
    shown = resolve(page.base_url, reference) if reference else None
    if shown is None:
        return None
    width, height = (_length(element, name) for name in ("width", "height"))
    link = next((above for above in outline.ancestors(place) if outline.tags[above] == "a"), None)
    href = outline.elements[link].get("href") or "" if link is not None else ""
    target = resolve(page.base_url, href) if href and not href.startswith(("#", "javascript:")) else None
    kind = linked_file(outline.elements[link], target) if link is not None and target is not None else None
    if kind is not None:
        return Picture(place, shown, link, target, kind, None, width, height)
    if target is not None and target != page.url and queue_of(target) == queue_of(page.url):
        return Picture(place, shown, link, None, "image", target, width, height)
    named = _named_file(page, [element, *(outline.elements[each] for each in (link,) if each is not None)], shown)
    return Picture(place, shown, link, named, "image", target if target != page.url else None, width, height)


def _named_file(page: Page, elements: list[Element], shown: str) -> str | None:
    """Return the full-size file given in attributes for scripts."""
    for element in elements:
        for name in _FULL_SIZED:
            url = resolve(page.base_url, value) if (value := (element.get(name) or "").strip()) else None
            if url is not None and url != shown and kind_of_file(url) == "image":
                return url
    return None


def _length(element: Element, name: str) -> int:
    found = _LENGTH.fullmatch(element.get(name) or "")
    return int(found[1]) if found else 0


def _is_decoration(outline: Outline, picture: Picture, site: str) -> bool:
    """Return whether a picture is small, named an icon or the like, or leads to another site, as advertising does."""
    if any(0 < side < MIN_SIDE for side in (picture.width, picture.height)):
        return True
    path = urlsplit(picture.shown).path.lower()
    if path.endswith((".svg", ".ico")):
        return True
    element = outline.elements[picture.place]
    names = " ".join(filter(None, (element.get("class"), element.get("id"))))
    folder, _, name = path.rpartition("/")
    if _DECORATION.search(f"{_HUMP.sub('-', names)} {folder.rpartition('/')[2]} {name}"):
        return True
    return picture.target is not None and queue_of(picture.target) != site


def is_file_name(text: str) -> bool:
    """Return whether a text is the name of a file, also one made by a camera, rather than a person's words.

    >>> is_file_name("tower_old.jpg"), is_file_name("DSC_0042"), is_file_name("The tower")
    (True, True, False)
    """
    return len(text.split()) <= 2 and (_ENDINGS.search(text) is not None or _CAMERA_NAME.fullmatch(text) is not None)


def stem(url: str) -> str:
    """Return the name of a file without its extension, in lower case.

    >>> stem("http://a.test/big/Tower.JPG?x=1")
    'tower'
    """
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    return fold(name.rpartition(".")[0] or name).lower()
