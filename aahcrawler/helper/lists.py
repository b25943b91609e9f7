"""What a list says: its entries, each with the text around its link, and what stands beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lxml.etree import _Element as Element

from aahcrawler.page.covering import Covering
from aahcrawler.page.entries import Entry, entries, lines_of, paragraphs
from aahcrawler.page.text import plain_text
from aahcrawler.page.zones import Zones

LONGEST_REST = 20_000
MOST_TEXT = 1_000_000
_CONTROLS = ("button", "select", "textarea")


@dataclass(frozen=True)
class Listed:
    """The entries of a list as one text, a line for each paragraph of each entry; ``rest`` is what else the page holds.

    ``contexts`` has the first paragraph of its entry for each link that an entry is of.
    """

    text: str = ""
    contexts: Mapping[Element, str] = field(default_factory=dict)
    rest: str = ""


def read_list(page: Element, links: Sequence[Sequence[Element]], zones: Zones) -> Listed:
    """Read what stands around links of a page; sidebars and boilerplate are left out, and so are controls of forms.

    Of several groups of links the later ones make entries where they stand in none of those before.
    """
    body = page.find("body")
    region = body if body is not None else page
    sides, boilerplate = zones.apart(region)
    around = {above for group in links for link in group for above in (link, *link.iterancestors())}
    sides = [each for each in sides if each not in around]
    dropped = frozenset((*sides, *(each for each in boilerplate if each not in around), *region.iter(*_CONTROLS)))
    titles = [title for title in region.iter("h1") if title not in around]
    found = _entries(links, region, (*sides, *titles), dropped)
    taken: set[Element] = set()
    texts: dict[Element, Sequence[str]] = {}
    for link, entry in found.items():
        texts[link] = [*paragraphs(lines_of(entry, dropped))] if entry[0] not in taken else ()
        taken.update(entry)
    contexts = {link: text[0] for link, text in texts.items() if text}
    text = "\n".join(dict.fromkeys(line for lines in texts.values() for line in lines))
    rest = plain_text(region, dropped | taken)
    return Listed(text[:MOST_TEXT].rstrip(), contexts, rest[:LONGEST_REST].rstrip())


def _entries(
    groups: Iterable[Sequence[Element]], region: Element, apart: Sequence[Element], without: frozenset[Element]
) -> Mapping[Element, Entry]:
    links: list[Element] = []
    found: Mapping[Element, Entry] = {}
    for group in groups:
        known = Covering(element for entry in found.values() for element in entry)
        added = [link for link in group if not known.covers(link)]
        if added:
            links += added
            found = entries(links, region, apart, without)
    return found
