"""What each part of an entry matches on a page: elements, values and links, and how the page is recognised."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.editor.explanation.explain import explained
from aahcrawler.editor.explanation.explanation_model import Explanation, narrowed
from aahcrawler.editor.rules.link_fates import EntryParts, LinkFate, LinkFates, Part
from aahcrawler.editor.rules.page_sample import ReadBy, SampledReading, of_web_objects, page_links, value_text
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.editor.text.file_lines import FileLines
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.extraction.extraction import Extraction, Runner
from aahcrawler.page import Page
from knowledge_base.behaviours import Act
from knowledge_base.matching import Sight
from knowledge_base.model import Application, Condition, Extract, Field, KnowledgeBase, PageLevel, Pattern, Signal
from knowledge_base.selectors import Node
from knowledge_base.url_rules import Paging, ParsedUrl

MAX_ITEMS = 200
"""The most objects of one action for which matches are shown."""
MAX_NODES = 16
"""The most results of one expression within one object that are shown."""
MAX_VALUE_LENGTH = 2_000
_ANY = ("ignore", "own", "instead", "form", "block", "signature", "stop", "heading")
MAX_FOUND = 500
"""The most findings of one part on a page that are shown."""
_SIGNALS: Mapping[Signal, tuple[str, str]] = {
    Signal.GENERATOR: ("meta", "content"),
    Signal.SCRIPT: ("script", "src"),
    Signal.LINK: ("link", "href"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a part.

    ``element`` is None if the result is no element of the page, such as an object made of a talk page's runs. ``value``
    is the value as it is read, empty if the part reads none. ``item`` is the number of the object that it belongs to.
    """

    element: HtmlElement | None
    value: str = ""
    item: int | None = None


@dataclass
class ExtractMatches:
    """An extraction action on a page: its objects, and what each part of it finds in them.

    ``part`` is the action in the entry, ``action`` the same in the model. The action of a variant includes the parts of
    its level's action, so items and fields may be elsewhere in the entry.
    """

    page: Page
    application: Application
    level: PageLevel
    action: Extract
    parts: EntryParts
    part: Part

    @cached_property
    def extraction(self) -> Extraction:
        """The action, run on this page."""
        runner = Runner.of(self.page, self.application, self.level)
        return Extraction(self.action, runner.location, runner.reader)

    @cached_property
    def items(self) -> tuple[HtmlElement, ...]:
        """The elements of the objects, at most 200; none if the expressions fail on this page."""
        try:
            return tuple(self.extraction.items()[:MAX_ITEMS])
        except (XPathError, ValueError):
            return ()

    def of_item(self, part: Part) -> tuple[Finding, ...]:
        """Return what an ``item`` finds, even if an earlier ``item`` counts in its place. Raise ``XPathError``."""
        selector = part.selector
        if selector is None:
            return ()
        found = selector.elements(self.page.tree, self.page.elements)
        kept = found if self.action.many else found[:1]
        return tuple(Finding(element, item=number) for number, element in enumerate(kept))

    def of_field(self, part: Part) -> Iterator[tuple[Part, tuple[Finding, ...]]]:
        """Yield each ``select`` of a field with the values that it reads where no earlier ``select`` reads any.

        Raise ``XPathError`` for an expression that fails on this page.
        """
        selects = self.parts.children(part, "select")
        wanted = self._field(part, selects)
        read: dict[int, list[Finding]] = {number: [] for number in range(len(selects))}
        for place, item in enumerate(self.items if wanted is not None else ()):
            if wanted is None or (wanted.first_only and (place or not self.extraction.location.is_first)):
                break
            for number, selector in enumerate(wanted.selectors):
                found = self._read(replace(wanted, selectors=(selector,)), item, place)
                if found:
                    read[number] += found
                    break
        for number, select in enumerate(selects):
            yield select, tuple(read[number])

    def within(self, part: Part) -> tuple[Finding, ...]:
        """Return what any other expression of the action, such as that of numbers, finds within the objects.

        Raise ``XPathError``.
        """
        selector = part.selector
        if selector is None:
            return ()
        elements = None if self.action.run is not None else self.page.elements
        return tuple(
            finding_of(node, selector.attribute, place, self._is_made)
            for place, item in enumerate(self.items)
            for node in selector.found(item, elements)[:MAX_NODES]
            if not isinstance(node, str) or node
        )

    @property
    def _is_made(self) -> bool:
        return self.action.run is not None

    def _field(self, part: Part, selects: Sequence[Part]) -> Field | None:
        """Return a field of the entry from the model, None if the text has changed since."""
        sources = tuple(select.selector.source if select.selector is not None else "" for select in selects)
        alike = (each for each in self.action.fields if each.name == part.text("name"))
        return next((each for each in alike if tuple(sign.source for sign in each.selectors) == sources), None)

    def _read(self, wanted: Field, item: HtmlElement, place: int) -> list[Finding]:
        found = self.extraction.reader.read(wanted, item, self.extraction.owners)
        if not found.values:
            return []
        elements: Sequence[HtmlElement | None] = found.elements if found.elements and not self._is_made else (None,)
        values = " · ".join(map(value_text, found.values))[:MAX_VALUE_LENGTH]
        return [Finding(element, values if not number else "", place) for number, element in enumerate(elements)]


