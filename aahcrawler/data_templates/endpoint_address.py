"""Learn where the data of a page are asked for from the URLs of pages and of their data."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

_PARTS: Final = re.compile(r"[^/?&=#.]+")
_LEAST: Final = 2
"""Fewer pages show nothing."""
_MOST_PARTS: Final = 4
"""The most parts of a URL of data that are tried."""
_MOST: Final = 3
"""The most answers that one page is made of."""


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """An address of data: texts, and between them parts of the page's URL by their numbers."""

    texts: tuple[str, ...]
    parts: tuple[int, ...]

    def of(self, page_url: str) -> str | None:
        """Return the URL of the data of a page, None where its URL has too few parts."""
        parts = parts_of(page_url)
        if any(each >= len(parts) for each in self.parts):
            return None
        filled = (text + parts[part] for text, part in zip(self.texts, self.parts, strict=False))
        return "".join(filled) + self.texts[-1]


def parts_of(url: str) -> tuple[str, ...]:
    """Return the parts of a URL that differ from page to page: host, names of its path, values of its query.

    >>> parts_of("https://a.test/t/12?page=2")
    ('https:', 'a', 'test', 't', '12', 'page', '2')
    """
    return tuple(_PARTS.findall(url))


def data_addresses(page_urls: Sequence[str], data_urls: Sequence[Sequence[str]]) -> tuple[EndpointAddress, ...]:
    """Return the addresses that lead from each page to data of its own, page by page, in the order of the first page.

    An address that is the same for all pages holds nothing of any.

    >>> data_addresses(["http://a.test/t/1", "http://a.test/t/2"], [["http://a.test/api/1.json"], ["http://a.test/api/2.json"]])
    (EndpointAddress(texts=('http://a.test/api/', '.json'), parts=(4,)),)
    """
    if len(page_urls) < _LEAST:
        return ()
    pages = [parts_of(url) for url in page_urls]
    varying = [place for place in range(min(map(len, pages))) if len({page[place] for page in pages}) > 1]
    found = [
        dict.fromkeys(address for url in urls for address in _addresses(page, url, varying))
        for page, urls in zip(pages, data_urls, strict=True)
    ]
    common = [address for address in found[0] if address.parts and all(address in others for others in found[1:])]
    return tuple(common[:_MOST])


def _addresses(page: Sequence[str], data_url: str, varying: Sequence[int]) -> Iterator[EndpointAddress]:
    """Yield the addresses that a URL may have: that a part of it is one of the page's may be chance."""
    by_text = {page[place]: place for place in reversed(varying)}
    matches = [match for match in _PARTS.finditer(data_url) if match[0] in by_text]
    for number in range(min(len(matches), _MOST_PARTS), 0, -1):
        for chosen in combinations(matches[:_MOST_PARTS], number):
            edges = [0, *(edge for match in chosen for edge in match.span()), len(data_url)]
            texts = tuple(data_url[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
            yield EndpointAddress(texts, tuple(by_text[match[0]] for match in chosen))
