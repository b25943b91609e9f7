"""What was understood of an answer, as the ``metadata`` record beside it keeps it in JSON (WARC 1.1, section 6.5).

The record is all that a later crawl needs to go on from an unchanged page without looking at it again, and all that
adaptation needs to find former content in a changed one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from pydantic import ConfigDict, TypeAdapter

from aahcrawler.webobject import Person, Reference, Value, WebObject

MEDIA_TYPE: Final = "application/json"
FORMAT: Final = 1
"""The version of the JSON; a reader passes over what it does not know."""

_JSON = TypeAdapter(dict[str, object], config=ConfigDict(ser_json_inf_nan="constants"))


class MetadataError(Exception):
    """The JSON is not what ``write`` makes; the message says what is wrong with it."""


class LinkType(StrEnum):
    """How an answer leads to another address."""

    PAGE = "page"
    REQUISITE = "requisite"
    """An image, a style sheet, a script or a font that shows the page."""
    REDIRECT = "redirect"
    FRAME = "frame"
    """A document that is shown within the page."""
    FEED = "feed"
    """A feed that a page announces, and that a definition asks for."""


@dataclass(frozen=True, slots=True)
class Link:
    """An address that an answer leads to, absolute and canonical, whether or not it was in the crawl's scope.

    ``score`` is None where nobody scored it. ``action`` names the navigation action that chose it.
    """

    url: str
    type: LinkType = LinkType.PAGE
    anchor: str = ""
    score: float | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """What was understood of one answer; ``url`` is its address.

    ``understood_by`` identifies everything that the rest depends on beside the answer itself: knowledge base,
    definition and software. ``application``, ``level``, ``role`` and ``variant`` are as the knowledge base names
    them, None or empty where nothing was recognised. ``score`` is the page's relevance in [0, 1], ``priority`` the
    score that it was fetched with. ``media_type`` is that of the payload, empty where it is not told. ``failures``
    are the actions that should have worked and did not. ``source`` is as in ``Document``: what is no page. ``trap``
    says that the page is a near duplicate of the page ``like``, or a soft 404 (``aahcrawler.traps.Trap``); both are
    empty where it is a page of its own. ``no_object`` tells why a page of no known level yields no object.
    """

    url: str = ""
    understood_by: str = ""
    media_type: str = ""
    application: str | None = None
    level: str | None = None
    role: Literal["intermediate", "terminal"] | None = None
    variant: str = ""
    language: str | None = None
    title: str = ""
    score: float | None = None
    relevant: bool | None = None
    priority: float | None = None
    depth: int = 0
    links: tuple[Link, ...] = ()
    objects: tuple[WebObject, ...] = ()
    failures: tuple[str, ...] = ()
    source: str = ""
    trap: str = ""
    like: str = ""
    no_object: str = ""


def write(metadata: Metadata) -> bytes:
    """Return the JSON of a metadata record, in UTF-8; what is unknown is left out.

    >>> write(Metadata(application="phpBB", links=(Link("http://a.test/", score=0.25),)))
    b'{"format":1,"application":"phpBB","outlinks":[{"url":"http://a.test/","type":"page","score":0.25}]}'
    """
    said: dict[str, object] = {"format": FORMAT}
    for name in (
        *("url", "understood_by", "media_type", "application", "level", "role", "variant", "language", "title"),
        *("source", "trap", "like", "no_object"),
    ):
        said[name] = getattr(metadata, name)
    for name in ("score", "relevant", "priority"):
        said[name] = getattr(metadata, name)
    said["depth"] = metadata.depth or None
    said["failures"] = list(metadata.failures)
    said["outlinks"] = [_link(link) for link in metadata.links]
    said["objects"] = [_object(each) for each in metadata.objects]
    known = {name: value for name, value in said.items() if value is not None and value not in ("", [])}
    try:
        return _JSON.dump_json(known)
    except ValueError:  # Lone surrogates, which no encoding can express.
        return json.dumps(known, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read(text: bytes) -> Metadata:
    """Return what a metadata record says. Raises ``MetadataError`` for anything that ``write`` did not make."""
    try:
        said = json.loads(text)
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise MetadataError("it is no metadata record of this format")
        return Metadata(
            url=str(said.get("url", "")),
            understood_by=str(said.get("understood_by", "")),
            media_type=str(said.get("media_type", "")),
            application=said.get("application"),
            level=said.get("level"),
            role=said.get("role"),
            variant=str(said.get("variant", "")),
            language=said.get("language"),
            title=str(said.get("title", "")),
            score=said.get("score"),
            relevant=said.get("relevant"),
            priority=said.get("priority"),
            depth=int(said.get("depth", 0)),
            links=tuple(_read_link(link) for link in said.get("outlinks", ())),
            objects=tuple(_read_object(each) for each in said.get("objects", ())),
            failures=tuple(map(str, said.get("failures", ()))),
            source=str(said.get("source", "")),
            trap=str(said.get("trap", "")),
            like=str(said.get("like", "")),
            no_object=str(said.get("no_object", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise MetadataError(f"it cannot be read ({error!r})") from error


def _link(link: Link) -> dict[str, object]:
    said: dict[str, object] = {"url": link.url, "type": link.type.value}
    if link.anchor:
        said["anchor"] = link.anchor
    if link.score is not None:
        said["score"] = round(link.score, 6)
    if link.action is not None:
        said["action"] = link.action
    return said


def _read_link(said: Mapping[str, object]) -> Link:
    score, action = said.get("score"), said.get("action")
    return Link(
        str(said["url"]),
        LinkType(str(said.get("type", LinkType.PAGE))),
        str(said.get("anchor", "")),
        float(score) if isinstance(score, int | float) else None,
        None if action is None else str(action),
    )


def _object(web_object: WebObject) -> dict[str, object]:
    said: dict[str, object] = {"iri": web_object.iri, "type": web_object.type, "source": web_object.source_url}
    if web_object.part_of is not None:
        said["part_of"] = web_object.part_of
    said["properties"] = {name: [_value(value) for value in values] for name, values in web_object.properties.items()}
    if web_object.inferred:
        said["inferred"] = dict(web_object.inferred)
    return said


def _read_object(said: Mapping[str, object]) -> WebObject:
    properties, part_of, inferred = said["properties"], said.get("part_of"), said.get("inferred", {})
    if not isinstance(properties, Mapping) or not isinstance(inferred, Mapping):
        raise MetadataError("the properties of an object are no mapping")
    return WebObject(
        iri=str(said["iri"]),
        type=str(said["type"]),
        source_url=str(said["source"]),
        properties={str(name): _read_values(values) for name, values in properties.items()},
        part_of=None if part_of is None else str(part_of),
        inferred={str(name): str(source) for name, source in inferred.items()},
    )


def _value(value: Value) -> object:
    match value:
        case Person():
            return {"person": value.name} if value.url is None else {"person": value.name, "url": value.url}
        case Reference():
            return {"reference": value.url}
        case datetime():
            return {"datetime": value.isoformat()}
        case _:
            return value


def _read_values(said: Sequence[object]) -> tuple[Value, ...]:
    return tuple(map(_read_value, said))


def _read_value(said: object) -> Value:
    match said:
        case {"person": str(name), "url": str(url)}:
            return Person(name, url)
        case {"person": str(name)}:
            return Person(name)
        case {"reference": str(url)}:
            return Reference(url)
        case {"datetime": str(moment)}:
            return datetime.fromisoformat(moment)
        case str() | int() | float():
            return said
        case _:
            raise MetadataError(f"{said!r} is no value of a property")
