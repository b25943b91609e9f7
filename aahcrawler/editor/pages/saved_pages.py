"""Saved pages of each application with their expected results.

``applications/pages/phpbb/thread.html`` is a page of the application that ``applications/phpbb.xml`` describes, and
``thread.json`` beside it has the results expected of the knowledge base.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aahcrawler import urls
from aahcrawler.helper import Assistance
from aahcrawler.helper.links.page_links import IMAGES, LINKS, MEDIA
from aahcrawler.page import Headers, Page
from aahcrawler.webobject import Person, Reference, Value, WebObject

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
"""The fetch time of pages that do not give one; dates such as "yesterday" are relative to it."""

CONTENT_TYPE = ("Content-Type", "text/html; charset=UTF-8")
NO_APPLICATION = "none"
"""The folder of pages that belong to no application."""


COMPUTED = frozenset({LINKS, IMAGES, MEDIA})
"""Properties that are read of every object; they are compared if an expectation names them."""


class SavedPageError(Exception):
    """A saved page cannot be used; the message names the file and the correction."""


class ObjectRow(BaseModel):
    """The expected values of one object. ``more`` has further properties; those it does not name are not compared."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    iri: str
    type: str
    title: str | None = None
    author: str | None = None
    date: str | None = None
    body: str | None = None
    part_of: str | None = None
    parent: str | None = None
    more: dict[str, tuple[str, ...]] = {}


class Expectation(BaseModel):
    """The expected results of the knowledge base for a page.

    ``application`` and ``level`` are None if none is to be recognised. ``links`` are all outlinks with the action that
    chose them, None for links of the content. ``refused`` are some of the URLs that are not followed, with the
    reason. ``behaviours`` are how many elements behaviours would act on, by their names; others are not compared.
    ``also`` names levels of the application, after this one in its file, that may fit as well; ``failed`` actions that
    must fail, with how. ``headers`` are response header fields as they would be sent.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    application: str | None
    level: str | None
    objects: tuple[ObjectRow, ...] = ()
    links: dict[str, str | None] = {}
    refused: dict[str, str] = {}
    behaviours: dict[str, int] = {}
    also: tuple[str, ...] = ()
    failed: dict[str, str] = {}
    headers: tuple[Annotated[str, Field(pattern=r"^[^:\s]+: ?.*$")], ...] = ()
    fetched: datetime = NOW


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page and its expectation. ``name`` is its folder and file name: ``phpbb/thread``."""

    name: str
    file: Path
    page: Page
    expected: Expectation


def pages_folder(knowledge_base: Path) -> Path:
    """Return the folder of saved pages in a knowledge base's folder."""
    return knowledge_base / "applications" / "pages"


def saved_pages(folder: Path) -> tuple[SavedPage, ...]:
    """Read all pages below a folder, in the order of their names. Raises `SavedPageError` for the first bad one."""
    return tuple(read_page(file) for file in sorted(folder.glob("*/*.html")))


def read_page(file: Path) -> SavedPage:
    """Read a page and its expectation. Raises `SavedPageError`."""
    expected = read_expectation(file.with_suffix(".json"))
    try:
        body = file.read_bytes()
    except OSError as error:
        raise SavedPageError(f"{file} cannot be read: {error.strerror}") from error
    return SavedPage(f"{file.parent.name}/{file.stem}", file, page_of(body, expected), expected)


def page_of(body: bytes, expected: Expectation) -> Page:
    """Return the page with this body and the URL, headers and time of its expectation."""
    parted = (line.partition(":") for line in expected.headers)
    fields = tuple((name.strip(), value.strip()) for name, _, value in parted)
    if not any(name.lower() == "content-type" for name, _ in fields):
        fields = (CONTENT_TYPE, *fields)
    return Page(expected.url, 200, Headers(fields), body, expected.fetched)


def read_expectation(file: Path) -> Expectation:
    """Read the expectation of a page. Raises `SavedPageError`."""
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        page = file.with_suffix(".html")
        raise SavedPageError(f"{page} has no {file.name} beside it; write one, or take the page away") from error
    except OSError as error:
        raise SavedPageError(f"{file} cannot be read: {error.strerror}") from error
    return expectation_of(data, file)


