"""Make a first draft of an application's file that is valid, works at once, and marks its guesses."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lxml import etree

from aahcrawler.authoring.drafting import annotated_xml
from aahcrawler.authoring.drafting.avoid_rules import avoided
from aahcrawler.authoring.drafting.extract_action import Objects, write_extract
from aahcrawler.authoring.drafting.labelling import answers, repeated, single
from aahcrawler.authoring.drafting.level_plans import (
    TERMS,
    Given,
    LevelPlan,
    Terms,
    crumbs,
    elements,
    own_links,
    plan_levels,
    without_index,
)
from aahcrawler.authoring.drafting.level_signs import LevelSign, LevelSigns
from aahcrawler.authoring.drafting.pattern_drafting import Known, Sign, of_host, signs
from aahcrawler.authoring.drafting.url_generalisation import first_numbers, session_parameters, tracking_parameters
from aahcrawler.authoring.drafting.url_shape import INDEX
from aahcrawler.page import Page
from aahcrawler.page.generic import PageLink
from aahcrawler.wrapper_induction.examples import LabelledExample
from aahcrawler.wrapper_induction.link_selectors import find_links
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Signal
from knowledge_base.url_rules import ParsedUrl

_ADVICE_OF_SIGNS = "Remove signs that only this site has, such as the name of its own template."
_ADVICE_OF_SITE = (
    "This file is for one site alone. For the software it needs signs that hold on every site with it and on no other: "
    "write them here as css, script, link or generator, and take the host out."
)
XSI = "http://www.w3.org/2001/XMLSchema-instance"


class DraftError(Exception):
    """No draft can be made of the pages; the message says which to give instead."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wanted draft: the application's name and kind; ``site`` for one site alone; the place of the schema."""

    name: str
    kind: str
    schema: str
    site: bool = False


def draft(wanted: Wanted, given: Given, known: Known) -> bytes:
    """Return the file. Raises `DraftError`."""
    whole = Given(tuple(map(without_index, given.contents)), tuple(map(without_index, given.lists)))
    return _Draft(wanted, whole, known).file()


