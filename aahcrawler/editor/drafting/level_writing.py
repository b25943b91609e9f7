"""Writes a level of a draft: its sign, its URLs, its paging, its navigation and its objects."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from lxml import etree
from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.editor.drafting import annotated_xml
from aahcrawler.editor.drafting.address_groups import ROLES, Shape, literal
from aahcrawler.editor.drafting.annotated_xml import Change, Choice, Guesses, removal
from aahcrawler.editor.drafting.extract_action import (
    Chosen,
    GenericReadings,
    Objects,
    choose,
    said_of_objects,
    written_extract,
)
from aahcrawler.editor.drafting.field_doubts import field_doubts
from aahcrawler.editor.drafting.labelling import TemplateParts, ways_of_answers, ways_of_repeated, ways_of_single
from aahcrawler.editor.drafting.level_plans import LevelPlan, Terms, crumbs, elements
from aahcrawler.editor.drafting.pattern_drafting import MIN_NAME_LENGTH, Sign, bare, is_template_name
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.element_features import cost_of_word
from aahcrawler.wrapper_induction.link_selectors import find_links
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.matching import Sight
from knowledge_base.model import Condition
from knowledge_base.selectors import BadExpressionError
from knowledge_base.url_rules import ParsedUrl, UrlRule

MAX_NAMES = 60
"""The most classes and ids of a page that are tried as the sign of its level."""
MAX_ELEMENTS = 20_000

_SORT_OF_PAGE = re.compile(
    r"topic|thread|single|article|question|entry|story|photo|video|album|track|forum|categor|archive|list|view",
    re.IGNORECASE,
)
MAX_OTHER_SIGNS = 3
SHORT = 0.95
"""A draft that reads less than this share of what generic reading finds says so."""


@dataclass(frozen=True, slots=True)
class LevelSign:
    """A sign as a file has it, and whether it holds on pages of the level alone, as far as pages were given."""

    attributes: Mapping[str, str]
    distinct: bool = True


@dataclass(frozen=True)
class LevelSigns:
    """Finds the signs of levels. ``pages`` are all given pages, ``signs`` those of the software or the site."""

    pages: Sequence[Page]
    signs: Sequence[Sign]
    of_site: bool

    def of(self, level: LevelPlan, item: Expression | None, *, bare_item: bool) -> tuple[LevelSign, ...]:
        """Return the signs that all pages of the level show and no other given page, the best first.

        ``item`` finds the main objects of the level; with ``bare_item`` it may be a sign without a URL. If no sign
        distinguishes these pages, the last one returned is the shape of the level's URLs with anything that its pages
        show.
        """
        others = [Sight(page) for page in self.pages if page not in level.pages]
        own = [Sight(page) for page in level.pages]
        found: list[LevelSign] = []
        for attributes, condition in self._conditions(level, item, bare_item=bare_item):
            all_of = (condition, *_beyond(condition, level))
            if all(_meets(sight, all_of) for sight in own) and not any(_meets(sight, all_of) for sight in others):
                found.append(LevelSign(attributes))
        if found or not level.pages:
            return tuple({tuple(sorted(each.attributes.items())): each for each in found}.values())
        return (LevelSign(level.shape.attributes(), distinct=False),)

    def _conditions(
        self, level: LevelPlan, item: Expression | None, *, bare_item: bool
    ) -> Iterator[tuple[dict[str, str], Condition]]:
        path, rule = level.shape.attributes(), level.shape.rule
        if level.pages:
            for word in _body_words(level.pages):
                yield from _both(Expression(css=word), {}, None)
        if item is not None and not item.css.startswith("body"):
            if bare_item:
                yield from _both(item, {}, None)
            yield from _both(item, path, rule)
        for sign in self.signs:
            if sign.expression is not None:
                yield from _both(sign.expression, path, rule)
        if self.of_site or level.pages or not any(sign.expression for sign in self.signs):
            yield path, Condition(None, rule)
        for name in self._names(level):
            yield from _both(Expression(css=name), path, rule)

    def _names(self, level: LevelPlan) -> Iterator[str]:
        """Yield the classes and ids that all pages of a level have and no other page, the most lasting ones first."""
        if not level.pages:
            return
        names = set.intersection(*(_names_of(page) for page in level.pages))
        shared = {name for name in names if not any(_is_about(name, page) for page in level.pages)}
        foreign = set[str]().union(*(_names_of(page) for page in self.pages if page not in level.pages))
        yield from sorted(shared - foreign, key=lambda each: (cost_of_word(each[1:]), each))[:MAX_NAMES]


def _beyond(condition: Condition, level: LevelPlan) -> Iterator[Condition]:
    """Yield a condition for each further shape of a level's URLs."""
    if condition.rule is not None:
        yield from (replace(condition, rule=shape.rule) for shape in level.beyond)


