"""HTML of any origin parsed in bounded time."""

import re
from collections.abc import Iterator
from itertools import islice

from lxml.etree import ElementDefaultClassLookup, ParserError
from lxml.html import HtmlComment, HtmlElement, HtmlEntity, HTMLParser, HtmlProcessingInstruction, document_fromstring
from resiliparse.parse.html import HTMLTree

MAX_ATTRIBUTES = 256
"""The most attributes of one tag that are parsed: the parser's time grows with their square."""

MAX_TAGS = 1_400_000
"""The most start tags, comments and instructions of a document that are parsed: each may take 300 bytes of memory."""

SHADOW_MODES = frozenset({"open", "closed"})
"""The values of ``shadowrootmode`` that declare a shadow root (HTML, section 4.12.3)."""

MAX_MENDED = 2_000_000
"""The largest document, in bytes, that is parsed once more if its markup is wrong."""

DEEPEST_INNER = 3
"""How deep documents within attributes are read: one within another, and so on."""

MAX_INNER = 100
"""The most documents within attributes of one page that are read."""

MAX_INNER_LENGTH = 1_000_000
"""Characters of such a document beyond which it is not read."""

_EMPTY = b"<html><head></head><body></body></html>"

# The grammar of the HTML standard's tokenizer; possessive, so that matching is linear.
_ATTRIBUTE = rb"""[\s/]*+(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+)?+)?+"""
_TAG = rb"<[a-zA-Z][^\s/>]*+"
_TAG_AND_SOME = _TAG + rb"(?:" + _ATTRIBUTE + rb"){0,%d}+" % MAX_ATTRIBUTES
_CALM = re.compile(rb"(?:[^<]++|<(?![a-zA-Z])|" + _TAG_AND_SOME + rb"(?!" + _ATTRIBUTE + rb"))*+")
_FLOODED = re.compile(rb"(" + _TAG_AND_SOME + rb")((?:" + _ATTRIBUTE + rb")*+)")
_FLOOD_BYTES = 32_768
_NODE = re.compile(rb"<[a-zA-Z!?]")

_CLASSES = ElementDefaultClassLookup(HtmlElement, HtmlComment, HtmlProcessingInstruction, HtmlEntity)
"""The classes of nodes. The parser of lxml.html calls a Python function for the class whenever a node is accessed."""

_EARLY_END = re.compile(rb"</(?:body|html)(?=[\s/>])[^>]{0,100}>", re.IGNORECASE)


def parse(utf_8: bytes) -> HtmlElement:
    """Return the ``html`` element of a document in UTF-8; an empty one if there is no markup and no text.

    Bytes that are not UTF-8 become U+FFFD. Elements are nested at most 2,048 deep; deeper ones are left out with all
    that follows, and so is what follows ``MAX_TAGS``. A tag keeps its first ``MAX_ATTRIBUTES`` attributes. Content
    after an end tag of ``body`` or ``html`` belongs to the body, as in browsers. Never raises.
    """
    utf_8 = utf_8[: parsed_bytes(utf_8)]
    try:
        return _mended(_tree(utf_8), utf_8)
    except ParserError:
        return empty()


def parsed_bytes(utf_8: bytes) -> int:
    """Return how many of the first bytes of a document are parsed: all of those with at most ``MAX_TAGS``."""
    if utf_8.count(b"<") <= MAX_TAGS:
        return len(utf_8)
    following = next(islice(_NODE.finditer(utf_8), MAX_TAGS, None), None)
    return len(utf_8) if following is None else following.start()


def _tree(utf_8: bytes) -> HtmlElement:
    """Parse with libxml2. Raises ``ParserError`` if the bytes are not markup."""
    # The parser drops everything after </html>; templates put it too early, and includes come behind it.
    return _parse(_EARLY_END.sub(b"", _without_attribute_floods(utf_8)))


def _mended(tree: HtmlElement, utf_8: bytes) -> HtmlElement:
    """Return the tree as browsers build it if libxml2 has put the content after a button into the button.

    In browsers the end tag of a button closes it even if other elements are open in it; libxml2 ignores the tag then.
    """
    if len(utf_8) > MAX_MENDED or not any(map(_swallows, tree.iter("button"))):
        return tree
    document = HTMLTree.parse(utf_8.decode("utf-8", "replace")).document
    return _tree(document.html.encode("utf-8", "replace")) if document is not None else tree


def _swallows(button: HtmlElement) -> bool:
    return next(button.iterdescendants("h1", "main", "article", "table", "form", "footer", "p"), None) is not None


