"""Writes an extraction action that is induced from the objects that pages show."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.editor.drafting import annotated_xml
from aahcrawler.editor.drafting.annotated_xml import Change, Choice, Guesses, removal
from aahcrawler.editor.drafting.labelling import TemplateParts, with_wider_bodies, without_template
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.parts.splitting import body_of
from aahcrawler.page import Page
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import WebObject
from aahcrawler.wrapper_induction.element_features import words_of_pages
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject
from aahcrawler.wrapper_induction.induce import propose, run
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.samples import text_of
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.model import DateFormat, Extract, Field, FieldKind, Identity, KnowledgeBase
from knowledge_base.selectors import compile_selector

MUCH_MORE = 1.5
"""How many times as many words as generic reading finds may be in bodies before they hold more than texts."""
PENALTY = 0.2
MIN_FOREIGN = 0.02
"""The share of words of other objects and of the template in a body up to which they are there by chance."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")
_DAY_FIRST = 12
_NUMERIC_DATE = re.compile(r"\b(\d{1,2})[./-](\d{1,2})[./-](?:\d{4}|\d{2})\b")
_GENERAL = frozenset({"post", "posts", "article", "articles", "thread", "threads", "topic", "topics", "html", "page"})
_WINDOW_TITLE = compile_selector(css="head > title")
_DECLARED = ("datePublished", "dateCreated")
ENOUGH = 0.95
"""The share of what generic reading finds that an action has to read."""
MIN_BESIDE = 0.5
"""The share below which answers to the page's own object are left out of the file."""
MAX_WIDER = 2
Ways = Callable[[Page], Iterator[LabelledExample]]


@dataclass
class GenericReadings:
    """The objects that pages hold as read without any knowledge of their application; each page is read once."""

    _known: dict[str, tuple[WebObject, ...]] = field(default_factory=dict)

    def of(self, page: Page) -> tuple[WebObject, ...]:
        """Return the objects of a page, whose tree stays as it is."""
        if page.url not in self._known:
            copy = replace(page)
            self._known[page.url] = ApplicationAwareHelper(KnowledgeBase(())).assist(copy).objects
        return self._known[page.url]

    def wanted(self, page: Page, action: Extract, *, beside: bool) -> tuple[WebObject, ...]:
        """Return those of the objects that an action should find: all, the page's own, or what is ``beside`` it."""
        found = [each for each in self.of(page) if body_of(each)]
        answers = [each for each in found if each.type in ("comment", "reply")]
        if beside:
            return tuple(answers)
        return tuple(found) if action.many else tuple(each for each in found if each not in answers)[:1]

    def worth(self, action: Extract, pages: Sequence[Page], *, beside: bool = False) -> float:
        """Return the share of generic reading's result that an action reads, in [0, 1], on the page where it is lowest.

        It is computed from the share of the objects and the share of the words in their bodies, without words of the
        template. Words of the template or of other objects, and far too many words, lower it. If generic reading finds
        nothing, an action that finds anything is worth 1.
        """
        template = TemplateParts({}) if action.many else TemplateParts.of(pages)
        values = [self._worth(action, page, template, beside=beside) for page in pages]
        known = [value for value in values if value is not None]
        return min(known, default=0.0)

    def _worth(self, action: Extract, page: Page, template: TemplateParts, *, beside: bool) -> float | None:
        read = [each for each in run(action, page) or () if body_of(each)]
        wanted = self.wanted(page, action, beside=beside)
        if not wanted:
            return None if beside else float(bool(read))
        common = [fold(plain_text(part)) for part in template.on(page)]
        here, there = _counted(map(body_of, read)), _counted(_apart(body_of(each), common) for each in wanted)
        covered = (here & there).total() / max(there.total(), 1)
        excess = max(0.0, here.total() / max(there.total(), 1) - MUCH_MORE)
        worth = min(len(read) / len(wanted), covered, 1.0) - PENALTY * min(excess, 1.0)
        foreign = 0.0 if action.many else self._foreign(page, read, common)
        return max(0.0, worth - (foreign if foreign > MIN_FOREIGN else 0.0))

    def _foreign(self, page: Page, read: Sequence[WebObject], common: Sequence[str]) -> float:
        """Return the share of the words of a page's own object that are those of answers, or of the template."""
        answers = [body_of(each) for each in self.of(page) if each.type in ("comment", "reply")]
        texts = [fold(body_of(each)) for each in read]
        held = [text for text in (*map(fold, answers), *common) if text and any(text in each for each in texts)]
        return _counted(held).total() / max(_counted(texts).total(), 1)


