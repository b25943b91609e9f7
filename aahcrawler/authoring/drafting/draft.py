"""Make a first draft of an application's file that is valid, works at once, and marks its guesses."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lxml import etree

from aahcrawler.authoring.drafting import annotated_xml
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
)
from aahcrawler.authoring.drafting.pattern_drafting import Known, Sign, is_template_name, of_host, signs
from aahcrawler.authoring.drafting.url_generalisation import avoided, session_parameters
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.examples import LabelledExample
from aahcrawler.wrapper_induction.link_selectors import find_links
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.matching import Sight
from knowledge_base.model import Condition
from knowledge_base.url_rules import ParsedUrl

_SORT_OF_PAGE = re.compile(
    r"topic|thread|single|article|question|entry|story|photo|video|album|track|forum|categor|archive|list|view",
    re.IGNORECASE,
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
    return _Draft(wanted, given, known).file()


class _Draft:
    """One file being written."""

    def __init__(self, wanted: Wanted, given: Given, known: Known) -> None:
        self._wanted = wanted
        self._given = given
        self._known = known
        self._terms: Terms = TERMS[wanted.kind]
        self._signs = _signs(wanted, given, known)
        planned = plan_levels(given, self._terms)
        # A level that was only guessed from links, and that nothing distinguishes from others, is left out.
        self._levels = tuple(level for level in planned if level.pages or self._sign_of(level, None) is not None)

    def file(self) -> bytes:
        root = etree.Element("application", nsmap={"xsi": XSI})
        root.set(f"{{{XSI}}}noNamespaceSchemaLocation", self._wanted.schema)
        root.set("name", self._wanted.name)
        root.set("kind", self._wanted.kind)
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
        annotated_xml.note(detect, "Remove signs that only this site has, such as the name of its own template.")
        for sign in self._signs:
            annotated_xml.guess(detect, sign.reason)
            strength = sign.pattern.strength.name.lower()
            annotated_xml.add(
                detect, "pattern", {"strength": strength, **dict(sign.attributes), "cite": annotated_xml.UNPROVEN}
            )

    def _canonical(self, root: etree._Element) -> None:
        urls = [link.url for link in own_links(self._given.pages)]
        names = session_parameters(urls)
        if names:
            canonical = annotated_xml.add(root, "canonical")
            for name in names:
                annotated_xml.guess(canonical, f"{name} names the visit, not the page")
                annotated_xml.add(canonical, "drop", {"parameter": name})

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
        optional = " ".join(paging.parameter for paging in level.paging if paging.parameter)
        annotated_xml.add(written, "address", level.shape.attributes() | ({"optional": optional} if optional else {}))
        for paging in level.paging:
            annotated_xml.guess(written, "links to other pages of the same thing differ in this number")
            annotated_xml.add(
                written, "paging", {"parameter": paging.parameter} if paging.parameter else {"part": paging.part}
            )
        if level.pages and _names_itself(level.pages[0]):
            annotated_xml.add(
                written, "own", {"css": "link[rel=canonical]", "attribute": "href", "cite": annotated_xml.UNPROVEN}
            )
        if level.paging:
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
        sign = self._sign_of(level, item)
        if sign is None:
            raise DraftError(
                f"pages of level {level.name} have no sign of their own; give another page with --from, or use --site"
            )
        annotated_xml.guess(written, "this is there on such pages, and on no other page that is known")
        annotated_xml.add(written, "when", {**sign, "cite": annotated_xml.UNPROVEN})

    def _sign_of(self, level: LevelPlan, item: Expression | None) -> Mapping[str, str] | None:
        """Return the first sign that holds on all pages of the level and on no other page, given or known."""
        others = [*(Sight(page) for page in self._given.pages if page not in level.pages), *self._known.pages]
        for attributes, condition in self._conditions(level, item):
            holds = all(Sight(page).meets(condition) for page in level.pages)
            if holds and not any(page.meets(condition) for page in others):
                return attributes
        return None

    def _conditions(self, level: LevelPlan, item: Expression | None) -> Iterator[tuple[dict[str, str], Condition]]:
        path = level.shape.attributes()
        rule = level.shape.rule
        if level.pages:
            for word in _body_words(level.pages[0]):
                css = Expression(css=word)
                yield css.attributes(), Condition(css.selector)
        if item is not None and not item.css.startswith("body"):
            if not self._terms.thing:
                yield item.attributes(), Condition(item.selector)
            yield item.attributes() | path, Condition(item.selector, rule)
        for sign in self._signs:
            if sign.expression is not None:
                yield sign.expression.attributes() | path, Condition(sign.expression.selector, rule)
        if self._wanted.site or not any(sign.expression for sign in self._signs):
            yield path, Condition(None, rule)

    def _navigation(self, written: etree._Element, level: LevelPlan) -> None:
        if level.terminal:
            self._way_back(written, level)
            return
        for target in self._levels:
            if target is level or target.start:
                continue
            fitting = [link for link in level.links if target.shape.rule.matches(ParsedUrl.parse(link.url))]
            wanted = elements(fitting)
            places = find_links(wanted, level.pages[0].tree) if wanted and level.pages else None
            annotated_xml.guess(written, f"every link whose URL is one of level {target.name}{_better(places)}")
            navigate = annotated_xml.add(written, "navigate", {"name": f"to-{target.name}", "to": target.name})
            annotated_xml.add(navigate, "select", {"css": "a", "documented": "yes", "cite": annotated_xml.UNPROVEN})

    def _way_back(self, written: etree._Element, level: LevelPlan) -> None:
        page = level.pages[0]
        for other in self._levels:
            back = [link for link in crumbs(page) if other.shape.rule.matches(ParsedUrl.parse(link.url))]
            way = find_links(elements(back), page.tree) if back and not (other.terminal or other.start) else None
            if way is not None:
                annotated_xml.guess(written, "the breadcrumb line leads back to the page's list")
                navigate = annotated_xml.add(written, "navigate", {"name": f"back-to-{other.name}", "to": other.name})
                annotated_xml.add(
                    navigate, "select", way[0].attributes() | {"documented": "yes", "cite": annotated_xml.UNPROVEN}
                )


def _signs(wanted: Wanted, given: Given, known: Known) -> tuple[Sign, ...]:
    found = signs(given.pages, known)
    if wanted.site:
        return (of_host(given.contents[0].url), *found)
    if not found:
        raise DraftError(
            "these pages show no sign of a software that other sites would show too, or only signs of known ones; "
            "see what is known of them with aah kb explain, or write a file for this site alone with --site"
        )
    return found


def _names_itself(page: Page) -> bool:
    return any("canonical" in (link.get("rel") or "").lower().split() for link in page.tree.iter("link"))


def _body_words(page: Page) -> Iterable[str]:
    """Return the classes of body that name a sort of page."""
    body = next(iter(page.tree.iter("body")), None)
    words: Sequence[str] = (body.get("class") or "").split() if body is not None else ()
    telling = [word for word in words if is_template_name(word) and _SORT_OF_PAGE.search(word)]
    return [f"body.{word}" for word in sorted(telling, key=len)]


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
