"""The attributes of a replayed page: which are kept, which lead into the archive, which are left out."""

import re
from typing import Final, Protocol

from lxml.etree import _Element as Element

from aahcrawler.replay.addresses import Modifier
from aahcrawler.replay.css_rewriting import rewrite_css

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9:_.-]*")
_LONGEST: Final = 1 << 20
_DROPPED: Final = frozenset(
    {
        *("action", "formaction", "formmethod", "formtarget", "method", "target", "ping", "download", "attributionsrc"),
        *("integrity", "nonce", "crossorigin", "referrerpolicy", "csp", "allow", "allowfullscreen", "credentialless"),
        *("manifest", "profile", "codebase", "archive", "classid", "code", "longdesc", "cite", "usemap", "imagesrcset"),
        *("imagesizes", "autofocus", "autoplay", "http-equiv", "xml:base", "itemid", "fetchpriority", "blocking"),
        *("formenctype", "enctype", "is", "shadowrootmode", "shadowroot", "elementtiming", "datasrc", "data"),
    }
)
_DROPPED_ELSEWHERE: Final = _DROPPED | {"srcdoc"}
_MODIFIERS: Final = {
    **dict.fromkeys(("background", "lowsrc", "dynsrc", "poster", "icon"), Modifier.IMAGE),
    "srcset": Modifier.IMAGE,
}
_SOURCES: Final = {
    **dict.fromkeys(("video", "audio", "track"), Modifier.MEDIA),
    **dict.fromkeys(("iframe", "frame"), Modifier.FRAME),
}
_KEPT: Final = frozenset({"sandbox", "srcdoc", "content", "value", "alt", "title"})


class Linking(Protocol):
    """What a reference becomes in a document."""

    def link(self, reference: str, modifier: Modifier) -> str | None:
        """Return what stands for a reference; None where nothing may."""
        ...

    def style_link(self, reference: str, modifier: Modifier) -> str | None:
        """Return what stands for a reference in a style, None where that is nothing of the archive."""
        ...

    @property
    def linked(self) -> Modifier:
        """How links of the document are shown."""
        ...


def clean_attributes(element: Element, around: Linking) -> None:
    """Rewrite what leads elsewhere among the attributes of an element, and leave out what does anything else."""
    # What a frame has for it has been rewritten; on other elements it means nothing.
    unwanted = _DROPPED if element.tag in ("iframe", "frame") else _DROPPED_ELSEWHERE
    for name, value in element.attrib.items():
        lower = str(name).lower()
        if lower.startswith("on") or lower in unwanted or _NAME.fullmatch(str(name)) is None:
            del element.attrib[name]
        elif (modifier := _modifier(str(element.tag), lower, element, around)) is not None:
            _set(element, str(name), _linked(str(value), modifier, around))
        elif lower == "style" or (lower not in _KEPT and _may_hold_url(str(value))):
            _set(element, str(name), rewrite_css(str(value)[:_LONGEST], around.style_link))


def _modifier(tag: str, name: str, element: Element, around: Linking) -> Modifier | None:
    """Return how what an attribute names is shown, None for one that names nothing."""
    if name == "src":
        media = element.getparent() if tag == "source" else None
        return Modifier.MEDIA if media is not None else _SOURCES.get(tag, Modifier.IMAGE)
    if name in ("href", "xlink:href"):
        if tag in ("a", "area"):
            return around.linked
        is_sheet = tag == "link" and "stylesheet" in (element.get("rel") or "").lower().split()
        return Modifier.STYLE if is_sheet else Modifier.IMAGE
    return _MODIFIERS.get(name)


def _linked(value: str, modifier: Modifier, around: Linking) -> str | None:
    value = value.strip()
    if value.startswith("#"):
        return value
    return around.link(value, modifier) if value and len(value) <= _LONGEST else None


def _set(element: Element, name: str, value: str | None) -> None:
    if value is None:
        del element.attrib[name]
    else:
        element.set(name, value)


def _may_hold_url(value: str) -> bool:
    return "(" in value and ("url" in value.lower() or "\\" in value)
