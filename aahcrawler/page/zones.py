"""The areas of a page: its zones, what it hides from readers, and blocks of links beside its content."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.page.text import UNSEEN, excerpt, fold, plain_text

if TYPE_CHECKING:
    from aahcrawler.page.page import Page


class Zone(Enum):
    """The kinds of zones in which an element can lie."""

    OPEN = "open"
    """No zone: nothing marks the element."""
    MAIN = "main"
    """The declared main part of the page."""
    CONTENT = "content"
    """Elements already read as the content of the page."""
    SIDE = "side"
    """A block beside the content: related articles, an archive, tags, a blogroll."""
    MENU = "menu"
    """A menu, a breadcrumb trail, pagination."""
    DROPPED = "dropped"
    """A footer, advertising, buttons for sharing, notices about cookies, forms for logging in."""


class Zones:
    """Finds the zone of elements of a page; every element is visited once.

    ``content`` are elements that hold content, each in a zone of its own: an element that contains one of them, or a
    heading of the first rank, is neither a sidebar nor boilerplate, whatever its name. With ``lists``, names that
    entries of a list may also have (archives, categories, recent) mean nothing within the main part of the page.
    ``boilerplate`` are the topmost elements of menus and of dropped zones, as far as elements in them were looked up.
    """

    def __init__(self, tree: Element, content: Iterable[Element] = (), *, lists: bool = False) -> None:
        self._known: dict[Element, Zone] = dict.fromkeys(content, Zone.CONTENT)
        self.boilerplate: list[Element] = []
        self._roots: dict[Element, Element] = {}
        self._lists = lists
        self._holders = _above(self._known)
        self._mains = self._holders | _above(tree.iter("main"))
        self._headed = self._mains | _above(tree.iter("h1"))

    def of(self, element: Element) -> Zone:
        """Return the zone of an element, which is that of the nearest element above it that shows one."""
        missing: list[Element] = []
        step: Element | None = element
        known = self._known
        while step is not None and step not in known:
            missing.append(step)
            step = step.getparent()
        zone = known[step] if step is not None else Zone.OPEN
        root = self._roots.get(step) if step is not None else None
        for each in reversed(missing):
            if each.tag in _SIGNED:
                above, zone = zone, self._below(zone, each)
                if zone in _BOILERPLATE and above not in _BOILERPLATE:
                    self.boilerplate.append(each)
            if zone is Zone.SIDE:
                root = self._roots[each] = root if root is not None else each
            else:
                root = None
            known[each] = zone
        return zone

    def apart(self, region: Element) -> tuple[Collection[Element], Collection[Element]]:
        """Return the topmost elements of the sidebars in a region, and those of menus and dropped zones."""
        for element in region.iter(*_SIGNED):
            self.of(element)
        return frozenset(self._roots.values()), frozenset(self.boilerplate)

    def sidebar(self, element: Element) -> Element:
        """Return the topmost element of the sidebar that an element lies in, the element itself if in none."""
        return self._roots.get(element, element)

    def _below(self, above: Zone, element: Element) -> Zone:
        """Return the zone of an element from the zone of its parent and its own markup."""
        get = element.get
        # Posts have numbers in their ids, and no pattern contains digits.
        classes, key = _NUMBER.sub("0", get("class", "")), _NUMBER.sub("0", get("id", ""))
        declaration = _declaration(str(element.tag), get("role"), classes, key)
        if declaration is _NOTHING or above is Zone.CONTENT:
            return above
        if above is Zone.DROPPED:
            return Zone.SIDE if declaration.is_aside and element not in self._holders else above
        if element in self._holders:
            return Zone.MAIN if declaration.declared is Zone.MAIN else above
        declared = declaration.declared if not declaration.of_section or not _is_in_section(element) else None
        if declared is not None:
            return Zone.SIDE if above is Zone.SIDE and declared is not Zone.DROPPED else declared
        holders = self._mains if declaration.of_header else self._headed
        if declaration.named is None or element in holders or (declaration.weak and self._lists and above is Zone.MAIN):
            return above
        return declaration.named if declaration.named is Zone.DROPPED or above in (Zone.OPEN, Zone.MAIN) else above


@dataclass(frozen=True, slots=True)
class _Declaration:
    """The zone that an element's tag or role and its names suggest.

    Entries of lists may have ``weak`` names as well. ``of_section`` elements belong to their section, if any. An
    element named ``of_header`` may hold a heading of the first rank, the site's name.
    """

    declared: Zone | None = None
    named: Zone | None = None
    weak: bool = False
    of_section: bool = False
    is_aside: bool = False
    of_header: bool = False


_NOTHING = _Declaration()


def _is_in_section(element: Element) -> bool:
    return next(element.iterancestors("article", "main", "section"), None) is not None


def _above(elements: Iterable[Element]) -> frozenset[Element]:
    """Return the ancestors of all of the elements; each is visited once."""
    found: set[Element] = set()
    for element in elements:
        above = element.getparent()
        while above is not None and above not in found:
            found.add(above)
            above = above.getparent()
    return frozenset(found)


# fmt: off
_SIGNED = frozenset({
    "aside", "dialog", "div", "dl", "footer", "form", "header", "main", "menu", "nav", "ol", "section", "table", "td",
    "ul",
})
# fmt: on
"""Elements whose names count; the names of others describe their purpose, not their content."""
_TAGS = {
    "aside": Zone.SIDE,
    "dialog": Zone.DROPPED,
    "footer": Zone.DROPPED,
    "header": Zone.MENU,
    "main": Zone.MAIN,
    "menu": Zone.MENU,
    "nav": Zone.MENU,
}
_ROLES = {
    "alert": Zone.DROPPED,
    "alertdialog": Zone.DROPPED,
    "banner": Zone.MENU,
    "complementary": Zone.SIDE,
    "contentinfo": Zone.DROPPED,
    "dialog": Zone.DROPPED,
    "main": Zone.MAIN,
    "menu": Zone.MENU,
    "menubar": Zone.MENU,
    "navigation": Zone.MENU,
    "search": Zone.DROPPED,
    "tablist": Zone.MENU,
    "toolbar": Zone.MENU,
}
_BOILERPLATE = frozenset({Zone.MENU, Zone.DROPPED})
_MAX_NAMES_LENGTH = 500
_SUBJECTS = re.compile(
    r"(?<!\S)(?:(?:author|category|tag|tax|term|topic)-(?!clouds?\b|lists?\b)|(?:has|no|with|without)-)\S+"
)
"""Classes for the subject of a post and the features of a page, which may contain any word."""
_NUMBER = re.compile(r"\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def _words(listed: str) -> re.Pattern[str]:
    """Compile alternatives that are whole words of a class or an id."""
    return re.compile(rf"(?:^|[\s_-])(?:{'|'.join(listed.split())})(?=$|[\s\d_-])")


_DROPPED_NAMES = _words(
    "ads? adverts? advertis\\w+ adsense adsbygoogle sponsor\\w* promo(?:tion)?s? banner cookies? consent gdpr ccpa "
    "copyright legal-?(?:notice|links|info|text) disclaimer (?:site|page|main|global)-?foot(?:er)? site-?info "
    "powered(?:-?by)? credits? colophon share sharing sharedaddy share-?(?:bar|box|buttons?|icons?|links?|tools?) "
    "addthis addtoany social \\w*-?socials? newsletter subscribe subscription log-?in sign-?in sign-?up "
    "register-?(?:box|form|link) search-?(?:bar|box|field|form) modal popup pop-?over tooltip skip-?(?:link|nav|to)s? "
    "print-?(?:button|link|view) widget_meta lang(?:uage)?s?-?(?:bar|links|list|menu|picker|select\\w*|switch\\w*)"
)
_SIDE_NAMES = _words("side-?(?:bars?|nav|menu|column|panel) aside rail blogroll tag-?clouds? see-?also \\w*related")
_FOOTER = re.compile(r"(?:^|\s)foot(?:er)?(?=$|[\s\d_-])")
_WIDGET = re.compile(r"(?:^|\s)widgets?(?=$|[\s\d_-])")
_HELP = re.compile(r"(?:^|\s)(?:[a-z]+-)?help(?:-?(?:block|box|hint|link|note|text))?(?=$|\s)")
"""Notes of software on how a page is used, which stand on each page of a kind."""
_WEAK_SIDE_NAMES = _words(
    "archives? categories recent recommend\\w* popular trending latest similar tags most-?read further cat-?links "
    "nav-?box"
)
_MENU_NAMES = _words(
    "nav navi navigation navigate nav-?bars? menus? menu-?bar top-?bar "
    "bread-?crumbs? crumbs? pagination paginat\\w+ pager paging page-?links page-?numbers tabs(?!\\S) toolbar "
    "top-?links quick-?links"
)
_HEADER_NAMES = _words("(?:site|page|main|global)-?header masthead")
_NAMES = (
    (Zone.DROPPED, _DROPPED_NAMES),
    (Zone.DROPPED, _FOOTER),
    (Zone.DROPPED, _HELP),
    (Zone.SIDE, _SIDE_NAMES),
    (Zone.SIDE, _WIDGET),
    (Zone.MENU, _MENU_NAMES),
)
"""The zones that names suggest, the stronger ones first."""


@lru_cache(maxsize=20_000)
def _declaration(tag: str, role: str | None, classes: str, key: str) -> _Declaration:
    """Return the zone that an element's tag, role, classes and id suggest."""
    by_role = _ROLES.get(role or "")
    declared = by_role or _TAGS.get(tag)
    names = [_words_of(names) for names in (classes, key) if names]
    is_header = key == "header" or any(_HEADER_NAMES.search(each) for each in names)
    named = next((zone for zone, words in _NAMES if any(words.search(each) for each in names)), None)
    if named is None and is_header:
        named = Zone.MENU
    weak = named is None and any(_WEAK_SIDE_NAMES.search(each) for each in names)
    if declared is None and named is None and not weak:
        return _NOTHING
    of_section = by_role is None and tag in ("header", "footer")
    named = Zone.SIDE if weak else named
    return _Declaration(declared, named, weak, of_section, declared is Zone.SIDE, is_header and named is Zone.MENU)


