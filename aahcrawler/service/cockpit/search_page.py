"""The page that searches all crawls: a search box, results with counts by value, and a time line."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, NamedTuple

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import StreamingResponse

from aahcrawler.layout import ANNOTATIONS
from aahcrawler.replay.addresses import Modifier
from aahcrawler.search import Question
from aahcrawler.search.query_language import MAX_QUERY_LENGTH
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.captured_pages import replay_path
from aahcrawler.service.cockpit.definition_pages import ADD, DefinitionHandlers
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Operating, Reading, Sent, Site, address, then
from aahcrawler.service.steering.unfound_searches import MIN_ASKERS
from aahcrawler.service.views.capture_view import capture_row
from aahcrawler.service.views.cited_capture import mail_address
from aahcrawler.service.views.object_list import UrlCaptures, url_captures
from aahcrawler.service.views.page_list import page_shown
from aahcrawler.service.views.search_results import (
    FACETS,
    HAS_PARQUET,
    NOT_ARCHIVED,
    Format,
    SearchResult,
    SearchResults,
    Span,
    handed_out,
    question_of,
    results_of,
)
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError
from aahcrawler.urls import MAX_LENGTH, canonicalize

ROWS: Final = 10
"""Results that the page shows at once."""
MAX_CRAWLS: Final = 200
"""Crawls that a search can be narrowed to."""
_MAX_VALUES: Final = 20
_ADDRESS: Final = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:/\S*)?")
"""An address as people write it, without ``http://``; other words may look so."""
_FILTERS: Final = ("crawl", *FACETS)
_LABELS: Final = {
    "crawl": "Crawl",
    "kind": "Kind",
    "type": "Type",
    "site": "Site",
    "author": "Author",
    "application": "Application",
    "language": "Language",
    "media_type": "Media type",
    "person": "Person",
    "organisation": "Organisation",
    "place": "Place",
    "topic": "Topic",
    "keyword": "Keyword of the definition",
    "entity": "Name of the definition",
}
_TYPES: Final[Mapping[Format, str]] = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "warc.gz": "application/warc",
}
Values = Annotated[list[str], Query(max_length=_MAX_VALUES)]
Day = Annotated[str, Query(max_length=40)]


class Bar(NamedTuple):
    """A bar of the time line, in a picture of height 100, and the address that it links to."""

    left: float
    width: float
    height: float
    label: str
    leads_to: str
    begin: str
    end: str


class Asked(NamedTuple):
    """The search in the address of the page; links repeat it with something changed."""

    q: str
    filters: Mapping[str, Sequence[str]]
    since: str
    until: str
    by: Literal["published", "captured"]
    as_of: str
    versions: Literal["last", "all"]
    order: Literal["relevance", "newest", "oldest", "captured"]
    like: str

    def leads_to(self, path: str = "", /, **changed: object) -> str:
        """Return the address of the page, or of a table at ``path``, with some parameters changed."""
        default = {"by": "published", "versions": "last", "order": "relevance"}
        said = (
            {name: value for name, value in self._asdict().items() if name != "filters"} | dict(self.filters) | changed
        )
        asked = {name: value for name, value in said.items() if value != default.get(name)}
        return address("search", *filter(None, [path]), **asked)

    def toggled(self, name: str, value: str) -> str:
        """Return the address with a value of a filter added, or removed if it is set."""
        if name not in _FILTERS:
            return self.leads_to(q=f'{self.q} {name}:"{value}"'.strip())
        values = self.filters[name]
        now = [each for each in values if each != value] if value in values else [*values, value]
        return self.leads_to(**{name: now})

    @property
    def narrowed(self) -> list[tuple[str, str, str, str]]:
        """The filters that are set: name, label, value, and the address without it."""
        found = [
            (name, _LABELS[name], value, self.toggled(name, value)) for name in _FILTERS for value in self.filters[name]
        ]
        for name, label in (("since", "From"), ("until", "To"), ("as_of", "As of")):
            if value := str(getattr(self, name)):
                found.append((name, label, value, self.leads_to(**{name: ""})))
        return found


