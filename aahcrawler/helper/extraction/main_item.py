"""Read the main item that a page declares in the vocabulary of schema.org as values of fields."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

from aahcrawler.helper.extraction.field_values import as_date, as_number
from aahcrawler.page import Page
from aahcrawler.page.schemaorg import Item, items
from aahcrawler.webobject import Reference, Value
from knowledge_base.model import DateFormat, Field, FieldKind

_ARTICLE_LIKE = re.compile(r"\w*Article|(?:Blog|LiveBlog|SocialMedia|DiscussionForum)Posting|Report|Question|\w*Review")
_NAMED_BY = ("mainEntityOfPage", "url", "@id")
_MAIN_ROLES = frozenset({"", "mainEntity"})


def main_item(page: Page, own: Sequence[str]) -> Item | None:
    """Return the item that the page declares as its main one, None if it declares none.

    ``own`` are the page's URLs. An article, post or the like with one of them comes first, then the only one that
    the page declares in its own right, then any other item with the page's URL.
    """
    found = page.once(items)
    addresses = frozenset(map(_bare, own))
    works = [item for item in found if any(map(_ARTICLE_LIKE.fullmatch, item.types))]
    named = (item for item in works if _is_at(item, addresses, page))
    only = [item for item in works if item.role in _MAIN_ROLES]
    others = (item for item in found if _is_at(item, addresses, page))
    return next(named, None) or (only[0] if len(only) == 1 else next(others, None))


def declared_values(item: Item, wanted: Field, page: Page) -> tuple[Value, ...]:
    """Return the values of the first of a field's properties that has any; one, unless the field has many."""
    for name in wanted.declared:
        singly = (replace(item, node={name: value}) for value in item.values(name))
        values = tuple(dict.fromkeys(value for single in singly for value in _values(single, name, wanted, page)))
        if values:
            return values if wanted.many else values[:1]
    return ()


def _values(item: Item, name: str, wanted: Field, page: Page) -> Iterator[Value]:
    value: Value | None
    match wanted.kind:
        case FieldKind.PERSON:
            yield from item.people(page.base_url, name)
            return
        case FieldKind.URL:
            url = item.url(page.base_url, name)
            value = Reference(url) if url else None
        case FieldKind.DATETIME:
            # The field's format describes text for readers; text for machines does not follow it.
            form = DateFormat(wanted.date.order, wanted.date.zone)
            value = as_date(item.text(name), form, page)
        case FieldKind.NUMBER:
            value = as_number(item.text(name))
        case FieldKind.HTML:
            raw = item.node[name]
            value = raw if isinstance(raw, str) and "<" in raw else escape(item.lines(name), quote=False)
        case FieldKind.TEXT:
            value = item.lines(name)
    if value not in (None, ""):
        yield value


def _is_at(item: Item, addresses: frozenset[str], page: Page) -> bool:
    urls = (item.url(page.base_url, name) for name in _NAMED_BY)
    return any(_bare(url) in addresses for url in urls if url)


def _bare(url: str) -> str:
    """Return a URL without the parts in which spellings of one URL differ: scheme, ``www.``, closing slash."""
    return url.partition("://")[2].removeprefix("www.").rstrip("/")