def finding_of(node: Node, attribute: str, item: int | None = None, is_made: bool = False) -> Finding:
    """Return the result of an expression: an element, or a value with the element that has it, if known."""
    if isinstance(node, HtmlElement):
        value = (node.get(attribute) or "") if attribute else ""
        return Finding(None if is_made else node, value[:MAX_VALUE_LENGTH], item)
    parent = getattr(node, "getparent", lambda: None)()
    at = parent if isinstance(parent, HtmlElement) and not is_made else None
    return Finding(at, str(node)[:MAX_VALUE_LENGTH], item)


@dataclass(frozen=True, slots=True)
class PartMatch:
    """A part of an entry on a page.

    ``holds`` says whether the page meets a sign, a condition or an address, and is None for other parts. ``found`` is
    the number of its findings, and ``findings`` are the first 500. ``said`` is the result in words. ``counts`` says
    whether the part applies to the page: it is of the level (and variant) that the page is recognised as, or of the
    entry as a whole.
    """

    place: str
    tag: str
    words: str
    said: str
    holds: bool | None = None
    findings: tuple[Finding, ...] = ()
    found: int = 0
    counts: bool = True


@dataclass(frozen=True, slots=True)
class PageMatches:
    """A page as an entry reads it. ``application`` and the rest are empty if the page is not recognised.

    ``why`` are sentences on the recognition. ``reading`` are the objects that are read now.
    """

    url: str
    application: str
    level: str
    variant: str
    why: tuple[str, ...]
    parts: tuple[PartMatch, ...]
    links: tuple[LinkFate, ...]
    reading: SampledReading
    explanation: Explanation = field(repr=False)

    def at(self, place: str) -> PartMatch | None:
        """Return the match of the part at a place."""
        return next((part for part in self.parts if part.place == place), None)


def matches(
    application: Application, text: EntryText, page: Page, knowledge_base: KnowledgeBase | None = None
) -> PageMatches:
    """Return what each part of an entry matches on a page.

    ``application`` is the entry as it was loaded, and ``knowledge_base`` the one that it is a part of, whose other
    applications may claim the page; without it, the entry is used alone. If the text has changed since it was loaded,
    parts that the application does not have are shown with what their expressions find.
    """
    known = knowledge_base or KnowledgeBase((application,))
    found = _Found.on(page, application, text, known)
    explanation = explained(found.assistance, page, known, FileLines(()))
    return PageMatches(
        page.url,
        explanation.application,
        explanation.level,
        explanation.variant,
        tuple(_why(explanation, application)),
        tuple(found.parts),
        tuple(found.links),
        of_web_objects(found.assistance.objects, ReadBy.ENTRY if found.is_own else ReadBy.GENERIC),
        explanation,
    )