def _meets(sight: Sight, conditions: Iterable[Condition]) -> bool:
    return any(map(sight.meets, conditions))


def _both(
    expression: Expression, path: Mapping[str, str], rule: UrlRule | None
) -> Iterator[tuple[dict[str, str], Condition]]:
    """Yield the condition that combines an expression and a URL; nothing if the expression cannot be used."""
    try:
        yield {**expression.attributes(), **path}, Condition(expression.selector, rule)
    except (BadExpressionError, XPathError):
        return


def _names_of(page: Page) -> set[str]:
    found: set[str] = set()
    for number, element in enumerate(page.tree.iter()):
        if number == MAX_ELEMENTS:
            break
        if isinstance(element, HtmlElement) and isinstance(element.tag, str) and element.tag != "html":
            words = ((".", word) for word in (element.get("class") or "").split())
            names = [*words, ("#", element.get("id") or "")]
            found.update(f"{mark}{name}" for mark, name in names if is_template_name(name))
    return found


def _body_words(pages: Sequence[Page]) -> Iterable[str]:
    """Return the classes of ``body`` that name a sort of page, without those that name one page's subject."""
    body = next(iter(pages[0].tree.iter("body")), None)
    words: Sequence[str] = (body.get("class") or "").split() if body is not None else ()
    telling = [word for word in words if is_template_name(word) and _SORT_OF_PAGE.search(word)]
    return [f"body.{word}" for word in sorted(telling, key=len) if not any(_is_about(word, page) for page in pages)]


def _is_about(name: str, page: Page) -> bool:
    """Return whether a name contains the end of a page's URL, which is the page's subject."""
    segments = [part for part in ParsedUrl.parse(page.url).segments if part]
    subject = bare(segments[-1].partition(".")[0]) if segments else ""
    return len(subject) >= MIN_NAME_LENGTH and subject not in ROLES and subject in bare(name)


SURE, LIKELY, OPEN, WEAK = 0.05, 0.15, 0.4, 0.7
"""Doubts of guesses: what the pages show, what they suggest, what may as well be otherwise, what little speaks for."""


