"""Make a first draft of an application's file that is valid, works at once, and marks its guesses."""

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree
from lxml.etree import _Comment as Comment

from aahcrawler.editor.drafting import annotated_xml
from aahcrawler.editor.drafting.address_groups import INDEX, AddressGroup, Shape
from aahcrawler.editor.drafting.annotated_xml import Change, Choice, Doubt, Guesses, doubts_of, removal, setting
from aahcrawler.editor.drafting.level_plans import (
    TERMS,
    Given,
    LevelPlan,
    Terms,
    main_links,
    own_links,
    plan_levels,
    without_index,
)
from aahcrawler.editor.drafting.level_writing import LIKELY, OPEN, SURE, LevelSigns, LevelWriting
from aahcrawler.editor.drafting.pattern_drafting import Known, Sign, of_host, signs
from aahcrawler.editor.drafting.url_generalisation import (
    Avoided,
    avoided,
    first_numbers,
    is_open_to_doubt,
    reason_of,
    session_parameters,
    tracking_parameters,
)
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.page.generic import PageLink
from aahcrawler.wrapper_induction.induce import run
from knowledge_base.file_selection import SHIPPED, chosen_files
from knowledge_base.loader import load_files
from knowledge_base.model import Extract, KnowledgeBase, PageLevel, Signal, Strength
from knowledge_base.url_rules import ParsedUrl, Reason

MAX_LEFT = 8
"""Groups of URLs of no level that a draft asks about."""
MAX_WORDS = 6
"""Words at the end of the URLs of a group that have rules of their own."""
_PLAIN = re.compile(r"[A-Za-z_-]+")
_OF_GUESSED, _OF_LEFT, _FOR_EACH = 0.5, 0.6, 0.3


def ask_about_levels(root: etree._Element, levels: Sequence[LevelPlan], guesses: Guesses) -> None:
    """Doubt each level that was only inferred from links: its URLs may lead to content, or be of no use."""
    for level in levels:
        element = next((each for each in root.iter("level") if each.get("name") == level.name), None)
        if element is None or level.pages or level.terminal or level.start:
            continue
        away = [*_leading_to(root, level.name), element]
        gone = tuple(Change("remove", each) for each in away)
        choices = [removal("they lead neither to lists nor to content", *away)]
        content = tuple(_as_content(root, level.shape))
        if content:
            choices.append(Choice("they lead to content", (*content, *gone)))
        said = f"a word in URLs like {level.urls[0]} says that they lead to lists" if level.urls else "these are lists"
        guesses.mark(element, said, _OF_GUESSED - _FOR_EACH / max(len(level.urls), 1) / 2, choices)


def ask_about_groups(
    root: etree._Element, groups: Iterable[AddressGroup], guesses: Guesses, levels: Sequence[LevelPlan]
) -> None:
    """Doubt that groups of URLs without a level, and not avoided, are useless; they may be lists or content."""
    for number, group in enumerate(groups):
        if number == MAX_LEFT:
            return
        alike = f"{len(group.urls)} URLs like {group.urls[0]}" if len(group.urls) > 1 else group.urls[0]
        said = f"the draft does not say yet what {alike} {'are' if len(group.urls) > 1 else 'is'} for"
        guesses.note(root, said, _OF_LEFT - _FOR_EACH / len(group.urls), list(_uses(root, group, levels)))


def _uses(root: etree._Element, group: AddressGroup, levels: Sequence[LevelPlan]) -> Iterator[Choice]:
    content = tuple(_as_content(root, group.shape))
    if content:
        yield Choice("they lead to content", content)
    lists = tuple(_as_lists(root, group.shape))
    if lists:
        yield Choice("they lead to lists", lists)
    shapes = avoidable(group, levels)
    if shapes:
        yield Choice("they lead to nothing new; avoid them", tuple(_as_avoided(root, group, shapes)))