def expectation_of(data: bytes, file: Path) -> Expectation:
    """Return the expectation that the bytes of a file are. Raises `SavedPageError`, which names the file."""
    try:
        expected = Expectation.model_validate(json.loads(data))
    except ValidationError as error:
        raise SavedPageError("\n".join(_mistakes(file, error))) from error
    except ValueError as error:
        raise SavedPageError(f"{file} is no JSON: {error}; mend that place") from error
    if urls.canonicalize(expected.url) != expected.url:
        better = urls.canonicalize(expected.url)
        advice = f"write {better}" if better else "write a URL that starts with http:// or https://"
        raise SavedPageError(f"{file}: url: {expected.url} is not written as crawlers write it; {advice}")
    return expected


def write_page(file: Path, body: bytes, expected: Expectation) -> None:
    """Write a page and its expectation beside it, the folder included."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".json").write_text(as_json(expected), encoding="utf-8")
    file.write_bytes(body)


def as_json(expected: Expectation) -> str:
    """Write an expectation for people to read and change; empty values are left out.

    >>> print(as_json(Expectation(url="http://a.test/", application=None, level=None)), end="")
    {
      "url": "http://a.test/",
      "application": null,
      "level": null
    }
    """
    told = expected.model_dump(mode="json", exclude_defaults=True)
    named = {"url": expected.url, "application": expected.application, "level": expected.level}
    lists: dict[str, object] = {"objects": [], "links": {}} if expected.level is not None else {}
    return json.dumps(named | lists | told, ensure_ascii=False, indent=2) + "\n"


def plain(item: WebObject) -> dict[str, str | None]:
    """Write an object the way expectations do."""
    parent = item.first("parent")
    row = {
        "iri": item.iri,
        "type": item.type,
        "title": as_text(item.first("title")),
        "author": as_text(item.first("author")),
        "date": as_text(item.first("date")),
        "body": as_text(item.first("body")),
        "part_of": item.part_of,
    }
    return row | {"parent": parent.url} if isinstance(parent, Reference) else row


def object_row(item: WebObject, *, computed: bool = True) -> ObjectRow:
    """Write an object with all of its properties, or without those that no field of the knowledge base gives."""
    named = plain(item)
    others = sorted(set(item.properties) - set(named) - {"url"} - (set() if computed else COMPUTED))
    more = {name: tuple(as_text(value) or "" for value in item.properties[name]) for name in others}
    return ObjectRow.model_validate({**named, "more": more})


def understood(page: Page, assistance: Assistance, *, computed: bool = False) -> Expectation:
    """Return the knowledge base's actual results for a page as an expectation.

    Properties computed for every object are left out, unless ``computed``.
    """
    match = assistance.match
    return Expectation(
        url=page.url,
        application=match.application.name if match else None,
        level=match.level.name if match and match.level else None,
        objects=tuple(object_row(item, computed=computed) for item in assistance.objects) if match else (),
        links={link.url: link.action for link in assistance.document.outlinks} if match else {},
        refused={link.url: link.reason.value for link in assistance.refused},
        failed={failed.action: failed.failure.value for failed in assistance.failed_actions},
        fetched=page.fetched_at,
    )


def header_lines(fields: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Write response header fields one a line, as an expectation holds them."""
    return tuple(f"{name}: {value}" for name, value in fields)


def as_text(value: Value | None) -> str | None:
    """Return a value as text: the name of a person, a date and time in UTC; None where there is none."""
    match value:
        case None:
            return None
        case Person():
            return value.name
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Reference():
            return value.url
    return str(value)


def _mistakes(file: Path, error: ValidationError) -> Iterator[str]:
    """Yield the mistakes in an expectation, one line for each."""
    for mistake in error.errors():
        place = ".".join(map(str, mistake["loc"])) or "the file"
        yield f"{file}: {place}: {_advice(mistake['type'], mistake['msg'])}"


def _advice(kind: str, message: str) -> str:
    advice: Mapping[str, str] = {
        "missing": "this is missing; write it",
        "extra_forbidden": "nothing of this name is known; look for a slip of the pen or take it out",
        "string_type": "write a text in quotation marks",
        "string_pattern_mismatch": 'write it as a header field: "Set-Cookie: name="',
        "dict_type": "write pairs in braces: {URL: word}",
        "tuple_type": "write a list in square brackets",
    }
    return advice.get(kind, message)
