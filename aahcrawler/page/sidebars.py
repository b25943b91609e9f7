"""Blocks of links beside the content of a page: related articles, archives, tags, blogrolls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.page.text import UNSEEN, excerpt, fold, plain_text
from aahcrawler.page.zones import Zone, Zones

MAX_SIDEBARS = 50
"""The most blocks of one page that are returned."""

MAX_SIDEBAR_LENGTH = 20_000
"""The most characters of one block that are kept."""

_MIN_LINKS = 2
_MAX_TEXT_A_LINK = 300
_MIN_UNSIGNED = 3
_MIN_TITLES_LENGTH = 20
_MAX_TITLE_LENGTH = 300
_CLIMB = 5
_MAX_CHILDREN = 200
_MAX_WRAPPERS = 20
_LINKS_OF_AN_ENTRY = 3
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LISTS = frozenset({"dl", "menu", "ol", "p", "table", "ul"})
_GROUPS = (_LISTS | {"aside", "center", "div", "form", "nav", "section", "td"}) - {"p"}
_MAX_HEADING_LENGTH = 120
_texts = etree.XPath("descendant::text()", smart_strings=False)
_string = etree.XPath("string()", smart_strings=False)


@dataclass(frozen=True, slots=True)
class Sidebar:
    """A block of links. ``text`` is plain, a line for each run of text, heading first; ``links`` lie in it."""

    text: str
    links: tuple[Element, ...]


def sidebars(links: Iterable[Element], zones: Zones, *, signed: bool = False) -> tuple[Sidebar, ...]:
    """Return the blocks of links on a page, each link in one block.

    A sidebar that holds several blocks is split. Blocks of fewer than two links, and those with more running text than
    links, are left out. Without markup that names a block, three links as long as titles make one, unless only
    ``signed`` sidebars are asked for. Time is linear in the number of links and of their ancestors.
    """
    wanted = dict.fromkeys(links)
    roots, groups = _sorted(wanted, zones, signed=signed)
    blocks = [(block, _links_of(block, wanted)) for root in roots for block in _split(root, zones)]
    blocks += [group for group in groups.items() if len(group[1]) >= _MIN_UNSIGNED and _are_titles(group[1])]
    found = (_sidebar(block, members) for block, members in blocks)
    return tuple(islice((each for each in found if each is not None), MAX_SIDEBARS))


def _sorted(
    links: Iterable[Element], zones: Zones, *, signed: bool
) -> tuple[list[Element], dict[Element, list[Element]]]:
    """Return the sidebars that hold links, and the links outside of all zones by the list that each is an entry of."""
    roots: list[Element] = []
    groups: dict[Element, list[Element]] = {}
    inside: set[Element] = set()
    for link in links:
        parent = link.getparent()
        if parent is None or link in inside:
            continue
        zone = zones.of(parent)
        if zone is Zone.SIDE and len(roots) < MAX_SIDEBARS:
            roots.append(zones.sidebar(parent))
            inside.update(roots[-1].iter("a", "area"))
        elif not signed and zone in (Zone.OPEN, Zone.MAIN):
            group = _group(parent)
            if group is not None:
                groups.setdefault(group, []).append(link)
    return roots, groups


def _links_of(block: Element, wanted: dict[Element, None]) -> list[Element]:
    """Take the links of a block out of those that are wanted."""
    found = [link for link in block.iter("a", "area") if link in wanted]
    for link in found:
        del wanted[link]
    return found


def _split(root: Element, zones: Zones) -> list[Element]:
    """Return the elements that are blocks of their own within a sidebar, without those that are to be dropped."""
    found: list[Element] = []
    waiting = [root]
    while waiting and len(found) < MAX_SIDEBARS:
        top = waiting.pop()
        inner = _with_links(top)
        for _ in range(_MAX_WRAPPERS):
            if len(inner) != 1:
                break
            inner = _with_links(inner[0])
        blocks = [child for child in inner if child.tag in _GROUPS and _links_in(child, _MIN_LINKS) == _MIN_LINKS]
        kept = [block for block in blocks if zones.of(block) is Zone.SIDE]
        if len(kept) < len(blocks) or (len(blocks) > 1 and not _are_entries(blocks)):
            waiting.extend(reversed(kept))
        else:
            found.append(top)
    return found


def _with_links(node: Element) -> list[Element]:
    """Return the children that hold links and may be blocks."""
    if node.tag in _LISTS:
        return []
    children = islice(node.iterchildren(etree.Element), _MAX_CHILDREN)
    return [child for child in children if next(child.iter("a"), None) is not None]


def _links_in(element: Element, most: int) -> int:
    return sum(1 for _ in islice(element.iter("a"), most))


def _are_entries(blocks: Sequence[Element]) -> bool:
    """Return whether elements of one shape and of few links are entries of one block rather than blocks."""
    shapes = {(block.tag, block.get("class")) for block in blocks}
    if len(shapes) > 1 or any(_links_in(block, _LINKS_OF_AN_ENTRY + 1) > _LINKS_OF_AN_ENTRY for block in blocks):
        return False
    return all(next(block.iter("ul", "ol"), None) is None for block in blocks)


def _group(parent: Element) -> Element | None:
    """Return the list that a link with such a parent is an entry of, or the element that holds it and others."""
    above: Element | None = parent
    for _ in range(_CLIMB):
        if above is None:
            return None
        if above.tag in _GROUPS and _links_in(above, _MIN_UNSIGNED) == _MIN_UNSIGNED:
            return above
        above = above.getparent()
    return None


def _are_titles(links: Sequence[Element]) -> bool:
    """Return whether links are as long as titles on average; one Chinese character counts three."""
    lengths = [min(len(fold(_string(link)).encode("utf-8", "replace")), _MAX_TITLE_LENGTH) for link in links]
    return sum(lengths) >= _MIN_TITLES_LENGTH * len(lengths)


def _sidebar(block: Element, links: list[Element]) -> Sidebar | None:
    if len(links) < _MIN_LINKS:
        return None
    text = _text(block)
    if not text or len(text) > _MAX_TEXT_A_LINK * len(links):
        return None
    heading = _heading(block)
    return Sidebar(f"{heading}\n{text}".lstrip()[:MAX_SIDEBAR_LENGTH].rstrip(), tuple(links))


def _text(block: Element) -> str:
    """Return the text of a block, a line for each run of text: links are parted by style sheets, too."""
    if next(block.iter(*UNSEEN), None) is not None:
        return plain_text(block)
    # Every second run is the white space between two items.
    return "\n".join([" ".join(run.split()) for run in _texts(block) if not run.isspace()])


def _heading(block: Element) -> str:
    """Return the heading right before a block, empty if the block has one of its own."""
    before = block.getprevious()
    if before is None or before.tag not in _HEADINGS:
        return ""
    return excerpt(before, _MAX_HEADING_LENGTH)
