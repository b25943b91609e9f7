"""Reads and writes links as Memento has them: the Link field, and TimeMaps (RFC 7089, sections 2.2 and 5; RFC 8288)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urljoin

LINK_FORMAT: Final = "application/link-format"
MAX_LISTED: Final = 100_000
"""The most mementos that are taken from the TimeMaps of one URL."""
_TARGET: Final = re.compile(r"[\s,]*<([^<>]*)>")
_PARAMETER: Final = re.compile(r'\s*;\s*([A-Za-z0-9*!#$&+.^_`|~-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?')
_MAX_LINKS: Final = 1_000
"""The most links that are read of one Link field."""


class NoTimeMapError(Exception):
    """A text is no TimeMap; the message says what it is."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link: its target as it is written, its relations in lower case, and its other parameters."""

    target: str
    relations: frozenset[str]
    parameters: Mapping[str, str]

    @property
    def date(self) -> datetime | None:
        """The moment of a memento, None where it names none."""
        return http_date(self.parameters.get("datetime", ""))


@dataclass(frozen=True, slots=True)
class ListedMemento:
    """A memento as a TimeMap lists it: its URI-M, and when it was captured."""

    uri: str
    date: datetime


@dataclass(frozen=True, slots=True)
class TimeMap:
    """A TimeMap, or a page of one: mementos in its order, and the URLs of the other pages that it names."""

    mementos: tuple[ListedMemento, ...]
    pages: tuple[str, ...] = ()


def http_date(text: str) -> datetime | None:
    """Return the moment that an HTTP date stands for, in UTC; None where it is no date.

    >>> str(http_date("Wed, 05 Jun 2013 10:00:00 GMT"))
    '2013-06-05 10:00:00+00:00'
    """
    try:
        date = parsedate_to_datetime(text)
        return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def as_http_date(moment: datetime) -> str:
    """Return a moment as HTTP writes it.

    >>> as_http_date(datetime(2013, 6, 5, 10, tzinfo=UTC))
    'Wed, 05 Jun 2013 10:00:00 GMT'
    """
    return format_datetime(moment.astimezone(UTC), usegmt=True)


def links_in(text: str, most: int = _MAX_LINKS) -> Iterator[Link]:
    """Yield the links of a Link field or of a document in link format, until something is no link.

    Time and memory are linear in the length of the text.
    """
    at = 0
    while most and (target := _TARGET.match(text, at)):
        at, most = target.end(), most - 1
        parameters: dict[str, str] = {}
        while parameter := _PARAMETER.match(text, at):
            at = parameter.end()
            quoted = parameter[2]
            value = (parameter[3] or "") if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(parameter[1].lower(), value)
        relations = frozenset(parameters.pop("rel", "").lower().split())
        yield Link(target[1].strip(), relations, parameters)


MAX_KEY_PLACE: Final = 200
"""The key of a line of JSON of a CDX server begins within this many characters."""


def read_time_map(text: str, media_type: str, url: str) -> TimeMap:
    """Return the TimeMap that a text is, fetched from ``url``, in link format or the JSON of aggregators.

    Mementos without a date are left out. Raise ``NoTimeMapError`` where it is neither.
    """
    written = text.lstrip("\ufeff \t\r\n")
    if written.startswith("{"):
        if '"urlkey"' in written[:MAX_KEY_PLACE]:
            raise NoTimeMapError(
                "lists captures without their addresses, as a CDX server does: name TimeMaps in link format, such as"
                " those at timemap/link/, or the server under cdx"
            )
        return _of_json(written, url)
    if not written.startswith("<") or re.match(r"<(?:!|html|head|body|\?)", written, re.IGNORECASE):
        what = media_type or "something"
        raise NoTimeMapError(f"is {what} where a TimeMap was asked for" if written else "is empty")
    links = tuple(links_in(written, MAX_LISTED))
    if not links:
        raise NoTimeMapError("holds no link")
    return _of_links(links, url)


def _of_links(links: Iterable[Link], url: str) -> TimeMap:
    mementos: list[ListedMemento] = []
    pages: dict[str, None] = {}
    for link in links:
        target = _joined(url, link.target)
        if "memento" in link.relations and link.date is not None and target:
            mementos.append(ListedMemento(target, link.date))
        elif "timemap" in link.relations and "self" not in link.relations and target:
            media_type = link.parameters.get("type", LINK_FORMAT)
            if media_type.partition(";")[0].strip() == LINK_FORMAT:
                pages[target] = None
    return TimeMap(tuple(mementos), tuple(each for each in pages if each != url))


def _of_json(text: str, url: str) -> TimeMap:
    """Return the TimeMap of JSON as MemGator and the Time Travel service write it."""
    try:
        said = json.loads(text)
        listed = said.get("mementos", {}).get("list", [])
        index = [*said.get("timemap_index", []), said.get("pages", {}).get("next", {})]
        mementos = tuple(_listed(listed, url))
        pages = tuple(_joined(url, str(each["uri"])) for each in index if isinstance(each, dict) and "uri" in each)
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise NoTimeMapError(f"is no TimeMap in JSON ({type(error).__name__})") from error
    return TimeMap(mementos, tuple(each for each in dict.fromkeys(pages) if each and each != url))


def _listed(entries: Iterable[Mapping[str, Any]], url: str) -> Iterator[ListedMemento]:
    for entry in list(entries)[:MAX_LISTED]:
        target = _joined(url, str(entry["uri"]))
        try:
            date = datetime.fromisoformat(str(entry["datetime"]))
        except ValueError:
            continue
        if target:
            yield ListedMemento(target, date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC))


def _joined(base: str, target: str) -> str:
    """Return the absolute http(s) URL of a target, empty where it has none."""
    try:
        found = urljoin(base, target)
    except ValueError:
        return ""
    return found if found.startswith(("http://", "https://")) else ""


def link(target: str, relation: str, **parameters: str) -> str:
    """Return a link as the Link field and TimeMaps write it.

    >>> link("http://a.test/", "original")
    '<http://a.test/>; rel="original"'
    """
    more = "".join(f'; {name}="{value}"' for name, value in parameters.items())
    return f'<{target.replace(">", "%3E")}>; rel="{relation}"{more}'