def with_shadow_roots(tree: HtmlElement) -> HtmlElement:
    """Return a document in which shadow roots that are declared can be read: browsers show what stands in them.

    Each becomes a ``div`` with the attribute ``shadowrootmode``; other templates stay what they are.
    """
    for template in list(tree.iter("template")):
        if template.get("shadowrootmode") in SHADOW_MODES:
            template.tag = "div"
    return tree


def with_inner_documents(tree: HtmlElement) -> HtmlElement:
    """Return a document whose frames hold the documents that stand in their ``srcdoc`` (HTML, section 4.8.5).

    The URLs of these are relative to the base of the document around them, so one that names a base is left out.
    """
    outer, left = [tree], MAX_INNER
    for _ in range(DEEPEST_INNER):
        outer = [frame for each in outer for frame in each.iterdescendants("iframe") if frame.get("srcdoc")][:left]
        left -= len(outer)
        for frame in outer:
            _fill(frame)
    return tree


def _fill(frame: HtmlElement) -> None:
    """Put the document of a frame in place of what the frame has for readers who see no frames."""
    written = frame.get("srcdoc") or ""
    inner = parse(written.encode("utf-8", "replace")) if len(written) <= MAX_INNER_LENGTH else empty()
    if any(each.get("href") is not None for each in inner.iter("base")):
        inner = empty()
    for each in list(inner.iter("title", "meta", "link")):  # What they say is not said of the page around them.
        if each.tag != "link" or "stylesheet" not in (each.get("rel") or "").lower().split():
            each.drop_tree()
    frame.text, frame[:] = None, []
    for part in inner.iterchildren("head", "body"):
        part.tag = "div"
        frame.append(part)


def empty() -> HtmlElement:
    """Return a new document without content."""
    return _parse(_EMPTY)


def _parse(utf_8: bytes) -> HtmlElement:
    parser = HTMLParser(encoding="utf-8", huge_tree=True)
    parser.set_element_class_lookup(_CLASSES)
    tree = document_fromstring(utf_8, parser=parser)
    # After a first tag that ends at once (``<html/>``, or a value that swallows others), libxml2 begins another one.
    for beside in list(tree.itersiblings("*")):
        tree.append(beside)
        if beside.tag == tree.tag:
            beside.drop_tag()
    return tree


def _without_attribute_floods(utf_8: bytes) -> bytes:
    """Cut tags to ``MAX_ATTRIBUTES``; a document too short for a flood that takes long is left as it is."""
    if len(utf_8) <= _FLOOD_BYTES:
        return utf_8
    calm = _CALM.match(utf_8)
    if calm is not None and calm.end() == len(utf_8):
        return utf_8
    return _FLOODED.sub(rb"\1", utf_8)


_EMPTY_ELEMENT = re.compile(
    rb"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)[\s/])"
    rb"""([a-zA-Z][\w:.-]*+)((?:\s[^<>]*?["'\s])?)/>"""
)
"""An element that is empty by its syntax and could be otherwise; a slash may be the end of an unquoted URL."""
_SECTION = re.compile(rb"<!\[CDATA\[|<(script|style)[\s>]", re.IGNORECASE)


def as_html(utf_8: bytes, prefix: bytes) -> bytes:
    """Return markup without what HTML has another meaning for: empty elements such as ``<title/>``, CDATA sections.

    CDATA sections in scripts and style sheets are left as they are. ``prefix`` is that of the elements of HTML, empty
    where they have none; it is left out.
    """
    plain = _without_prefix(utf_8, prefix) if prefix else utf_8
    return b"".join(_without_cdata(_EMPTY_ELEMENT.sub(rb"<\1\2></\1>", plain)))


def _without_prefix(utf_8: bytes, prefix: bytes) -> bytes:
    return re.sub(rb"<(/?)" + re.escape(prefix) + rb":(?=[a-zA-Z])", rb"<\1", utf_8)


def _without_cdata(utf_8: bytes) -> Iterator[bytes]:
    at = 0
    while (section := _SECTION.search(utf_8, at)) is not None:
        end = utf_8.find(b"]]>" if section[1] is None else b"</" + section[1], section.end())
        if end < 0:
            break
        if section[1] is None:
            yield utf_8[at : section.start()]
            yield utf_8[section.end() : end].replace(b"&", b"&amp;").replace(b"<", b"&lt;")
            at = end + len(b"]]>")
        else:
            yield utf_8[at:end]
            at = end
    yield utf_8[at:]