def _apart(text: str, common: Iterable[str]) -> str:
    """Return a text without those parts that are of the template."""
    left = fold(text)
    for part in common:
        left = left.replace(part, " ", 1) if part else left
    return left if left.strip() else text


def _counted(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in _WORD.findall(text.lower()))


LITTLE_DOUBT, SOME_DOUBT = 0.1, 0.3


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of an action: its name, their type, and the type of the first.

    ``beside`` is True if they are answers to the page's own object: there may be none, and they have no title.
    """

    action: str
    type: str
    first_type: str = ""
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """An action that was induced from examples; ``fit`` is how exactly its items are those of the examples."""

    objects: Objects
    examples: tuple[LabelledExample, ...]
    wrapper: Wrapper
    fit: float

    @property
    def item(self) -> Expression:
        """The expression of its items."""
        return Expression.of(self.wrapper.action.items[0])

    @property
    def written(self) -> bytes:
        """The action as a file has it, without comments."""
        return etree.tostring(self.wrapper.xml())


@dataclass(frozen=True, slots=True)
class FieldDoubt:
    """How doubtful the expression of a field is, and alternative fields, each described in words."""

    doubt: float
    others: tuple[tuple[str, etree._Element], ...] = ()

    def choices(self, written: etree._Element) -> tuple[Choice, ...]:
        """Return the choices to write one of the others, or nothing, in the place of a field."""
        put = (Choice(said, (Change("put", written, xml=other),)) for said, other in self.others)
        return (*put, removal(f"the pages show no {written.get('name')}; leave it out", written))


def proposed(objects: Objects, examples: Sequence[LabelledExample]) -> Proposal | None:
    """Return the best action for the objects of examples; None if none finds most of them."""
    if not objects.beside:
        examples = _with_own_titles(examples) or [_titled(example) for example in examples]
    schema = _schema(objects, examples)
    found = propose(examples, schema, foreign_words([example.page for example in examples]))
    return Proposal(objects, tuple(examples), _numbered(found[0]), found[1]) if found is not None else None


def said_of_objects(proposal: Proposal) -> str:
    """Return how the objects of a proposal were found, and how many."""
    number = _number(proposal.examples, several=proposal.wrapper.action.many)
    return f"objects are {proposal.examples[0].notes[0]}; {number}{_exactness(proposal.fit)}"


def _schema(objects: Objects, examples: Sequence[LabelledExample]) -> Extract:
    """Return the action that is wanted, without the expressions that are to be found."""
    several = bool(objects.first_type) or objects.beside or any(len(each.objects) > 1 for each in examples)
    titles = len(_labels("title", examples))
    title = Field("title", FieldKind.TEXT, (), first_only=several and titles <= len(examples))
    if not titles:
        title = replace(title, selectors=(_WINDOW_TITLE,), page=True)
    dated = _labels("date", examples)
    order = _order(dated)
    date = Field("date", FieldKind.DATETIME, (), date=DateFormat(order))
    if not dated:
        date = replace(date, declared=_DECLARED, first_only=several)
    author, body = Field("author", FieldKind.PERSON, ()), Field("body", FieldKind.TEXT, ())
    return Extract(
        name=objects.action,
        type=objects.type,
        items=(),
        fields=(*(() if objects.beside else (title,)), author, date, body),
        many=several,
        always=not objects.beside,
        first_type=objects.first_type,
        identity=Identity(()) if several else None,
    )


def _numbered(wrapper: Wrapper) -> Wrapper:
    """Make the fragments of URLs from the page's own ids of the objects."""
    identity = wrapper.action.identity
    if identity is None or not identity.selectors:
        return wrapper
    return replace(wrapper, action=replace(wrapper.action, identity=replace(identity, prefix=identity.trims[0])))


def foreign_words(pages: Sequence[Page]) -> frozenset[str]:
    """Return the words of the URLs, which may be in names made for one page alone."""
    if len(pages) > 1:
        return words_of_pages([page.url for page in pages])
    words = re.findall(r"[a-z][a-z-]{3,}", pages[0].url.partition("://")[2].partition("/")[2].lower())
    return frozenset(words) - _GENERAL


def _titled(example: LabelledExample) -> LabelledExample:
    """Label the heading of a page as the title of its first object."""
    heading = _heading(example.page)
    if heading is None or not example.objects:
        return example
    first, *others = example.objects
    title = Label((heading,), fold(plain_text(heading)))
    return replace(example, objects=(replace(first, labels={**first.labels, "title": title}), *others))


