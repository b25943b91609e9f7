"""Plain text and inner markup of elements, as a reader would copy them; the text and the tags around links."""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from html import escape
from itertools import chain, islice
from sys import intern

from lxml import etree
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

    ``br``, ends of lines in ``pre`` and the head of a quote (a ``cite`` that begins it) break lines too; table cells
    are a space apart. Scripts, styles, templates, ``noscript``, ``head``, invisible signs (soft hyphens) and ruby
    annotations are left out, and so are the elements of ``without`` (compared by identity); the text behind a left-out
    element stays. The tail of ``element`` itself is left out. The tree is not changed; time is linear in its size.

    >>> from lxml.html import fromstring
    >>> plain_text(fromstring("<div><p>One <b>and</b>\n more</p>two<br>three<script>x</script></div>"))
    'One and more\ntwo\nthree'
    >>> plain_text(fromstring("<blockquote><div><cite>Ann wrote:</cite>The lock is shut.</div></blockquote>"))
    'Ann wrote:\nThe lock is shut.'
    """
    if not len(element) and not without and element.tag not in _SPECIAL:
        return fold(element.text or "")
    text = "".join(_pieces(element, frozenset(without)))
    return "\n".join(filter(None, [fold(line) for line in text.split("\n") if line and not line.isspace()]))


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
    return fold("".join(_pieces(element, without, limit)))[:limit].rstrip()


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


def _pieces(element: Element, without: Container[Element], limit: int | None = None) -> list[str]:
    """Return text in document order, a line feed at each edge of a block and none elsewhere.

    With a ``limit``, it is the beginning that has so many characters when it is folded, and somewhat more.
    """
    walk = iterwalk(element, events=("start", "end", "comment", "pi"))
    found: list[str] = []
    length = preformatted = 0
    for event, node in walk if limit is None else islice(walk, 4 * limit):
        tag = node.tag
        if event == "start":
            if tag in _SPECIAL:
                preformatted += tag in _PREFORMATTED
                if tag in UNREAD:
                    walk.skip_subtree()
                    continue
            if node in without:
                walk.skip_subtree()
                continue
            text = node.text
        else:
            preformatted -= tag in _PREFORMATTED
            text = node.tail if node is not element else None
        if tag in _EDGES:
            found.append(_EDGES[tag])
            length += 1
        elif tag == "cite" and _is_head_of_quote(node):
            found.append("\n")
            length += 1
        if text and (limit is None or length <= 2 * limit):
            found.append(text if preformatted else text.replace("\n", " "))
            length += 0 if limit is None else len(text.strip()) + 1
        if limit is not None and length > 2 * limit:
            break
    return found


def _is_head_of_quote(cite: Element) -> bool:
    """Return whether a quote begins with it, which forums show as a line that says whose words follow."""
    holder = cite.getparent()
    if holder is None or cite.getprevious() is not None or (holder.text and not holder.text.isspace()):
        return False
    above = holder.getparent() if holder.tag == "div" and holder.getprevious() is None else holder
    return above is not None and above.tag == "blockquote"


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


MAX_PARAGRAPH_LENGTH = 1_000
"""The most characters of an entry that are one paragraph; a longer entry is split, and each link gets its paragraph."""

_MAX_BEHIND = 20
_HEADINGS = frozenset({"dt", "h1", "h2", "h3", "h4", "h5", "h6"})
_RECORDS = frozenset({"article", "li", "tr"})

Entry = tuple[Element, ...]
"""Neighbours in document order, of one parent."""


def entries(
    links: Sequence[Element], region: Element, apart: Collection[Element] = (), without: Collection[Element] = ()
) -> Mapping[Element, Entry]:
    """Return the entry that each of some links of a region heads, in the order of the links.

    An entry is the nearest article, item or row around the link, else the largest element, that holds no other of the
    links and none of ``apart``. The siblings after it, up to the next entry, a heading or one of ``without``, belong to
    it too. Time is linear in the number of links and their depths.
    """
    held = Counter(chain.from_iterable([_above(link, region) for link in links]))
    held.update(dict.fromkeys({above for each in apart for above in _above(each, region)}, 2))
    blocks = {link: _block(link, held, region) for link in links}
    behind = _behind(list(dict.fromkeys(blocks.values())), frozenset((*apart, *without)))
    return {link: (block, *behind[block]) for link, block in blocks.items()}


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines joined to paragraphs of at most ``MAX_PARAGRAPH_LENGTH`` characters.

    A longer line is broken at a blank.

    >>> list(paragraphs(["How the harbour froze", "It took three days."]))
    ['How the harbour froze It took three days.']
    """
    begun = ""
    for line in lines:
        if begun and len(begun) + 1 + len(line) > MAX_PARAGRAPH_LENGTH:
            yield begun
            begun = ""
        begun = f"{begun} {line}" if begun else line
        while len(begun) > MAX_PARAGRAPH_LENGTH:
            cut = begun.rfind(" ", 1, MAX_PARAGRAPH_LENGTH + 1)
            cut = cut if cut > 0 else MAX_PARAGRAPH_LENGTH
            yield begun[:cut]
            begun = begun[cut:].lstrip()
    if begun:
        yield begun


