"""Redesign a recorded site in steps: the same content in another template, consistently on all of its pages.

A seed defines an endless sequence of steps, each applied on top of those before. Ten are a heavy redesign: most classes
and ids are renamed, attributes are swapped, elements are renamed, wrapped, unwrapped and reordered. No text is lost or
split, and the URLs of links are kept, so the scorer's ground truth still holds.
"""

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from lxml import html
from lxml.html import HtmlElement

from aahcrawler.page import Page
from benchmarks.recorded import RecordedSite, recorded_files
from benchmarks.truth import Layout, Truth

_NUMBER = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
_SYLLABLES: Final = ("ba", "do", "fe", "gu", "hi", "ka", "lo", "mu", "ne", "pi", "ra", "so", "tu", "ve", "wi", "zo")
_ASSETS = frozenset({"stylesheet", "icon", "preload", "apple-touch-icon"})
_REFERRING = ("for", "aria-labelledby", "aria-describedby", "aria-controls")
_BLOCKS = frozenset({"div", "section", "article", "ul", "ol", "table", "main", "aside", "header", "footer", "dl"})
_HOLDERS = frozenset({"li", "td", "dd"})
_LOOSE = frozenset({"div", "section", "span", "article", "main", "center"})
_PARENTS = frozenset(
    {"div", "section", "article", "header", "footer", "main", "aside", "tr", "li", "td", "body", "span"}
)
_OTHER_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "div": ("section", "article", "section", "aside"),
    "section": ("div", "article"),
    "article": ("div", "section"),
    "header": ("div",),
    "footer": ("div",),
    "aside": ("div", "section"),
    "main": ("div",),
    "address": ("div",),
    "span": ("em", "b", "i", "font"),
    "h1": ("h2", "h3"),
    "h2": ("h3", "h1"),
    "h3": ("h2", "h4"),
    "h4": ("h3", "h5"),
    "ul": ("div",),
    "ol": ("div",),
    "dl": ("div",),
    "table": ("div",),
}
_PARTS: Final[Mapping[str, frozenset[str]]] = {
    "ul": frozenset({"li"}),
    "ol": frozenset({"li"}),
    "dl": frozenset({"dt", "dd"}),
    "table": frozenset({"thead", "tbody", "tfoot", "tr", "td", "th", "caption"}),
}
"""The tags that must change together with the element they are a part of."""


class Change(StrEnum):
    """The target of a step's change."""

    CLASSES = "classes"
    IDS = "ids"
    ATTRIBUTES = "attributes"
    NAMES = "names"
    WRAPPERS_ADDED = "wrappers added"
    WRAPPERS_REMOVED = "wrappers removed"
    ORDER = "order"
    ASSETS = "assets"


@dataclass(frozen=True, slots=True)
class Draft:
    """The random decisions of one step; the same question gets the same answer on every page."""

    seed: int
    number: int
    change: Change

    def draw(self, *about: str) -> float:
        """Return a pseudo-random number in [0, 1), determined by ``about``."""
        key = "\n".join((str(self.seed), str(self.number), self.change, *about))
        return int.from_bytes(blake2b(key.encode(), digest_size=6).digest()) / 2**48

    def pick(self, options: Sequence[str], *about: str) -> str:
        """Return one of several options, determined by ``about``."""
        return options[int(self.draw("pick", *about) * len(options))]


def shape(element: HtmlElement) -> str:
    """Return a text that is equal for corresponding elements on all pages of a site.

    >>> from lxml.html import fromstring
    >>> shape(fromstring('<div id="post_12" class="post even">x</div>'))
    'div#post_#'
    """
    tag, identity, classes = str(element.tag), element.get("id"), (element.get("class") or "").split()
    if identity:
        return f"{tag}#{_NUMBER.sub('#', identity)}"
    return f"{tag}.{_NUMBER.sub('#', classes[0])}" if classes else tag


def is_styled(element: HtmlElement) -> bool:
    """Return whether an element has a class or an id: it belongs to the template, not to an author's text."""
    return bool(element.get("class") or element.get("id"))


def renamed(draft: Draft, name: str) -> str:
    """Return the new name of a class or an id; half of them stay, and so do the numbers in them."""
    pattern = _NUMBER.sub("#", name)
    if draft.draw("rename", pattern) >= 0.5:
        return name
    opaque = "".join(draft.pick(_SYLLABLES, pattern, str(place)) for place in range(3))
    told = "-".join(_LETTERS.findall(pattern))
    forms = (opaque, f"{opaque}-{told}", f"{told}-{opaque[:2]}", f"x-{told}{opaque[:2]}", opaque.title(), opaque)
    form = draft.pick(forms, "form", pattern)
    return "-".join((form.strip("-"), *_NUMBER.findall(name)))