def avoidable(group: AddressGroup, levels: Sequence[LevelPlan]) -> tuple[Shape, ...]:
    """Return the shapes of rules that refuse a group but no further page of a level; none if there are none.

    If the group's own shape matches such pages, each word at the end of the group's URLs gets a rule.
    """
    further = [ParsedUrl.parse(url) for level in levels for url in _further_pages(group.urls[0], level)]
    if not any(group.shape.rule.matches(page) for page in further):
        return (group.shape,)
    before, slash, last = group.shape.path.rpartition("/")
    words = dict.fromkeys(ParsedUrl.parse(url).segments[-1] for url in group.urls)
    if last != "*" or len(words) > MAX_WORDS or not all(_PLAIN.fullmatch(word) for word in words):
        return ()
    return tuple(replace(group.shape, path=f"{before}{slash}{word}") for word in words)


def _further_pages(url: str, level: LevelPlan) -> Iterator[str]:
    """Yield a URL of a second page of a level, for each shape that such URLs have."""
    host = "/".join(url.split("/")[:3])
    for shape in level.beyond:
        yield host + "/" + shape.path.removeprefix("**").lstrip("/").replace("#", "2").replace("*", "x")


def _as_content(root: etree._Element, shape: Shape) -> Iterator[Change]:
    """Yield the changes that make URLs of a shape those of the content that the draft reads."""
    level = next((each for each in root.iter("level") if each.find("extract") is not None), None)
    address = level.find("address") if level is not None else None
    item = level.find("extract/item") if level is not None else None
    if level is None or address is None or item is None:
        return
    expression = {name: str(value) for name, value in item.attrib.items() if name in ("css", "xpath")}
    sign = expression if not expression.get("css", "").startswith("body") else {}
    when = _element("when", {**sign, **shape.attributes(), "cite": annotated_xml.UNPROVEN})
    yield Change("add", level, xml=when, before=address)
    optional = address.get("optional")
    further = shape.attributes() | ({"optional": optional} if optional else {})
    yield Change("add", level, xml=_element("address", further), before=address)


def _as_lists(root: etree._Element, shape: Shape) -> Iterator[Change]:
    """Yield the changes that make a level of lists of a shape, which lists lead to and which leads to all others."""
    levels = list(root.iter("level"))
    terminal = next((each for each in levels if each.get("role") == "terminal"), None)
    if terminal is None:
        return
    taken = {each.get("name") for each in levels}
    name = next(each for number in range(1, len(levels) + 2) if (each := f"list-{number}") not in taken)
    level = _element("level", {"name": name, "role": "intermediate"})
    level.append(_element("when", {**shape.attributes(), "cite": annotated_xml.UNPROVEN}))
    level.append(_element("address", shape.attributes()))
    for target in (each for each in levels if each.get("start") != "yes"):
        level.append(_navigation(target.get("name") or ""))
    yield Change("add", root, xml=level, before=terminal)
    for source in (each for each in levels if each.get("role") == "intermediate"):
        yield Change("add", source, xml=_navigation(name))


def _as_avoided(root: etree._Element, group: AddressGroup, shapes: Sequence[Shape]) -> Iterator[Change]:
    reason = reason_of(group) or Reason.ACTION
    cite = f"{annotated_xml.UNPROVEN}, {group.urls[0]}"
    rules = [_element("url", {"reason": reason.value, **shape.attributes(), "cite": cite}) for shape in shapes]
    avoid = root.find("avoid")
    if avoid is not None:
        yield from (Change("add", avoid, xml=url) for url in rules)
        return
    new = etree.Element("avoid")
    new.extend(rules)
    yield Change("add", root, xml=new, before=root.find("level"))


def _navigation(target: str) -> etree._Element:
    navigate = _element("navigate", {"name": f"to-{target}", "to": target})
    navigate.append(_element("select", {"css": "a", "documented": "yes", "cite": annotated_xml.UNPROVEN}))
    return navigate


def _element(tag: str, attributes: dict[str, str]) -> etree._Element:
    return etree.Element(tag, attributes)


def _leading_to(root: etree._Element, name: str) -> list[etree._Element]:
    """Return the navigation actions of other levels that lead to a level."""
    found = (each for each in root.iter("navigate") if each.get("to") == name)
    return [each for each in found if (above := each.getparent()) is None or above.get("name") != name]


