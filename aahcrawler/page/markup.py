"""Find the encoding of a page, and parse HTML of any origin in bounded time."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import islice

from chardetng_py import EncodingDetector
from lxml.etree import Comment, ElementDefaultClassLookup, ParserError, ProcessingInstruction, strip_tags, tostring
from lxml.html import HtmlComment, HtmlElement, HtmlEntity, HTMLParser, HtmlProcessingInstruction, document_fromstring
from resiliparse.parse.encoding import map_encoding_to_html5
from resiliparse.parse.html import HTMLTree

from aahcrawler import query_encoding

MAX_ATTRIBUTES = 256
"""The most attributes of one tag that are parsed: the parser's time grows with their square."""

MAX_TAGS = 1_400_000
"""The most start tags, comments and instructions of a document that are parsed: each may take 300 bytes of memory."""

SHADOW_MODES = frozenset({"open", "closed"})
"""The values of ``shadowrootmode`` that declare a shadow root (HTML, section 4.12.3)."""

MAX_MENDED = 2_000_000
"""The largest document, in bytes, that is parsed once more if its markup is wrong."""

MAX_INNER_DEPTH = 3
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
    for _ in range(MAX_INNER_DEPTH):
        outer = [frame for each in outer for frame in each.iterdescendants("iframe") if frame.get("srcdoc")][:left]
        left -= len(outer)
        for frame in outer:
            _fill(frame, frame.get("srcdoc") or "")
    return tree


def with_early_elements(tree: HtmlElement) -> HtmlElement:
    """Return a document in which elements of early HTML can be read whose content the parser takes for text.

    What a set of frames has for readers who see no frames becomes markup: it is all that the document itself says.
    Elsewhere ``noframes`` and ``noembed`` are emptied, as nobody sees what they hold. The preformatted ``xmp`` and
    ``plaintext`` become ``pre``.
    """
    found = list(tree.iter("noframes", "noembed", "xmp", "plaintext"))
    is_of_frames = bool(found) and next(tree.iter("frameset"), None) is not None
    for element in found:
        if element.tag in ("xmp", "plaintext"):
            element.tag = "pre"
        elif element.tag == "noframes" and is_of_frames:
            element.tag = "div"
            _fill(element, element.text or "")
        else:
            element.text, element[:] = None, []
    return tree


def _fill(frame: HtmlElement, written: str) -> None:
    """Put a document in place of what an element has for readers who see no frames."""
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
    plain = re.sub(rb"<(/?)" + re.escape(prefix) + rb":(?=[a-zA-Z])", rb"<\1", utf_8) if prefix else utf_8
    return b"".join(_without_cdata(_EMPTY_ELEMENT.sub(rb"<\1\2></\1>", plain)))


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


PRESCANNED_BYTES = 4096
"""The bytes searched for a declaration: browsers search more than the 1,024 bytes that the standard asks for."""

_BOMS = ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be"))
_FIELD = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_LABEL = rb"""charset\s*+=\s*+["']?\s*+([^\s"'/>;]{1,40})"""
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta[\s/]([^>]*+)", re.IGNORECASE)
_META_CONTENT = re.compile(rb"""content\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]*+)""", re.IGNORECASE)
_CHARSET = re.compile(_LABEL, re.IGNORECASE)
_XML = re.compile(rb"""\A\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([^"'>]{1,40})["']""")
_CSS = re.compile(rb'\A@charset "([^"]{1,40})";')
_CHECKED_BYTES = 131_072
_DETECTED_BYTES = 32_768
_BEFORE = 64
"""Bytes before the first one that is no ASCII, which the detector is given too."""
_UNUSUAL = re.compile(rb"[\x80-\xff]|\x1b[$(]")
_UTF_16 = (
    (re.compile(rb"(?:[\t\n\f\r ]\x00)*+<\x00"), "utf-16-le"),
    (re.compile(rb"(?:\x00[\t\n\f\r ])*+\x00<"), "utf-16-be"),
)
_THAI = re.compile("[\u0e01-\u0e4e]")
_MIN_THAI = 40
_ORPHAN = re.compile(
    "(?<![\u0e01-\u0e2e\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]"
    "|[\u0e40-\u0e44](?=[^\u0e01-\u0e2e\u0e40-\u0e44])"
)
"""A sign of Thai that belongs above or below a consonant, or a vowel that belongs before one, elsewhere."""
_MANY_FAULTS = 4
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\xa1-\xff]{4,}")
_MIN_UNUSUAL = 40
_FEW_LETTERS = 5
_VALID_FOR_A_FAULT = 10
"""Characters of UTF-8 that stand against one sequence of bytes which is none."""

