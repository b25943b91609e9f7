"""Read lists: their entries, each with the text around its link, and the rest of the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.page.hidden import Subtrees
from aahcrawler.page.link_surroundings import Entry, entries, lines_of, paragraphs
from aahcrawler.page.text import plain_text
from aahcrawler.page.zones import Zones

MAX_REST = 20_000
"""The most characters of a page outside of its entries that are kept."""

MAX_TEXT = 1_000_000
"""Characters that are kept of all entries of a page."""

_CONTROLS = ("button", "select", "textarea")
_OF_SECTIONS = frozenset({"footer", "header"})
_mains = etree.XPath("descendant::*[self::main or @role = 'main']")


@dataclass(frozen=True)
class ListText:
    """The entries of a list as one text, a line for each paragraph of each entry; ``rest`` is the page's other text.

    ``contexts`` has, for the link of each entry, the first paragraph of the entry.
    """

    text: str = ""
    contexts: Mapping[Element, str] = field(default_factory=dict)
    rest: str = ""


def read_list(
    page: Element, links: Sequence[Sequence[Element]], zones: Zones, given: Mapping[Element, Entry] | None = None
) -> ListText:
    """Read the text around links of a page; sidebars, boilerplate and controls of forms are left out.

    Of several groups of links, the later ones make entries only outside of those before. ``given`` are entries that are
    known already. If all links lie in the declared main part of the page, only that part is read.
    """
    given = given or {}
    heads = [*(link for group in links for link in group), *(entry[0] for entry in given.values())]
    around = {above for head in heads for above in (head, *head.iterancestors())}
    region = _region(page, heads)
    sides, boilerplate = zones.apart(region)
    sides = [each for each in sides if each not in around and each.find(".//article") is None]
    dropped = frozenset((*sides, *(each for each in boilerplate if each not in around), *region.iter(*_CONTROLS)))
    found = _entries(links, given, region, (*sides, *_title(region)), dropped)
    if len(found) > 1:
        dropped -= _of_entries(found, (*sides, *(each for each in boilerplate if each.tag in _OF_SECTIONS)))
    taken: set[Element] = set()
    texts: dict[Element, Sequence[str]] = {}
    for link, entry in found.items():
        texts[link] = [*paragraphs(lines_of(entry, dropped))] if entry[0] not in taken else ()
        taken.update(entry)
    contexts = {link: text[0] for link, text in texts.items() if text}
    text = "\n".join(line for lines in texts.values() for line in lines)
    rest = plain_text(region, dropped | taken)
    return ListText(text[:MAX_TEXT].rstrip(), contexts, rest[:MAX_REST].rstrip())


def _region(page: Element, heads: Iterable[Element]) -> Element:
    main, body = declared_main(page), page.find("body")
    if main is not None and all(map(Subtrees((main,)).covers, heads)):
        return main
    return page if body is None else body


def _of_entries(found: Mapping[Element, Entry], elements: Iterable[Element]) -> frozenset[Element]:
    """Return the elements within entries: the header, footer or tags within an entry are those of a post."""
    within = Subtrees(element for entry in found.values() for element in entry)
    return frozenset(filter(within.covers, elements))


def _title(region: Element) -> Sequence[Element]:
    """Return the heading of a list, which leads nowhere; headings of its entries are several, or do."""
    headings = list(islice(region.iter("h1"), 2))
    return headings if len(headings) == 1 and headings[0].find(".//a") is None else ()


def declared_main(page: Element) -> Element | None:
    """Return the declared main part of a page, None if it declares none or several."""
    mains: list[Element] = _mains(page)
    return mains[0] if mains and len(mains) == 1 + len(_mains(mains[0])) else None  # Others lie in the first one.


def _entries(
    groups: Iterable[Sequence[Element]],
    given: Mapping[Element, Entry],
    region: Element,
    apart: Sequence[Element],
    without: frozenset[Element],
) -> Mapping[Element, Entry]:
    links: list[Element] = []
    found = given
    known = [element for entry in given.values() for element in entry]
    for group in groups:
        covering = Subtrees(element for entry in found.values() for element in entry)
        added = [link for link in group if not covering.covers(link)]
        if added:
            links += added
            found = {**given, **entries(links, region, (*apart, *known), without)}
    return found