FILE = "draft.xml"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
_ADVICE_OF_SIGNS = "Remove signs that only this site has, such as the name of its own template."
_ADVICE_OF_SITE = (
    "This file is for one site alone. For the software it needs signs that hold on every site with it and on no other: "
    "write them here as css, script, link or generator, and take the host out."
)
_DOUBT_OF_SIGNS = {Strength.PROOF: SURE, Strength.STRONG: LIKELY, Strength.HINT: OPEN}


def with_open_names(levels: Sequence[LevelPlan]) -> list[LevelPlan]:
    """Return levels with wildcards in place of the names of other lists; levels that become equal are merged."""
    found: dict[object, LevelPlan] = {}
    for level in levels:
        opened = level
        for other in levels:
            if other is not level and not level.terminal and not level.start:
                opened = _opened(opened, other)
        known = found.get(opened.shape)
        found[opened.shape] = _joined(known, opened) if known is not None else opened
    return list(found.values())


def _opened(level: LevelPlan, other: LevelPlan) -> LevelPlan:
    """Put wildcards into a level's shape where another level's shape has them, if a list has that name."""
    parts, outer = (each.shape.path.split("/") for each in (level, other))
    places = [place for place, part in enumerate(outer) if part == "*"]
    if (
        len(parts) <= len(outer)
        or level.shape.parameters
        or not places
        or not any(part.strip("*#") for part in outer[: places[0]])
    ):
        return level
    fixed = [place for place in places if parts[place] not in ("*", "**", "#")]
    if not fixed or any(a != b for place, (a, b) in enumerate(zip(parts, outer, strict=False)) if place not in places):
        return level
    called = {
        segment
        for url in (*other.urls, *(page.url for page in other.pages))
        for segment in ParsedUrl.parse(url).segments
    }
    if not all(parts[place] in called for place in fixed):
        return level
    path = "/".join("*" if place in fixed else part for place, part in enumerate(parts))
    return replace(level, shape=replace(level.shape, path=path))


def _joined(known: LevelPlan, other: LevelPlan) -> LevelPlan:
    return replace(
        known,
        pages=(*known.pages, *other.pages),
        urls=tuple(dict.fromkeys((*known.urls, *other.urls))),
        links=known.links or other.links,
        paging=tuple(dict.fromkeys((*known.paging, *other.paging)))[:2],
    )


def prove(root: etree._Element, pages: Mapping[str, Sequence[Page]]) -> tuple[str, ...]:
    """Remove actions from a draft that find nothing on the pages of their levels; return what was removed.

    ``pages`` are those given for each level, by name; levels without pages are left as they are. A comment in place of
    an action says that it was removed. Raise `knowledge_base.loader.LoadError` for a draft that is no valid file.
    """
    knowledge_base = loaded(annotated_xml.document(deepcopy(root)))
    (application,) = knowledge_base.applications
    helper = ApplicationAwareHelper(replace(knowledge_base, applications=(replace(application, draft=False),)))
    told: list[str] = []
    for element in root.iter("level"):
        level = application.level(element.get("name") or "")
        given = pages.get(level.name, ())
        for action in list(_idle(element, level, given, helper)) if given else ():
            said = f"{action.tag!s} {action.get('name')} of level {level.name} found nothing on the given pages"
            annotated_xml.replace_by_note(action, f"{said}, so that it was left out")
            told.append(said)
    return tuple(told)


def loaded(data: bytes) -> KnowledgeBase:
    """Load a draft alone, with the kinds of the shipped knowledge base. Raises `knowledge_base.loader.LoadError`."""
    with tempfile.TemporaryDirectory(prefix="aah-") as folder:
        file = Path(folder) / FILE
        file.write_bytes(data)
        return load_files(chosen_files((SHIPPED,)).kinds, (file,))


def _idle(
    element: etree._Element, level: PageLevel, pages: Sequence[Page], helper: ApplicationAwareHelper
) -> Iterator[etree._Element]:
    """Yield the elements of the actions that find nothing on any of the pages of a level."""
    links: Counter[str | None] = Counter()
    for page in pages:
        found = helper.assist(replace(page))
        if found.match is not None and found.match.level is level:
            links.update(link.action for link in found.document.outlinks)
    actions = {action.name: action for action in level.actions}
    for child in element:
        action = None if isinstance(child, Comment) else actions.get(child.get("name") or "")
        if isinstance(action, Extract):
            if not any(run(action, page) for page in pages):
                yield child
        elif action is not None and child.tag == "navigate" and links and not links[action.name]:
            yield child