_SUPERSETS = {
    "big5": "big5hkscs",
    "euc_jp": query_encoding.EUC_JP,
    "euc_kr": "cp949",
    "gb18030": query_encoding.GB18030,
    "gbk": query_encoding.GBK,
    "iso2022_jp": query_encoding.ISO_2022_JP,
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
}
"""Python's names of the encodings that the standard means by these names."""

_OTHER_LABELS = {
    "cp874": "cp874",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-ukrainian": "mac-cyrillic",
    "x-user-defined": "windows-1252",
}


_NAMES = {
    "big5hkscs": "Big5",
    "cp866": "IBM866",
    "cp874": "windows-874",
    "cp932": "Shift_JIS",
    "cp949": "EUC-KR",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac-roman": "macintosh",
    query_encoding.EUC_JP: "EUC-JP",
    query_encoding.GB18030: "gb18030",
    query_encoding.GBK: "GBK",
    query_encoding.ISO_2022_JP: "ISO-2022-JP",
}
"""The standard's names of the encodings that Python calls otherwise."""


def codec_of(label: str) -> str:
    """Return the Python codec for a label as the WHATWG Encoding standard reads it, or "" for an unknown label.

    >>> codec_of("ISO-8859-1"), codec_of("gb2312"), codec_of("x-sjis"), codec_of("nonsense")
    ('windows-1252', 'gb18030', 'cp932', '')
    """
    wanted = label.strip().lower()
    name = _OTHER_LABELS.get(wanted) or map_encoding_to_html5(wanted, fallback_utf8=False) or ""
    name = _SUPERSETS.get(name, name)
    return name.replace("cp125", "windows-125").replace("iso8859", "iso-8859")


def encoding_name(codec: str) -> str:
    """Return the name by which the standard knows the encoding that documents of a codec are written in.

    >>> encoding_name("cp932"), encoding_name("iso-8859-2"), encoding_name("utf-16-le")
    ('Shift_JIS', 'ISO-8859-2', 'UTF-8')
    """
    if codec.startswith("utf-"):
        return "UTF-8"
    return _NAMES.get(codec) or (codec.upper() if codec.startswith(("iso-", "koi8-")) else codec)


def of_bom(body: bytes) -> str:
    """Return the codec that a byte order mark names, "" if there is none."""
    return next((codec for mark, codec in _BOMS if body.startswith(mark)), "")


def of_field(content_type: str) -> str:
    """Return the codec that a Content-Type field names, "" if it names none that is known."""
    match = _FIELD.search(content_type)
    return codec_of(match[1]) if match else ""


def declared(body: bytes, media_type: str) -> str:
    """Return the codec that a page, a style sheet or an XML document names in its first bytes, "" for none."""
    head = body[:PRESCANNED_BYTES]
    if media_type == "text/css":
        labels = _CSS.findall(head)
    elif media_type in ("text/html", "application/xhtml+xml"):
        labels = [*_meta_labels(head), *_XML.findall(head)]
    else:
        labels = _XML.findall(head)
    codec = next(filter(None, (codec_of(label.decode("ascii", "replace")) for label in labels)), "")
    # A declaration that could be read as ASCII cannot be in UTF-16.
    return "utf-8" if codec.startswith("utf-16") else codec


def fails(body: bytes, codec: str) -> bool:
    """Return whether most of what is no ASCII in the beginning of a body means nothing in an encoding.

    A body in UTF-16 has NUL bytes. One that was cut within a character is none the worse for it. No language that is
    written in windows-1252 has words of letters with accents alone.
    """
    head = body[:_CHECKED_BYTES]
    if codec.startswith("utf-16"):
        return b"\0" not in head
    if codec == "windows-1252":
        return _is_not_western(head)
    faults, valid = _counts(head, codec)
    return faults > valid