def routes(site: Site) -> APIRouter:
    """Return the routes of the search."""
    router = APIRouter(prefix="/search")
    reach, indexes = site.instruments.reach, site.instruments.search

    def asked_for(
        q: Annotated[str, Query(max_length=MAX_QUERY_LENGTH)] = "",
        crawl: Annotated[list[str], Query(max_length=MAX_CRAWLS)] = [],  # noqa: B006 (read alone)
        kind: Values = [],  # noqa: B006
        object_type: Annotated[list[str], Query(alias="type", max_length=_MAX_VALUES)] = [],  # noqa: B006
        of_site: Annotated[list[str], Query(alias="site", max_length=_MAX_VALUES)] = [],  # noqa: B006
        author: Values = [],  # noqa: B006
        application: Values = [],  # noqa: B006
        language: Values = [],  # noqa: B006
        media_type: Values = [],  # noqa: B006
        since: Day = "",
        until: Day = "",
        by: Literal["published", "captured", ""] = "",
        as_of: Day = "",
        versions: Literal["last", "all", ""] = "",
        order: Literal["relevance", "newest", "oldest", "captured", ""] = "",
        like: Annotated[str, Query(max_length=MAX_LENGTH)] = "",
    ) -> Asked:
        values = (crawl, kind, object_type, of_site, author, application, language, media_type)
        filters = {name: [*filter(None, each)] for name, each in zip(_FILTERS, values, strict=True)}
        dates = since.strip(), until.strip()
        ordered = order or "relevance"
        return Asked(
            q.strip(), filters, *dates, by or "published", as_of.strip(), versions or "last", ordered, like.strip()
        )

    def question(asked: Asked, offset: int = 0) -> Question:
        filters = {name: asked.filters[name] for name in FACETS}
        dates: dict[Literal["since", "until", "as_of"], str]
        dates = {"since": asked.since, "until": asked.until, "as_of": asked.as_of}
        plain = Question(
            timed=asked.by, scope=asked.versions, order=asked.order, limit=ROWS, offset=offset, like=asked.like
        )
        return question_of(asked.q, filters, dates, plain)

    @router.get("")
    def show(
        session: Reading,
        asked: Annotated[Asked, Depends(asked_for)],
        offset: Annotated[int, Query(ge=0, le=1_000)] = 0,
        beside: Annotated[int, Query(ge=0, le=ROWS)] = 0,
    ) -> Response:
        found, mistake, archived = None, "", list[tuple[str, UrlCaptures]]()
        try:
            found = results_of(reach, indexes, question(asked, offset), asked.filters["crawl"])
        except ProblemError as error:
            if error.kind not in (BAD_SEARCH, NOT_ARCHIVED):
                raise
            mistake = error.detail
        urls = _urls(asked.q)
        for url in urls:
            archived = archived or _archived(site, url)
        if found is not None and not offset:
            _note_unfound(site, session, asked, found, is_archived=bool(archived))
        values: dict[str, object] = {
            "found": found,
            "mistake": mistake,
            "asked": asked,
            "is_url": len(urls) == 1 or archived,
            "archived": archived,
            "labels": _LABELS,
            "not_enriched": _not_enriched(site, asked.filters["crawl"]),
            "has_parquet": HAS_PARQUET,
            "counts_unfound": site.instruments.unfound is not None,
            "titles": {crawl.id: crawl.icd.title for crawl in reach.crawls() if crawl.icd.title},
            "bars": _bars(asked, found.timeline) if found is not None else (),
            "pictured": site.instruments.pictures is not None and site.instruments.pictures.available,
            "before": asked.leads_to(offset=max(0, offset - ROWS)) if offset else "",
            "after": asked.leads_to(offset=offset + ROWS) if found is not None and found.more else "",
            "first": offset + 1,
            "offset": offset or "",
            "beside": beside,
            "page": None,
            "unshown": "",
        }
        if found is not None and 0 < beside <= len(found.results):
            values |= _shown_beside(site, found.results[beside - 1], asked.q)
        return site.page(session, "search.html", **values)

    @router.get("/results.{how}")
    def download(_: Reading, how: Format, asked: Annotated[Asked, Depends(asked_for)]) -> Response:
        lines = handed_out(reach, indexes, question(asked), asked.filters["crawl"], how)
        name = {"Content-Disposition": f'attachment; filename="search.{how}"'}
        return StreamingResponse(lines, media_type=_TYPES[how], headers=name)

    _add_unfound(router, site)
    return router


