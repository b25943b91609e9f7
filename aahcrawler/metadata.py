"""The metadata of a response: the JSON of its WARC ``metadata`` record (WARC 1.1, section 6.5).

From this record alone, a later crawl goes on from an unchanged page without reading it again, and adaptation finds
former content in a changed page.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from pydantic import ConfigDict, TypeAdapter

from aahcrawler.webobject import Person, Reference, Value, WebObject


@dataclass(frozen=True, slots=True)
class RenderInfo:
    """A rendering: one visit of a page in a browser.

    ``dom`` is the id of the record with the document at the end of the visit, from which text, objects and links were
    read; ``text`` is the SHA-1, in hexadecimal digits, of that document's visible text. If rendering failed, ``failed``
    says why, both are empty, and the page was read as the server sent it. ``ended`` says why the visit ended, after
    ``seconds``. ``refused`` counts by reason the requests of the page that were not answered. ``behaviours`` describe
    in words what was done on the page; ``console`` is what its scripts reported. ``made_of`` are the URLs of the data
    from which the document was made without a browser, after earlier renderings had shown how.
    """

    dom: str = ""
    text: str = ""
    ended: str = ""
    seconds: float = 0.0
    requests: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    behaviours: tuple[str, ...] = ()
    console: tuple[str, ...] = ()
    failed: str = ""
    made_of: tuple[str, ...] = ()


_LOOK: Final = TypeAdapter(RenderInfo)


def render_json(look: RenderInfo) -> object:
    """Return a rendering as a JSON value, without its empty fields.

    >>> render_json(RenderInfo(failed="time"))
    {'failed': 'time'}
    """
    found: object = _LOOK.dump_python(look, mode="json", exclude_defaults=True)
    return found


def read_rendering(fields: object) -> RenderInfo:
    """Return the rendering from which ``render_json`` made ``fields``. Raise ValueError for anything else."""
    return _LOOK.validate_python(fields)


MEDIA_TYPE: Final = "application/json"
FORMAT: Final = 1
"""The version of the JSON; a reader passes over what it does not know."""

_JSON = TypeAdapter(dict[str, object], config=ConfigDict(ser_json_inf_nan="constants"))


class MetadataError(Exception):
    """The JSON is not what ``write_metadata`` makes; the message says what is wrong with it."""


class LinkType(StrEnum):
    """The ways in which a response leads to another URL."""

    PAGE = "page"
    REQUISITE = "requisite"
    """A file that the page is shown with: image, style sheet, script, font, sound or film."""
    REDIRECT = "redirect"
    FRAME = "frame"
    """A document that is shown within the page."""
    FEED = "feed"
    """A feed that a page announces, and that a definition asks for."""


@dataclass(frozen=True, slots=True)
class Link:
    """A URL to which a response leads, absolute and canonical, inside or outside of the crawl's scope.

    ``score`` is None if the link was not scored. ``action`` is the navigation action that selected the link.
    ``nofollow`` is True if the link or its page asks robots not to follow it.
    """

    url: str
    type: LinkType = LinkType.PAGE
    anchor: str = ""
    score: float | None = None
    action: str | None = None
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Metadata:
    """Everything that was understood of one response.

    ``understood_by`` identifies what else the analysis depended on: knowledge base, definition and software.
    ``application``, ``level``, ``role`` and ``variant`` are names of the knowledge base, None or empty if nothing was
    recognised. ``score`` is the page's relevance in [0, 1], ``priority`` the score with which it was fetched.
    ``media_type`` is that of the payload, empty if unknown. ``failures`` are actions that should have found something
    and did not. ``source`` is that of ``Document``: empty for a page, else what the response is instead. ``trap`` says
    that the page is a near duplicate of the page ``like``, or a soft 404 (``aahcrawler.traps.Trap``); both are empty
    otherwise. ``no_object`` says why a page of no known level has no object. ``stream`` describes the manifest of a
    stream: its format, and which parts are not fetched. ``resource_type`` and ``initiator`` are those of a browser's
    request, in terms of the DevTools protocol, empty if no browser made it. ``browser`` is the rendering, None if there
    was none.
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
    stream: tuple[str, ...] = ()
    resource_type: str = ""
    initiator: str = ""
    browser: RenderInfo | None = None


