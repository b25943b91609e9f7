"""A page of a forum, described by hand."""

from datetime import UTC, datetime

from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.webobject import Person, Reference, WebObject

FETCHED = datetime(2026, 1, 2, 3, 4, 5, 600_000, UTC)
GRAPH = "urn:uuid:00000000-0000-4000-8000-000000000001"
PAGE = "http://forum.test/thread?id=1"
CAPTURE = CaptureDescription(
    iri=GRAPH,
    url=PAGE,
    status=200,
    fetched_at=FETCHED,
    media_type="text/html",
    application="phpBB",
    level="thread",
    role="terminal",
    score=0.25,
    relevant=True,
    priority=1.5,
    depth=2,
    via="http://forum.test/",
    title='Which “bike”? – A "forum"',
)
POST = WebObject(
    iri=f"{PAGE}#p1",
    type="post",
    source_url=PAGE,
    properties={
        "title": ("Which “bike”?",),
        "author": (Person("Jane Doe", "http://forum.test/u/7"),),
        "date": (datetime(2020, 5, 6, 7, 8, 9, tzinfo=UTC),),
        "body": ('I say "none".\nYou?',),
        "url": (Reference(f"{PAGE}&p=1"),),
        "tags": ("bikes", "C:\\"),
        "likes": (3,),
    },
    part_of=PAGE,
)
REPLY = WebObject(
    iri=f"{PAGE}#p2",
    type="reply",
    source_url=PAGE,
    properties={"author": (Person("  Bob  B"),), "body": ("Two.",), "reply_to": (Reference(f"{PAGE}#p1"),)},
    part_of=f"{PAGE}#p1",
)
