"""The element that somebody chose in the studio: what it is, what it could be, and rules that find it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lxml.html import HtmlElement

from aahcrawler.editor.drafting.address_groups import AddressGroup, address_groups
from aahcrawler.editor.drafting.level_plans import TERMS
from aahcrawler.editor.rules.link_fates import Part
from aahcrawler.editor.rules.marked_pages import Marked, Role, WantedMarks, element_at, items_on, numbers_of
from aahcrawler.editor.rules.page_sample import FIELDS, SampledPage, page_links
from aahcrawler.editor.rules.selector_suggestions import Suggestion, suggest
from aahcrawler.editor.rules.stepping_out import Around, around, meant, named
from aahcrawler.editor.rules.suggestion_judging import OtherSoftware
from aahcrawler.editor.rules.values_on_pages import PageValues, field_guesses, field_values
from aahcrawler.page.text import fold, plain_text
from aahcrawler.service.cockpit.studio.entry_words import short
from aahcrawler.service.cockpit.studio.kept_rules import Choice, Chosen, Purpose, actions_of
from aahcrawler.service.cockpit.studio.studio_desk import OpenPage
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.selectors import BadExpressionError, Selector

ROLES: Final = {
    Purpose.SIGN: Role.SIGN,
    Purpose.LEVEL_SIGN: Role.LEVEL,
    Purpose.ITEM: Role.ITEM,
    Purpose.FIELD: Role.FIELD,
    Purpose.LEFT_OUT: Role.FIELD,
    Purpose.LINK: Role.LINKS,
}
_TEXT: Final = 160
_KEYS: Final = frozenset({"css", "xpath", "attribute"})


@dataclass(frozen=True, slots=True)
class Button:
    """Something that an element could be: the choice that says so, what a button says, and why it is likely."""

    choice: Choice
    label: str
    likely: str = ""


@dataclass(frozen=True, slots=True)
class MarkedView:
    """An element that rules must find, or must not find: its page, its description, and the beginning of its text."""

    place: Chosen
    words: str
    text: str


@dataclass(frozen=True, slots=True)
class AddressView:
    """Addresses like that of a link, and how many pages at such were captured."""

    url: str
    group: AddressGroup
    captured: int


@dataclass(frozen=True)
class ElementView:
    """An element that was chosen, with those around it by their numbers, and the names of the parts that match it."""

    number: int
    words: str
    text: str
    around: tuple[tuple[int, Around], ...]
    parts: tuple[str, ...]
    link: AddressView | None


@dataclass
class ChosenElement:
    """A choice on a page, as the studio shows it."""

    page: OpenPage
    choice: Choice
    software: OtherSoftware | None = None
    _pages: dict[str, SampledPage] = field(default_factory=dict)

    @property
    def element(self) -> HtmlElement | None:
        """The element that was chosen last, None where none was."""
        number = self.choice.element
        return element_at(self.page.sampled.tree, number) if number is not None else None

    def shown(self) -> ElementView | None:
        """Return the element in words; None where none was chosen."""
        element, number = self.element, self.choice.element
        if element is None or number is None:
            return None
        line = around(self.page.sampled, element)
        numbers = numbers_of(self.page.sampled.tree, [each.element for each in line])
        near = tuple((numbers[each.element], each) for each in line if each.element in numbers)
        text = fold(plain_text(element))[:_TEXT]
        return ElementView(number, named(element), text, near, tuple(self._parts(element)), self._link(element))

    def buttons(self) -> dict[str, list[Button]]:
        """Return what the element could be, by sorts of purposes; none without an element or a level."""
        element, work = self.element, self.page.work
        if element is None or work.application is None:
            return {}
        found: dict[str, list[Button]] = {}
        if self.level:
            found |= self._of_level(element)
        signs = [Button(self._asked(Purpose.SIGN), f"of {work.title}, on every page of it")]
        if self.level:
            signs.insert(0, Button(self._asked(Purpose.LEVEL_SIGN), f"of {self.level}, on pages of this sort alone"))
        found["A sign"] = signs
        return found

    @property
    def level(self) -> str:
        """The level that the choice is for: the one that it says, or that of the page."""
        if self.choice.level in self.levels:
            return self.choice.level
        matches = self.page.matches
        return matches.level if matches is not None and matches.level in self.levels else ""

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the levels of the entry."""
        return tuple(each.text("name") for each in self.page.work.parts.all if each.tag == "level")

    def _of_level(self, element: HtmlElement) -> dict[str, list[Button]]:
        found: dict[str, list[Button]] = {}
        extracts = actions_of(self.page.work.parts, self.level, "extract")
        for extract in extracts:
            action, kind = extract.text("name"), extract.text("type")
            whole = self._asked(Purpose.ITEM, action=action)
            found[f"Of {action}"] = [Button(whole, f"one whole {kind}"), *self._fields(element, extract)]
            names = [each.text("name") for each in self.page.work.parts.children(extract, "field")]
            if names:
                out = [Button(self._asked(Purpose.LEFT_OUT, action=action, field=name), name) for name in names]
                found[f"Of {action}, not a part of"] = out
        if not extracts:
            types = self._types()
            found["One whole"] = [
                Button(self._asked(Purpose.ITEM, action=f"{kind}s", field=kind), kind) for kind in types
            ]
        if self._link(element) is not None:
            found["A link that leads to"] = [
                Button(self._asked(Purpose.LINK, field=level), level) for level in self.levels
            ]
        return found

    def _fields(self, element: HtmlElement, extract: Part) -> Iterator[Button]:
        guesses = {each.field: each.said for each in field_guesses(self.page.sampled, element)}
        own = [each.text("name") for each in self.page.work.parts.children(extract, "field")]
        for name in dict.fromkeys([*guesses, *FIELDS, *own]):
            choice = self._asked(Purpose.FIELD, action=extract.text("name"), field=name)
            yield Button(choice, f"its {name}", guesses.get(name, ""))

    def _types(self) -> tuple[str, ...]:
        application = self.page.work.application
        terms = TERMS.get(application.kind) if application is not None else None
        named = (terms.thing, terms.first, terms.repeated) if terms is not None else ("post", "comment")
        return tuple(dict.fromkeys(name for name in named if name))

    def _asked(self, purpose: Purpose, **said: str) -> Choice:
        return Choice(
            element=self.choice.element,
            purpose=purpose,
            level=self.level,
            action=said.get("action", ""),
            field=said.get("field", ""),
        )

    def _parts(self, element: HtmlElement) -> Iterator[str]:
        matches, parts = self.page.matches, self.page.work.parts
        for match in matches.parts if matches is not None else ():
            part = parts.at(match.place)
            if part is not None and match.counts and any(each.element is element for each in match.findings):
                yield short(part, parts)

    def _link(self, element: HtmlElement) -> AddressView | None:
        """Return the addresses like that of the link that an element is or stands in; None where it is in none."""
        line = {element, *element.iterancestors("a", "area")}
        url = next((url for each, url in page_links(self.page.sampled.page) if each in line and url), "")
        if not url:
            return None
        known = next((each.addresses for each in self.page.sample.groups if url in each.addresses.urls), None)
        if known is None:
            return AddressView(url, address_groups([url])[0], 0)
        return AddressView(url, known, len(known.urls))

    # What is wanted, and what finds it

    def settled(self) -> Choice:
        """Return the choice; if nothing is marked right yet, the element that is probably meant is marked so."""
        element, purpose = self.element, self.choice.purpose
        if self.choice.right or element is None or purpose is None or purpose not in ROLES:
            return self.choice
        role = ROLES[purpose]
        items = items_on(self.page.sampled, self._items()) if role is Role.FIELD else ()
        wanted = element
        if purpose is not Purpose.LEFT_OUT:
            wanted = meant(self.page.sampled, element, role, self.choice.field, items)
        number = numbers_of(self.page.sampled.tree, [wanted])[wanted]
        return self.choice.but(right=((self.page.record, number),))

    def another(self) -> MarkedView | None:
        """Return the element chosen last if others are marked right or wrong and it is not; else None."""
        number, element = self.choice.element, self.element
        if number is None or element is None or not self.choice.right:
            return None
        place = (self.page.record, number)
        if place in (*self.choice.right, *self.choice.wrong):
            return None
        return _told(place, element)

    def marked(self, places: Sequence[Chosen]) -> tuple[MarkedView, ...]:
        """Return elements that are right or wrong in words, those left out that cannot be looked at any more."""
        return tuple(_told(place, mark.element) for place, mark in self._marks(places))

    def suggestions(self) -> tuple[Suggestion, ...]:
        """Return rules that find everything marked right and nothing marked wrong, from robust to brittle."""
        wanted = self.wanted()
        if wanted is None:
            return ()
        found = suggest(wanted, self.page.sample, self.software, self.page.work.name)
        # What is left out is an element, whatever else it says.
        is_element = self.choice.purpose is Purpose.LEFT_OUT
        return tuple(each for each in found if not (is_element and each.expression.attribute))

    def wanted(self) -> WantedMarks | None:
        """Return the marks that a rule has to satisfy; None if nothing is marked right."""
        purpose = self.choice.purpose
        right = tuple(mark for _, mark in self._marks(self.choice.right))
        if purpose is None or purpose not in ROLES or not right:
            return None
        name = self.choice.field if purpose is Purpose.FIELD else ""
        return WantedMarks(
            ROLES[purpose],
            right,
            tuple(mark for _, mark in self._marks(self.choice.wrong)),
            self._items() if ROLES[purpose] is Role.FIELD else (),
            name,
            many=ROLES[purpose] is not Role.ITEM or self._is_of_many,
        )

    def values(self, expression: Expression, *, of_page: bool) -> tuple[PageValues, ...]:
        """Return the values that a rule reads as the field on twenty pages; empty if the choice is no field."""
        wanted = self.wanted()
        if wanted is None or wanted.role is not Role.FIELD:
            return ()
        items = wanted.items or (Expression(css="body").selector,)
        reading = wanted.reading(expression.selector, page=of_page)
        groups = {self.page.sample.group_of(mark.page.captured.record) for mark in wanted.right}
        return field_values(self.page.sample, items, reading, [each for each in groups if each is not None])

    @property
    def _extract(self) -> Part | None:
        extracts = actions_of(self.page.work.parts, self.choice.level, "extract")
        return next((each for each in extracts if each.text("name") == self.choice.action), None)

    @property
    def _is_of_many(self) -> bool:
        """Whether a page may have several of the objects; a new extract reads all that there are."""
        extract = self._extract
        return extract is None or extract.text("many") == "yes"

    def _items(self) -> tuple[Selector, ...]:
        extract = self._extract
        found = self.page.work.parts.children(extract, "item") if extract is not None else ()
        return tuple(each.selector for each in found if each.selector is not None)

    def _marks(self, places: Sequence[Chosen]) -> Iterator[tuple[Chosen, Marked]]:
        for place in places:
            page = self._sampled(place[0])
            element = element_at(page.tree, place[1]) if page is not None else None
            if page is not None and element is not None:
                yield place, Marked(page, element)

    def _sampled(self, record: str) -> SampledPage | None:
        if record == self.page.record:
            return self.page.sampled
        if record not in self._pages:
            sampled = self.page.other(record)
            if sampled is None:
                return None
            self._pages[record] = sampled
        return self._pages[record]


def told_expression(text: str) -> Expression:
    """Parse an expression in an address or a form. Raise ``ProblemError`` for anything else."""
    try:
        said = json.loads(text)
        if not isinstance(said, dict) or not said or not _KEYS.issuperset(said):
            raise ValueError
        expression = Expression(**{name: str(value) for name, value in said.items()})
        expression.selector  # noqa: B018 (it is compiled here)
    except (ValueError, TypeError, BadExpressionError) as error:
        raise ProblemError(BAD_SEARCH, "this is no rule of the studio; choose one of those suggested") from error
    return expression


def written_expression(expression: Expression) -> str:
    """Return an expression as addresses and forms contain it."""
    return json.dumps(expression.attributes())


def _told(place: Chosen, element: HtmlElement) -> MarkedView:
    return MarkedView(place, named(element), fold(plain_text(element))[:_TEXT])
