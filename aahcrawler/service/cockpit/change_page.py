"""The page of a crawl's changes: what its visits found, and the feed of them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from aahcrawler.revisits.visit_record import ChangeKind, ChangeState, WantedVisits
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.views.change_list import ChangeList, ChangesQuery, asked_moment
from aahcrawler.urls import canonicalize

ATOM: Final = "application/atom+xml; charset=utf-8"
ROWS: Final = 15
"""Visits that the list shows at once: more would be longer than three screens."""
Text = Annotated[str, Query(max_length=2_000)]
Moment = Annotated[str, Query(max_length=40)]
Span = tuple[datetime | None, datetime | None]
Word = Annotated[str, Query(max_length=100)]


def routes(site: Site) -> APIRouter:
    """Return the routes of changes."""
    router = APIRouter(prefix="/crawls/{crawl}")

    @router.get("/changes")
    def list_changes(
        session: Reading,
        crawl: str,
        text: Text = "",
        url: Text = "",
        state: ChangeState | Literal[""] = "",
        kind: ChangeKind | Literal[""] = "",
        since: Moment = "",
        until: Moment = "",
        every: Annotated[bool, Query(alias="all")] = False,
        after: Word = "",
    ) -> Response:
        found = site.crawl(crawl)
        span = asked_moment("since", since.strip()), asked_moment("until", until.strip())
        wanted = _wanted(text, url, state, kind, span, every=every)
        listed = ChangeList(found).page(ChangesQuery(wanted, after, ROWS))
        asked = {"text": text, "url": url, "state": state, "kind": kind, "since": since, "until": until}
        asked["all"] = "true" if every else ""
        more = address("crawls", crawl, "changes", **asked, after=listed.next) if listed.next else ""
        values = {
            "states": _choices(ChangeState),
            "kinds": _choices(ChangeKind),
            "feed": address("crawls", crawl, "changes.atom"),
        }
        return site.crawl_page(
            session, found, "changes", "changes.html", listed=listed, asked=asked, more=more, **values
        )

    @router.get("/changes.atom")
    def feed_changes(request: Request, _: Reading, crawl: str) -> Response:
        document = ChangeList(site.crawl(crawl)).feed(WantedVisits(telling=True), str(request.url))
        return Response(document, media_type=ATOM)

    return router


def _wanted(text: str, url: str, state: str, kind: str, span: Span, *, every: bool) -> WantedVisits:
    """Return what is wanted; where nothing is asked for, what matters to readers alone."""
    states = frozenset(map(ChangeState, filter(None, (state,))))
    kinds = frozenset(map(ChangeKind, filter(None, (kind,))))
    is_plain = not (every or url or states or kinds)
    return WantedVisits(canonicalize(url) or url or None, *span, states, kinds, text.strip(), is_plain)


def _choices(words: type[StrEnum]) -> list[tuple[str, str]]:
    return [(word.value, word.value) for word in words]
