"""Learn how scripts make pages from JSON data, and make further pages of a site in the same way."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Final

from lxml import html

from aahcrawler.data_templates.template_learning import (
    MAX_KEYS,
    Keys,
    MissingDataError,
    Node,
    Scope,
    Seen,
    TemplateLearner,
)

MAX_VALUES: Final = 50_000
"""Data of a page with more values than this do not match any template."""
_ITEMS: Final = "[]"
_VARIES: Final = object()


@dataclass(frozen=True)
class SeenValues:
    """What the data of some pages had in common: by path, the types of values, and the value if it was always the same.

    All items of a list have one path. If a value was the same on all pages seen and differs on a new page, the new page
    may show something that none of them showed: it may have further pages, be closed, or be forbidden to readers.
    """

    types: Mapping[Keys, frozenset[str]] = field(default_factory=dict)
    constants: Mapping[Keys, Any] = field(default_factory=dict)

    def know(self, data: Any) -> bool:
        """Return whether data contain only paths, types and constants that were seen, and lack none of them."""
        here = dict[Keys, None]()
        for number, (path, value) in enumerate(_values(data, ())):
            here[path] = None
            constant = self.constants.get(path, _VARIES)
            is_known = _kind(value) in self.types.get(path, ()) and (constant is _VARIES or constant == value)
            if not is_known or number == MAX_VALUES:
                return False
        return all(path in here for path in self.types if _ITEMS not in path)

    def with_page(self, data: Any) -> "SeenValues":
        """Return a copy that includes the data of one more page."""
        types, constants = dict(self.types), dict(self.constants)
        for path, value in _values(data, ()):
            is_new = path not in types
            types[path] = types.get(path, frozenset()) | {_kind(value)}
            if is_new:
                constants[path] = value
            elif path in constants and constants[path] != value:
                constants[path] = _VARIES
        return SeenValues(types, constants)

    @classmethod
    def of(cls, pages: Iterable[Any]) -> "SeenValues":
        """Return what the data of several pages have in common.

        >>> seen = SeenValues.of([{"id": 1, "pages": 1}, {"id": 2, "pages": 1}])
        >>> seen.know({"id": 3, "pages": 1}), seen.know({"id": 3, "pages": 2}), seen.know({"id": 3})
        (True, False, False)
        """
        seen = cls()
        for data in pages:
            seen = seen.with_page(data)
        return seen


def _values(value: Any, keys: Keys) -> Iterator[tuple[Keys, Any]]:
    """Yield each value that is no list or mapping with its path, and for each list whether it has items."""
    if isinstance(value, Mapping) and len(keys) < MAX_KEYS:
        for key, each in value.items():
            yield from _values(each, (*keys, str(key)))
    elif isinstance(value, list) and len(keys) < MAX_KEYS:
        yield keys, bool(value)
        for each in value:
            yield from _values(each, (*keys, _ITEMS))
    else:
        yield keys, value


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


_PARTS: Final = re.compile(r"[^/?&=#.]+")
_MIN_PAGES: Final = 2
"""The fewest pages from which data URLs can be learned."""
_MAX_PARTS: Final = 4
"""The most variable parts of a data URL that are tried."""
_MAX_RESPONSES: Final = 3
"""The most responses from which one page is made."""


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """A pattern of data URLs: fixed texts, and between them parts of the page's URL, given by their positions."""

    texts: tuple[str, ...]
    parts: tuple[int, ...]

    def of(self, page_url: str) -> str | None:
        """Return the URL of a page's data; None if the page's URL has too few parts."""
        parts = parts_of(page_url)
        if any(each >= len(parts) for each in self.parts):
            return None
        filled = (text + parts[part] for text, part in zip(self.texts, self.parts, strict=False))
        return "".join(filled) + self.texts[-1]


def parts_of(url: str) -> tuple[str, ...]:
    """Return the parts of a URL that may differ from page to page: host, names in its path, values in its query.

    >>> parts_of("https://a.test/t/12?page=2")
    ('https:', 'a', 'test', 't', '12', 'page', '2')
    """
    return tuple(_PARTS.findall(url))


def data_addresses(page_urls: Sequence[str], data_urls: Sequence[Sequence[str]]) -> tuple[EndpointAddress, ...]:
    """Return the patterns of data URLs that give each page data of its own, in the order of the first page.

    A data URL that is the same for all pages has no data of a single page, so it is not returned.

    >>> data_addresses(["http://a.test/t/1", "http://a.test/t/2"], [["http://a.test/api/1.json"], ["http://a.test/api/2.json"]])
    (EndpointAddress(texts=('http://a.test/api/', '.json'), parts=(4,)),)
    """
    if len(page_urls) < _MIN_PAGES:
        return ()
    pages = [parts_of(url) for url in page_urls]
    varying = [place for place in range(min(map(len, pages))) if len({page[place] for page in pages}) > 1]
    found = [
        dict.fromkeys(address for url in urls for address in _addresses(page, url, varying))
        for page, urls in zip(pages, data_urls, strict=True)
    ]
    common = [address for address in found[0] if address.parts and all(address in others for others in found[1:])]
    return tuple(common[:_MAX_RESPONSES])


