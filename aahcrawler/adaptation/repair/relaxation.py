"""Repair by relaxation: find elements named like those that expressions look for (ARCOMEM, section 4.1).

Expressions of the failing action come first, then those of other applications of the same kind. The content of a
candidate decides: a body, an author, a date, and the same in each of its elements.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import mean

from aahcrawler.adaptation.detection.sign_relaxation import Hint, Name, NameTable, hints_of
from aahcrawler.adaptation.repair.structure_induction import Structure, Structures, is_beside_article, left_out, less
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.induction.outline import Outline, numbered
from aahcrawler.induction.record_sets import Byline, Region
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.induction.shown_names import may_be_name
from aahcrawler.page.text import excerpt, fold
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person, Value
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from knowledge_base.model import Extract, FieldKind, KnowledgeBase

BODY, AUTHOR, DATE, TITLE = "body", "author", "date", "title"
FOREIGN = 0.7
"""The weight of a name of another application of the kind, relative to one of the failing action."""
MAX_CANDIDATES = 25
MAX_ITEMS = 500
MAX_NAME_LENGTH = 60
IN_MOST = 0.7
"""The share of a candidate's elements that have to have a field."""
MIN_WEIGHT = 2
MIN_ARTICLE = 40
"""The weight of running text that an article has at least."""
MAX_BESIDE = 0.1
"""The share of a body's text that a line about its author and date may have of running text."""

_SIDE = re.compile(r"side-?bar|widget|recent|popular|related|menu|navi?$|footer|breadcrumb", re.IGNORECASE)
_OUTSIDE = frozenset({"nav", "aside", "footer", "form"})
_ANSWERS = re.compile(
    r"^(?!(?:has|no|with|hide|show)[-_]).*(?:comments|trackbacks?|pingbacks?|respond|responses)$", re.IGNORECASE
)
"""Elements for answers to an article, which are not parts of it."""

_TOOLS = re.compile(r"(?:^|[-_])(?:buttons?|controls?|actions?|statistics?|stats?)(?:$|[-_])", re.IGNORECASE)
"""Names of elements beside the name of an author that are named after it."""

_HEADINGS = frozenset({"h1", "h2", "h3"})
_Wanted = Mapping[str, tuple[tuple[Hint, float], ...]]
_Key = tuple[str, Name]


class RelaxationStrategy:
    """Labels elements whose names resemble those in the action, of the same application or of its kind."""

    def __init__(self, knowledge_base: KnowledgeBase, structures: Structures | None = None) -> None:
        self._knowledge_base = knowledge_base
        self._structures = structures or Structures()
        self._wanted: dict[tuple[str, str], _Wanted] = {}

    def label(self, question: Question) -> LabelledExample | None:
        """Return the objects of the best candidate, with its runner-up; None if nothing is named like them."""
        page, action = question.page, question.action
        if not page.is_html or action.run is not None:
            return None
        candidates = tuple(
            _Relaxing(question, self._hints(question), self._structures.of(page, question.application)).candidates()
        )
        most = max((each.weight for each in candidates), default=0)
        ranked = sorted(((each.merit(most), each) for each in candidates), key=lambda each: -each[0])
        if not ranked:
            return None
        confidence, best = ranked[0]
        others = (merit for merit, each in ranked[1:] if not each.overlaps(best))
        notes = (f"named {best.name.token}",)
        return LabelledExample(page, Method.RELAXED, best.objects, confidence, max(others, default=0.0), notes)

    def _hints(self, question: Question) -> _Wanted:
        key = (question.application.name, f"{question.level.name} {question.action.name}")
        if key not in self._wanted:
            kind = question.application.kind
            others = [
                action
                for application in self._knowledge_base.applications
                if application.kind == kind
                for level in application.levels
                if level.role == "terminal"
                for action in level.actions
                if isinstance(action, Extract) and action.many == question.action.many
            ]
            self._wanted[key] = _merged([(question.action, 1.0), *((other, FOREIGN) for other in others)])
        return self._wanted[key]