def write_metadata(metadata: Metadata) -> bytes:
    """Return the JSON of a metadata record, in UTF-8, without unknown or empty fields.

    >>> write_metadata(Metadata(application="phpBB", links=(Link("http://a.test/", score=0.25),)))
    b'{"format":1,"application":"phpBB","outlinks":[{"url":"http://a.test/","type":"page","score":0.25}]}'
    """
    fields: dict[str, object] = {"format": FORMAT}
    for name in (
        *("url", "understood_by", "media_type", "application", "level", "role", "variant", "language", "title"),
        *("source", "trap", "like", "no_object", "resource_type", "initiator"),
    ):
        fields[name] = getattr(metadata, name)
    for name in ("score", "relevant", "priority"):
        fields[name] = getattr(metadata, name)
    fields["depth"] = metadata.depth or None
    fields["browser"] = None if metadata.browser is None else render_json(metadata.browser)
    fields["failures"] = list(metadata.failures)
    fields["stream"] = list(metadata.stream)
    fields["outlinks"] = [_link(link) for link in metadata.links]
    fields["objects"] = [_object(each) for each in metadata.objects]
    known = {name: value for name, value in fields.items() if value is not None and value not in ("", [])}
    try:
        return _JSON.dump_json(known)
    except ValueError:  # Lone surrogates, which no encoding can express.
        return json.dumps(known, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def read_metadata(text: bytes) -> Metadata:
    """Parse a metadata record. Raise ``MetadataError`` for anything that ``write_metadata`` did not make."""
    try:
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise MetadataError("it is no metadata record of this format")
        return Metadata(
            url=str(fields.get("url", "")),
            understood_by=str(fields.get("understood_by", "")),
            media_type=str(fields.get("media_type", "")),
            application=fields.get("application"),
            level=fields.get("level"),
            role=fields.get("role"),
            variant=str(fields.get("variant", "")),
            language=fields.get("language"),
            title=str(fields.get("title", "")),
            score=fields.get("score"),
            relevant=fields.get("relevant"),
            priority=fields.get("priority"),
            depth=int(fields.get("depth", 0)),
            links=tuple(_read_link(link) for link in fields.get("outlinks", ())),
            objects=tuple(_read_object(each) for each in fields.get("objects", ())),
            failures=tuple(map(str, fields.get("failures", ()))),
            source=str(fields.get("source", "")),
            trap=str(fields.get("trap", "")),
            like=str(fields.get("like", "")),
            no_object=str(fields.get("no_object", "")),
            stream=tuple(map(str, fields.get("stream", ()))),
            resource_type=str(fields.get("resource_type", "")),
            initiator=str(fields.get("initiator", "")),
            browser=read_rendering(fields["browser"]) if "browser" in fields else None,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise MetadataError(f"it cannot be read ({error!r})") from error


def metadata_if_readable(block: bytes | None) -> Metadata | None:
    """Parse the block of a record; return None if there is no block or it is no metadata record of this format."""
    try:
        return None if block is None else read_metadata(block)
    except MetadataError:
        return None


def _link(link: Link) -> dict[str, object]:
    fields: dict[str, object] = {"url": link.url, "type": link.type}
    if link.anchor:
        fields["anchor"] = link.anchor
    if link.score is not None:
        fields["score"] = round(link.score, 6)
    if link.action is not None:
        fields["action"] = link.action
    if link.nofollow:
        fields["nofollow"] = True
    return fields


def _read_link(fields: Mapping[str, object]) -> Link:
    score, action = fields.get("score"), fields.get("action")
    return Link(
        str(fields["url"]),
        LinkType(str(fields.get("type", LinkType.PAGE))),
        str(fields.get("anchor", "")),
        float(score) if isinstance(score, int | float) else None,
        None if action is None else str(action),
        nofollow=fields.get("nofollow") is True,
    )


def _object(web_object: WebObject) -> dict[str, object]:
    fields: dict[str, object] = {"iri": web_object.iri, "type": web_object.type, "source": web_object.source_url}
    if web_object.part_of is not None:
        fields["part_of"] = web_object.part_of
    fields["properties"] = {name: list(map(_value, values)) for name, values in web_object.properties.items()}
    if web_object.inferred:
        fields["inferred"] = dict(web_object.inferred)
    return fields


def _read_object(fields: Mapping[str, object]) -> WebObject:
    properties, part_of, inferred = fields["properties"], fields.get("part_of"), fields.get("inferred", {})
    if not isinstance(properties, Mapping) or not isinstance(inferred, Mapping):
        raise MetadataError("the properties of an object are no mapping")
    return WebObject(
        iri=str(fields["iri"]),
        type=str(fields["type"]),
        source_url=str(fields["source"]),
        properties={str(name): tuple(map(_read_value, values)) for name, values in properties.items()},
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


def _read_value(fields: object) -> Value:
    match fields:
        case {"person": str(name), "url": str(url)}:
            return Person(name, url)
        case {"person": str(name)}:
            return Person(name)
        case {"reference": str(url)}:
            return Reference(url)
        case {"datetime": str(moment)}:
            return datetime.fromisoformat(moment)
        case str() | int() | float():
            return fields
        case _:
            raise MetadataError(f"{fields!r} is no value of a property")