def matched_places(application: Application, text: EntryText, page: Page) -> tuple[str, frozenset[str]]:
    """Return the level that an entry, used alone, names for a page, if any, and the places of the parts that match it.

    They are those of `matches`, found in less time: the page is read once, and not once more for each action.
    """
    found = _Found.on(page, application, text, KnowledgeBase((application,)))
    match = found.assistance.match
    parts = {part.place for part in found.parts if part.counts and (part.found or part.holds)}
    places = frozenset(parts | {link.place for link in found.links if link.place})
    return match.level.name if match is not None and match.level is not None else "", places


@dataclass(frozen=True, slots=True)
class _Found:
    """What the helper reads of a page, and what the parts of an entry find there."""

    assistance: Assistance
    is_own: bool
    parts: Iterable[PartMatch]
    links: Iterable[LinkFate]

    @classmethod
    def on(cls, page: Page, application: Application, text: EntryText, known: KnowledgeBase) -> Self:
        assistance = ApplicationAwareHelper(known).assist(page)
        match = assistance.match
        is_own = match is not None and match.application.name == application.name
        level = match.level if match is not None and is_own else None
        parts = EntryParts(text)
        matching = _Matching(page, application, parts, level, match.variant if match is not None and is_own else "")
        fates = LinkFates(page, assistance, parts, application if is_own else None)
        return cls(assistance, is_own, matching.all(), fates.all())


def _why(explanation: Explanation, application: Application) -> Iterator[str]:
    """Yield sentences on how the page is recognised."""
    if explanation.rivals:
        yield f"{' and '.join(explanation.rivals)} claim the page with equal strength, so that it counts for neither."
        return
    recognised = explanation.recognised
    if recognised is None:
        own = next((each for each in explanation.nearest if each.name == application.name), None)
        shown = (
            f"{own.held} of its {len(own.patterns)} signs, which is not enough" if own is not None else "no sign of it"
        )
        yield f"The page is not taken for {application.name}: it shows {shown}."
        return
    signs = f"{recognised.held} of {len(recognised.patterns)} signs"
    yield f"The page is taken for {explanation.application}: it shows {signs}."
    fitting = [level.name for level in explanation.levels if level.fits]
    if not explanation.level:
        yield "The entry names no level for it: the conditions of none hold."
        return
    variant = f", in its variant {explanation.variant}" if explanation.variant else ""
    yield f"It is of level {explanation.level}{variant}."
    if len(fitting) > 1:
        others = ", ".join(name for name in fitting if name != explanation.level)
        yield f"The conditions of {others} hold as well; the first level of the file counts."