def _is_not_western(sample: bytes) -> bool:
    """Return whether most bytes that are no ASCII stand in long runs of several letters; rules and lines are none."""
    unusual = len(_HIGH.findall(sample))
    if unusual < _MIN_UNUSUAL:
        return False
    words = (run for run in _HIGH_RUN.findall(sample) if len(frozenset(run)) > min(len(run) // 2, _FEW_LETTERS))
    return 2 * sum(map(len, words)) > unusual


def believed(body: bytes, codecs: Iterable[str]) -> str:
    """Return the first of the declared encodings that the body does not speak against, "" if there is none.

    If all that it has against the first one is a few bytes, that is returned, as in browsers.
    """
    named = [
        codec for codec in dict.fromkeys(codecs) if codec and not (codec.startswith("utf-16") and fails(body, codec))
    ]
    fit = next((codec for codec in named if not fails(body, codec)), "")
    if fit or not named:
        return fit
    head = body[:_CHECKED_BYTES]
    is_foreign = named[0] == "windows-1252" and _is_not_western(head)
    return named[0] if not is_foreign and _counts(head, named[0])[0] < _MANY_FAULTS else ""


def guessed(body: bytes, top_level_domain: str = "") -> str:
    """Return UTF-8 if the bytes are that, cut off or not, or but for a few; else what their statistics say.

    It is windows-1252 where these lead to an encoding in which the body means nothing. ISO-2022-JP is ASCII as well,
    and told by its escape sequences. What is usual under the top-level domain counts for something.
    """
    if (wide := next((codec for pattern, codec in _UTF_16 if pattern.match(body)), "")) or body.isascii():
        return wide or _of_escapes(body)
    if not (counts := _counts(body, "utf-8"))[0] or counts[1] >= _VALID_FOR_A_FAULT * counts[0]:
        return "utf-8"
    found = _detected(body, top_level_domain)
    return "windows-1252" if not found or fails(body, found) else found


def _of_escapes(body: bytes) -> str:
    found = _detected(body, "") if b"\x1b" in body else ""
    return found if found.startswith("iso2022") and not fails(body, found) else "utf-8"


def _detected(body: bytes, top_level_domain: str) -> str:
    first = _UNUSUAL.search(body)
    begin = max(first.start() - _BEFORE, 0) if first else 0
    detector = EncodingDetector()
    # It is not told that the sample has an end, since that may lie within a character.
    detector.feed(body[begin : begin + _DETECTED_BYTES], last=False)
    known = re.fullmatch(r"[a-z0-9-]+", top_level_domain)
    found = codec_of(detector.guess(tld=known[0].encode() if known else None, allow_utf8=False))
    return "cp874" if found.startswith("gb18030") and _is_thai(body[begin : begin + _DETECTED_BYTES]) else found


def _is_thai(sample: bytes) -> bool:
    """Return whether bytes, which may be Chinese as well, are Thai: each of its signs stands where it can."""
    text = sample.decode("cp874", "replace")
    is_long = len(_THAI.findall(text)) >= _MIN_THAI
    return is_long and "\ufffd" not in text and not _ORPHAN.search(text)


def _counts(body: bytes, codec: str) -> tuple[int, int]:
    """Return how many sequences of bytes mean nothing in an encoding, and how many characters are no ASCII."""
    try:
        getincrementaldecoder(codec)().decode(body)
    except UnicodeDecodeError:
        text = getincrementaldecoder(codec)("replace").decode(body)
        faults = text.count("\ufffd")
        return faults, len(text) - faults - len(text.encode("ascii", "ignore"))
    return 0, 0


def _meta_labels(head: bytes) -> list[bytes]:
    labels: list[bytes] = []
    for attributes in _META.findall(_COMMENT.sub(b"", head)):
        pragma = b"http-equiv" in attributes.lower()
        own = attributes if pragma else _META_CONTENT.sub(b"", attributes)
        labels.extend(_CHARSET.findall(own))
    return labels


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*+")
"""A name without a prefix that elements and attributes may have in XML, and that expressions may ask for."""

_BLANK = "span"
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r"})
_NO_CHARACTER = re.compile(b"\xef\xbf[\xbe\xbf]")


def as_xml_allows(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Yield a copy of a page without comments, then one of which XML allows all, where it does not allow all of it.

    In that one, elements with names such as ``o:p`` or ``a"b`` are called ``span``, such attributes are left out, and
    so are control characters.
    """
    yield _without_comments(deepcopy(tree))
    written = tostring(tree, encoding="utf-8", method="html", with_tail=False)
    allowed = _NO_CHARACTER.sub(b"", written.translate(None, _CONTROLS))
    if len(allowed) == len(written) and not any(map(_is_odd, tree.iter())):
        return
    copied = _without_comments(parse(allowed))
    for element in copied.iter():
        if not NAME.fullmatch(str(element.tag)):
            element.tag = _BLANK
        allowed_ones = {name: value for name, value in element.attrib.items() if NAME.fullmatch(name)}
        if len(allowed_ones) < len(element.attrib):  # Some names cannot even be named to be deleted, such as "{".
            element.attrib.clear()
            element.attrib.update(allowed_ones)
    yield copied


def name_of(element: HtmlElement) -> str:
    """Return the name of an element as an expression may ask for it, ``*`` where it has none such."""
    tag = str(element.tag)
    return tag if NAME.fullmatch(tag) else "*"


def _without_comments(tree: HtmlElement) -> HtmlElement:
    strip_tags(tree, Comment, ProcessingInstruction)
    return tree


def _is_odd(element: HtmlElement) -> bool:
    names = (element.tag, *element.attrib) if isinstance(element.tag, str) else ()
    return not all(map(NAME.fullmatch, names))
