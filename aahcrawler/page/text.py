"""Plain text and inner markup of elements, as a reader would copy them from the page."""

import re
from collections.abc import Collection, Container, Iterator
from copy import deepcopy
from html import escape
from itertools import islice

from lxml.etree import _Element as Element
from lxml.etree import iterwalk, strip_elements, tostring

UNSEEN = frozenset({"script", "style", "template", "noscript", "head"})
"""Elements whose text no reader sees."""

UNREAD = UNSEEN | {"rp", "rt"}
"""Elements whose text does not belong to the text around it: invisible ones, and the pronunciation of a word."""

# fmt: off
BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog",
    "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3",
    "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup",
    "option", "p", "pre", "section", "summary", "table", "tbody", "textarea", "tfoot", "thead", "tr", "ul",
})
# fmt: on
"""Elements that begin and end a line."""

_EDGES = dict.fromkeys(BLOCKS, "\n") | {"td": " ", "th": " "}
_SIGNS = re.compile(r"\W+")
_PREFORMATTED = frozenset({"pre", "textarea"})
_SPECIAL = UNREAD | _PREFORMATTED
_UNSEEN_SIGNS = ("\u00ad", "\u2060", "\ufeff")
"""Soft hyphens, word joiners and byte order marks: invisible, and they split words for a search."""
_DROPPED = "aah-dropped"


def fold(text: str) -> str:
    r"""Return the text with each run of white space as one space, none at its ends, without signs that show nothing.

    >>> fold("  a \n b\u00a0c\u00add")
    'a b cd'
    """
    if not text.isascii():
        for sign in _UNSEEN_SIGNS:
            text = text.replace(sign, "")
    return " ".join(text.split())


def bare(text: str) -> str:
    """Return the letters and digits of a text in small letters, which titles and names are compared by.

    >>> bare("The Harbour - News")
    'theharbournews'
    """
    return _SIGNS.sub("", text).casefold()


def plain_text(element: Element, without: Collection[Element] = ()) -> str:
    r"""Return the visible text of an element: a line for each block, white space folded, no empty lines.

    ``br`` and the ends of lines in ``pre`` break lines too, table cells are a space apart. Scripts, styles, templates,
    ``noscript``, ``head``, invisible signs (soft hyphens) and ruby annotations are left out, and so are the elements of
    ``without`` (compared by identity); the text behind a left-out element stays. The tail of ``element`` itself is left
    out. The tree is not changed; time is linear in the size of the element.

    >>> from lxml.html import fromstring
    >>> plain_text(fromstring("<div><p>One <b>and</b>\n more</p>two<br>three<script>x</script></div>"))
    'One and more\ntwo\nthree'
    """
    if not len(element) and not without and element.tag not in _SPECIAL:
        return fold(element.text or "")
    text = "".join(_pieces(element, frozenset(without)))
    lines = map(fold, text.split("\n"))
    return "\n".join(line for line in lines if line)


def headline(element: Element, limit: int) -> str:
    """Return the text of a heading in one line without that of buttons in it and of links to itself that show a sign.

    The work is bounded by ``limit``, as that of ``excerpt`` is.

    >>> from lxml.html import fromstring
    >>> headline(fromstring("<h1>The winch<a href='#winch'>¶</a><button>Edit</button></h1>"), 100)
    'The winch'
    """
    parts = islice(element.iter(), 8 * limit)
    return excerpt(element, limit, {each for each in parts if each.tag == "button" or _is_mark(each)})


def _is_mark(link: Element) -> bool:
    """Return whether a link leads to a place in its page and shows a sign or nothing."""
    shows_sign = link.tag == "a" and len(link) == 0 and not any(map(str.isalnum, link.text or ""))
    return shows_sign and (link.get("href") or "").startswith("#")


def excerpt(element: Element, limit: int, without: Container[Element] = ()) -> str:
    """Return the beginning of an element's plain text in one line, at most ``limit`` characters, without some parts.

    The work is bounded by ``limit`` too, however large the element is and however little text its elements have.
    """
    if not len(element):
        return "" if element.tag in UNREAD else fold((element.text or "")[: 8 * limit])[:limit].rstrip()
    found: list[str] = []
    length = 0
    for piece in _pieces(element, without, 4 * limit):
        found.append(piece)
        length += len(piece.strip()) + 1 if piece else 0
        if length > 2 * limit:
            break
    return fold("".join(found))[:limit].rstrip()


def inner_html(element: Element, without: Collection[Element] = ()) -> str:
    """Return the markup inside an element, without the parts that ``plain_text`` leaves out; the tree is not changed.

    >>> from lxml.html import fromstring
    >>> inner_html(fromstring("<div>a <b>bold</b><script>x</script> &amp; more</div>"))
    'a <b>bold</b> &amp; more'
    """
    dropped = frozenset(without)
    if element in dropped or element.tag in UNSEEN:
        return ""
    if dropped or next(element.iterdescendants(*UNSEEN), None) is not None:
        element = _copy_without(element, dropped)
    inner = (tostring(child, encoding="unicode", method="html") for child in element)
    return escape(element.text or "", quote=False) + "".join(inner)


class OtherLinks:
    """The links within a link: the text of each is its own, however the parser nested them."""

    def __init__(self, link: Element) -> None:
        self._link = link

    def __contains__(self, node: object) -> bool:
        return getattr(node, "tag", "") == "a" and node is not self._link


def _pieces(element: Element, without: Container[Element], most: int | None = None) -> Iterator[str]:
    """Yield text in document order, a line feed at each edge of a block and none elsewhere.

    At most ``most`` beginnings and ends of elements are looked at.
    """
    walk = iterwalk(element, events=("start", "end", "comment", "pi"))
    preformatted = 0
    for event, node in walk if most is None else islice(walk, most):
        tag = node.tag
        if event == "start":
            preformatted += tag in _PREFORMATTED
            if tag in UNREAD or node in without:
                walk.skip_subtree()
                continue
            text = node.text
        else:
            preformatted -= event == "end" and tag in _PREFORMATTED
            text = node.tail if node is not element else None
        if tag in _EDGES:
            yield _EDGES[tag]
        if text:
            yield text if preformatted else text.replace("\n", " ")


def _copy_without(element: Element, without: Collection[Element]) -> Element:
    copied = deepcopy(element)
    unwanted = [
        twin
        for original, twin in zip(element.iter(), copied.iter(), strict=True)
        if original in without or original.tag in UNSEEN
    ]
    for twin in unwanted:
        twin.tag = _DROPPED
    strip_elements(copied, _DROPPED, with_tail=False)
    return copied
