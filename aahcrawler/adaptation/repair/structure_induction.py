"""Repair by structure: read what a page repeats, and label its posts with dates and authors, or its article."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from lxml.etree import XPathError
from lxml.etree import _Element as Element

from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.extraction.extraction import BODY
from aahcrawler.helper.site_memory import site_of
from aahcrawler.induction.headings import page_heading
from aahcrawler.induction.main_part import MainPart, main_part
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.record_finding import records
from aahcrawler.induction.record_sets import Byline, Dated, Nature, Record, RecordSet, Region
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.page import Page
from aahcrawler.page.text import excerpt, fold, plain_text
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person
from aahcrawler.wrapper_induction.element_features import is_beside, is_name
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from knowledge_base.model import Application, Extract, FieldKind
from knowledge_base.url_rules import ParsedUrl, Reason

_ASIDE = frozenset({"nav", "aside", "footer", "header"})

MIN_LISTED = 3
"""Entries that make a list of other pages: fewer stand below articles as well."""

GOES_ON = 80
"""The weight of running text that makes a neighbour of the body a part of it."""

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_NO_TEXT = _ASIDE | {"form", "button", "input", "select", "script", "style", "h1"}
_HOLDERS = frozenset({"div", "section", "article"})


class Structures:
    """Prepares each page once for all repair strategies that ask about it; keeps the last one."""

    def __init__(self) -> None:
        self._last: tuple[Page, Application, Structure] | None = None

    def of(self, page: Page, application: Application) -> "Structure":
        """Return the structure of an HTML page of an application."""
        if self._last is None or self._last[0] is not page or self._last[1] is not application:
            self._last = page, application, Structure(page, application)
        return self._last[2]


class Structure:
    """The records and the article of one page, which is of an application."""

    def __init__(self, page: Page, application: Application) -> None:
        self.prepared = page.once(PreparedPage.of)
        self._page = page
        self._application = application

    @cached_property
    def sets(self) -> Sequence[RecordSet]:
        """The sets of records of the page.

        Entries that lead to other views of themselves alone are posts: the rules of an application for URLs say so, and
        no redesign changes them.
        """
        return tuple(
            replace(each, nature=Nature.POSTS)
            if each.nature is Nature.TEASERS and self._show_themselves(each)
            else each
            for each in self._page.once(records)
        )

    def _show_themselves(self, listed: RecordSet) -> bool:
        targets = [record.target for record in listed.records if record.target is not None]
        return 2 * len(targets) > len(listed.records) and all(map(self._is_other_view, targets))

    def _is_other_view(self, url: str) -> bool:
        rule = self._application.refusal(self._application.canonical(ParsedUrl.parse(url.partition("#")[0])))
        return rule is not None and rule.reason is Reason.DUPLICATE

    @cached_property
    def is_list(self) -> bool:
        """Whether the page is a list of other pages: it has no text but in their entries, or below their titles."""
        if self.part is None:
            return bool(self._listed)
        running = self.prepared.outline.running
        listed = sum(running(place) for place in self._main if self._is_listed(place))
        return self._is_titled_list or 2 * listed > sum(map(running, self._main))

    @cached_property
    def _main(self) -> tuple[int, ...]:
        """The places of the page's main text."""
        places = self.prepared.outline.places
        return tuple(places[element] for element in self.part.body.elements) if self.part is not None else ()

    @cached_property
    def _is_titled_list(self) -> bool:
        """Whether headings within the page's main text lead to other pages of its application."""
        targets = (
            self._target(place) for main in self._main for place in range(main, self.prepared.outline.ends[main])
        )
        return len(set(filter(None, targets))) >= MIN_LISTED

    def _target(self, place: int) -> str:
        """Return the address of another page that a heading leads to, empty where it leads to none."""
        outline, page, application = self.prepared.outline, self._page, self._application
        if outline.tags[place] not in HEADINGS:
            return ""
        link = next(outline.elements[place].iter("a"), None)
        url = resolve(page.base_url, link.get("href") or "") if link is not None else None
        if url is None or site_of(url) != site_of(page.url):
            return ""
        address = application.canonical(ParsedUrl.parse(url.partition("#")[0]))
        is_page = application.refusal(address) is None and application.level_of(address) is not None
        return address.url if is_page and address.url != application.canonical(ParsedUrl.parse(page.url)).url else ""

    def _is_listed(self, place: int) -> bool:
        outline = self.prepared.outline
        if any(self._is_entry(each) for each in (place, *outline.ancestors(place))):
            return True
        held = [entry for entry in self._listed if outline.contains(place, entry)]
        return len(held) >= MIN_LISTED and 2 * sum(map(outline.running, held)) > outline.running(place)

    def _is_entry(self, place: int) -> bool:
        """Return whether an element is an entry of a list, or stands among entries and looks like them."""
        outline = self.prepared.outline
        entries = self._looks.get(outline.parents[place], {})
        tokens = entries.get(outline.tags[place])
        return tokens is not None and (not tokens or not tokens.isdisjoint(outline.tokens[place]))

    @cached_property
    def _looks(self) -> Mapping[int, Mapping[str, frozenset[str]]]:
        """The tags of entries by the places of what they stand in, and the names that all of a tag have in common."""
        outline = self.prepared.outline
        looks: dict[int, dict[str, frozenset[str]]] = {}
        for entry in self._listed:
            tokens, known = frozenset(outline.tokens[entry]), looks.setdefault(outline.parents[entry], {})
            known[outline.tags[entry]] = tokens & known.get(outline.tags[entry], tokens)
        return looks

    @cached_property
    def _listed(self) -> tuple[int, ...]:
        """The places of the entries of lists of other pages, sidebars aside."""
        lists = (each for each in self.sets if each.nature is Nature.TEASERS and not each.aside)
        return self._places([each for each in lists if len(each.records) >= MIN_LISTED])

    @cached_property
    def part(self) -> MainPart | None:
        """The article of the page."""
        return main_part(self.prepared.outline, self.prepared.shown, self.sets, self.prepared.names)

    @cached_property
    def bylines(self) -> Mapping[int, Byline]:
        """The authors of all records, by their places."""
        found = (record.author for each in self.sets for record in each.records)
        return {self.prepared.outline.places[author.element]: author for author in found if author is not None}

    @cached_property
    def records(self) -> tuple[int, ...]:
        """The places of all records, in document order."""
        return self._places(self.sets)

    @cached_property
    def posts(self) -> tuple[int, ...]:
        """The places of those records that people wrote, and that are shown in full."""
        return self._places([each for each in self.sets if each.nature is Nature.POSTS])

    def _places(self, sets: Sequence[RecordSet]) -> tuple[int, ...]:
        places = self.prepared.outline.places
        roots = (root for each in sets for record in each.records for root in record.elements)
        return tuple(sorted(places[root] for root in roots if root in places))

    def holds_several(self, items: Sequence[int]) -> bool:
        """Return whether an element at one of the places ``items`` contains several posts that are none of them."""
        contains = self.prepared.outline.contains
        inner = [post for post in self.posts if post not in items]
        held = (sum(contains(item, post) for post in inner) for item in items)
        return any(number > 1 for number in held) and len(inner) > len(items)

    def holds_article(self, items: Sequence[int]) -> bool:
        """Return whether one of some elements holds the article of the page with its heading."""
        part = self.part
        if part is None or part.heading is None or not part.body.elements:
            return False
        outline = self.prepared.outline
        body, heading = outline.places[part.body.elements[0]], part.heading
        return any(outline.contains(item, body) and outline.contains(item, heading) for item in items)

    def heading(self, body: int) -> int | None:
        """Return the place of the heading of the page's main text, which begins at ``body``."""
        found = page_heading(self.prepared.outline, self.prepared.names, body, self.records)
        return found[1] if found is not None else None

    def extended(self, region: Region, beside: frozenset[Element]) -> Region:
        """Return the body with the adjacent content before and behind it that is running text of the same sort."""
        outline = self.prepared.outline
        if len(region.elements) != 1:
            return region
        body = region.elements[0]
        taken = beside | {outline.elements[place] for place in self.records}

        def goes_on(element: Element) -> bool:
            place = outline.places.get(element)
            alike = element.tag == body.tag or (element.tag in _HOLDERS and body.tag in _HOLDERS)
            if place is None or not alike or is_beside(element):
                return False
            running = outline.running(place)
            return running >= GOES_ON and running > 2 * outline.linked(place) and taken.isdisjoint(element.iter())

        before = list(takewhile(goes_on, body.itersiblings("*", preceding=True)))[::-1]
        behind = list(takewhile(goes_on, body.itersiblings("*")))
        return Region((*before, body, *behind), region.without) if before or behind else region