@dataclass
class _Matching:
    """Matches the parts of an entry with one page."""

    page: Page
    application: Application
    parts: EntryParts
    level: PageLevel | None
    variant: str

    def all(self) -> Iterator[PartMatch]:
        """Yield all parts that look for something, in the order of the entry."""
        for part in self.parts.all:
            judge = self._judges.get(part.tag)
            try:
                found = list(judge(part)) if judge is not None else []
            except (XPathError, ValueError) as error:
                found = [PartMatch(part.place, part.tag, part.words, f"it cannot be evaluated on this page: {error}")]
            yield from (replace(each, counts=self._counts(part)) for each in found)

    @cached_property
    def _judges(self) -> Mapping[str, Callable[[Part], Iterable[PartMatch]]]:
        return {
            "pattern": self._pattern,
            "when": self._condition,
            "unless": self._condition,
            "needs-browser": self._condition,
            "address": self._address,
            "paging": self._paging,
            "url": self._avoided,
            "drop": self._dropped,
            "item": self._item,
            "field": self._field,
            "select": self._select,
            **dict.fromkeys((*_ANY, *Act), self._any),
        }

    @cached_property
    def _sight(self) -> Sight:
        return Sight(self.page)

    @cached_property
    def _here(self) -> ParsedUrl:
        return self.application.canonical(ParsedUrl.parse(self.page.url))

    @cached_property
    def _links(self) -> tuple[tuple[HtmlElement, ParsedUrl, ParsedUrl], ...]:
        """The links to the page's site: each element with its URL and the canonical form of that."""
        here = self._here.prefix
        found = ((element, ParsedUrl.parse(url)) for element, url in page_links(self.page) if url)
        return tuple((at, url, self.application.canonical(url)) for at, url in found if url.prefix == here)

    def _counts(self, part: Part) -> bool:
        behaviour = self.parts.around(part, "behaviour")
        if behaviour is not None and behaviour.text("level"):
            return self.level is not None and self.level.name in behaviour.text("level").split()
        level, variant = self.parts.around(part, "level"), self.parts.around(part, "variant")
        if level is None or part.tag in ("when", "unless"):
            return True
        if self.level is None or level.text("name") != self.level.name:
            return False
        return variant is None or variant.text("name") == self.variant

    def _model_level(self, part: Part) -> PageLevel | None:
        around = self.parts.around(part, "level")
        name = around.text("name") if around is not None else ""
        return next((level for level in self.application.levels if level.name == name), None)

    def _pattern(self, part: Part) -> Iterator[PartMatch]:
        patterns = self.application.patterns
        if part.number >= len(patterns):
            return
        pattern = patterns[part.number]
        holds = self._sight.shows(pattern)
        yield self._told(part, self._shown_by(pattern) if holds else (), holds)

    def _shown_by(self, pattern: Pattern) -> Sequence[Finding]:
        tree = self.page.tree
        if pattern.selector is not None:
            return self._found(pattern.selector.found(tree, self.page.elements))
        tag, attribute = _SIGNALS.get(pattern.signal, ("", ""))
        value = pattern.value.lower()
        told = (each for each in tree.iter(tag) if value in (each.get(attribute) or "").lower()) if tag else ()
        return tuple(Finding(each, each.get(attribute) or "") for each in told)

    def _condition(self, part: Part) -> Iterator[PartMatch]:
        condition = self._model_condition(part)
        selector = part.selector
        found = self._found(selector.found(self.page.tree, self.page.elements)) if selector is not None else ()
        if condition is None:
            yield self._told(part, found, None)
            return
        holds = self._sight.meets(condition)
        address_fails = condition.rule is not None and not condition.rule.matches(self._sight.parsed_url)
        yield self._told(part, found, holds, "the address of the page does not fit" if address_fails else "")

    def _model_condition(self, part: Part) -> Condition | None:
        level, variant = self._model_level(part), self.parts.around(part, "variant")
        if part.tag == "needs-browser":
            given = self.application.needs_browser
        elif level is None or self.parts.around(part, "request") is not None:
            return None
        elif variant is not None:
            named = (each.when for each in level.variants if each.name == variant.text("name"))
            given = next(named, ())
        else:
            given = level.when if part.tag == "when" else level.unless
        return given[part.number] if part.number < len(given) else None

    def _address(self, part: Part) -> Iterator[PartMatch]:
        level = self._model_level(part)
        if level is None or part.number >= len(level.addresses):
            return
        rule = level.addresses[part.number]

        def fits(url: ParsedUrl) -> bool:
            return rule.matches(url) or rule.matches(level.first_page(url))

        links = tuple(Finding(element, url.url) for element, _, url in self._links if fits(url))
        holds = fits(self._here)
        said = (
            f"the page's own address {'fits' if holds else 'does not fit'}; {_many(len(links), 'link')} of the page fit"
        )
        yield PartMatch(part.place, part.tag, part.words, said, holds, links[:MAX_FOUND], len(links))

    def _paging(self, part: Part) -> Iterator[PartMatch]:
        paging = Paging(part.text("parameter"), part.text("part"))
        if bool(paging.parameter) == bool(paging.part):
            return
        own = paging.strip(self._here).url
        links = tuple(
            Finding(element, url.url)
            for element, _, url in self._links
            if url.url != self._here.url and paging.strip(url).url == own
        )
        said = f"{_many(len(links), 'link')} to other pages of this one"
        yield PartMatch(part.place, part.tag, part.words, said, None, links[:MAX_FOUND], len(links))

    def _avoided(self, part: Part) -> Iterator[PartMatch]:
        rules = self.application.avoid.rules
        if part.number >= len(rules):
            return
        wanted = rules[part.number]
        links = tuple(
            Finding(element, url.url) for element, _, url in self._links if self.application.refusal(url) is wanted
        )
        yield self._told(part, links, None)

    def _dropped(self, part: Part) -> Iterator[PartMatch]:
        rules = self.application.drops.rules
        if part.number >= len(rules):
            return
        rule = rules[part.number]
        links = tuple(Finding(at, url.url) for at, url, _ in self._links if rule.apply(url) is not url)
        yield self._told(part, links, None)

    def _extract(self, part: Part) -> ExtractMatches | None:
        """Return the extraction action, on this page, that a part belongs to."""
        around = self.parts.around(part, "extract")
        level = self._model_level(part)
        if around is None or level is None:
            return None
        if around.place not in self._extracts:
            variant = self.parts.around(part, "variant")
            named = (each.actions for each in level.variants if variant and each.name == variant.text("name"))
            name = around.text("name")
            action = next((each for each in next(named, level.actions) if each.name == name), None)
            made = None
            if isinstance(action, Extract):
                made = ExtractMatches(self.page, self.application, level, action, self.parts, around)
            self._extracts[around.place] = made
        return self._extracts[around.place]

    @cached_property
    def _extracts(self) -> dict[str, ExtractMatches | None]:
        return {}

    def _item(self, part: Part) -> Iterator[PartMatch]:
        extract = self._extract(part)
        if extract is not None:
            yield self._told(part, extract.of_item(part), None)

    def _field(self, part: Part) -> Iterator[PartMatch]:
        extract = self._extract(part)
        if extract is None:
            return
        every: list[Finding] = []
        selects = list(extract.of_field(part))
        for _, findings in selects:
            every += findings
        read = len({finding.item for finding in every})
        first = "the first " if len(extract.items) == MAX_ITEMS else ""
        said = f"read in {read} of {first}{_many(len(extract.items), 'object')}"
        yield PartMatch(part.place, part.tag, part.words, said, None, tuple(every[:MAX_FOUND]), len(every))
        for select, findings in selects:
            said = (
                f"reads {len({finding.item for finding in findings})}"
                if findings
                else self._why_not(select, extract, read)
            )
            yield PartMatch(
                select.place, select.tag, select.words, said, None, tuple(findings[:MAX_FOUND]), len(findings)
            )

    def _why_not(self, select: Part, extract: ExtractMatches, read: int) -> str:
        """Return in words why an expression of a field reads nothing: another one does, or how far it matches."""
        if read == len(extract.items):
            return "reads nothing: all objects have the value by others" if read else "there is no object to read it in"
        steps = narrowed(select.text("css"), select.text("xpath"), extract.items[0])
        return "; ".join(("reads nothing", *(f"{step.expression} finds {step.count}" for step in steps[-2:])))

    def _select(self, part: Part) -> Iterator[PartMatch]:
        holder = self.parts.at(part.parent)
        tag = holder.tag if holder is not None else ""
        if tag == "field":
            return
        if tag in ("identity", "parent"):
            extract = self._extract(part)
            if extract is not None:
                yield self._told(part, extract.within(part), None)
            return
        yield from self._any(part)

    def _any(self, part: Part) -> Iterator[PartMatch]:
        selector = part.selector
        if selector is None:
            return
        nodes = selector.found(self.page.tree, self.page.elements)
        yield self._told(part, self._found(nodes, selector.attribute), None)

    def _found(self, nodes: Iterable[HtmlElement | str], attribute: str = "") -> tuple[Finding, ...]:
        return tuple(finding_of(node, attribute) for node in nodes if not isinstance(node, str) or node)

    def _told(self, part: Part, findings: Sequence[Finding], holds: bool | None, more: str = "") -> PartMatch:
        count = len(findings)
        words = [] if holds is None else ["holds" if holds else "does not hold"]
        if part.selector is not None or holds is None:
            words.append(f"finds {count or 'nothing'}")
        if not count and part.selector is not None:
            steps = narrowed(part.text("css"), part.text("xpath"), self.page.tree)
            words += [f"{step.expression} finds {step.count}" for step in steps[-2:] if len(steps) > 1]
        said = "; ".join(filter(None, (*words, more)))
        return PartMatch(part.place, part.tag, part.words, said, holds, tuple(findings[:MAX_FOUND]), count)


def _many(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
