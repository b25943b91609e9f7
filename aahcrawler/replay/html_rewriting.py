"""Rewrites HTML of any origin so that it looks the same, but runs no script and links only into the archive.

Nothing in it is executed, and nothing is fetched from elsewhere. Content that scripts would have added is missing, but
fallbacks for readers without scripts are shown. ``clean_attributes`` has the rules for attributes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Final, Protocol

from lxml.etree import _Element as Element
from lxml.html import HtmlElement, tostring

from aahcrawler.page import markup
from aahcrawler.page.page import based
from aahcrawler.page.requisites import played_by, shown_by, shows_document
from aahcrawler.query_encoding import in_utf8
from aahcrawler.replay.addresses import PAGES, Address, Modifier
from aahcrawler.replay.css_rewriting import rewrite_css
from aahcrawler.urls import resolve

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9:_.-]*")
_SEEN: Final = "visibility:visible!important;opacity:1!important"
_UNTIL_SCRIPTED: Final = "anticlickjack"
"""The id of a style sheet that hides a page until a script takes it away."""
_UNSETTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_DOCTYPE: Final = re.compile(
    r"\A(?:\s|<!--.{0,5000}?-->|<\?[^>]{0,500}>)*+<!doctype\s+html\b([^>]{0,300})>", re.IGNORECASE | re.DOTALL
)
_PUBLIC: Final = re.compile(
    r"""public\s+["'](-//[A-Za-z0-9 ./-]+)["'](?:\s+["'](http://www\.w3\.org/[\w./-]*)["'])?""", re.I
)
_DROPPED: Final = frozenset({"script", "base", "template", "applet", "noembed", "portal", "fencedframe", "param"})
_UNWRAPPED: Final = frozenset({"noscript", "noframes", "bgsound"})
_RENAMED: Final = {"plaintext": "pre", "xmp": "pre", "listing": "pre"}
_ANIMATIONS: Final = frozenset({"animate", "set", "animatetransform", "animatemotion"})
_KEPT_RELATIONS: Final = frozenset({"stylesheet", "icon", "apple-touch-icon", "mask-icon"})
_SUBMITTING: Final = frozenset({"submit", "image", "password", "file"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The context in which a document is rewritten: its address in the replay, and the base of its URLs."""

    address: Address
    base: str
    depth: int = 0

    def link(self, reference: str, modifier: Modifier) -> str | None:
        """Return the replacement of a reference; None where it cannot be archived."""
        reference, sign, fragment = reference.strip().partition("#")
        if reference[:5].lower() == "data:":
            whole = reference + sign + fragment
            return whole if modifier is Modifier.IMAGE and _is_picture(whole) else None
        url = resolve(self.base, reference) if reference or modifier in _LINKED else None
        if url is None:
            return None
        path = Address(self.address.crawl, self.address.moment, modifier, url).path
        return f"{path}#{fragment}" if fragment else path

    @property
    def linked(self) -> Modifier:
        """The modifier of the document's links: its own; a page with marked words leads to pages without marks."""
        if self.address.modifier is Modifier.WORDS:
            return Modifier.PAGE
        return self.address.modifier if self.address.modifier in PAGES else Modifier.FRAME

    def style_link(self, reference: str, modifier: Modifier) -> str | None:
        """Return the replacement of a reference in a style, which is in UTF-8 whatever the document's encoding."""
        return self.link(in_utf8(reference), modifier)

    def within(self, base: str) -> "Surroundings":
        """Return the context of a document inside an attribute of this one, with the given base."""
        return Surroundings(
            Address(self.address.crawl, self.address.moment, Modifier.FRAME, self.address.url),
            base,
            self.depth + 1,
        )


@dataclass(slots=True)
class Rewritten:
    """A rewritten tree. ``links`` are its links with their original canonical URLs.

    ``framed`` says that the document is a frameset.
    """

    tree: HtmlElement
    doctype: str
    links: list[tuple[Element, str]] = field(default_factory=list)
    framed: bool = False

    def markup(self, beginning: str = "", in_head: str = "") -> bytes:
        """Return the document in UTF-8, with the replay's own HTML inserted where its body and its head begin."""
        body, head = self.tree.find("body"), self.tree.find("head")
        if in_head and head is None:
            head = self.tree.makeelement("head")
            self.tree.insert(0, head)
        places = {
            _placed_first(parent): own
            for parent, own in ((head, in_head), (body, beginning))
            if own and parent is not None
        }
        text = tostring(self.tree, encoding="unicode", method="html")
        for place, own in places.items():
            text = text.replace(f'<div id="{place}"></div>', own, 1)
        return (self.doctype + text).encode("utf-8", "replace")


def _placed_first(parent: Element) -> str:
    """Insert an element before all children of another; return its id, which is random."""
    place = f"aah-{token_hex(16)}"
    mark = parent.makeelement("div", {"id": place})
    mark.tail, parent.text = parent.text, None
    parent.insert(0, mark)
    return place


def rewrite_html(tree: HtmlElement, source: str, around: Surroundings) -> Rewritten:
    """Rewrite a parsed document in place. ``source`` is its text, or the beginning of that."""
    rewritten = Rewritten(tree, _doctype(source))
    nodes = list(tree.iter())
    for node in nodes:
        _make_settable(node)
    for node in nodes:
        if node is not tree and node.getparent() is None:
            continue  # It was within what has been dropped.
        if not isinstance(node.tag, str):
            _drop(node)
        elif _NAME.fullmatch(node.tag) is None or node.tag in _UNWRAPPED:
            _unwrap(node)
        elif node.tag in _DROPPED or _is_unwanted(node):
            _drop(node)
        else:
            _rewrite_element(node, around, rewritten)
    rewritten.framed = tree.find(".//frameset") is not None
    if tree.find("body") is None and not rewritten.framed:
        tree.append(tree.makeelement("body"))
    return rewritten


def _rewrite_element(element: Element, around: Surroundings, rewritten: Rewritten) -> None:
    tag = str(element.tag)
    if tag in _RENAMED:
        element.tag = _RENAMED[tag]
    shadow = _shadow_mode(element)
    if tag in ("a", "area") and (target := resolve(around.base, element.get("href") or "")):
        rewritten.links.append((element, target))
    prepare = _PREPARED.get(tag)
    if prepare is not None:
        prepare(element, around)
    clean_attributes(element, around)
    if shadow:
        element.tag = "template"
        element.set("shadowrootmode", shadow)


def _shadow_mode(element: Element) -> str:
    """Return the mode of a declarative shadow root, empty for any other element.

    A shadow root of the body itself is not kept, since it would hide the rest of the body, including the banner.
    """
    mode, host = element.get("shadowrootmode"), element.getparent()
    is_declared = element.tag == "div" and mode in markup.SHADOW_MODES
    return mode if mode and is_declared and host is not None and host.tag not in ("body", "html") else ""


def _make_settable(node: Element) -> None:
    """Remove characters from a node that a parsed tree may contain, but that lxml does not allow to be set."""
    if node.tail and _UNSETTABLE.search(node.tail):
        node.tail = _settable(node.tail)
    if not isinstance(node.tag, str):
        return
    if node.text and _UNSETTABLE.search(node.text):
        node.text = _settable(node.text)
    for name, value in node.attrib.items():
        if _UNSETTABLE.search(str(value)) and _NAME.fullmatch(str(name)):
            node.set(str(name), _settable(str(value)))


def _is_unwanted(element: Element) -> bool:
    """Return whether an element is to be removed: it directs the browser, or hides or redirects others."""
    tag = str(element.tag)
    if tag == "meta":
        return element.get("http-equiv") is not None or element.get("charset") is not None or _is_policy(element)
    if tag == "link":
        relations = set((element.get("rel") or "").lower().split())
        return _KEPT_RELATIONS.isdisjoint(relations) or not relations.isdisjoint({"preload", "prefetch", "preconnect"})
    if tag == "style":
        return (element.get("id") or "").lower() == _UNTIL_SCRIPTED
    if tag.lower() in _ANIMATIONS:
        return "href" in (element.get("attributename") or element.get("attributeName") or "").lower()
    return False


def _is_policy(meta: Element) -> bool:
    return (meta.get("name") or "").strip().lower() in {"referrer", "supported-color-schemes"}


def _drop(node: Element) -> None:
    """Remove a node from its tree, keeping the text after it."""
    parent = node.getparent()
    if parent is None:
        node.clear()
        return
    if node.tail:
        previous = node.getprevious()
        if previous is not None:
            previous.tail = (previous.tail or "") + node.tail
        else:
            parent.text = (parent.text or "") + node.tail
        node.tail = None
    parent.remove(node)


def _unwrap(element: Element) -> None:
    """Replace an element by its content."""
    if isinstance(element, HtmlElement) and element.getparent() is not None:
        element.drop_tag()


# What an element becomes before its attributes are processed


def _picture(element: Element, _: Surroundings) -> None:
    """Reduce a picture with several files to choose from to the one file that the crawler fetched."""
    chosen = shown_by(element)
    for name in ("srcset", "data-srcset", "sizes", "data-src", "data-lazy-src", "data-original"):
        element.attrib.pop(name, None)
    if chosen is not None:
        element.set("src", chosen)


def _source(element: Element, _: Surroundings) -> None:
    outer = next((each for each in element.iterancestors() if each.tag != "source"), None)
    if outer is not None and outer.tag in ("video", "audio"):
        return
    chosen = shown_by(element)
    for name in ("src", "data-srcset", "sizes", "data-src"):
        element.attrib.pop(name, None)
    if chosen is not None:
        element.set("srcset", chosen)
    else:
        element.attrib.pop("srcset", None)


def _player(element: Element, _: Surroundings) -> None:
    chosen = played_by(element)
    if chosen is not None and not element.get("src") and element.find(".//source") is None:
        element.set("src", chosen)
    element.set("controls", "")
    element.set("preload", "metadata")


def _frame(element: Element, around: Surroundings) -> None:
    for child in list(element):
        element.remove(child)
    element.text = None
    inner = element.get("srcdoc")
    reference = next((element.get(name) for name in ("src", "data-src", "data-lazy-src") if element.get(name)), None)
    element.attrib.pop("data-src", None)
    if inner is not None:
        element.attrib.pop("src", None)
        element.set("srcdoc", _inner_document(inner, around))
    elif reference:
        element.set("src", reference)
    element.set("sandbox", "allow-same-origin")


def _empty(element: Element) -> None:
    """Move the content of an element behind it: an element that HTML keeps empty cannot hold any."""
    parent = element.getparent()
    if parent is None:
        return
    children, tail = list(element), element.tail or ""
    element.text, element.tail = None, element.text
    at = parent.index(element) + 1
    for offset, child in enumerate(children):
        parent.insert(at + offset, child)
    last = children[-1] if children else element
    last.tail = (last.tail or "") + tail


def _inner_document(text: str, around: Surroundings) -> str:
    if around.depth >= markup.MAX_INNER_DEPTH or len(text) > markup.MAX_INNER_LENGTH:
        return ""
    tree = markup.parse(text.encode("utf-8", "replace"))
    return rewrite_html(tree, text, around.within(based(around.base, tree))).markup().decode()


def _plugin(element: Element, around: Surroundings) -> None:
    """Replace a plug-in by its own content if it names no URL, by a frame if it shows a document, else by a picture."""
    if element.tag == "embed":
        _empty(element)
    name = "data" if element.tag == "object" else "src"
    reference = (element.get(name) or "").strip()
    if not reference or reference[:5].lower() == "data:":
        element.tag = "div"
        for each in (name, "type", "width", "height"):
            element.attrib.pop(each, None)
        return
    is_document = shows_document(element, reference)
    for child in list(element):
        element.remove(child)
    element.text = None
    for each in ("data", "src", "type"):
        element.attrib.pop(each, None)
    element.set("src", reference)
    element.tag = "iframe" if is_document else "img"
    if is_document:
        _frame(element, around)


def _style(element: Element, around: Surroundings) -> None:
    text = "".join(element.itertext()) if len(element) else element.text or ""
    for child in list(element):
        element.remove(child)
    element.text = _settable(rewrite_css(text, around.style_link))


def _body(element: Element, _: Surroundings) -> None:
    """Make a page visible that hides itself until its scripts have run."""
    style = (element.get("style") or "").strip().rstrip(";")
    element.set("style", f"{style};{_SEEN}" if style else _SEEN)


def _stylesheet(element: Element, _: Surroundings) -> None:
    relations = (element.get("rel") or "").lower().split()
    kept = [each for each in relations if each in _KEPT_RELATIONS or each == "alternate"]
    element.set("rel", " ".join(kept))


def _form(element: Element, _: Surroundings) -> None:
    element.set("autocomplete", "off")


def _control(element: Element, _: Surroundings) -> None:
    kind = (element.get("type") or ("submit" if element.tag == "button" else "")).strip().lower()
    if kind in _SUBMITTING:
        element.set("disabled", "")


_PREPARED: Final[dict[str, Callable[[Element, Surroundings], None]]] = {
    "img": _picture,
    "source": _source,
    "video": _player,
    "audio": _player,
    "iframe": _frame,
    "frame": _frame,
    "object": _plugin,
    "embed": _plugin,
    "body": _body,
    "style": _style,
    "link": _stylesheet,
    "form": _form,
    "input": _control,
    "button": _control,
}
_LINKED: Final = PAGES | {Modifier.FRAME}


def _settable(text: str) -> str:
    return _UNSETTABLE.sub("", text)


def _is_picture(url: str) -> bool:
    return re.match(r"data:(?:image|font|application/(?:x-)?font)[/;,-]", url, re.IGNORECASE) is not None


def _doctype(source: str) -> str:
    """Return the document type at the beginning of a text, which selects the browser's layout mode.

    Empty without one.
    """
    match = _DOCTYPE.match(source)
    if match is None:
        return ""
    public = _PUBLIC.search(match[1])
    if public is None:
        return "<!DOCTYPE html>\n"
    system = f' "{public[2]}"' if public[2] else ""
    return f'<!DOCTYPE html PUBLIC "{public[1]}"{system}>\n'


_ATTRIBUTE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9:_.-]*")
_MAX_ATTRIBUTE_LENGTH: Final = 1 << 20
_DROPPED_ATTRIBUTES: Final = frozenset(
    {
        *("action", "formaction", "formmethod", "formtarget", "method", "target", "ping", "download", "attributionsrc"),
        *("integrity", "nonce", "crossorigin", "referrerpolicy", "csp", "allow", "allowfullscreen", "credentialless"),
        *("manifest", "profile", "codebase", "archive", "classid", "code", "longdesc", "cite", "usemap", "imagesrcset"),
        *("imagesizes", "autofocus", "autoplay", "http-equiv", "xml:base", "itemid", "fetchpriority", "blocking"),
        *("formenctype", "enctype", "is", "shadowrootmode", "shadowroot", "elementtiming", "datasrc", "data"),
    }
)
_DROPPED_ELSEWHERE: Final = _DROPPED_ATTRIBUTES | {"srcdoc"}
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
    """How references in a document are replaced."""

    def link(self, reference: str, modifier: Modifier) -> str | None:
        """Return the replacement of a reference; None where it has to be removed."""
        ...

    def style_link(self, reference: str, modifier: Modifier) -> str | None:
        """Return the replacement of a reference in a style, None where it cannot be archived."""
        ...

    @property
    def linked(self) -> Modifier:
        """The modifier of the document's links."""
        ...


def clean_attributes(element: Element, around: Linking) -> None:
    """Rewrite the references in an element's attributes, and remove attributes that could act."""
    # On frames it has been rewritten already; on other elements it has no meaning.
    unwanted = _DROPPED_ATTRIBUTES if element.tag in ("iframe", "frame") else _DROPPED_ELSEWHERE
    for name, value in element.attrib.items():
        lower = str(name).lower()
        if lower.startswith("on") or lower in unwanted or _ATTRIBUTE_NAME.fullmatch(str(name)) is None:
            del element.attrib[name]
        elif (modifier := _modifier(str(element.tag), lower, element, around)) is not None:
            _set(element, str(name), _linked(str(value), modifier, around))
        elif lower == "style" or (lower not in _KEPT and _may_hold_url(str(value))):
            _set(element, str(name), rewrite_css(str(value)[:_MAX_ATTRIBUTE_LENGTH], around.style_link))


def _modifier(tag: str, name: str, element: Element, around: Linking) -> Modifier | None:
    """Return the modifier for the target of an attribute, None where the attribute is no reference."""
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
    return around.link(value, modifier) if value and len(value) <= _MAX_ATTRIBUTE_LENGTH else None


def _set(element: Element, name: str, value: str | None) -> None:
    if value is None:
        del element.attrib[name]
    else:
        element.set(name, value)


def _may_hold_url(value: str) -> bool:
    return "(" in value and ("url" in value.lower() or "\\" in value)