def _addresses(page: Sequence[str], data_url: str, varying: Sequence[int]) -> Iterator[EndpointAddress]:
    """Yield all patterns that a data URL may have, because a part that it shares with the page's URL may be chance."""
    by_text = {page[place]: place for place in reversed(varying)}
    matches = [match for match in _PARTS.finditer(data_url) if match[0] in by_text]
    for number in range(min(len(matches), _MAX_PARTS), 0, -1):
        for chosen in combinations(matches[:_MAX_PARTS], number):
            edges = [0, *(edge for match in chosen for edge in match.span()), len(data_url)]
            texts = tuple(data_url[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
            yield EndpointAddress(texts, tuple(by_text[match[0]] for match in chosen))


MIN_PAGES: Final = 2
"""The fewest pages to learn from: with one, nothing shows what is the same on all."""
MAX_RESPONSE_BYTES: Final = 2_000_000
"""The most bytes of one JSON response, or of one page, to learn from."""


@dataclass(frozen=True, slots=True)
class PageSample:
    """A page as scripts made it, in UTF-8, and the JSON responses that they requested, by URL."""

    url: str
    dom: bytes
    responses: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class DataTemplate:
    """Makes a page from the responses of its endpoints, and knows what the data of the learned pages had in common."""

    addresses: tuple[EndpointAddress, ...]
    node: Node
    seen: SeenValues

    def endpoints(self, page_url: str) -> tuple[str, ...] | None:
        """Return the URLs of a page's data in the order of ``page``; None if its URL has another form."""
        urls = [address.of(page_url) for address in self.addresses]
        known = tuple(url for url in urls if url is not None)
        return known if len(known) == len(urls) else None

    def knows(self, responses: Sequence[bytes]) -> bool:
        """Return whether the data of a page are like those of the pages from which the template was learned."""
        data = _data(responses)
        return data is not None and self.seen.know(data)

    def with_page(self, responses: Sequence[bytes]) -> "DataTemplate":
        """Return a template that also accepts the data of one more page, which it is known to make as scripts do."""
        return replace(self, seen=self.seen.with_page(_data(responses)))

    def page(self, responses: Sequence[bytes]) -> bytes | None:
        """Return the HTML of a page in UTF-8; None if a response is not the JSON that the template needs.

        A server may say in JSON, with status 200, that the page does not exist or requires a login.
        """
        data = _data(responses)
        if data is None:
            return None
        try:
            made = "".join(self.node.html(Scope(data)))
        except MissingDataError:
            return None
        return f"<!DOCTYPE html>{made}".encode("utf-8", "replace")


def learned_template(samples: Sequence[PageSample]) -> DataTemplate | None:
    """Return the template of pages as far as it can be learned; None if no data belong to the pages.

    Texts that no data explain are missing in pages that the template makes, so compare them with rendered pages before
    use.
    """
    fitting = [sample for sample in samples if len(sample.dom) <= MAX_RESPONSE_BYTES]
    if len(fitting) < MIN_PAGES:
        return None
    addresses = data_addresses([sample.url for sample in fitting], [tuple(sample.responses) for sample in fitting])
    seen = list(_seen(fitting, addresses)) if addresses else []
    if len(seen) < MIN_PAGES:
        return None
    values = SeenValues.of(each.scope.data for each in seen)
    return DataTemplate(addresses, TemplateLearner().element(seen).node, values)


def _seen(samples: Sequence[PageSample], addresses: Sequence[EndpointAddress]) -> Iterator[Seen]:
    for sample in samples:
        urls = (address.of(sample.url) for address in addresses)
        responses = [sample.responses.get(url or "", b"") for url in urls]
        data = _data(responses)
        if data is not None:
            yield Seen(html.document_fromstring(sample.dom, parser=html.HTMLParser(encoding="utf-8")), Scope(data))


def _data(responses: Sequence[bytes]) -> dict[str, Any] | None:
    """Return the values of JSON responses by their position; None if one is not JSON."""
    found: dict[str, Any] = {}
    try:
        for number, response in enumerate(responses):
            if len(response) > MAX_RESPONSE_BYTES:
                return None
            found[str(number)] = json.loads(response)
    except (ValueError, RecursionError):
        return None
    return found
