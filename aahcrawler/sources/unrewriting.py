"""Turns back what an archive did to a response when it gave it out: its address, its head, its links.

Archives that run OpenWayback, pywb or the Wayback Machine name a memento by a prefix, 14 digits, perhaps a modifier,
and its URL: ``https://archive.example/web/20130605100000id_/http://a.test/``. With the modifier ``id_`` they give a
payload as it was captured.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self
from urllib.parse import urljoin, urlsplit

RAW: Final = "id_"
"""The modifier of a memento's address with which its payload is given as it was captured."""
_ADDRESS: Final = re.compile(r"(?P<prefix>https?://[^?#]*?/)(?P<stamp>\d{14})(?P<modifier>[a-z]{2}_)?/(?P<url>[^/].*)")
_SINGLE_SLASH: Final = re.compile(r"(https?):/+", re.IGNORECASE)
_ORIGINAL: Final = "x-archive-orig-"
_OF_CONTENT: Final = frozenset({"content-type", "content-language", "content-disposition", "location", "refresh"})
"""Fields that are the response's own even where an archive does not mark what is: they say what the payload is."""
_OF_THE_WAY: Final = frozenset({"transfer-encoding", "content-length", "connection", "keep-alive", "content-encoding"})
"""Fields of the original response that say how its bytes were sent then, which are no more as they were."""
_INSERTED: Final = (
    re.compile(rb"<!-- WB Insert -->.{0,60000}?<!-- End WB Insert -->", re.DOTALL),
    re.compile(rb"<!-- BEGIN WAYBACK TOOLBAR INSERT -->.{0,60000}?<!-- END WAYBACK TOOLBAR INSERT -->", re.DOTALL),
    re.compile(rb"(?<=<head>).{0,20000}?<!-- End Wayback Rewrite JS Include -->", re.DOTALL | re.IGNORECASE),
)
"""What archives put into pages that they rewrite, by the marks that they put around it."""


@dataclass(frozen=True, slots=True)
class MementoAddress:
    """The address of a memento that names its moment and its URL."""

    prefix: str
    stamp: str
    modifier: str
    url: str

    @classmethod
    def read(cls, uri: str) -> Self | None:
        """Return the parts of a URI-M, None where it does not name moment and URL.

        >>> MementoAddress.read("http://archive.test/web/20130605100000/http://a.test/x").url
        'http://a.test/x'
        """
        found = _ADDRESS.fullmatch(uri)
        if found is None:
            return None
        url = _SINGLE_SLASH.sub(r"\1://", found["url"], count=1)
        url = url if "://" in url[:10] else f"http://{url}"
        return cls(found["prefix"], found["stamp"], found["modifier"] or "", url)

    @property
    def date(self) -> datetime | None:
        """The moment that the address names, None where there is no such moment."""
        try:
            return datetime.strptime(self.stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            return None

    @property
    def raw(self) -> str:
        """The address of the payload as it was captured."""
        return f"{self.prefix}{self.stamp}{RAW}/{self.url}"


def original_url(found: str, uri: str, url: str) -> str:
    """Return the URL that a link in the memento at ``uri`` leads to, ``url`` being the memento's own.

    A link into the archive stands for the URL that it shows; any other one is relative to the memento's own URL.

    >>> original_url("/web/20130605100000id_/http://a.test/x", "http://archive.test/web/2013/y", "http://a.test/")
    'http://a.test/x'
    >>> original_url("../x", "http://archive.test/web/20130605100000/http://a.test/b/c", "http://a.test/b/c")
    'http://a.test/x'
    """
    try:
        target = MementoAddress.read(urljoin(uri, found))
        is_into_archive = target is not None and urlsplit(target.prefix).netloc == urlsplit(uri).netloc
        is_relative = not found.startswith(("http:", "https:", "/"))
        if target is not None and is_into_archive and not is_relative:
            return target.url
        return urljoin(url, found)
    except ValueError:
        return found


def original_fields(fields: Sequence[tuple[str, str]], uri: str, url: str) -> Iterator[tuple[str, str]]:
    """Yield the header fields that a response had when it was captured, as far as the archive at ``uri`` says.

    What it marks as the original's (``X-Archive-Orig-``) is taken, and what says what the payload is; of all else
    nobody can tell whose it is. Fields on how the bytes were sent are left out.
    """
    marked = [(name[len(_ORIGINAL) :], value) for name, value in fields if name.lower().startswith(_ORIGINAL)]
    known = {name.lower() for name, _ in marked}
    own = [(name, value) for name, value in fields if name.lower() in _OF_CONTENT and name.lower() not in known]
    for name, value in (*own, *marked):
        lower = name.lower()
        if not name or lower in _OF_THE_WAY:
            continue
        yield name, original_url(value, uri, url) if lower in ("location", "content-location") else value


def unrewritten(body: bytes, uri: str) -> bytes:
    """Return a page that an archive has rewritten with its links turned back, and without what it has put in.

    Links are found by the address of the memento: its prefix, digits and perhaps a modifier in front of a URL. A page
    whose address says nothing of that is returned as it is.
    """
    address = MementoAddress.read(uri)
    if address is None:
        return body
    for inserted in _INSERTED:
        body = inserted.sub(b"", body, count=1)
    place = urlsplit(address.prefix)
    host, path = (
        re.escape(place.netloc.encode("latin-1", "replace")),
        re.escape(place.path.encode("latin-1", "replace")),
    )
    links = re.compile(
        rb"(?<![\w/.:-])(?:(?:https?:)?//" + host + rb")?" + path + rb"\d{1,14}(?:[a-z]{2}_)?/(?=https?:/|//?[\w-])"
    )
    return links.sub(b"", body)