class _Draft:
    """One file being written."""

    def __init__(self, wanted: Wanted, given: Given, known: Known) -> None:
        self._wanted = wanted
        self._given = given
        self._known = known
        self._terms: Terms = TERMS[wanted.kind]
        self._signs = _signs(wanted, given, known)
        self._plan = plan_levels(given, self._terms)
        # A list that nothing distinguishes from other pages is left out: it would take these away.
        self._levels = tuple(level for level in self._plan.levels if level.terminal or self._is_distinct(level))

    @property
    def _of_site(self) -> bool:
        return any(sign.pattern.signal is Signal.HOST for sign in self._signs)

    def file(self) -> bytes:
        root = etree.Element("application", nsmap={"xsi": XSI})
        root.set(f"{{{XSI}}}noNamespaceSchemaLocation", self._wanted.schema)
        root.set("name", self._wanted.name)
        root.set("kind", self._wanted.kind)
        root.set("draft", "yes")
        addresses = ", ".join(page.url for page in self._given.pages)
        annotated_xml.add(
            root, "about"
        ).text = f"A draft made from {addresses}. Name the versions and templates it was proved on."
        self._detect(root)
        self._canonical(root)
        self._avoid(root)
        written = [self._level(root, level) for level in self._levels]
        if not any(written):
            pages = ", ".join(page.url for page in self._given.contents)
            raise DraftError(
                f"nothing that looks like content was found on {pages}; give a page with posts or an article"
            )
        return annotated_xml.document(root)

    def _detect(self, root: etree._Element) -> None:
        detect = annotated_xml.add(root, "detect")
        annotated_xml.note(detect, _ADVICE_OF_SITE if self._of_site else _ADVICE_OF_SIGNS)
        for sign in self._signs:
            annotated_xml.guess(detect, sign.reason)
            strength = sign.pattern.strength.name.lower()
            annotated_xml.add(
                detect, "pattern", {"strength": strength, **dict(sign.attributes), "cite": annotated_xml.UNPROVEN}
            )

    def _canonical(self, root: etree._Element) -> None:
        drops = dict(_drops(own_links(self._given.pages), self._levels))
        if drops:
            canonical = annotated_xml.add(root, "canonical")
            for attributes, said in drops.items():
                annotated_xml.guess(canonical, said)
                annotated_xml.add(canonical, "drop", dict(attributes))

    def _avoid(self, root: etree._Element) -> None:
        urls = (link.url for link in own_links(self._given.pages))
        shapes = [level.shape for level in self._levels]
        rules = avoided(urls, shapes, [page.url for page in self._given.pages], self._terms.useful)
        if rules:
            avoid = annotated_xml.add(root, "avoid")
            annotated_xml.guess(avoid, "by their words, these URLs lead to nothing new; check each")
            for rule in rules:
                attributes = {"reason": rule.reason.value, **rule.shape.attributes()}
                annotated_xml.add(avoid, "url", attributes | {"cite": f"{annotated_xml.UNPROVEN}, {rule.example}"})

    def _level(self, root: etree._Element, level: LevelPlan) -> bool:
        """Append a level; return whether it extracts anything. A level like another one is left out."""
        written = annotated_xml.add(
            root, "level", {"name": level.name, "role": "terminal" if level.terminal else "intermediate"}
        )
        if level.start:
            written.set("start", "yes")
        actions = etree.Element("actions")
        item = self._extracts(actions, level) if level.terminal else None
        self._when(written, level, item)
        annotated_xml.guess(written, "URLs of such pages look like this; * matches anything, # a number")
        pagings = (*level.paging, *level.borrowed)
        optional = " ".join(paging.parameter for paging in pagings if paging.parameter)
        annotated_xml.add(written, "address", level.shape.attributes() | ({"optional": optional} if optional else {}))
        for paging in pagings:
            said = "links to other pages of the same thing differ in this number"
            borrowed = "no given page of this level has a second page; other pages of the site are numbered so"
            annotated_xml.guess(written, borrowed if paging in level.borrowed else said)
            annotated_xml.add(
                written, "paging", {"parameter": paging.parameter} if paging.parameter else {"part": paging.part}
            )
        if level.pages and _names_itself(level.pages[0]):
            annotated_xml.add(
                written, "own", {"css": "link[rel=canonical]", "attribute": "href", "cite": annotated_xml.UNPROVEN}
            )
        if pagings:
            annotated_xml.add(written, "pages", {"name": "more-pages"})
        self._navigation(written, level)
        written.extend(list(actions))
        return item is not None

    def _extracts(self, actions: etree._Element, level: LevelPlan) -> Expression | None:
        """Write the extract actions; return the expression of the page's main objects."""
        terms = self._terms
        if not terms.thing:
            posts = _alike(map(repeated, level.pages)) or _alike(map(single, level.pages))
            return write_extract(actions, Objects("posts", terms.repeated, terms.first), posts) if posts else None
        things, comments = _alike(map(single, level.pages)), _alike(map(answers, level.pages))
        found = write_extract(actions, Objects(terms.terminal, terms.thing), things) if things else None
        known = {each.elements for thing in things for each in thing.objects}
        comments = [each for each in comments if known.isdisjoint(labelled.elements for labelled in each.objects)]
        if comments:
            objects = Objects(f"{terms.repeated}s", terms.repeated, beside=found is not None)
            write_extract(actions, objects, comments)
        return found

    def _when(self, written: etree._Element, level: LevelPlan, item: Expression | None) -> None:
        sign = self._signs_of(level, item)[0]
        said = "this is there on such pages, and on no other page that was given"
        annotated_xml.guess(written, said if sign.distinct else "nothing tells these pages from others that were given")
        annotated_xml.add(written, "when", {**sign.attributes, "cite": annotated_xml.UNPROVEN})

    def _is_distinct(self, level: LevelPlan) -> bool:
        return any(sign.distinct for sign in self._signs_of(level, None))

    def _signs_of(self, level: LevelPlan, item: Expression | None) -> tuple[LevelSign, ...]:
        finder = LevelSigns(self._given.pages, self._signs, self._of_site)
        return finder.of(level, item, bare_item=not self._terms.thing)

    def _navigation(self, written: etree._Element, level: LevelPlan) -> None:
        if level.terminal:
            self._way_back(written, level)
            return
        for target in self._levels:
            if target is level or target.start:
                continue
            fitting = [link for link in level.links if target.has(link.url)]
            wanted = elements(fitting)
            places = find_links(wanted, level.pages[0].tree) if wanted and level.pages else None
            annotated_xml.guess(written, f"every link whose URL is one of level {target.name}{_better(places)}")
            navigate = annotated_xml.add(written, "navigate", {"name": f"to-{target.name}", "to": target.name})
            annotated_xml.add(navigate, "select", {"css": "a", "documented": "yes", "cite": annotated_xml.UNPROVEN})

    def _way_back(self, written: etree._Element, level: LevelPlan) -> None:
        page = level.pages[0]
        for other in self._levels:
            back = [link for link in crumbs(page) if other.has(link.url)]
            way = find_links(elements(back), page.tree) if back and not (other.terminal or other.start) else None
            if way is not None:
                annotated_xml.guess(written, "the breadcrumb line leads back to the page's list")
                navigate = annotated_xml.add(written, "navigate", {"name": f"back-to-{other.name}", "to": other.name})
                annotated_xml.add(
                    navigate, "select", way[0].attributes() | {"documented": "yes", "cite": annotated_xml.UNPROVEN}
                )


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


def _signs(wanted: Wanted, given: Given, known: Known) -> tuple[Sign, ...]:
    """Return the signs of the software; where there are none that others lack, that of the site."""
    found = signs(given.pages, known, wanted.name)
    return (of_host(given.contents[0].url),) if wanted.site or not found else found


def _names_itself(page: Page) -> bool:
    return any("canonical" in (link.get("rel") or "").lower().split() for link in page.tree.iter("link"))


def _alike(found: Iterable[LabelledExample | None]) -> Sequence[LabelledExample]:
    """Return the pages whose objects were found in the same way as those of the fullest page, that one first.

    Pages on which they were found in another way may contain other things.
    """
    examples = sorted((each for each in found if each is not None), key=lambda each: -len(each.objects))
    return [each for each in examples if each.notes == examples[0].notes]


def _better(found: tuple[Expression, float] | None) -> str:
    if found is None or found[1] < 1 or not found[0].css:
        return ""
    return f'; css="{found[0].css}" finds them too, and nothing else'