@dataclass
class LevelWriting:
    """Writes the levels of one draft. ``lost`` says which actions were left out, and why."""

    terms: Terms
    signs: LevelSigns
    levels: Sequence[LevelPlan]
    guesses: Guesses
    generic: GenericReadings = field(default_factory=GenericReadings)

    def write(self, root: etree._Element, level: LevelPlan) -> bool:
        """Append a level; return whether it extracts anything."""
        role = "terminal" if level.terminal else "intermediate"
        written = annotated_xml.append_element(root, "level", {"name": level.name, "role": role})
        if level.start:
            written.set("start", "yes")
        actions = etree.Element("actions")
        item = self._extracts(actions, level) if level.terminal else None
        self._when(written, level, item)
        self._addresses(written, level)
        self._pagings(written, level)
        self._navigation(written, level)
        written.extend(list(actions))
        return item is not None

    def sign_of(self, level: LevelPlan, item: Expression | None) -> tuple[LevelSign, ...]:
        """Return possible signs of a level, the best first."""
        return self.signs.of(level, item, bare_item=not self.terms.thing)

    # Objects

    def _extracts(self, actions: etree._Element, level: LevelPlan) -> Expression | None:
        """Write the extract actions; return the expression of the page's main objects."""
        terms = self.terms
        if not terms.thing:
            objects = Objects("posts", terms.repeated, terms.first)
            posts = choose(level.pages, ways_of_repeated, objects, self.generic)
            posts = posts or choose(level.pages, ways_of_single, objects, self.generic)
            return self._extract(actions, posts) if posts is not None else None
        ways = partial(ways_of_single, template=TemplateParts.of(level.pages))
        things = choose(level.pages, ways, Objects(terms.terminal, terms.thing), self.generic)
        found = self._extract(actions, things) if things is not None else None
        taken = things.proposal.examples if things is not None else ()
        beside = Objects(f"{terms.repeated}s", terms.repeated, beside=found is not None)
        comments = choose(level.pages, ways_of_answers, beside, self.generic, taken)
        if comments is not None:
            self._extract(actions, comments)
        return found

    def _extract(self, actions: etree._Element, chosen: Chosen) -> Expression:
        proposal = chosen.proposal
        doubts = field_doubts(proposal, self.generic)
        extract = written_extract(proposal, self.guesses, doubts)
        actions.append(extract)
        others = []
        for other, worth in chosen.others:
            changed = Change("put", extract, xml=written_extract(other, Guesses(), {}))
            words = f"{said_of_objects(other)}: {worth:.0%} of what is read without a file"
            others.append(Choice(words, (changed,)))
        less = f"; only {chosen.worth:.0%} of what is read without a file" if chosen.worth < SHORT else ""
        doubt = LIKELY + (1 - proposal.fit) + (1 - chosen.worth)
        self.guesses.mark(extract, f"{said_of_objects(proposal)}{less}", doubt, others)
        return proposal.item

    # Recognition

    def _when(self, written: etree._Element, level: LevelPlan, item: Expression | None) -> None:
        best, *others = self.sign_of(level, item)
        when = annotated_xml.append_element(written, "when", {**best.attributes, "cite": annotated_xml.UNPROVEN})
        said = "this is there on such pages, and on no other page that was given"
        if not level.pages:
            said = "no page of this level was given; this is there on the others, and such URLs are of no other level"
        choices = []
        for other in others[:MAX_OTHER_SIGNS]:
            xml = etree.Element("when", dict(other.attributes) | {"cite": annotated_xml.UNPROVEN})
            words = " ".join(f'{name}="{value}"' for name, value in other.attributes.items())
            choices.append(Choice(f"another sign of these pages is meant: {words}", (Change("put", when, xml=xml),)))
        for shape in level.beyond if "path" in best.attributes else ():
            expression = {name: value for name, value in best.attributes.items() if name in ("css", "xpath")}
            attributes = {**expression, **shape.attributes(), "cite": annotated_xml.UNPROVEN}
            annotated_xml.append_element(written, "when", attributes)
        if not best.distinct:
            self.guesses.mark(when, "nothing tells these pages from others that were given", WEAK, choices)
        else:
            self.guesses.mark(when, said, LIKELY if level.pages else OPEN, choices)

    def _addresses(self, written: etree._Element, level: LevelPlan) -> None:
        pagings = (*level.paging, *level.borrowed)
        optional = " ".join(paging.parameter for paging in pagings if paging.parameter)
        attributes = level.shape.attributes() | ({"optional": optional} if optional else {})
        address = annotated_xml.append_element(written, "address", attributes)
        known = f"; {len(level.urls)} URLs that the given pages link to do" if len(level.urls) > 1 else ""
        said = f"URLs of such pages look like this{known}; * matches anything, # a number"
        self.guesses.mark(address, said, _doubt_of_shape(level), _other_addresses(address, level))
        for shape in level.further:
            element = annotated_xml.append_element(written, "address", shape.attributes())
            choices = [removal("they lead to other things; leave them out", element)]
            self.guesses.mark(element, "further pages of the same thing have URLs like this", LIKELY, choices)

    def _pagings(self, written: etree._Element, level: LevelPlan) -> None:
        """Write how pages are numbered, and an action that follows all of them."""
        pagings = (*level.paging, *level.borrowed)
        found = []
        for paging in pagings:
            attributes = {"parameter": paging.parameter} if paging.parameter else {"part": paging.part}
            found.append(annotated_xml.append_element(written, "paging", attributes))
        if level.pages and _names_itself(level.pages[0]):
            own = {"css": "link[rel=canonical]", "attribute": "href", "cite": annotated_xml.UNPROVEN}
            annotated_xml.append_element(written, "own", own)
        pages = annotated_xml.append_element(written, "pages", {"name": "more-pages"}) if found else None
        if level.further or level.counts_within:
            self._further(written, level)
        shown = "links to other pages of the same thing differ in this number"
        elsewhere = "no given page of this level has a second page; other pages of the site are numbered so"
        for paging, element in zip(pagings, found, strict=True):
            gone = [element, *([pages] if pages is not None and len(found) == 1 else [])]
            choices = [removal("it tells other things apart; leave it out", *gone)]
            is_borrowed = paging in level.borrowed
            self.guesses.mark(element, elsewhere if is_borrowed else shown, OPEN if is_borrowed else SURE, choices)

    def _further(self, written: etree._Element, level: LevelPlan) -> None:
        """Write an action that follows further pages which no paging describes."""
        navigate = annotated_xml.append_element(written, "navigate", {"name": "further-pages", "to": level.name})
        annotated_xml.append_element(
            navigate, "select", {"css": "a", "documented": "yes", "cite": annotated_xml.UNPROVEN}
        )
        self.guesses.mark(navigate, "further pages have URLs of their own, which are followed like others", LIKELY)

    # Navigation

    def _navigation(self, written: etree._Element, level: LevelPlan) -> None:
        if level.terminal:
            self._way_back(written, level)
            return
        for target in self.levels:
            if target is level or target.start:
                continue
            fitting = [link for link in level.links if target.has(link.url)]
            wanted = elements(fitting)
            places = find_links(wanted, level.pages[0].tree) if wanted and level.pages else None
            navigate = annotated_xml.append_element(
                written, "navigate", {"name": f"to-{target.name}", "to": target.name}
            )
            annotated_xml.append_element(
                navigate, "select", {"css": "a", "documented": "yes", "cite": annotated_xml.UNPROVEN}
            )
            said = f"every link whose URL is one of level {target.name}{_better(places)}"
            self.guesses.mark(navigate, said, SURE if fitting else LIKELY, _narrower(navigate, places))

    def _way_back(self, written: etree._Element, level: LevelPlan) -> None:
        page = level.pages[0]
        for other in self.levels:
            back = [link for link in crumbs(page) if other.has(link.url)]
            way = find_links(elements(back), page.tree) if back and not (other.terminal or other.start) else None
            if way is not None:
                navigate = annotated_xml.append_element(
                    written, "navigate", {"name": f"back-to-{other.name}", "to": other.name}
                )
                self.guesses.mark(navigate, "the breadcrumb line leads back to the page's list", LIKELY)
                attributes = way[0].attributes() | {"documented": "yes", "cite": annotated_xml.UNPROVEN}
                annotated_xml.append_element(navigate, "select", attributes)


