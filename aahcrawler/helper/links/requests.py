"""Make URLs that no page links to: JSON endpoints of its application, and forms that are filled in."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product, takewhile
from types import MappingProxyType
from urllib.parse import quote

from lxml.html import Element, HtmlElement

from aahcrawler import urls
from aahcrawler.helper.links.forms import NotSentError, Submission, submission
from aahcrawler.helper.site_memory.sites import site_of
from aahcrawler.page import Page, text
from aahcrawler.page.jsontree import ITEM
from aahcrawler.posted_forms import is_reserved
from knowledge_base.matching import Sight
from knowledge_base.model import Filler, Form, Navigate, RequestTemplate
from knowledge_base.selectors import Node, Selector
from knowledge_base.url_rules import ParsedUrl

MOST_REQUESTS = 200
"""URLs that one page may make."""

MOST_FORMS = 10
"""Forms of one page that an action sends."""

LONGEST_VALUE = 500
"""Characters of a value; nothing that long is a number, a name or a keyword."""

Values = Mapping[str, tuple[str, ...]]
"""The words in the Intelligent Crawl Definition: ``keywords``, ``entities``."""


def no_values() -> Values:
    """Return the values of a definition without any."""
    return MappingProxyType({})


_PLACE = re.compile(r"\{([^{}]+)\}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_UNWRITABLE = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")
_ONLY_DOTS = re.compile(r"\.*")


@dataclass(frozen=True, slots=True)
class Unsent:
    """A form that was not sent, and the reason."""

    action: str
    detail: str


@dataclass(frozen=True, slots=True)
class Made:
    """A URL that was made, and the element whose text describes its target, if any."""

    url: str
    element: HtmlElement | None = None


@dataclass(frozen=True, slots=True)
class _Value:
    text: str
    element: HtmlElement | None = None


@dataclass
class Requests:
    """The URLs that one page makes, at most ``MOST_REQUESTS`` for all of its actions together."""

    page: Page
    values: Values = field(default_factory=no_values)
    unsent: list[Unsent] = field(default_factory=list)
    _left: int = MOST_REQUESTS

    def of(self, action: Navigate) -> Iterator[Made]:
        """Yield the canonical URLs of an action's requests and forms, in their order, each once.

        All are on the page's own site, whatever the page contains. A request that lacks a value is not made; a form
        that lacks one, or must not be sent, is recorded in ``unsent``.
        """
        found: dict[str, Made] = {}
        for made in self._made(action):
            found.setdefault(made.url, made)
        for made in islice(found.values(), self._left):
            self._left -= 1
            yield made

    @cached_property
    def _sight(self) -> Sight:
        return Sight(self.page)

    def _made(self, action: Navigate) -> Iterator[Made]:
        for request in action.requests:
            if not request.when or any(map(self._sight.meets, request.when)):
                yield from islice(self._requested(request), MOST_REQUESTS)
        for form in action.forms:
            yield from islice(self._sent(action, form), MOST_REQUESTS)

    def _requested(self, request: RequestTemplate) -> Iterator[Made]:
        for values in self._combinations(request.fillers):
            url = address(request.address, _texts(values), self.page.url)
            if url is not None:
                yield Made(url, _subject(values))

    def _sent(self, action: Navigate, form: Form) -> Iterator[Made]:
        for element in islice(_forms(form.selector.found(self.page.tree, self.page.elements)), MOST_FORMS):
            try:
                found = submission(element, self.page.url, self.page.base_url, may_post=bool(form.safe))
                yield from self._submitted(found, form)
            except NotSentError as reason:
                self.unsent.append(Unsent(action.name, str(reason)))

    def _submitted(self, found: Submission, form: Form) -> Iterator[Made]:
        if site_of(found.target) != site_of(self.page.url):
            raise NotSentError(f"it leads to another site, {found.target[:100]}; choose another form")
        for filler in form.fillers:
            if not self._values(filler):
                raise NotSentError(f"there is no value for {filler.name}; give it a text, or look elsewhere for it")
        for values in self._combinations(form.fillers):
            yield Made(found.filled(_texts(values)), _subject(values))

    def _combinations(self, fillers: Iterable[Filler]) -> Iterator[dict[str, _Value]]:
        """Yield every combination of values, one of each filler; none if a filler has no values."""
        choices = [[(filler.name, value) for value in self._values(filler)] for filler in fillers]
        return map(dict, product(*choices))

    def _values(self, filler: Filler) -> list[_Value]:
        """Return the values of a filler: all of them with ``each``, else the first; none if it has none."""
        found = list(islice(self._sources(filler), MOST_REQUESTS))
        kept = [value for value in found if value.text and len(value.text) <= LONGEST_VALUE]
        if not kept and filler.text:
            kept = [_Value(filler.text)]
        summed = [_Value(_plus(value.text, filler.add), value.element) for value in kept] if filler.add else kept
        usable = [value for value in summed if value.text]
        return usable if filler.each else usable[:1]

    def _sources(self, filler: Filler) -> Iterator[_Value]:
        if filler.selectors:
            found = (self._found(selector, filler) for selector in filler.selectors)
            yield from next(filter(None, found), [])
        elif filler.parameter:
            yield _Value(text.fold(ParsedUrl.parse(self.page.url).parameters.get(filler.parameter, "")))
        else:
            for word in self.values.get(filler.icd, ()) if filler.icd else ():
                yield _Value(text.fold(word), _saying(word))

    def _found(self, selector: Selector, filler: Filler) -> list[_Value]:
        nodes = selector.found(self.page.tree, self.page.elements)[:MOST_REQUESTS]
        records = _records(node for node in nodes if not isinstance(node, str)) if filler.each else {}
        values = []
        for node in nodes:
            if isinstance(node, str):
                values.append(_Value(text.fold(node)))
            elif (written := _written(node, selector.attribute)) is not None:
                values.append(_Value(text.fold(written), records.get(node)))
        return values


def address(template: str, values: Mapping[str, str], page_url: str) -> str | None:
    """Return the canonical URL that a template makes of values, None if it makes none on the page's site.

    A ``{name}`` is replaced by a value, percent-encoded so that it stays within its part of the path or query. The
    value at the beginning of a template is a URL itself, such as the root of an application's endpoints, and is
    not encoded; if it has a query, the query of the template is added to it.

    >>> address("/posts/{id}?q={word}", {"id": "7", "word": "a&b/c"}, "http://a.test/x")
    'http://a.test/posts/7?q=a%26b%2Fc'
    >>> address("{root}wp/v2/posts?page=2", {"root": "http://a.test/?rest_route=/"}, "http://a.test/x")
    'http://a.test/?rest_route=/wp/v2/posts&page=2'
    >>> address("{root}wp/v2/posts", {"root": "http://evil.test/"}, "http://a.test/x") is None
    True
    """
    if any(_ONLY_DOTS.fullmatch(values.get(name, "")) for name in _PLACE.findall(template)):
        return None
    first = _PLACE.match(template)
    root = values[first[1]].partition("#")[0] if first else ""
    rest = _PLACE.sub(lambda place: _within(values[place[1]]), template[first.end() if first else 0 :])
    if "?" in root:
        rest = rest.replace("?", "&", 1)
    url = urls.resolve(page_url, root + rest)
    return url if url is not None and site_of(url) == site_of(page_url) and not is_reserved(url) else None


def _within(value: str) -> str:
    return quote(value, safe="", errors="replace")


def _plus(value: str, number: int) -> str:
    return str(int(value) + number) if _NUMBER.fullmatch(value) else ""


def _texts(values: Mapping[str, _Value]) -> dict[str, str]:
    return {name: value.text for name, value in values.items()}


def _subject(values: Mapping[str, _Value]) -> HtmlElement | None:
    return next((value.element for value in values.values() if value.element is not None), None)


def _saying(words: str) -> HtmlElement:
    element: HtmlElement = Element("a")
    element.text = text.fold(_UNWRITABLE.sub(" ", words))
    return element


def _written(element: HtmlElement, attribute: str) -> str | None:
    return element.get(attribute) if attribute else "".join(element.itertext())


def _records(elements: Iterable[HtmlElement]) -> dict[HtmlElement, HtmlElement]:
    """Return, for each of several elements, the largest one that contains it and none of the others."""
    listed = list(dict.fromkeys(elements))
    held = Counter(above for element in listed for above in (element, *element.iterancestors()))
    if len(listed) == 1:
        return {listed[0]: next(listed[0].iterancestors(ITEM), listed[0])}
    records = {}
    for element in listed:
        alone = takewhile(lambda above: held[above] == 1, (element, *element.iterancestors()))
        records[element] = list(alone)[-1] if held[element] == 1 else element
    return records


def _forms(nodes: Iterable[Node]) -> Iterator[HtmlElement]:
    """Yield the forms that nodes are or lie within, each once."""
    seen: set[HtmlElement] = set()
    for node in nodes:
        form = None if isinstance(node, str) else node if node.tag == "form" else next(node.iterancestors("form"), None)
        if form is not None and form not in seen:
            seen.add(form)
            yield form