def _merged(actions: Iterable[tuple[Extract, float]]) -> _Wanted:
    """Return the hints of actions by field, those of items under an empty name; each hint once, with its weight."""
    found: dict[str, dict[Hint, float]] = {}
    for action, share in actions:
        of_items = found.setdefault("", {})
        for hint in hints_of(action.items):
            of_items.setdefault(hint, share)
        for wanted in action.fields:
            of_field = found.setdefault(wanted.name, {})
            for hint in hints_of(wanted.selectors):
                of_field.setdefault(hint, share)
    return {name: tuple(hinted.items()) for name, hinted in found.items()}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Elements of one name as the objects of the action."""

    name: Name
    objects: tuple[LabelledObject, ...]
    confidence: float
    bodies: frozenset[int]
    outline: Outline

    @property
    def weight(self) -> int:
        """Return the weight of its bodies in long pieces, since lists of teasers have many short ones."""
        return sum(self.outline.running(place) + self.outline.free(place) // 10 for place in self.bodies)

    def merit(self, most: int) -> float:
        """Return its confidence, lowered if other candidates have more text: all of every object is wanted."""
        return round(self.confidence * (0.6 + 0.4 * self.weight / most), 4) if most else 0.0

    def overlaps(self, other: "_Candidate") -> bool:
        """Return whether both read some of the same text."""
        contains = self.outline.contains
        return any(contains(one, two) or contains(two, one) for one in self.bodies for two in other.bodies)


class _Relaxing:
    """One page on which an action fails."""

    def __init__(self, question: Question, wanted: _Wanted, structure: Structure) -> None:
        self._page = question.page
        self._action = question.action
        self._beside_article = is_beside_article(question)
        self._structure = structure
        self._outline = structure.prepared.outline
        self._names = NameTable(self._outline)
        self._like = {name: self._liked(hinted) for name, hinted in wanted.items()}
        self._dates = {shown.place: shown for shown in structure.prepared.shown}
        self._left_out = left_out(self._action, self._page)
        self._never = self._no_text()
        self._holds_much, self._is_named = cache(self._says_much), cache(self._may_be_name)

    def _no_text(self) -> tuple[int, ...]:
        """Return the places that are no part of a body: exclusions of the action, and answers to an article."""
        outline = self._outline
        found = {outline.places[element] for element in self._left_out if element in outline.places}
        if not self._action.many:
            answers = (place for place in range(1, len(outline.elements)) if self._is_answer(place))
            found.update(place for place in answers if not self._is_headed(place))
        outermost = (place for place in found if found.isdisjoint(outline.ancestors(place)))
        return tuple(sorted(outermost))

    def _is_answer(self, place: int) -> bool:
        words = (*self._outline.tokens[place], self._outline.elements[place].get("id") or "")
        return any(map(_ANSWERS.match, words))

    def _is_headed(self, place: int) -> bool:
        return any(self._outline.tags[inner] == "h1" for inner in range(place, self._outline.ends[place]))

    def _liked(self, hinted: Iterable[tuple[Hint, float]]) -> Mapping[_Key, float]:
        found: dict[_Key, float] = {}
        for share in (1.0, FOREIGN):
            for key, value in self._names.like(hint for hint, counts in hinted if counts == share).items():
                found[key] = max(found.get(key, 0.0), share * value)
        return found

    def candidates(self) -> Iterator[_Candidate]:
        """Yield the candidates that have bodies."""
        ranked = sorted(self._like.get("", {}).items(), key=lambda each: (-each[1], each[0][1].token, each[0][0]))
        for (tag, name), value in ranked[:MAX_CANDIDATES]:
            places = [place for place in self._names.places[tag, name][:MAX_ITEMS] if not self._is_aside(place)]
            items = places if self._action.many else self._largest(places)
            candidate = self._candidate(name, value, items) if items and not self._hold_more(items) else None
            if candidate is not None:
                yield candidate

    def _hold_more(self, items: Sequence[int]) -> bool:
        """Return whether elements contain several objects of the action each, or the container of the object."""
        if not self._action.many:
            return False
        return self._structure.holds_several(items) or (self._beside_article and self._structure.holds_article(items))

    def _is_aside(self, place: int) -> bool:
        outline = self._outline
        around = (place, *outline.ancestors(place))
        return any(
            outline.tags[each] in _OUTSIDE or any(_SIDE.search(word) for word in outline.tokens[each])
            for each in around
            if each > 0
        )

    def _largest(self, places: Sequence[int]) -> Sequence[int]:
        weigh = self._outline.running
        return [max(places, key=weigh)] if places else ()

    def _candidate(self, name: Name, value: float, items: Sequence[int]) -> _Candidate | None:
        extents = [self._extent(item, items) for item in items]
        authors = self._signed(extents) or self._best(AUTHOR, extents, self._is_named)[0]
        dates = self._dated(extents)
        beside = {*authors.values(), *(shown.place for shown in dates.values())}
        bodies, body_value = self._best(
            BODY, extents, lambda place: self._holds_much(place) and self._lacks(place, beside)
        )
        if len(bodies) < IN_MOST * len(items):
            bodies, body_value = self._best(BODY, extents, self._holds_much)
        bodies = {number: body for number, body in bodies.items() if not self._is_entered(items[number], body)}
        if len(bodies) < IN_MOST * len(items):
            return None
        objects = []
        for number in range(len(items)):
            if number in bodies:
                places = (items[number], bodies[number], authors.get(number), dates.get(number))
                objects.append(self._labelled(*places))
        keyed = mean(numbered(self._outline.elements[item].get("id")) is not None for item in items)
        shares = (len(bodies) / len(items), len(authors) / len(items), len(dates) / len(items))
        confidence = self._confidence(value, body_value, keyed, shares)
        return _Candidate(name, tuple(objects), confidence, frozenset(bodies.values()), self._outline)

    def _is_entered(self, item: int, body: int) -> bool:
        """Return whether a body is in a form of its item: what a page asks of its readers, nobody has written yet."""
        around = (body, *self._outline.ancestors(body))
        return any(self._outline.tags[place] == "form" for place in around if place >= item)

    def _confidence(self, value: float, body_value: float, keyed: float, shares: tuple[float, float, float]) -> float:
        """Weigh the similarity of names, and the share of elements that have the values the action reads."""
        fields = {wanted.name for wanted in self._action.fields}
        bodied, named, dated = shares
        parts = [(0.25, bodied), (0.2, value), (0.15, body_value)]
        parts += [(0.2, named)] if AUTHOR in fields else []
        parts += [(0.2, dated)] if DATE in fields else []
        parts += [(0.05, keyed)] if self._action.identity is not None else []
        return round(sum(share * found for share, found in parts) / sum(share for share, _ in parts), 4)

    def _extent(self, item: int, items: Sequence[int]) -> frozenset[int]:
        """Return the places of an item without those of the items within it, of an article without its answers."""
        ends, running = self._outline.ends, self._outline.running
        within = [other for other in items if item < other < ends[item]]
        if not self._action.many:
            posts = [post for post in (*self._structure.posts, *self._never) if item < post < ends[item]]
            answers = [
                post
                for post in posts
                if not any(self._outline.contains(other, post) for other in posts if other != post)
            ]
            within = answers if running(item) - sum(map(running, answers)) >= MIN_ARTICLE else []
        return frozenset(range(item, ends[item])).difference(*(range(other, ends[other]) for other in within))

    # Fields

    def _best(
        self, field: str, extents: Sequence[frozenset[int]], fits: Callable[[int], bool]
    ) -> tuple[Mapping[int, int], float]:
        """Return, for each item by its number, the place that holds a field: of the name that most items have."""
        best: tuple[float, float, Mapping[int, int]] = (0.0, 0.0, {})
        inside = frozenset[int]().union(*extents)
        for (tag, name), value in self._like.get(field, {}).items():
            places = [place for place in self._names.places[tag, name] if place in inside and fits(place)]
            if len(places) < IN_MOST * 0.8 * len(extents):
                continue
            found: dict[int, int] = {}
            for number, extent in enumerate(extents):
                place = next((each for each in places if each in extent), None)
                if place is not None:
                    found[number] = place
            share = len(found) / len(extents)
            if share >= IN_MOST * 0.8 and (share * value, value) > best[:2]:
                best = (share * value, value, found)
        return best[2], best[1]

    @cached_property
    def _bylines(self) -> Mapping[int, Byline]:
        """The authors found by the structure of the page, by their places, in document order."""
        if self._action.many:
            return dict(sorted(self._structure.bylines.items()))
        author = self._structure.part.author if self._structure.part is not None else None
        return {self._outline.places[author.element]: author} if author is not None else {}

    def _signed(self, extents: Sequence[frozenset[int]]) -> Mapping[int, int]:
        """Return the place of each item's author by the page's structure; nothing if most have none.

        Many elements about an author have such names: a picture, a rank, buttons.
        """
        found: dict[int, int] = {}
        for number, extent in enumerate(extents):
            place = next((place for place in self._bylines if place in extent), None)
            if place is not None:
                found[number] = place
        return found if len(found) >= IN_MOST * len(extents) else {}

    def _says_much(self, place: int) -> bool:
        outline = self._outline
        if any(outline.contains(never, place) for never in self._never):
            return False
        without = [never for never in self._never if outline.contains(place, never)]
        weigh, least = (self._shown, MIN_WEIGHT) if self._action.many else (outline.running, MIN_ARTICLE)
        return weigh(place) - sum(map(weigh, without)) >= least

    def _shown(self, place: int) -> int:
        return self._outline.free(place) + self._outline.linked(place)

    def _lacks(self, place: int, others: Iterable[int]) -> bool:
        return not any(self._outline.contains(place, other) for other in others)

    def _may_be_name(self, place: int) -> bool:
        outline = self._outline
        if not self._lacks(place, self._dates) or not 2 <= self._shown(place) <= 3 * MAX_NAME_LENGTH:
            return False
        around = (place, outline.parents[place])
        if any(_TOOLS.search(word) for each in around if each > 0 for word in outline.tokens[each]):
            return False
        into_page = (outline.elements[place].get("href") or "").startswith("#")
        return may_be_name(self._name(place)) and not into_page

    def _name(self, place: int) -> str:
        text = fold(excerpt(self._outline.elements[place], MAX_NAME_LENGTH + 1))
        return text if len(text) <= MAX_NAME_LENGTH and any(map(str.isalpha, text)) else ""

    def _dated(self, extents: Sequence[frozenset[int]]) -> Mapping[int, ShownDate]:
        """Return the date of each item: from the kind of place that most of them have."""
        outline = self._outline
        kinds: Counter[tuple[str, tuple[str, ...]]] = Counter()
        inside: list[list[ShownDate]] = []
        for extent in extents:
            shown = [self._dates[place] for place in self._dates if place in extent]
            inside.append(shown)
            kinds.update({(outline.tags[each.place], outline.tokens[each.place]) for each in shown})
        found: dict[int, ShownDate] = {}
        for number, shown in enumerate(inside):
            if shown:
                found[number] = max(
                    shown, key=lambda each: (kinds[outline.tags[each.place], outline.tokens[each.place]], -each.place)
                )
        return found

    # Examples

    def _labelled(self, item: int, body: int, author: int | None, shown: ShownDate | None) -> LabelledObject:
        elements = self._outline.elements
        beside = [place for place in (author, shown.place if shown is not None else None) if place is not None]
        without = tuple(
            elements[place] for place in dict.fromkeys(self._branch(body, place) for place in beside) if place
        )
        region = Region((elements[body],), without)
        if not self._action.many:
            aside = frozenset(elements[place] for place in (*beside, *self._never))
            region = self._structure.extended(region, aside)
        region = less(region, self._left_out)
        labels: dict[str, Label] = {BODY: Label(region.elements, region.plain(), "", region.without)}
        if author is not None:
            labels[AUTHOR] = Label((elements[author],), self._person(author))
        if shown is not None and not shown.read.vague:
            labels[DATE] = self._date_label(shown)
        title = self._title(item, body)
        if title is not None:
            labels[TITLE] = title
        return LabelledObject((elements[item],), labels)

    def _branch(self, body: int, place: int) -> int:
        """Return the part of a body that consists of author and date, 0 if there is none."""
        outline = self._outline
        if not outline.contains(body, place) or place == body:
            return 0
        whole = outline.free(body)
        while outline.parents[place] != body and outline.running(outline.parents[place]) <= MAX_BESIDE * whole:
            place = outline.parents[place]
        return place if outline.running(place) <= MAX_BESIDE * whole else 0

    def _person(self, place: int) -> Value:
        element, byline = self._outline.elements[place], self._bylines.get(place)
        kinds = {wanted.kind for wanted in self._action.fields if wanted.name == AUTHOR}
        name = fold(byline.name) if byline is not None else self._name(place)
        if kinds and FieldKind.PERSON not in kinds:
            return name
        link = element if element.tag == "a" else next(element.iter("a"), None)
        href = link.get("href") if link is not None else None
        return Person(name, resolve(self._page.base_url, href) if href else None)

    def _date_label(self, shown: ShownDate) -> Label:
        element = self._outline.elements[shown.place]
        attribute = ""
        if shown.piece < 0:
            attribute = next(
                (str(name) for name, value in element.attrib.items() if fold(str(value)) == shown.text), ""
            )
        return Label((element,), shown.moment, attribute)

    def _title(self, item: int, body: int) -> Label | None:
        """Return the heading of an item that is all that the page is about."""
        if self._action.many or not any(wanted.name == TITLE for wanted in self._action.fields):
            return None
        outline = self._outline
        inner = (place for place in range(item, body) if outline.tags[place] in _HEADINGS)
        named = self._structure.heading(body)
        place = named if named is not None else next(inner, None)
        if place is None:
            return None
        return Label((outline.elements[place],), fold(excerpt(outline.elements[place], 300)))
