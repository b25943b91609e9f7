"""What is kept of each visit for the log of changes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, cast

import pytest

from aahcrawler.archive.history import Former
from aahcrawler.archive.records import labelled_digest
from aahcrawler.archive.writer import WrittenCapture
from aahcrawler.crawl.browsing.page_rendering import NO_LOOK, Rendering
from aahcrawler.crawl.capture.recrawl import Change, Recrawl, RecrawlComparison, UnreadableCaptureError
from aahcrawler.crawl.core.page_reading import PageReading
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.fetch.download_handler import Captured, CapturedResponse
from aahcrawler.crawl.response.visit_noting import AnsweredVisit, ListedPages, VisitNoting
from aahcrawler.exchange import Exchange, Memento
from aahcrawler.frontier.protocol import Lease
from aahcrawler.metadata import Link, LinkType, Metadata, RenderInfo
from aahcrawler.objects.versions import Changes
from aahcrawler.page import Headers, Page
from aahcrawler.pipeline.analysis import PageAnalysis
from aahcrawler.revisits.visit_record import ChangeKind, ChangeState, Place, VisitRecord
from aahcrawler.webobject import Value, WebObject
from online_analysis.document import Document, DocumentPart

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
BEFORE = AT - timedelta(days=7)
URL = "http://a.test/page"
LEASE = Lease(URL, "a.test", 0.5, 1, "page", "", 1, "1-1")
BODY = b"<body><main><p>It froze over.</p></main><p class=n>12 views</p><footer>1</footer></body>"
CAPTURE = WrittenCapture("urn:uuid:1", URL, AT, "test.warc.gz", 0)


@dataclass
class Log:
    """A log of changes that keeps what it is given."""

    seen: list[VisitRecord] = field(default_factory=list)
    dates: dict[str, datetime] = field(default_factory=dict)

    def visited(self, visit: VisitRecord) -> None:
        self.seen.append(visit)

    def listed(self, via: str, at: datetime, changed: Mapping[str, datetime], frequencies: Mapping[str, str]) -> None:
        assert (via, at, frequencies) == (URL, AT, {"http://a.test/1": "daily"})
        self.dates.update(changed)


@dataclass
class Bench:
    """Notes visits in a log; ``former`` is the body of the page that the archive has, None where it is damaged."""

    former: bytes | None = BODY
    log: Log = field(default_factory=Log)

    @property
    def stores(self) -> Any:
        return replace(self, former=None)

    @property
    def changes(self) -> Log:
        return self.log

    async def write(self, operation: Callable[..., None], *arguments: object) -> None:
        operation(*arguments)

    def page_of(self, former: Former) -> Page:
        if self.former is None:
            raise UnreadableCaptureError(former.url)
        return page_of(self.former)

    async def of(self, page: Page, work: Callable[[Page], object]) -> object:
        return work(page)

    @property
    def noting(self) -> VisitNoting:
        return VisitNoting(cast("StoreWriter", self), cast("Recrawl", self), cast("PageReading", self))

    def noted(self, visit: AnsweredVisit) -> VisitRecord:
        asyncio.run(cast("Any", self.noting.answered(visit)))
        return self.log.seen[-1]


FORMER = Former(
    *(URL, "urn:uuid:0", URL, "2026-02-23T12:00:00Z", b"0" * 20, "test.warc.gz", 0, 200, True, '"e"', ""),
    *("test.warc.gz", None, "", "page", 0.5, 0.5, None, 1, BEFORE),
)


def page_of(body: bytes, status: int = 200, **fields: str) -> Page:
    named = {"Content-Type": "text/html", **{name.replace("_", "-"): value for name, value in fields.items()}}
    return Page(URL, status, Headers(tuple(named.items())), body, AT)


def visit_of(
    body: bytes = BODY, status: int = 200, change: Change | None = Change.CHANGED, **fields: str
) -> AnsweredVisit:
    page = page_of(body, status, **fields)
    exchange = Exchange(URL, "GET", b"", BytesIO(), 500, b"1" * 20, "", AT)
    captured = Captured(exchange, "", page.headers.fields, True, 0.25, 0.1)
    response = CapturedResponse(URL, captured=captured, status=status, body=body)
    comparison = RecrawlComparison(page, None if change is Change.NEW else FORMER, change)
    text = "".join(page.tree.itertext())
    document = Document(URL, None, "", (DocumentPart("content", text),) if text else (), ())
    found = PageAnalysis(Metadata(url=URL, application="Board", level="thread"), document=document)
    return AnsweredVisit(LEASE, response, page, comparison, NO_LOOK, found, CAPTURE)


def test_a_new_page_is_noted_with_what_it_cost_and_what_it_is_known_again_by() -> None:
    modified = "Sun, 01 Mar 2026 10:00:00 GMT"
    date = "Mon, 02 Mar 2026 12:00:01 GMT"
    seen = Bench().noted(visit_of(change=Change.NEW, ETag='W/"1"', Last_Modified=modified, Date=date))
    assert (seen.said, seen.kind, seen.compared) == (ChangeState.NEW, None, None)
    assert (seen.seconds, seen.size, seen.requests, seen.record) == (0.25, 500, 1, "urn:uuid:1")
    assert (seen.etag, seen.modified, seen.payload) == ('W/"1"', modified, labelled_digest(b"1" * 20))
    assert seen.asked_at == seen.at + 1_000
    assert seen.template == "a.test Board/thread"
    assert len(seen.text or "") == 40


def test_a_page_that_is_not_modified_keeps_the_digest_that_it_had() -> None:
    visit = visit_of(b"", 304, Change.UNCHANGED)
    seen = Bench().noted(replace(visit, comparison=replace(visit.comparison, unmodified=True)))
    assert (seen.status, seen.said, seen.payload, seen.text) == (
        *(304, ChangeState.UNCHANGED),
        labelled_digest(FORMER.digest),
        None,
    )


@pytest.mark.parametrize(
    ("new", "kind", "places"),
    [
        (BODY.replace(b"froze", b"was"), ChangeKind.CONTENT, (Place("html/body/main/p", numbers=False, alone=True),)),
        (BODY.replace(b"12", b"1,304"), ChangeKind.CONTENT, (Place("html/body/p.n", numbers=True, alone=True),)),
        (BODY.replace(b">1<", b">2<"), ChangeKind.TEMPLATE, ()),
        (BODY, ChangeKind.TEMPLATE, ()),
    ],
)
def test_a_changed_page_is_compared_with_its_former_capture(
    new: bytes, kind: ChangeKind, places: tuple[Place, ...]
) -> None:
    seen = Bench().noted(visit_of(new))
    assert (seen.kind, seen.places) == (kind, places)
    assert seen.compared == seen.at - round(timedelta(days=7) / timedelta(milliseconds=1))


def test_objects_that_changed_are_content_and_date_it() -> None:
    dates = {"date": (AT - timedelta(days=2), AT - timedelta(days=30))}
    post = WebObject(f"{URL}#1", "post", URL, dates)
    visit = visit_of(BODY.replace(b">1<", b">2<"))
    assert visit.found is not None
    found = replace(visit.found, metadata=replace(visit.found.metadata, objects=(post,)))
    seen = Bench().noted(replace(visit, found=found, changes=Changes(added=(post.iri,), deleted=(f"{URL}#0",))))
    assert (seen.kind, seen.new, seen.deleted) == (ChangeKind.CONTENT, (post.iri,), (f"{URL}#0",))
    assert seen.shown == seen.at - round(timedelta(days=2) / timedelta(milliseconds=1))
    other = Bench().noted(replace(visit, found=found, changes=Changes(edited=(f"{URL}#2",))))
    assert other.shown is None  # That of another object says nothing of the one that was edited.


Properties = Mapping[str, tuple[Value, ...]]


def noted_edit(pages: Sequence[bytes], objects: Sequence[Properties]) -> VisitRecord:
    """Note a visit of a page that is an object itself, and was edited."""
    one, other = (WebObject(URL, "article", URL, properties) for properties in objects)
    visit = visit_of(pages[1])
    assert visit.found is not None
    return Bench(pages[0]).noted(
        replace(
            visit,
            comparison=replace(visit.comparison, before=Metadata(url=URL, objects=(one,))),
            found=replace(visit.found, metadata=replace(visit.found.metadata, objects=(other,))),
            changes=Changes(edited=(URL,)),
        )
    )


STORY = "<body><main><h1>Flood</h1><p>The dike was raised.</p><p>{}</p></main></body>"


@pytest.mark.parametrize(
    ("former", "now", "is_idle"),
    [
        ("You are visitor number 1,204.", "You are visitor number 1,318.", True),
        ("Besucher heute: 12, gesamt: 1.204", "Besucher heute: 3, gesamt: 1.318", True),
        ("You are visitor number 1,204.", "You are visitor number 1,103.", False),
        ("Made on 2.3.2026 at 13:00:01", "Made on 2.3.2026 at 13:00:09", True),
        ("The river stands at 312 cm.", "The river stands at 318 cm.", False),
        ("Tickets are 12.50 EUR.", "Tickets are 13.50 EUR.", False),
        ("The next train leaves at 12:15.", "The next train leaves at 12:30.", False),
        ("Fly to Rome!", "Buy boots!", False),
        ("We had 40 visitors on Sunday.", "We had 50 guests on Monday.", False),
    ],
)
def test_a_line_of_an_object_is_idle_where_visits_alone_make_it_differ(former: str, now: str, is_idle: bool) -> None:
    pages = [STORY.format(text).encode() for text in (former, now)]
    bodies: list[Properties] = [
        {"title": ("Flood",), "body": (f"The dike was raised.\n{text}",)} for text in (former, now)
    ]
    seen = noted_edit(pages, bodies)
    assert (seen.kind, seen.edited, seen.idle) == (ChangeKind.CONTENT, (URL,), is_idle)
    if is_idle:
        assert not noted_edit(pages, (bodies[0], {**bodies[1], "title": ("Flood again",)})).idle
        longer: Properties = {"body": (f"The dike was raised again.\n{now}",)}
        assert not noted_edit((pages[0], pages[1].replace(b"raised", b"raised again")), (bodies[0], longer)).idle
        assert not noted_edit(pages, (bodies[0], longer)).idle, "its own text differs where the page shows it not"


def test_an_object_whose_date_is_the_time_of_the_request_is_idle_with_the_line_that_tells_it() -> None:
    lines = "Made at 13:00:02", "Made at 13:00:09"
    pages = [STORY.format(line).encode() for line in lines]
    dates = BEFORE + timedelta(hours=1, seconds=2), AT + timedelta(hours=1, seconds=9)
    objects: list[Properties] = [{"body": (line,), "date": (date,)} for line, date in zip(lines, dates, strict=True)]
    assert noted_edit(pages, objects).idle
    assert not noted_edit(pages, (objects[0], {**objects[1], "date": (AT - timedelta(hours=3, minutes=5),)})).idle


def test_a_paragraph_that_calls_itself_an_advertisement_is_idle() -> None:
    bodies: list[Properties] = [{"body": (f"The dike was raised.\n{text}",)} for text in ("Fly to Rome!", "Buy boots!")]
    pages = [STORY.format(text).replace("<p>" + text, "<p class=ad>" + text) for text in ("Fly to Rome!", "Buy boots!")]
    assert noted_edit([page.encode() for page in pages], bodies).idle
    assert not noted_edit((pages[0].encode(), pages[1].replace("raised", "cut").encode()), bodies).idle


def test_links_alone_are_of_the_links_though_they_are_edits_of_an_object() -> None:
    pages = [BODY.replace(b"It froze", b"<a href='/%s'>It</a> froze" % name) for name in (b"a", b"b")]
    links: list[Properties] = [{"links": (f"http://a.test/{name}",), "body": ("It froze over.",)} for name in "ab"]
    seen = noted_edit(pages, links)
    assert (seen.kind, seen.edited) == (ChangeKind.LINKS, (URL,))
    assert noted_edit(pages, (links[0], {**links[1], "title": ("Ice",)})).kind is ChangeKind.CONTENT
    assert noted_edit((pages[0], pages[1].replace(b"over", b"under")), links).kind is ChangeKind.CONTENT


def test_of_a_former_capture_that_is_damaged_nobody_can_tell_what_changed() -> None:
    seen = Bench(former=None).noted(visit_of(b"<p>Other"))
    assert (seen.said, seen.kind, seen.places) == (ChangeState.CHANGED, None, None)


def test_a_redirect_is_noted_with_where_it_leads() -> None:
    visit = visit_of(b"", 302, None, Location="http://b.test/")
    found = PageAnalysis(Metadata(url=URL, links=(Link("http://b.test/", LinkType.REDIRECT),)))
    seen = Bench().noted(replace(visit, found=found))
    assert (seen.status, seen.to, seen.said) == (302, "http://b.test/", None)


def test_what_a_browser_asked_for_is_part_of_the_cost() -> None:
    look = Rendering(note=RenderInfo(seconds=2.5, requests=7))
    seen = Bench().noted(replace(visit_of(), look=look))
    assert (seen.seconds, seen.requests) == (2.75, 8)


def test_a_capture_of_an_archive_cost_its_site_nothing() -> None:
    visit = visit_of(change=Change.NEW)
    visit.response.captured = replace(
        visit.response.captured,
        exchange=replace(visit.response.exchange, memento=Memento("http://c.test/m", "c.test", "one", AT)),
    )
    seen = Bench().noted(visit)
    assert (seen.seconds, seen.size, seen.requests) == (None, 0, 0)


def test_a_page_that_gave_no_answer_is_noted_and_a_requisite_never() -> None:
    bench = Bench()

    async def fail() -> None:
        await bench.noting.failed(replace(LEASE, attempt=3), "timeout")
        await bench.noting.failed(replace(LEASE, kind="requisite"), "timeout")

    asyncio.run(fail())
    (seen,) = bench.log.seen
    assert (seen.url, seen.reason, seen.status, seen.requests) == (URL, "timeout", None, 3)


def test_lists_tell_when_pages_changed_and_never_of_the_future() -> None:
    bench = Bench()
    dates = {"http://a.test/1": AT - timedelta(days=1), "http://a.test/2": AT + timedelta(days=1)}
    told = ListedPages(dates, {"http://a.test/1": "daily"})
    asyncio.run(cast("Any", bench.noting.listed(LEASE, visit_of().response, CAPTURE, told)))
    assert bench.log.dates == {"http://a.test/1": AT - timedelta(days=1)}
    assert bench.log.seen[0].url == URL


RSS = b"<rss version='2.0'><channel><title>News</title><item><link>http://a.test/%d</link></item></channel></rss>"
URLSET = b"<?xml version='1.0'?><urlset><url><loc>http://a.test/%d</loc></url></urlset>"


@pytest.mark.parametrize("body", [RSS, URLSET])
def test_a_list_that_a_page_links_to_is_noted_as_other_lists_are(body: bytes) -> None:
    bench = Bench(former=body % 1)
    seen = bench.noted(visit_of(body % 2, Content_Type="application/xml"))
    assert (seen.said, seen.kind, seen.places, seen.template) == (ChangeState.CHANGED, None, None, "")
    gone = visit_of(b"", 304, Change.UNCHANGED)
    before = Metadata(media_type="application/rss+xml")
    assert not bench.noted(replace(gone, comparison=replace(gone.comparison, before=before))).template