def _with_own_titles(examples: Sequence[LabelledExample]) -> list[LabelledExample] | None:
    """Label the heading within each object as its title; None unless all have one, and most name the page's subject."""
    found: list[LabelledExample] = []
    named = total = 0
    for example in examples:
        subject = _heading(example.page)
        shown = fold(plain_text(subject)).lower() if subject is not None else ""
        objects = [(each, _own_heading(each)) for each in example.objects]
        labelled = []
        for each, heading in objects:
            if heading is None or not shown:
                return None
            title = fold(plain_text(heading))
            named += shown in title.lower()
            labelled.append(replace(each, labels={**each.labels, "title": Label((heading,), title)}))
        total += len(labelled)
        found.append(replace(example, objects=tuple(labelled)))
    return found if total > len(examples) and named > total / 2 else None


def _own_heading(labelled: LabelledObject) -> HtmlElement | None:
    """Return the first heading of an object that is no part of its text, None if it has none."""
    body = labelled.labels.get("body")
    for element in labelled.elements[0].iter("h1", "h2", "h3", "h4", "h5", "h6"):
        is_text = body is not None and any(above is body.elements[0] for above in element.iterancestors())
        if isinstance(element, HtmlElement) and not is_text and fold(plain_text(element)):
            return element
    return None


def _heading(page: Page) -> HtmlElement | None:
    """Return the heading with which the page's title begins, else one that it holds, else the first of the page.

    Headings that link to the front page name the site.
    """
    titles = " ".join(fold(plain_text(title)) for title in page.tree.iter("title")).lower()
    found = [each for tag in ("h1", "h2", "h3") for each in page.tree.iter(tag) if fold(plain_text(each))]
    headings = [each for each in found if not _names_site(each, page)]
    shown = {each: fold(plain_text(each)).lower() for each in headings}
    begun = [each for each in headings if titles.startswith(shown[each])]
    held = [each for each in headings if shown[each] in titles]
    best = max(begun or held, key=lambda each: len(shown[each]), default=None)
    return best if best is not None else next(iter(headings), None)


def _names_site(heading: HtmlElement, page: Page) -> bool:
    links = (urls.resolve(page.base_url, link.get("href") or "") for link in heading.iter("a"))
    return any(url == urls.origin(page.url) + "/" for url in links if url)


def _labels(name: str, examples: Iterable[LabelledExample]) -> tuple[Label, ...]:
    return tuple(each.labels[name] for example in examples for each in example.objects if name in each.labels)


# The written action


def written_extract(proposal: Proposal, guesses: Guesses, doubts: Mapping[str, FieldDoubt]) -> etree._Element:
    """Return the action as it is written, with every guess marked; ``doubts`` are those of the fields, by name."""
    wrapper, examples = proposal.wrapper, proposal.examples
    extract = wrapper.xml()
    for each in extract.iter("item", "select", "without"):
        each.set("cite", annotated_xml.UNPROVEN)
    identity = wrapper.action.identity
    for child in extract.findall("identity"):
        said = _said_of_identity(identity) if identity is not None else ""
        numbered = identity is not None and bool(identity.selectors)
        guesses.mark(child, said, LITTLE_DOUBT if numbered else SOME_DOUBT)
    told: set[str] = set()
    for named, child in zip(wrapper.action.fields, extract.findall("field"), strict=True):
        again = "the same of other objects: " if named.name in told else ""
        doubt = doubts.get(named.name, FieldDoubt(SOME_DOUBT))
        choices = doubt.choices(child) if named.name not in told else ()
        guesses.mark(child, f"{again}{_said_of(named, examples)}", doubt.doubt, choices)
        told.add(named.name)
        for part in child.findall("without"):
            said = f"this is no part of the text: {part.get('css') or part.get('xpath')}"
            guesses.mark(part, said, SOME_DOUBT, [removal("it is part of the text", part)])
    for name in ("author", "body"):
        if name not in told:
            annotated_xml.note(extract, f"no {name} was found; add a field if the page shows one")
    return extract


def _said_of_identity(identity: Identity) -> str:
    if not identity.selectors:
        told = " and ".join(identity.fields)
        return f"no number was found in the objects, so that they are distinguished by {told}"
    return f"the number{f' that follows {identity.prefix}' if identity.prefix else ''} tells the objects apart"


