"""Makes the addresses that stand nowhere on a page: JSON endpoints of its application, and forms that are filled in."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from types import MappingProxyType
from urllib.parse import quote

from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.helper.forms import NotSentError, Submission, submission
from aahcrawler.helper.sites import site_of
from aahcrawler.page import Page, text
from knowledge_base.addresses import Address
from knowledge_base.matching import Sight
from knowledge_base.model import Filler, Form, Navigate, RequestTemplate
from knowledge_base.selectors import Node

MOST_REQUESTS = 200
"""Addresses that one page may make."""

MOST_FORMS = 10
"""Forms of one page that an action sends."""

LONGEST_VALUE = 500
"""Characters of a value; nothing that long is a number, a name or a keyword."""

Values = Mapping[str, tuple[str, ...]]
"""What the Intelligent Crawl Definition gives: ``keywords``, ``entities``."""


def no_values() -> Values:
    """Return what a definition gives that lists nothing."""
    return MappingProxyType({})


_PLACE = re.compile(r"\{([^{}]+)\}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_ONLY_DOTS = re.compile(r"\.*")


@dataclass(frozen=True, slots=True)
class Unsent:
    """A form that was not sent, and why."""

    action: str
    detail: str


@dataclass
class Requests:
    """The addresses that one page makes, at most ``MOST_REQUESTS`` for all of its actions together."""

    page: Page
    values: Values = field(default_factory=no_values)
    unsent: list[Unsent] = field(default_factory=list)
    _left: int = MOST_REQUESTS

    def of(self, action: Navigate) -> Iterator[str]:
        """Yield the canonical addresses of an action's requests and forms, in their order, each once.

        All are on the page's own site, whatever the page says. A request that lacks a value is not made; a form that
        lacks one, or must not be sent, is noted in ``unsent``.
        """
        made = dict.fromkeys(self._made(action))
        for url in islice(made, self._left):
            self._left -= 1
            yield url

    @cached_property
    def _sight(self) -> Sight:
        return Sight(self.page)

    def _made(self, action: Navigate) -> Iterator[str]:
        for request in action.requests:
            if not request.when or any(map(self._sight.meets, request.when)):
                yield from islice(self._requested(request), MOST_REQUESTS)
        for form in action.forms:
            yield from islice(self._sent(action, form), MOST_REQUESTS)

    def _requested(self, request: RequestTemplate) -> Iterator[str]:
        for values in self._combinations(request.fillers):
            url = address(request.address, values, self.page.url)
            if url is not None:
                yield url

    def _sent(self, action: Navigate, form: Form) -> Iterator[str]:
        for element in islice(_forms(form.selector.found(self.page.tree)), MOST_FORMS):
            try:
                yield from self._submitted(submission(element, self.page.url, self.page.base_url), form)
            except NotSentError as reason:
                self.unsent.append(Unsent(action.name, str(reason)))

    def _submitted(self, found: Submission, form: Form) -> Iterator[str]:
        if site_of(found.target) != site_of(self.page.url):
            raise NotSentError(f"it leads to another site, {found.target[:100]}; choose another form")
        for filler in form.fillers:
            if not self._values(filler):
                raise NotSentError(f"there is no value for {filler.name}; give it a text, or look elsewhere for it")
        for values in self._combinations(form.fillers):
            yield found.filled(values)

    def _combinations(self, fillers: Iterable[Filler]) -> Iterator[dict[str, str]]:
        """Yield every combination of values, one of each filler; none where a filler has none."""
        choices = [[(filler.name, value) for value in self._values(filler)] for filler in fillers]
        return map(dict, product(*choices))

    def _values(self, filler: Filler) -> list[str]:
        """Return the values of a filler: all of them with ``each``, else the first, none where there is none."""
        found = [text.fold(value) for value in islice(self._sources(filler), MOST_REQUESTS)]
        kept = [value for value in found if value and len(value) <= LONGEST_VALUE]
        values = dict.fromkeys(kept or ([filler.text] if filler.text else []))
        summed = [_plus(value, filler.add) for value in values] if filler.add else list(values)
        usable = [value for value in summed if value]
        return usable if filler.each else usable[:1]

    def _sources(self, filler: Filler) -> Iterable[str]:
        if filler.selectors:
            found = (selector.nodes(self.page.tree) for selector in filler.selectors)
            return map(_written, next(filter(None, found), []))
        if filler.parameter:
            return filter(None, [Address.parse(self.page.url).parameters.get(filler.parameter)])
        return self.values.get(filler.icd, ()) if filler.icd else ()


def address(template: str, values: Mapping[str, str], page_url: str) -> str | None:
    """Return the canonical address that a template makes of values, None where it makes none on the page's site.

    A ``{name}`` stands for a value, percent-encoded so that it stays within its part of the path or query. The value
    that a template begins with is an address itself, such as the root of an application's endpoints, and stays as it
    is; where it has a query, what the template asks for is added to that query.

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
    return url if url is not None and site_of(url) == site_of(page_url) else None


def _within(value: str) -> str:
    return quote(value, safe="", errors="replace")


def _plus(value: str, number: int) -> str:
    return str(int(value) + number) if _NUMBER.fullmatch(value) else ""


def _written(node: Node) -> str:
    return node if isinstance(node, str) else "".join(node.itertext())


def _forms(nodes: Iterable[Node]) -> Iterator[HtmlElement]:
    """Yield the forms that nodes are or lie within, each once."""
    seen: set[HtmlElement] = set()
    for node in nodes:
        form = None if isinstance(node, str) else node if node.tag == "form" else next(node.iterancestors("form"), None)
        if form is not None and form not in seen:
            seen.add(form)
            yield form
