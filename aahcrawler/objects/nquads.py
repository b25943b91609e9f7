"""N-Quads text, made of plain values so that every line parses whatever a page had in it. No blank nodes."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import quote, urlsplit

from pyoxigraph import NamedNode

from aahcrawler.objects.vocabulary import XSD_BOOLEAN, XSD_DATE_TIME, XSD_DOUBLE, XSD_INTEGER
from aahcrawler.webobject import Person, Reference, Value

_UNFIT = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~:/?#@!$&'()*+,;=%]")
_INVALID = "urn:aahcrawler:invalid:"
_PERSON = "urn:aahcrawler:person:"


@lru_cache(maxsize=4096)
def iri(address: str) -> str:
    """Return an IRI term. An invalid IRI is percent-encoded where that helps, else named by a URN of ours.

    >>> iri("http://a.test/x y"), iri("no address")
    ('<http://a.test/x%20y>', '<urn:aahcrawler:invalid:no%20address>')
    """
    return _valid(address) or _valid(_escaped(address)) or f"<{_INVALID}{quote(address, safe='', errors='replace')}>"


def text(value: str) -> str:
    r"""Return a string literal.

    >>> print(text('She said "no"'))
    "She said \"no\""
    """
    return f'"{_escape(value)}"'


def typed(value: str, datatype: str) -> str:
    """Return a typed literal."""
    return f'"{_escape(value)}"^^<{datatype}>'


def quads(triples: Sequence[str], graph: str) -> bytes:
    """Return triples, each ``subject predicate object`` in terms, as the lines of a graph, in UTF-8.

    Lone surrogates, which no encoding can express, become U+FFFD.
    """
    # Joined first, one astral character would make a string of four bytes a character of the whole page.
    try:
        lines = [triple.encode() for triple in triples]
    except UnicodeEncodeError:
        lines = [triple.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() for triple in triples]
    end = f" {graph} .\n".encode()
    return end.join(lines) + end


def moment(value: datetime) -> str:
    """Return an ``xsd:dateTime`` with the offset of a moment; a naive one counts as UTC.

    >>> moment(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '"2026-01-02T03:04:05Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    >>> moment(datetime.fromisoformat("2026-01-02T03:04:05+02:00"))
    '"2026-01-02T03:04:05+02:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    """
    offset = value.utcoffset()
    if offset and offset % timedelta(minutes=1):  # offsets of the nineteenth century have seconds, xsd:dateTime none
        value, offset = value.astimezone(UTC), None
    written = value.isoformat() if offset else f"{value.replace(tzinfo=None).isoformat()}Z"
    return f'"{written}"^^<{XSD_DATE_TIME}>'


def term(value: Value, site: str) -> str:
    """Return a property's value as a term; a person is named by the IRI that ``person`` gives."""
    match value:
        case str():
            return text(value)
        case Person():
            return person(value, site)
        case Reference():
            return iri(value.url)
        case datetime():
            return moment(value)
        case bool():
            return boolean(value)
        case int():
            return integer(value)
        case float():
            return double(value)


def boolean(value: bool) -> str:
    """Return an ``xsd:boolean``."""
    return f'"{str(value).lower()}"^^<{XSD_BOOLEAN}>'


def integer(value: int) -> str:
    """Return an ``xsd:integer``."""
    return f'"{value}"^^<{XSD_INTEGER}>'


def double(value: float) -> str:
    """Return an ``xsd:double``."""
    return f'"{str(value).upper() if value == value else "NaN"}"^^<{XSD_DOUBLE}>'


@lru_cache(maxsize=1024)
def person(somebody: Person, site: str) -> str:
    """Return the IRI of a person: the profile's URL with ``#person``, or a URN of site and name.

    >>> person(Person("Jane", "http://a.test/u/7"), "a.test"), person(Person("Jane  Doe"), "a.test")
    ('<http://a.test/u/7#person>', '<urn:aahcrawler:person:a.test:Jane%20Doe>')
    """
    if somebody.url:
        return iri(somebody.url if "#" in somebody.url else somebody.url + "#person")
    name = " ".join(somebody.name.split())
    return f"<{_PERSON}{quote(site, safe='.-', errors='replace')}:{quote(name, safe='', errors='replace')}>"


@lru_cache(maxsize=64)
def site_of(url: str) -> str:
    """Return whose names are meant on a page: its host without a leading ``www.``.

    >>> site_of("https://www.A.test:8080/x")
    'a.test'
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")


def _escape(value: str) -> str:
    # Four searches for characters that are mostly absent beat one pass over every character, here and in the library.
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")


def _valid(address: str) -> str | None:
    # Parsers disagree about what counts as white space beyond ASCII.
    if not address.isascii():
        return None
    try:
        return str(NamedNode(address))
    except ValueError:
        return None


def _escaped(address: str) -> str:
    escaped = _UNFIT.sub(lambda match: quote(match[0], safe="", errors="replace"), address)
    document, mark, fragment = escaped.partition("#")
    return document + mark + fragment.replace("#", "%23")