def rename_classes(tree: HtmlElement, draft: Draft) -> None:
    """Give half of the classes other names, some of them much like the old ones."""
    for element in tree.iter("*"):
        classes = (element.get("class") or "").split()
        if classes:
            element.set("class", " ".join(renamed(draft, name) for name in classes))


def rename_ids(tree: HtmlElement, draft: Draft) -> None:
    """Rename half of the ids, and update the references to them within the page."""
    ids = {identity: renamed(draft, identity) for element in tree.iter("*") if (identity := element.get("id"))}
    for element in tree.iter("*"):
        if element.get("id"):
            element.set("id", ids[element.get("id") or ""])
        for attribute in _REFERRING:
            if element.get(attribute):
                element.set(attribute, " ".join(ids.get(name, name) for name in (element.get(attribute) or "").split()))
        address, sign, fragment = (element.get("href") or "").partition("#")
        if sign and fragment in ids:
            element.set("href", f"{address}#{ids[fragment]}")


def rename_assets(tree: HtmlElement, draft: Draft) -> None:
    """Rename the files of style sheets, scripts and icons, and the folders they lie in."""
    for element in tree.iter("link", "script"):
        name = "href" if element.tag == "link" else "src"
        if element.get(name) and _is_asset(element):
            element.set(name, _renamed_file(draft, element.get(name) or ""))


def _is_asset(element: HtmlElement) -> bool:
    relations = (element.get("rel") or "").casefold().split()
    return element.tag == "script" or not _ASSETS.isdisjoint(relations)


def _renamed_file(draft: Draft, address: str) -> str:
    parts = urlsplit(address)
    path = "/".join(_renamed_part(draft, part) for part in parts.path.split("/"))
    return urlunsplit(parts._replace(path=path))


def _renamed_part(draft: Draft, part: str) -> str:
    stem, dot, ending = part.partition(".")
    return f"{renamed(draft, stem)}{dot}{ending}" if _LETTERS.search(stem) else part


def swap_attributes(tree: HtmlElement, draft: Draft) -> None:
    """Swap ids and classes, or move them to data attributes."""
    for element in tree.iter("*"):
        identity, classes = element.get("id"), element.get("class")
        drawn = draft.draw(shape(element))
        if identity and classes and drawn < 0.4:
            element.set("id", classes.replace(" ", "-"))
            element.set("class", identity)
        elif identity and not classes and drawn < 0.25:
            del element.attrib["id"]
            element.set("data-key" if drawn < 0.15 else "class", identity)
        elif classes and not identity and drawn < 0.25:
            del element.attrib["class"]
            element.set("data-part", classes)


def rename_elements(tree: HtmlElement, draft: Draft) -> None:
    """Give elements of the template other names: blocks those of blocks, parts of lines those of parts of lines."""
    for element in list(tree.iter(*_OTHER_NAMES)):
        tag = str(element.tag)
        others = _OTHER_NAMES.get(tag)
        if others is None or draft.draw(shape(element)) >= 0.35:
            continue
        if is_styled(element) or tag not in ("div", "span", *_PARTS):
            new = draft.pick(others, shape(element))
            for part in _own_parts(element, _PARTS[tag]) if tag in _PARTS else ():
                part.tag = "div"
            element.tag = new


def _own_parts(element: HtmlElement, names: frozenset[str]) -> list[HtmlElement]:
    found: list[HtmlElement] = []
    for child in element:
        if child.tag in names:
            found += (child, *_own_parts(child, names))
    return found


def add_wrappers(tree: HtmlElement, draft: Draft) -> None:
    """Wrap elements of the template, or their contents, in another element."""
    for element in list(tree.iter(*_BLOCKS, *_HOLDERS)):
        drawn = draft.draw(shape(element))
        if not is_styled(element) or drawn >= 0.25 or element.getparent() is None:
            continue
        name = "w-" + "".join(draft.pick(_SYLLABLES, shape(element), str(place)) for place in range(2))
        wrapper = element.makeelement("div", {"class": name})
        if element.tag in _BLOCKS and (drawn < 0.12 or element.tag not in ("div", "section", "article", "main")):
            _wrap_outside(element, wrapper)
        elif element.tag not in ("ul", "ol", "table", "dl"):
            wrapper.text, element.text = element.text, None
            wrapper.extend(list(element))
            element.append(wrapper)