def lines_of(entry: Entry, without: Collection[Element] = ()) -> Iterator[str]:
    """Yield the lines of text of an entry, except those of some elements."""
    for element in entry:
        if element not in without:
            yield from filter(None, plain_text(element, without).split("\n"))


def _above(link: Element, region: Element) -> list[Element]:
    """Return the ancestors of a link within a region, the nearest first."""
    found: list[Element] = []
    for above in link.iterancestors():
        if above is region:
            break
        found.append(above)
    return found


def _block(link: Element, held: Mapping[Element, int], region: Element) -> Element:
    block = link
    for above in _above(link, region):
        if held[above] > 1:
            break
        block = above
        if block.tag in _RECORDS:
            break
    return block


def _behind(blocks: Sequence[Element], ends: Collection[Element]) -> Mapping[Element, Entry]:
    """Return the siblings after each block up to the next; the last block of a parent gets no more than the others.

    The only block of a parent gets them only if it is a heading.
    """
    heads = frozenset(blocks)
    found: dict[Element, Entry] = {}
    usual: dict[Element | None, int] = {}
    last: list[Element] = []
    for block in blocks:
        run, following = _run(block, ends, heads)
        found[block] = run
        if following:
            usual[block.getparent()] = max(usual.get(block.getparent(), 0), len(run))
        else:
            last.append(block)
    for block in last:
        most = usual.get(block.getparent(), _MAX_BEHIND if block.tag in _HEADINGS else 0)
        found[block] = found[block][:most]
    return found


def _run(block: Element, ends: Collection[Element], heads: Collection[Element]) -> tuple[Entry, bool]:
    """Return the elements behind a block that are no end of its entry, and whether another block follows them."""
    run: list[Element] = []
    for sibling in islice(block.itersiblings(etree.Element), _MAX_BEHIND):
        if sibling in heads:
            return tuple(run), True
        if sibling in ends or sibling.tag in _HEADINGS:
            break
        run.append(sibling)
    return tuple(run), False


MAX_TEASER_LENGTH = 300
"""Characters that are read of the text below a heading."""

_TEASER_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6", "dt"})
_WRAPPERS = frozenset({"div", "header", "hgroup"})
_TEXTS = frozenset({"blockquote", "dd", "div", "main", "p", "section"})
_MAX_WRAPPERS = 2


def teaser(block: Element) -> str:
    """Return the beginning of the text right below a heading or a term, empty if there is none.

    For a heading at the end of its container, that is the text after the container. An element that contains headings
    is not such a text. Other elements announce nothing.
    """
    if block.tag not in _TEASER_HEADINGS:
        return ""
    after = block.getnext()
    above = block.getparent()
    for _ in range(_MAX_WRAPPERS):
        if after is not None or above is None or above.tag not in _WRAPPERS:
            break
        after, above = above.getnext(), above.getparent()
    if after is None or after.tag not in _TEXTS or _holds_heading(after):
        return ""
    return excerpt(after, MAX_TEASER_LENGTH)


def _holds_heading(element: Element) -> bool:
    return next(element.iterdescendants("h1", *_TEASER_HEADINGS), None) is not None


MAX_TAG_PATH_LENGTH = 600
"""Characters that are kept of a tag path, those nearest to the link."""

_MAX_NAME_LENGTH = 40
_NO_DIGITS = str.maketrans("", "", "0123456789")


class TagPaths:
    """Tag paths on one page; ancestors shared by several links are visited once."""

    def __init__(self) -> None:
        self._known: dict[Element, str] = {}

    def of(self, element: Element) -> str:
        """Return the tags from the root down to an element, each with its first class, else its id.

        Digits are left out, so that elements which differ in a number have the same path: ``html/body/div.post/p/a``. A
        path longer than ``MAX_TAG_PATH_LENGTH`` loses whole tags at its beginning.
        """
        missing: list[Element] = []
        step: Element | None = element
        while step is not None and step not in self._known:
            missing.append(step)
            step = step.getparent()
        path = self._known[step] if step is not None else ""
        for each in reversed(missing):
            path = self._known[each] = _within(path, each)
        # Pages of a site have the same few places: they are kept once, however many links are.
        return intern(path)


def _within(path: str, element: Element) -> str:
    tag = str(element.tag)
    name = (element.get("class") or element.get("id") or "").split(maxsplit=1)
    step = (f"{tag}.{name[0][:_MAX_NAME_LENGTH]}" if name else tag).translate(_NO_DIGITS)
    longer = f"{path}/{step}" if path else step
    return longer if len(longer) <= MAX_TAG_PATH_LENGTH else longer[-MAX_TAG_PATH_LENGTH:].partition("/")[2]
