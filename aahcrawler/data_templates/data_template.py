"""Make a page of its data, as pages that scripts made of theirs have shown."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lxml import html

from aahcrawler.data_templates.data_scopes import MissingDataError, Scope
from aahcrawler.data_templates.endpoint_address import EndpointAddress, data_addresses
from aahcrawler.data_templates.seen_values import SeenValues
from aahcrawler.data_templates.template_learning import Seen, TemplateLearner
from aahcrawler.data_templates.template_nodes import Node

LEAST_PAGES: Final = 2
"""So many pages are learned from at least: of one nobody knows what is the same on all."""
LARGEST: Final = 2_000_000
"""The most bytes of one answer with data, or of one page, that are learned from."""


@dataclass(frozen=True, slots=True)
class PageSample:
    """A page as scripts made it, in UTF-8, and the JSON answers that they asked for, by their URLs."""

    url: str
    dom: bytes
    answers: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class DataTemplate:
    """What makes a page of the answers of its endpoints, and what the data of the pages it is learned from had."""

    addresses: tuple[EndpointAddress, ...]
    node: Node
    seen: SeenValues

    def endpoints(self, page_url: str) -> tuple[str, ...] | None:
        """Return the URLs of the data of a page in the order of ``page``, None where its URL is unlike the others."""
        urls = [address.of(page_url) for address in self.addresses]
        known = tuple(url for url in urls if url is not None)
        return known if len(known) == len(urls) else None

    def knows(self, answers: Sequence[bytes]) -> bool:
        """Return whether the data of a page are like those of the pages that the template is learned from."""
        data = _data(answers)
        return data is not None and self.seen.know(data)

    def with_page(self, answers: Sequence[bytes]) -> "DataTemplate":
        """Return the template that knows the data of one more page which it makes as scripts do."""
        return replace(self, seen=self.seen.with_page(_data(answers)))

    def page(self, answers: Sequence[bytes]) -> bytes | None:
        """Return the HTML of a page in UTF-8, None where an answer is no JSON that the template knows.

        A server may say in JSON, with status 200, that there is no such page or that one has to log in.
        """
        data = _data(answers)
        if data is None:
            return None
        try:
            made = "".join(self.node.html(Scope(data)))
        except MissingDataError:
            return None
        return f"<!DOCTYPE html>{made}".encode("utf-8", "replace")


def learned_template(samples: Sequence[PageSample]) -> DataTemplate | None:
    """Return what makes the pages of their data as far as it can be told, None where no data belong to them.

    What nothing explains is left out of the pages that it makes; whoever uses it compares before.
    """
    fitting = [sample for sample in samples if len(sample.dom) <= LARGEST]
    if len(fitting) < LEAST_PAGES:
        return None
    addresses = data_addresses([sample.url for sample in fitting], [tuple(sample.answers) for sample in fitting])
    seen = list(_seen(fitting, addresses)) if addresses else []
    if len(seen) < LEAST_PAGES:
        return None
    values = SeenValues.of(each.scope.data for each in seen)
    return DataTemplate(addresses, TemplateLearner().element(seen).node, values)


def _seen(samples: Sequence[PageSample], addresses: Sequence[EndpointAddress]) -> Iterator[Seen]:
    for sample in samples:
        urls = (address.of(sample.url) for address in addresses)
        answers = [sample.answers.get(url or "", b"") for url in urls]
        data = _data(answers)
        if data is not None:
            yield Seen(html.document_fromstring(sample.dom, parser=html.HTMLParser(encoding="utf-8")), Scope(data))


def _data(answers: Sequence[bytes]) -> dict[str, Any] | None:
    """Return the values of answers by their number, None where one is no JSON."""
    found: dict[str, Any] = {}
    try:
        for number, answer in enumerate(answers):
            if len(answer) > LARGEST:
                return None
            found[str(number)] = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return found
