"""Read the entries of a wiki that is one page, from the store that its script shows them from (TiddlyWiki).

The store is a JSON array in ``script.tiddlywiki-tiddler-store``, in older versions an element ``storeArea`` with a
``div`` for each entry (TiddlyWiki, "TiddlyWiki file format").
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final
from urllib.parse import quote

from lxml.etree import XPath
from lxml.etree import _Element as Element

from aahcrawler.page import claims
from aahcrawler.page.page import Page
from aahcrawler.page.text import fold
from aahcrawler.webobject import Person, Reference, Value, WebObject

MAX_ENTRIES: Final = 20_000
"""The entries of one page that are read."""

_STORES: Final = XPath("//script[contains(concat(' ', @class, ' '), ' tiddlywiki-tiddler-store ')]")
_AREAS: Final = XPath("//*[@id='storeArea']/div[@title or @tiddler]")
_TEXTS: Final = frozenset(
    {"", "text/vnd.tiddlywiki", "text/x-tiddlywiki", "text/x-markdown", "text/markdown", "text/plain"}
)
_OF_SOFTWARE: Final = ("$:/",)
_SETTINGS: Final = frozenset(
    {
        *("SiteTitle", "SiteSubtitle", "SiteUrl", "MainMenu", "DefaultTiddlers", "StyleSheet", "PageTemplate"),
        *("ViewTemplate", "EditTemplate", "SideBarOptions", "SideBarTabs", "ColorPalette", "MarkupPreHead"),
        *("MarkupPostHead", "MarkupPreBody", "MarkupPostBody", "WindowTitle", "OptionsPanel", "AdvancedOptions"),
    }
)
"""Titles by which older versions keep their settings among the entries."""
_MOMENT: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?\d*")
_LINE_MARKS: Final = re.compile(r"^(?:[!*#;:>]{1,9}|\|)\s?", re.MULTILINE)
_CALLS: Final = re.compile(r"<<[^<>\n]{0,500}>>|\{\{[^{}\n]{0,500}\}\}|\[img[^\[\]]{0,200}\[[^\[\]]{0,500}\]\]")
_LINKS: Final = re.compile(r"\[(?:ext)?\[([^\[\]|]{1,500})(?:\|[^\[\]]{0,1000})?\]\]")
_TAGS: Final = re.compile(r"</?[A-Za-z$][^<>]{0,1000}>")
_STYLES: Final = re.compile(r"''|(?<!:)//|__|\^\^|,,|~~|`{1,3}|\|")


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry of the store by its fields: ``title``, ``text``, ``created``, ``creator``, ``modifier``, ``type``."""

    fields: Mapping[str, str]

    def of(self, name: str) -> str:
        """Return a field, empty where there is none."""
        return self.fields.get(name, "")

    @property
    def is_written(self) -> bool:
        """Whether somebody wrote it to be read: no part of the software, no setting, no file, no draft."""
        title = self.of("title")
        return (
            bool(title)
            and not title.startswith(_OF_SOFTWARE)
            and title not in _SETTINGS
            and self.of("type") in _TEXTS
            and not any(self.of(name) for name in ("plugin-type", "draft.of"))
            and "systemConfig" not in self.of("tags")
        )


def entries(page: Page) -> tuple[StoredEntry, ...]:
    """Return the entries that people wrote, in the order of the store; none of a page that is no such wiki."""
    found = (each for read in (_of_scripts, _of_areas) for each in read(page))
    return tuple(islice((each for each in found if each.is_written), MAX_ENTRIES))


def objects(page: Page) -> tuple[WebObject, ...]:
    """Return the entries with a text as objects, named by the page's URL and their titles, as their links are."""
    made = (_object(page, each) for each in entries(page))
    return tuple({each.iri: each for each in made if "body" in each.properties}.values())


def _object(page: Page, entry: StoredEntry) -> WebObject:
    title = fold(entry.of("title"))
    iri = f"{claims.permalink(page)}#{quote(title, safe='')}"
    author = entry.of("creator") or entry.of("modifier")
    created, modified = (_moment(entry.of(name)) for name in ("created", "modified"))
    body = plain(entry.of("text"))
    known: dict[str, tuple[Value, ...]] = {
        "title": (title,),
        "author": (Person(fold(author)),) if author else (),
        "date": (created,) if created is not None and created <= page.fetched_at else (),
        "modified": (modified,) if modified is not None and modified <= page.fetched_at else (),
        "body": (body,) if body else (),
        "url": (Reference(iri),),
    }
    given = {name: values for name, values in known.items() if values}
    return WebObject(iri, "article", page.url, given)


def plain(text: str) -> str:
    r"""Return the text of an entry without its markup, a line for each of its lines.

    >>> plain("!The boat\n* It is [[blue|Colours]], ''not'' //green//.")
    'The boat\nIt is blue, not green.'
    """
    for pattern, instead in ((_CALLS, ""), (_LINKS, r"\1"), (_TAGS, ""), (_LINE_MARKS, ""), (_STYLES, " ")):
        text = pattern.sub(instead, text)
    lines = (re.sub(r" +(?=[.,;:!?])", "", fold(line)) for line in text.split("\n"))
    return "\n".join(filter(None, lines))


def _of_scripts(page: Page) -> Iterator[StoredEntry]:
    for script in _STORES(page.tree):
        try:
            listed = json.loads(script.text or "")
        except (ValueError, RecursionError):
            continue
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict):
                yield StoredEntry({str(name): value for name, value in each.items() if isinstance(value, str)})


def _of_areas(page: Page) -> Iterator[StoredEntry]:
    for area in _AREAS(page.tree):
        given = {str(name): str(value) for name, value in area.items()}
        yield StoredEntry({**given, "title": given.get("title") or given.get("tiddler", ""), "text": _text(area)})


def _text(area: Element) -> str:
    inner = next(area.iterchildren("pre"), None)
    if inner is not None:
        return "".join(map(str, inner.itertext()))
    return "".join(map(str, area.itertext())).replace("\\n", "\n")


def _moment(text: str) -> datetime | None:
    """Return a moment written as its digits, in UTC; None for none.

    >>> _moment("20200229103000123"), _moment("20200230")
    (datetime.datetime(2020, 2, 29, 10, 30, tzinfo=datetime.timezone.utc), None)
    """
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups())
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