class DraftError(Exception):
    """No draft can be made of the pages; the message says which to give instead."""


@dataclass(frozen=True, slots=True)
class WantedDraft:
    """The wanted draft: the application's name and kind; ``site`` for one site alone; the place of the schema."""

    name: str
    kind: str
    schema: str
    site: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A file, and its guesses with what else could be right, the most doubtful first.

    ``of_site`` is True if the file is for one site alone, since its pages show no sign that only its software has.
    ``left_out`` says which actions were not written, since they found nothing on the given pages.
    """

    file: bytes
    doubts: tuple[Doubt, ...]
    of_site: bool = False
    left_out: tuple[str, ...] = ()


def draft(wanted: WantedDraft, given: Given, known: Known) -> Draft:
    """Return the file and its doubts. Every action of it finds something on the given pages. Raises `DraftError`."""
    whole = Given(tuple(map(without_index, given.contents)), tuple(map(without_index, given.lists)))
    return _Drafting(wanted, whole, known).draft()


class _Drafting:
    """One file being written."""

    def __init__(self, wanted: WantedDraft, given: Given, known: Known) -> None:
        self._wanted = wanted
        self._given = given
        self._terms: Terms = TERMS[wanted.kind]
        self._signs = _signs(wanted, given, known)
        self._of_site = any(sign.pattern.signal is Signal.HOST for sign in self._signs)
        self._plan = plan_levels(given, self._terms)
        self._guesses = Guesses()
        self._rules: tuple[Avoided, ...] = ()
        self._told: tuple[str, ...] = ()
        finder = LevelSigns(given.pages, self._signs, self._of_site)
        planned = with_open_names(self._plan.levels)
        self._writing = LevelWriting(self._terms, finder, planned, self._guesses)
        # A list that nothing distinguishes from content is left out: it would take that away.
        self._levels = tuple(level for level in planned if level.terminal or self._is_apart(level))
        self._writing.levels = self._levels

    def draft(self) -> Draft:
        root = self._written()
        self._told = prove(root, {level.name: level.pages for level in self._levels})
        if not any(level.find("extract") is not None for level in root.iter("level")):
            pages = ", ".join(page.url for page in self._given.contents)
            raise DraftError(
                f"nothing that looks like content was found on {pages}; give a page with posts or an article"
            )
        ask_about_levels(root, self._levels, self._guesses)
        ask_about_groups(root, self._left(), self._guesses, self._levels)
        data = annotated_xml.document(root)
        return Draft(data, doubts_of(root, data, self._guesses.found), self._of_site, self._told)

    def _left(self) -> Iterator[AddressGroup]:
        """Yield the groups in the main parts of pages that are of no level and not avoided."""
        linked = {link.url for page in self._given.pages for link in main_links(page)}
        for group in self._plan.left():
            address = ParsedUrl.parse(group.urls[0])
            is_level = any(level.has(group.urls[0]) for level in self._levels)
            if (
                linked.intersection(group.urls)
                and not is_level
                and not any(rule.shape.rule.matches(address) for rule in self._rules)
            ):
                yield group

    def _written(self) -> etree._Element:
        root = etree.Element("application", nsmap={"xsi": XSI})
        root.set(f"{{{XSI}}}noNamespaceSchemaLocation", self._wanted.schema)
        root.set("name", self._wanted.name)
        root.set("kind", self._wanted.kind)
        root.set("draft", "yes")
        addresses = ", ".join(page.url for page in self._given.pages)
        annotated_xml.append_element(
            root, "about"
        ).text = f"A draft made from {addresses}. Name the versions and templates it was proved on."
        self._detect(root)
        self._canonical(root)
        self._avoid(root)
        for level in self._levels:
            self._writing.write(root, level)
        return root

    def _detect(self, root: etree._Element) -> None:
        detect = annotated_xml.append_element(root, "detect")
        annotated_xml.note(detect, _ADVICE_OF_SITE if self._of_site else _ADVICE_OF_SIGNS)
        for sign in self._signs:
            strength = sign.pattern.strength.name.lower()
            attributes = {"strength": strength, **dict(sign.attributes), "cite": annotated_xml.UNPROVEN}
            pattern = annotated_xml.append_element(detect, "pattern", attributes)
            choices = []
            if len(self._signs) > 1:
                choices.append(removal("other software, or only this site, has it too; leave it out", pattern))
            if sign.pattern.strength is not Strength.HINT and not self._of_site:
                choices.append(setting("it is only a hint", pattern, "strength", "hint"))
            fallback = self._of_site and not self._wanted.site
            doubt = OPEN if fallback else _DOUBT_OF_SIGNS[sign.pattern.strength]
            self._guesses.mark(
                pattern, _said_of_host(fallback=fallback) if self._of_site else sign.reason, doubt, choices
            )

    def _canonical(self, root: etree._Element) -> None:
        drops = dict(_drops(own_links(self._given.pages), self._levels))
        if drops:
            canonical = annotated_xml.append_element(root, "canonical")
            for attributes, said in drops.items():
                drop = annotated_xml.append_element(canonical, "drop", dict(attributes))
                self._guesses.mark(drop, said, LIKELY, [removal("it tells pages apart; leave it in", drop)])

    def _avoid(self, root: etree._Element) -> None:
        urls = (link.url for link in own_links(self._given.pages))
        shapes = [level.shape for level in self._levels]
        rules = avoided(urls, shapes, [page.url for page in self._given.pages], self._terms.useful)
        self._rules = rules
        if rules:
            avoid = annotated_xml.append_element(root, "avoid")
            annotated_xml.note(avoid, "guess: by their words, these URLs lead to nothing new; check each")
            for rule in rules:
                element = annotated_xml.append_element(avoid, "url", _attributes(rule))
                said = f"URLs like {rule.example} lead to nothing new ({rule.reason.value})"
                choices = [removal("these URLs lead to content; do not avoid them", element)]
                self._guesses.note(element, said, OPEN if is_open_to_doubt(rule) else SURE, choices)

    def _is_apart(self, level: LevelPlan) -> bool:
        """Return whether a list has a sign of its own, or a person named it and no content has such a URL."""
        is_named = level.pages and not any(level.has(page.url) for page in self._given.contents)
        return bool(is_named) or any(sign.distinct for sign in self._writing.sign_of(level, None))


def _attributes(rule: Avoided) -> dict[str, str]:
    cite = f"{annotated_xml.UNPROVEN}, {rule.example}"
    return {"reason": rule.reason.value, **rule.shape.attributes(), "cite": cite}


def _drops(links: Sequence[PageLink], levels: Sequence[LevelPlan]) -> Iterator[tuple[tuple[tuple[str, str], ...], str]]:
    """Yield the attributes of rules that drop parts of URLs which change nothing, each with why."""
    for name in session_parameters([link.url for link in links]):
        yield (("parameter", name),), f"{name} names the visit, not the page"
    for name in tracking_parameters([link.url for link in links]):
        yield (("parameter", name),), f"{name} says where a reader came from"
    for file in dict.fromkeys(ParsedUrl.parse(link.url).segments[-1] for link in links):
        if INDEX.fullmatch(file):
            yield (("file", file),), "the folder alone leads to the same page"
    for paging in dict.fromkeys(rule for level in levels for rule in level.paging if rule.parameter):
        for value in first_numbers(paging, links):
            yield (("parameter", paging.parameter), ("value", value)), "the first page is the same without its number"


def _signs(wanted: WantedDraft, given: Given, known: Known) -> tuple[Sign, ...]:
    """Return the signs of the software; where there are none that others lack, that of the site."""
    found = signs(given.pages, known, wanted.name)
    return (of_host(given.contents[0].url),) if wanted.site or not found else found


def _said_of_host(*, fallback: bool) -> str:
    if fallback:
        return "these pages show nothing that only this software has, so that the file is for this site alone"
    return "the file is for this site alone"