def is_beside_article(question: Question) -> bool:
    """Return whether the level's pages are about one object, and the action's objects belong to it."""
    others = (action for action in question.level.actions if isinstance(action, Extract))
    return any(not action.many and action.name != question.action.name for action in others)


def left_out(action: Extract, page: Page) -> frozenset[Element]:
    """Return the elements that an action leaves out of bodies, anywhere on a page."""
    selectors = [each for wanted in action.fields if wanted.name == BODY for each in wanted.without]
    found: set[Element] = set()
    for selector in selectors:
        try:
            found.update(selector.elements(page.tree, page.elements))
        except XPathError:
            continue
    return frozenset(found)


def less(region: Region, out: frozenset[Element]) -> Region:
    """Return a body without those elements, unless that leaves little of it: names may mean something else by now."""
    if region.text is not None or not out:
        return region
    inner = [each for element in region.elements for each in element.iter() if each in out and each is not element]
    rest = Region(region.elements, (*region.without, *inner))
    return rest if inner and 2 * len(rest.plain()) > len(region.plain()) else region


def whole(region: Region, beside: frozenset[Element]) -> Region:
    """Return the element that contains all parts of a body as the body, without the named parts beside them.

    Which of the blocks of one text belong to it is a guess that differs from page to page; their container is not. A
    part that contains one of ``beside``, or has a name of its own, is left out. If all parts have names, they are not
    such blocks: the template gives the text several containers, on some pages one.
    """
    holder = region.elements[0].getparent()
    if len(region.elements) < 2 or region.text is not None or holder is None or holder.tag in ("body", "html"):
        return region
    own = frozenset(region.elements)
    if any(element.getparent() is not holder for element in region.elements):
        return region
    if all(element.tag in _HOLDERS and _is_named(element) for element in region.elements):
        return region
    others = [child for child in holder if isinstance(child.tag, str) and child not in own]
    out = [child for child in others if _is_named(child) or not beside.isdisjoint(child.iter())]
    return Region((holder,), (*region.without, *out))


