"""Read what a file of an object is: picture, sound or film, with its format, size and measures."""

from io import BytesIO
from typing import Final

import imagesize

from aahcrawler.page.page import Page
from aahcrawler.page.sniffing import sniff
from aahcrawler.webobject import Reference, Value, WebObject

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
