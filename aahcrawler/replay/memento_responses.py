"""Responses to Memento clients (RFC 7089): a TimeGate, TimeMaps, and the Link fields of mementos.

``/CRAWL/timegate/URL`` redirects to the capture nearest to Accept-Datetime, the newest one without it.
``/CRAWL/timemap/link/URL`` lists all captures in link format, ``/CRAWL/timemap/json/URL`` in JSON as MemGator writes
it; pages of it have a number from 1 on before the URL.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import quote

from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.capture_lookup import CaptureLookup, Indexed, moment_of
from aahcrawler.replay.link_format import LINK_FORMAT, as_http_date, http_date, link
from aahcrawler.urls import canonicalize

PAGE_SIZE: Final = 1_000
"""Mementos on one page of a TimeMap."""
MAX_MEMENTOS: Final = 100_000
"""The most captures of one URL that its TimeMaps list, the oldest ones."""
_NEWEST: Final = "99991231235959"
_PATH: Final = re.compile(r"/[^/]+/(timegate|timemap/(?:link|json))/(?:([0-9]{1,4})/)?(.+)", re.DOTALL)
_ONE_SLASH: Final = re.compile(r"(?i)(https?):/+")


@dataclass(frozen=True, slots=True)
class MementoRequest:
    """A request of a Memento client.

    ``kind`` is ``timegate``, ``timemap/link`` or ``timemap/json``, ``page`` counts from 1.
    """

    kind: str
    url: str
    page: int = 1

    @classmethod
    def parse(cls, path: str, query: str) -> "MementoRequest | None":
        """Return the request in a path, as it was sent, and a query; None where they are no such request.

        >>> MementoRequest.parse("/floods/timemap/link/2/http://a.test/", "")
        MementoRequest(kind='timemap/link', url='http://a.test/', page=2)
        """
        match = _PATH.fullmatch(path)
        if match is None:
            return None
        written = _ONE_SLASH.sub(r"\1://", match[3], count=1)
        url = canonicalize(f"{written}?{query}" if query else written)
        return None if url is None else cls(match[1], url, max(1, int(match[2] or 1)))


@dataclass(frozen=True, slots=True)
class MementoResponse:
    """The status, header fields and body of a response."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class MementoResponses:
    """Responds to Memento clients for the crawl named ``crawl``.

    ``root`` is the beginning of its addresses, such as ``http://localhost:8000``.
    """

    root: str
    crawl: str
    lookup: CaptureLookup

    def respond(self, asked: MementoRequest, accept_datetime: str) -> MementoResponse:
        """Return the response to a request. Raises ``NoIndexError`` where the archive has no index."""
        if asked.kind == "timegate":
            return self._negotiated(asked.url, accept_datetime)
        mementos = _shown(self.lookup.all_of(asked.url, MAX_MEMENTOS), asked.url)
        first = (asked.page - 1) * PAGE_SIZE
        shown = mementos[first : first + PAGE_SIZE]
        if not shown:
            return MementoResponse(404, {"Content-Type": "text/plain; charset=utf-8"}, b"There is no capture of it.\n")
        has_more = first + PAGE_SIZE < len(mementos)
        if asked.kind == "timemap/json":
            body = self._json(asked, mementos, shown, has_more=has_more)
            return MementoResponse(200, {"Content-Type": "application/json"}, body)
        lines = ",\n".join(self._lines(asked, mementos, shown, has_more=has_more))
        return MementoResponse(200, {"Content-Type": LINK_FORMAT}, f"{lines}\n".encode("ascii", "replace"))

    def links(self, url: str, moment: str) -> str:
        """Return the Link field of a memento of that moment, in 14 digits."""
        mementos = self._near(url, moment)
        at = next((at for at, each in enumerate(mementos) if each.moment == moment), None)
        before = mementos[at - 1] if at else None
        behind = mementos[at + 1] if at is not None and at + 1 < len(mementos) else None
        named = (("prev", before), ("next", behind))
        around = (self._memento(each, f"{name} memento") for name, each in named if each is not None)
        return ", ".join((*self._of_url(url), *around))

    def _negotiated(self, url: str, accept_datetime: str) -> MementoResponse:
        """Return a redirect to the capture nearest to a date (RFC 7089, section 4.1.1), or 400 for an invalid date."""
        date = http_date(accept_datetime) if accept_datetime else None
        fields = {"Vary": "accept-datetime", "Content-Type": "text/plain; charset=utf-8"}
        if accept_datetime and date is None:
            return MementoResponse(400, fields, b"Accept-Datetime is no date of HTTP.\n")
        mementos = self._near(url, _NEWEST if date is None else moment_of(date))
        if not mementos:
            return MementoResponse(404, fields, b"There is no capture of it.\n")
        chosen = mementos[-1] if date is None else min(mementos, key=lambda each: abs(each.date - date))
        link_field = f"{self.links(url, chosen.moment)}, {self._memento(chosen, 'memento')}"
        return MementoResponse(302, {**fields, "Location": self._uri(chosen), "Link": link_field})

    def _near(self, url: str, moment: str) -> Sequence[Indexed]:
        return _shown(self.lookup.nearest(url, moment), url)

    def _lines(
        self, asked: MementoRequest, mementos: Sequence[Indexed], shown: Sequence[Indexed], *, has_more: bool
    ) -> Iterator[str]:
        span = {"from": as_http_date(shown[0].date), "until": as_http_date(shown[-1].date)}
        yield link(asked.url, "original")
        yield link(self._place("timegate", asked.url), "timegate")
        yield link(self._place(asked.kind, asked.url, asked.page), "self", type=LINK_FORMAT, **span)
        if has_more:
            yield link(self._place(asked.kind, asked.url, asked.page + 1), "timemap", type=LINK_FORMAT)
        for each in shown:
            ends = [name for name, end in (("first", mementos[0]), ("last", mementos[-1])) if each is end]
            yield self._memento(each, " ".join((*ends, "memento")))

    def _json(
        self, asked: MementoRequest, mementos: Sequence[Indexed], shown: Sequence[Indexed], *, has_more: bool
    ) -> bytes:
        def told(each: Indexed) -> dict[str, str]:
            return {"datetime": f"{each.date:%Y-%m-%dT%H:%M:%SZ}", "uri": self._uri(each)}

        more = {"pages": {"next": {"uri": self._place(asked.kind, asked.url, asked.page + 1)}}} if has_more else {}
        said = {
            "original_uri": asked.url,
            "self": self._place(asked.kind, asked.url, asked.page),
            "mementos": {
                "list": [told(each) for each in shown],
                "first": told(mementos[0]),
                "last": told(mementos[-1]),
            },
            "timemap_uri": {"link_format": self._place("timemap/link", asked.url)},
            "timegate_uri": self._place("timegate", asked.url),
            **more,
        }
        return json.dumps(said, indent=1).encode()

    def _of_url(self, url: str) -> Iterator[str]:
        yield link(url, "original")
        yield link(self._place("timegate", url), "timegate")
        yield link(self._place("timemap/link", url), "timemap", type=LINK_FORMAT)

    def _memento(self, capture: Indexed, relation: str) -> str:
        return link(self._uri(capture), relation, datetime=as_http_date(capture.date))

    def _uri(self, capture: Indexed) -> str:
        return self.root + Address(self.crawl, capture.moment, Modifier.PAGE, capture.url).path

    def _place(self, kind: str, url: str, page: int = 1) -> str:
        number = f"{page}/" if page > 1 else ""
        return f"{self.root}/{quote(self.crawl, safe='')}/{kind}/{number}{url}"


def _shown(captures: Sequence[Indexed], url: str) -> Sequence[Indexed]:
    """Return the captures of a URL itself in the order of time, one for each second."""
    own = {each.moment: each for each in captures if canonicalize(each.url) == canonicalize(url)}
    return [own[moment] for moment in islice(sorted(own), MAX_MEMENTOS)]