def _is_named(element: Element) -> bool:
    named = any(map(is_name, (element.get("class") or "").split())) or is_name(element.get("id") or "")
    return named or element.tag in _NO_TEXT


ENOUGH_TEXT = 400
"""The weight of running text that makes an article likely."""

MIN_ARTICLE = 40

ALONE = 0.75
"""The likelihood of one record relative to several: nothing repeats it."""

ASIDE = 0.5
"""The likelihood of records in a sidebar relative to others."""

_PARTS = re.compile(r"\s+(?:[-–—|•»«/·]|::)\s+")


class StructureStrategy:
    """Finds the objects of an action by the structure that pages of any template share."""

    def __init__(self, structures: Structures | None = None) -> None:
        self._structures = structures or Structures()

    def label(self, question: Question) -> LabelledExample | None:
        """Return the records or the article of an HTML page; None if they cannot be determined.

        An example without objects is returned for comments alone: if there is an article, and no date outside of it.
        """
        page = question.page
        if not page.is_html:
            return None
        inducing = _Inducing(question, self._structures.of(page, question.application))
        return inducing.records() if question.action.many else inducing.article()


@dataclass(frozen=True)
class _Inducing:
    """One page and the results of induction on it."""

    question: Question
    structure: Structure

    @property
    def prepared(self) -> PreparedPage:
        return self.structure.prepared

    @property
    def sets(self) -> Sequence[RecordSet]:
        return self.structure.sets

    @property
    def part(self) -> MainPart | None:
        return self.structure.part

    def records(self) -> LabelledExample | None:
        action = self.question.action
        rivals = sorted(
            ((self._worth(each), -self._place(each), each) for each in self._possible()), key=lambda rival: rival[:2]
        )
        if not rivals:
            return self._none()
        merit, _, best = rivals[-1]
        runner_up = rivals[-2][0] if len(rivals) > 1 else 0.0
        of_page = not self._beside_article and action.run is None
        heading = self._heading(best) if of_page else None
        objects = [
            self._of_record(record, heading if number == 0 else None) for number, record in enumerate(best.records)
        ]
        known = tuple(
            labelled
            for labelled in objects
            if "body" in labelled.labels or all(field.name != "body" for field in action.fields)
        )
        return self._example(known, merit, runner_up) if known else None

    def _possible(self) -> list[RecordSet]:
        signed = self.question.action.run is not None
        posts = [each for each in self.sets if each.nature is Nature.POSTS and self._is_signed(each) is signed]
        if self._beside_article and self.part is not None:
            posts = [each for each in posts if not self._lies_in_article(each)]
        return posts

    def _is_signed(self, each: RecordSet) -> bool:
        return any(record.body is not None and record.body.text is not None for record in each.records)

    @property
    def _beside_article(self) -> bool:
        """Return whether the level's pages are about one object, and the action's objects belong to it."""
        others = (action for action in self.question.level.actions if isinstance(action, Extract))
        return any(not action.many and action.name != self.question.action.name for action in others)

    def _lies_in_article(self, each: RecordSet) -> bool:
        if self.part is None:
            return False
        body = frozenset(self.part.body.elements)
        return any(not body.isdisjoint((above, *above.iterancestors())) for above in (each.records[0].element,))

    def _worth(self, each: RecordSet) -> float:
        """Return the likelihood that a set is wanted, by the fields found and its share of the page's text."""
        most = max((self._text(other) for other in self._possible()), default=0) or 1
        merit = each.confidence * (0.6 + 0.4 * self._text(each) / most) * (ALONE if len(each.records) == 1 else 1.0)
        return round(merit * (ASIDE if each.aside else 1.0), 4)

    def _text(self, each: RecordSet) -> int:
        outline = self.prepared.outline
        places = [outline.places[root] for record in each.records for root in record.elements if root in outline.places]
        return sum(outline.free(place) for place in places)

    def _place(self, each: RecordSet) -> int:
        return self.prepared.outline.places.get(each.records[0].element, 0)

    def _heading(self, each: RecordSet) -> Label | None:
        """Return the heading of the page of the records."""
        outline = self.prepared.outline
        place = self._place(each)
        found = page_heading(outline, self.prepared.names, place, ())
        titled = found[1] if found else self._titled(place)
        return _label_of_text(outline.elements[titled]) if titled is not None else None

    def _titled(self, before: int) -> int | None:
        """Return the place of the last element before another whose whole text is a part of the page's title."""
        outline = self.prepared.outline
        parts = {fold(part).casefold() for part in _PARTS.split(self.prepared.names.title)}
        wanted = {part for part in (*parts, fold(self.prepared.names.title).casefold()) if len(part) > 1}
        for place in range(before - 1, -1, -1):
            shown = outline.free(place) + outline.linked(place)
            if 2 <= shown <= 600 and excerpt(outline.elements[place], 300).casefold() in wanted:
                return place
        return None

    def _none(self) -> LabelledExample | None:
        """Say that there are no comments: an article without any, and no further dates that could be those of some."""
        part, action = self.part, self.question.action
        if not self._beside_article or part is None or action.always or self.sets or action.run is not None:
            return None
        if any(self._may_be_of_comment(shown, part) for shown in self.prepared.shown):
            return None
        return self._example((), self._certainty(part), 0.0)

    def _may_be_of_comment(self, shown: ShownDate, part: MainPart) -> bool:
        """Return whether a date could be that of a comment: behind the text of the article, or set apart within it."""
        outline = self.prepared.outline
        if shown.place < part.place or (part.date is not None and shown.moment == part.date.moment):
            return False
        within = any(outline.contains(outline.places[element], shown.place) for element in part.body.elements)
        if within:
            return shown.declared
        above = {outline.tags[place] for place in (shown.place, *outline.ancestors(shown.place))}
        return above.isdisjoint(_ASIDE) or ("article" in above and above.isdisjoint(("nav", "aside")))

    def article(self) -> LabelledExample | None:
        part = self.part
        if part is None or part.running < MIN_ARTICLE or not part.body.elements:
            return None
        outline = self.prepared.outline
        beside = [outline.elements[part.heading]] if part.heading is not None else []
        beside += [each.element for each in (part.author, part.date) if each is not None]
        body = whole(self.structure.extended(part.body, frozenset(beside)), frozenset(beside))
        labels: dict[str, Label] = {"body": _label_of_region(less(body, self._left_out), self._kind_of_body)}
        if part.heading is not None and part.title:
            labels["title"] = _label_of_text(outline.elements[part.heading])
        labels.update(self._signature(part.author, part.date or self._only_date(part)))
        rivals = [each for each in self.sets if each.nature is Nature.POSTS and not self._lies_in_article(each)]
        before = [each for each in rivals if self._place(each) < part.place and not each.aside]
        runner_up = max((each.confidence for each in before), default=0.0)
        labelled = LabelledObject((outline.elements[part.holder],), self._wanted(labels))
        return self._example((labelled,), self._certainty(part), runner_up)

    def _only_date(self, part: MainPart) -> Dated | None:
        """Return the one date that a page shows beside its article and its records; None if there are several."""
        outline = self.prepared.outline
        records = [outline.places[root] for each in self.sets for record in each.records for root in record.elements]
        taken = (*records, *(outline.places[element] for element in part.body.elements))
        exact = [each for each in self.prepared.shown if not each.read.vague]
        free = [each for each in exact if not any(outline.contains(root, each.place) for root in taken)]
        if not free or len({each.moment for each in free}) > 1:
            return None
        return Dated(free[0].read, outline.elements[free[0].place], free[0].attribute)

    def _certainty(self, part: MainPart) -> float:
        text = min(1.0, part.running / ENOUGH_TEXT)
        identified = 0.5 * bool(part.title) + 0.3 * (part.date is not None) + 0.2 * (part.author is not None)
        linked = part.linked / max(part.running, 1)
        return round((0.5 + 0.25 * text + 0.25 * identified) * (1.0 if linked <= 1 else 0.5), 4)

    def _of_record(self, record: Record, heading: Label | None) -> LabelledObject:
        labels: dict[str, Label] = dict(self._signature(record.author, record.date))
        if record.body is not None:
            beside = frozenset(each.element for each in (record.author, record.date) if each is not None)
            body = _label_of_region(less(whole(record.body, beside), self._left_out), self._kind_of_body)
            if body.value:
                labels["body"] = body
        if heading is not None:
            labels["title"] = heading
        elif record.heading is not None:
            labels["title"] = _label_of_text(record.heading)
        return LabelledObject(record.elements, self._wanted(labels))

    def _signature(self, author: Byline | None, date: Dated | None) -> Mapping[str, Label]:
        labels: dict[str, Label] = {}
        if author is not None:
            url = resolve(self.question.page.base_url, author.href) if author.href else None
            labels["author"] = Label((author.element,), Person(fold(author.name), url))
        if date is not None and date.told is not None:
            labels["date"] = Label((date.element,), date.told, date.attribute)
        return labels

    @cached_property
    def _left_out(self) -> frozenset[Element]:
        return left_out(self.question.action, self.question.page)

    def _wanted(self, labels: Mapping[str, Label]) -> Mapping[str, Label]:
        """Keep the labels of the action's fields."""
        names = {field.name for field in self.question.action.fields}
        return {name: label for name, label in labels.items() if name in names}

    @property
    def _kind_of_body(self) -> FieldKind:
        kinds = (field.kind for field in self.question.action.fields if field.name == "body")
        return next(kinds, FieldKind.TEXT)

    def _example(self, objects: tuple[LabelledObject, ...], confidence: float, runner_up: float) -> LabelledExample:
        return LabelledExample(self.question.page, Method.INDUCED, objects, min(1.0, confidence), min(1.0, runner_up))


def _label_of_text(element: Element) -> Label:
    return Label((element,), fold(plain_text(element)))


def _label_of_region(region: Region, kind: FieldKind) -> Label:
    value = region.html() if kind is FieldKind.HTML and region.text is None else region.plain()
    return Label(region.elements, value, "", region.without)
