"""Entries of lists: the text around each link of a list."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from sys import intern

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.page.text import excerpt, plain_text

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
    held = Counter(above for link in links for above in _above(link, region))
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


def _above(link: Element, region: Element) -> Iterator[Element]:
    """Yield the ancestors of a link within a region, the nearest first."""
    for above in link.iterancestors():
        if above is region:
            return
        yield above


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