def _shown_beside(site: Site, result: SearchResult, words: str) -> Mapping[str, object]:
    """Return what a template needs to show the archived page of a result, with words marked, beside the results.

    If that cannot be shown yet, it is the reason alone.
    """
    try:
        with site.instruments.indexes.asked(site.crawl(result.crawl)) as index:
            page = page_shown(capture_row(index, result.record))
    except ProblemError as error:
        return {"unshown": error.detail}
    capture = address("crawls", result.crawl, "captures", result.record.removeprefix("urn:uuid:"))
    passage = "".join(piece.text for piece in result.snippet)
    return {
        "page": page,
        "framed": replay_path(result.crawl, page, Modifier.WORDS if words else Modifier.PAGE, words),
        "mail": mail_address(page, result.crawl, passage, f"{site.names.cockpit}{capture}"),
    }


def _add_unfound(router: APIRouter, site: Site) -> None:
    """Add the routes on searches without results."""
    reach, unfound = site.instruments.reach, site.instruments.unfound
    desk = DefinitionHandlers(site)

    @router.get("/unfound")
    def show_unfound(session: Operating) -> Response:
        values = {
            "counted": unfound is not None,
            "listed": unfound.listed() if unfound is not None else (),
            "least": MIN_ASKERS,
            "crawls": [(crawl.id, crawl.icd.title or crawl.id) for crawl in reach.crawls() if not crawl.is_import],
        }
        return site.page(session, "unfound.html", **values)

    @router.post("/unfound")
    def take_up(session: Operating, _reader: Reading, form: Sent) -> Response:
        chosen = [name.removeprefix(ADD).partition(":")[2] for name in form.fields if name.startswith(ADD)]
        if not chosen or unfound is None:
            return then(session, address("search", "unfound"), Said("Choose some of them first."))
        if form.get("action") == "forget":
            unfound.forget(chosen)
            return then(session, address("search", "unfound"), Said("They are left out, until they are searched for."))
        return desk.with_added(session, site.crawl(form.get("crawl")), form)


def _note_unfound(site: Site, session: Session, asked: Asked, found: SearchResults, *, is_archived: bool) -> None:
    """Count a search without results, if that is enabled and all searched crawls are completely indexed."""
    unfound, urls = site.instruments.unfound, _urls(asked.q)
    if unfound is None or found.notes or asked.narrowed or asked.like:
        return
    if len(urls) == 1 and not is_archived:
        unfound.note(urls[0], session.key, is_url=True)
    elif len(urls) != 1 and not found.total:
        unfound.note(asked.q, session.key, is_url=False)


def _urls(query: str) -> Sequence[str]:
    """Return the URLs that a query may stand for, with schemes that people leave out; none if it is no URL."""
    query = query.strip()
    if re.match(r"https?://\S+$", query):
        return (query,)
    return (f"http://{query}", f"https://{query}") if _ADDRESS.fullmatch(query) else ()


def _not_enriched(site: Site, asked: Sequence[str]) -> Sequence[Crawl]:
    """Return the searched crawls that have not been enriched."""
    crawls = (each for each in site.instruments.reach.crawls() if each.id in asked or not asked)
    return [each for each in crawls if each.folder is not None and not (each.folder / ANNOTATIONS).is_dir()]


def _archived(site: Site, url: str) -> list[tuple[str, UrlCaptures]]:
    """Return the captures of a URL, by crawl."""
    found = []
    for crawl in site.instruments.reach.crawls():
        if crawl.folder is not None:
            with suppress(ProblemError), site.instruments.indexes.asked(crawl) as index:
                captures = url_captures(index, canonicalize(url) or url)
                if captures.captures:
                    found.append((crawl.id, captures))
    return found


def _bars(asked: Asked, spans: Sequence[Span]) -> list[Bar]:
    """Return the bars of the time line; each links to the search narrowed to its period."""
    largest = max((span.count for span in spans), default=0)
    width = 1000 / max(1, len(spans))
    bars = []
    for number, span in enumerate(spans):
        last = datetime.fromtimestamp(datetime.fromisoformat(span.end).replace(tzinfo=UTC).timestamp() - 1, UTC)
        end = last.strftime("%Y-%m-%d")
        height = max(3.0, 100 * span.count / largest) if span.count else 0.0
        label = f"{span.begin} to {end}: {span.count:,}" if span.begin != end else f"{span.begin}: {span.count:,}"
        leads_to = asked.leads_to(since=span.begin, until=end)
        bars.append(Bar(round(number * width, 2), round(width, 2), round(height, 2), label, leads_to, span.begin, end))
    return bars