def _wrap_outside(element: HtmlElement, wrapper: HtmlElement) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.insert(parent.index(element), wrapper)
        wrapper.tail, element.tail = element.tail, None
        wrapper.append(element)


def remove_wrappers(tree: HtmlElement, draft: Draft) -> None:
    """Unwrap elements of the template that contain only one other element."""
    for element in list(tree.iter(*_LOOSE)):
        parent, drawn = element.getparent(), draft.draw(shape(element))
        if parent is None or drawn >= 0.6 or len(element) != 1 or (element.text or "").strip():
            continue
        child = element[0]
        if isinstance(child.tag, str) and is_styled(child) and not (child.tail or "").strip():
            child.tail = element.tail
            parent.replace(element, child)


def reorder(tree: HtmlElement, draft: Draft, layout: Layout) -> None:
    """Swap neighbouring elements, unless both contain a part of an author's text, or are within it."""
    for parent in list(tree.iter(*_PARENTS)):
        if (parent.text or "").strip() or any((child.tail or "").strip() for child in parent):
            continue
        held = {child: layout.bodies(child) for child in parent}
        torn = {body for body, holders in Counter(chain.from_iterable(held.values())).items() if holders > 1}
        place = 0
        while place + 1 < len(parent):
            one, other = parent[place], parent[place + 1]
            firm = (held[one] and held[other]) or not torn.isdisjoint(held[one] | held[other])
            if not firm and _differ(one, other) and draft.draw(*map(shape, (parent, one, other))) < 0.35:
                parent.insert(place, other)
                place += 1
            place += 1


def _differ(one: HtmlElement, other: HtmlElement) -> bool:
    return isinstance(one.tag, str) and isinstance(other.tag, str) and shape(one) != shape(other)


def change(tree: HtmlElement, draft: Draft, truth: Truth) -> None:
    """Apply one step to a page whose content is known."""
    match draft.change:
        case Change.CLASSES:
            rename_classes(tree, draft)
        case Change.IDS:
            rename_ids(tree, draft)
        case Change.ATTRIBUTES:
            swap_attributes(tree, draft)
        case Change.NAMES:
            rename_elements(tree, draft)
        case Change.WRAPPERS_ADDED:
            add_wrappers(tree, draft)
        case Change.WRAPPERS_REMOVED:
            remove_wrappers(tree, draft)
        case Change.ASSETS:
            rename_assets(tree, draft)
        case Change.ORDER:
            # What moves is told by words: they are found where the steps before have left them.
            reorder(tree, draft, Layout.of(tree, truth))


def drafts(seed: int, kinds: Sequence[Change] = tuple(Change)) -> Iterator[Draft]:
    """Yield the endless steps of a redesign; every change of ``kinds`` occurs once before any occurs again."""
    drawn = random.Random(seed)
    number = 0
    while True:
        for chosen in drawn.sample(list(kinds), len(kinds)):
            yield Draft(seed, number, chosen)
            number += 1


def damaged(
    site: RecordedSite, target: Path, steps: int, seed: int, kinds: Sequence[Change] = tuple(Change)
) -> RecordedSite:
    """Write a copy of a site to ``target/app/theme`` with ``steps`` steps of damage done to its pages of HTML.

    With ``kinds`` there is only damage of these.
    """
    copy = copied(site, target)
    truth, chosen = Truth.of(site), tuple(islice(drafts(seed, kinds), steps))
    for name, page in recorded_files(site):
        if page.is_html and chosen:
            (copy.folder / name).write_bytes(redesigned(page, chosen, truth))
    return copy


def copied(site: RecordedSite, target: Path) -> RecordedSite:
    """Copy a recorded site to ``target/app/theme``, replacing what that holds."""
    folder = target / site.app / site.theme
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(site.folder, folder)
    return RecordedSite(site.app, site.theme, folder)


def redesigned(page: Page, chosen: Sequence[Draft], truth: Truth) -> bytes:
    """Return the body of a page after some steps, in the page's own encoding."""
    for draft in chosen:
        change(page.tree, draft, truth)
    return written(page)


def written(page: Page) -> bytes:
    """Return the tree of a page as markup in the page's own encoding."""
    doctype = page.tree.getroottree().docinfo.doctype
    return html.tostring(page.tree, encoding=page.encoding, doctype=doctype or None)