def _words_of(names: str) -> str:
    """Return classes or an id in lower case, camel case split by hyphens, without those for a post's subject."""
    return _SUBJECTS.sub(" ", _HUMP.sub("-", names[:_MAX_NAMES_LENGTH]).lower())


class Subtrees:
    """Elements with all of their descendants; each element that is looked up is visited once."""

    def __init__(self, elements: Iterable[Element]) -> None:
        self._known: dict[Element, bool] = dict.fromkeys(elements, True)
        self._any = bool(self._known)

    def covers(self, element: Element) -> bool:
        """Return whether an element is one of them or lies within one."""
        if not self._any:
            return False
        path: list[Element] = []
        current: Element | None = element
        while current is not None and current not in self._known:
            path.append(current)
            current = current.getparent()
        covered = current is not None and self._known[current]
        self._known.update(dict.fromkeys(path, covered))
        return covered


# Attributes are found sooner than elements that are asked for them.
_styled = etree.XPath("descendant-or-self::*/@hidden/.. | descendant-or-self::*/@style/..")
_MAX_STYLE_LENGTH = 2_000
_HIDING = re.compile(
    r"""(?:^|;)\s*(?:
        display\s*:\s*none
      | visibility\s*:\s*(?:hidden|collapse)
      | opacity\s*:\s*0*\.?0*(?=\s|;|!|$)
      | font-size\s*:\s*0(?:\.0*)?(?:px|pt|em|rem|%)?(?=\s|;|!|$)
      | (?:text-indent|margin-left|margin-top|left|top)\s*:\s*-\d{3,}
    )""",
    re.IGNORECASE | re.VERBOSE,
)


class Hidden(Subtrees):
    """The elements of a page that an attribute ``hidden`` or an inline style hides.

    Style sheets are not read: most of the elements they hide are menus and dialogs that can be opened.
    """

    def __init__(self, tree: Element) -> None:
        super().__init__(element for element in _styled(tree) if _is_hidden(element))

    @classmethod
    def of(cls, page: "Page") -> "Hidden":
        """Return those of a page: by ``Page.once`` they are looked for once."""
        return cls(page.tree)


def _is_hidden(element: Element) -> bool:
    if element.get("hidden") is not None:
        return True
    style = element.get("style")
    return style is not None and _HIDING.search(style[:_MAX_STYLE_LENGTH]) is not None


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