def _said_of(field: Field, examples: Sequence[LabelledExample]) -> str:
    labels = _labels(field.name, examples)
    shown = [text_of(label) for label in labels]
    if field.name == "title":
        if field.selectors == (_WINDOW_TITLE,):
            return "no heading was found, so that the title is the one of the browser's window"
        return f'the title is the heading "{shown[0][:60]}"'
    if field.name == "date":
        if not field.selectors:
            return "no date was found on the page; its metadata are used"
        zone = "" if labels[0].attribute == "datetime" else "; times are in UTC unless zone= gives another zone"
        return f'date: "{shown[0][:60]}"{_doubt(field.date.order, shown)}{zone}'
    told = ", ".join(dict.fromkeys(f'"{text[:40]}"' for text in shown[:3]))
    total = sum(len(example.objects) for example in examples)
    return f"{field.name}: {told}" + ("" if len(labels) == total else f"; {len(labels)} of {total} objects have one")


def _number(examples: Sequence[LabelledExample], *, several: bool) -> str:
    if not several:
        return "one a page"
    total = sum(len(example.objects) for example in examples)
    if any(len(example.objects) > 1 for example in examples):
        return f"{total} found"
    return "only one found: begin again with a page that shows several, which gives much more evidence"


def _exactness(fit: float) -> str:
    return "" if fit == 1 else f"; the item finds some others too or misses some ({fit:.0%})"


def _order(labels: Iterable[Label]) -> Literal["dmy", "mdy", "ymd"] | None:
    """Return the order that numbers of dates prove, else the usual one, else None if no date needs it."""
    shown = [text_of(label) for label in labels if label.attribute not in ("datetime", "content")]
    pairs = _pairs(shown)
    if any(second > _DAY_FIRST for _, second in pairs):
        return "mdy"
    return "dmy" if pairs else None


def _doubt(order: Literal["dmy", "mdy", "ymd"] | None, shown: Iterable[str]) -> str:
    proven = any(number > _DAY_FIRST for pair in _pairs(shown) for number in pair)
    return "; whether the day or the month comes first is unknown here" if order and not proven else ""


def _pairs(shown: Iterable[str]) -> list[tuple[int, int]]:
    return [(int(found[1]), int(found[2])) for text in shown if (found := _NUMERIC_DATE.search(text))]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The proposal that was chosen, how much of generic reading it reads (0 to 1), and the others that were tried."""

    proposal: Proposal
    worth: float
    others: tuple[tuple[Proposal, float], ...] = ()


def choose(
    pages: Sequence[Page], ways: Ways, objects: Objects, generic: GenericReadings, taken: Sequence[LabelledExample] = ()
) -> Chosen | None:
    """Return the proposal for the objects of pages; None if there is none, or only one that reads too little.

    Elements that are objects of ``taken`` are no objects of this action.
    """
    tried: list[tuple[Proposal, float]] = []
    template = TemplateParts.of(pages)
    for examples in _by_way(pages, ways, taken):
        for each in _widening(examples):
            proposal = proposed(objects, [without_template(example, template) for example in each])
            if proposal is None:
                continue
            worth = generic.worth(proposal.wrapper.action, pages, beside=objects.beside)
            if not any(known.written == proposal.written for known, _ in tried):
                tried.append((proposal, worth))
            if worth >= ENOUGH:
                break
    if not tried:
        return None
    best = next((each for each in tried if each[1] >= ENOUGH), None) or max(tried, key=lambda each: each[1])
    if objects.beside and best[1] < MIN_BESIDE:
        return None
    return Chosen(best[0], best[1], tuple(each for each in tried if each is not best))


def _by_way(pages: Sequence[Page], ways: Ways, taken: Sequence[LabelledExample]) -> Iterator[Sequence[LabelledExample]]:
    """Yield the examples of all pages that were found in the same way, those of the fullest page first."""
    known = {each.elements for example in taken for each in example.objects}
    found: dict[tuple[str, ...], list[LabelledExample]] = {}
    for page in pages:
        for example in ways(page):
            if known.isdisjoint(each.elements for each in example.objects):
                found.setdefault(example.notes, []).append(example)
    for examples in found.values():
        yield sorted(examples, key=lambda example: -len(example.objects))


def _widening(examples: Sequence[LabelledExample]) -> Iterator[Sequence[LabelledExample]]:
    """Yield examples, then the same with wider and wider bodies."""
    yield examples
    for _ in range(MAX_WIDER):
        wider = [with_wider_bodies(example) for example in examples]
        if not any(wider):
            return
        examples = [new or old for new, old in zip(wider, examples, strict=True)]
        yield examples