def _doubt_of_shape(level: LevelPlan) -> float:
    """Return how doubtful the shape of a level's URLs is: the fewer URLs it comes from, and the more it leaves open."""
    if level.start or not level.pages:
        return SURE if level.start else LIKELY
    is_open = "*" in level.shape.path.removeprefix("**") or level.shape.query
    return (OPEN if is_open else LIKELY) / max(len(level.urls), 1) + SURE


def _other_addresses(address: etree._Element, level: LevelPlan) -> Iterable[Choice]:
    """Yield as choices the URL of the first page alone, and all URLs with as many parts."""
    if not level.pages or level.start:
        return
    here = literal(ParsedUrl.parse(level.pages[0].url))
    wide = Shape(re.sub(r"(?<=/)[^/*#]*[A-Za-z][^/*#]*(?=/|$)", "*", level.shape.path), level.shape.parameters)
    told = ((here, "only this one URL leads to such a page"), (wide, "any words may stand in the path"))
    for shape, said in told:
        if shape is not None and shape != level.shape and level.shape.path != "/":
            optional = {"optional": str(given)} if (given := address.get("optional")) else {}
            xml = etree.Element("address", shape.attributes() | optional)
            yield Choice(f"{said}: {shape.path}", (Change("put", address, xml=xml),))


def _narrower(navigate: etree._Element, places: tuple[Expression, float] | None) -> Iterable[Choice]:
    if places is None:
        return
    name, target = navigate.get("name") or "", navigate.get("to") or ""
    xml = etree.Element("navigate", {"name": name, "to": target})
    attributes = places[0].attributes() | {"documented": "yes", "cite": annotated_xml.UNPROVEN}
    etree.SubElement(xml, "select", attributes)
    yield Choice("only the links at one place of the page are meant", (Change("put", navigate, xml=xml),))


def _names_itself(page: Page) -> bool:
    return any("canonical" in (link.get("rel") or "").lower().split() for link in page.tree.iter("link"))


def _better(found: tuple[Expression, float] | None) -> str:
    if found is None or found[1] < 1 or not found[0].css:
        return ""
    return f'; css="{found[0].css}" finds them too, and nothing else'
