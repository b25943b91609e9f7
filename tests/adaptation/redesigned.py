"""A forum in three skins, made by hand, and a repair strategy that knows the second and the third by heart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lxml.html import HtmlElement

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import Person, WebObject
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from aahcrawler.wrapper_induction.induce import induce
from knowledge_base.model import (
    Application,
    Extract,
    Field,
    FieldKind,
    Identity,
    KnowledgeBase,
    LinkSource,
    Navigate,
    PageLevel,
)
from knowledge_base.url_rules import PathGlob, UrlRule
from tests.helper.building import css, sign, text_field, when, xpath
from tests.helper.saved_pages import html_page

SITE = "http://forum.test"
WORDS = (
    "The harbour froze over in January and everybody walked across it to the island.",
    "Nobody believed it at first, least of all the ferry company and its passengers.",
    "My grandmother remembers the winter of 1947, when the ice held for eleven weeks.",
    "There is a photograph of it in the town hall, next to the old map of the bay.",
    "They say that a car went over as well, but only the newspaper claims to have seen it.",
)
NAMES = ("Ann Boyd", "Jan Kowal", "Ines Pla", "Tom Reed")


@dataclass(frozen=True)
class Post:
    """A post as it was written."""

    number: int
    author: str
    date: datetime
    body: str


def posts(thread: int, count: int = 3) -> tuple[Post, ...]:
    """Return the posts of a thread, the same each time."""
    return tuple(
        Post(
            100 * thread + n,
            NAMES[(thread + n) % len(NAMES)],
            datetime(2024, 1 + thread % 12, 1 + n % 28, 10, n % 60, tzinfo=UTC),
            f"{WORDS[(thread + n) % len(WORDS)]} Number {100 * thread + n} of them all.",
        )
        for n in range(count)
    )


def old(post: Post) -> str:
    """Show a post as the knowledge base expects it."""
    return (
        f'<div class="post" id="p{post.number}"><b class="who">{post.author}</b> '
        f'<time datetime="{post.date.isoformat()}">then</time><div class="said">{post.body}</div></div>'
    )


def new(post: Post) -> str:
    """Show a post in the skin of a redesign."""
    return (
        f'<article class="entry" id="p{post.number}"><header><a class="poster" href="/u/{post.number}">{post.author}'
        f'</a><time class="when" datetime="{post.date.isoformat()}">then</time></header>'
        f'<section class="text">{post.body}</section></article>'
    )


def newest(post: Post) -> str:
    """Show a post in the skin of a second redesign."""
    return (
        f'<li class="msg" id="p{post.number}"><div class="meta"><span class="nick">{post.author}</span>'
        f'<time datetime="{post.date.isoformat()}">then</time></div><div class="words">{post.body}</div></li>'
    )


Skin = Callable[[Post], str]


def thread(number: int, skin: Skin, shown: Sequence[Post] | None = None, *, signs: str = "topic forum-sign") -> Page:
    """Return the page of a thread; ``signs`` are the classes by which application and level are told."""
    written = "".join(map(skin, posts(number) if shown is None else shown))
    holder = "ul" if skin is newest else "div"
    markup = (
        f'<html><head><title>Thread {number}</title></head><body class="{signs}"><nav><a href="/">Home</a>'
        f'<a href="/help">Help</a></nav><h1>Thread {number}</h1><{holder} class="all">{written}</{holder}>'
        f"<footer><p>All rights reserved by the harbour master.</p></footer></body></html>"
    )
    return html_page(f"{SITE}/thread?t={number}", markup)


POSTS = Extract(
    "posts",
    "reply",
    (css(".post"),),
    (
        text_field("author", ".who", kind=FieldKind.PERSON),
        Field("date", FieldKind.DATETIME, (xpath(".//time/@datetime"),)),
        text_field("body", ".said"),
    ),
    many=True,
    always=True,
    first_type="post",
    identity=Identity((xpath("@id"),), trims=("p",), prefix="p"),
)


def forum(action: Extract = POSTS) -> Application:
    """Return an application with boards and threads, told by their classes and documented by their addresses."""
    threads = PageLevel(
        "thread",
        "terminal",
        when(".topic"),
        actions=(action,),
        addresses=(UrlRule(PathGlob("thread"), (("t", "*"),)),),
    )
    to_threads = Navigate("threads", "thread", (LinkSource(css(".row a")),))
    board = PageLevel(
        "board",
        "intermediate",
        when(".board"),
        actions=(to_threads,),
        addresses=(UrlRule(PathGlob("board"), (("b", "*"),)),),
    )
    return Application("forum", "web-forum", (sign(".forum-sign"),), (threads, board))


SHAPES = {"article": (".poster", ".text"), "li": (".nick", ".words")}


@dataclass
class Knowing:
    """Labels what it sees of the newer skins; ``asked`` are the pages that it was asked about."""

    confidence: float = 0.9
    runner_up: float = 0.0
    method: Method = Method.INDUCED
    most: int = 1_000
    asked: list[str] = field(default_factory=list)

    def label(self, question: Question) -> LabelledExample | None:
        self.asked.append(question.page.url)
        found = [labelled for item in question.page.tree.iter("article", "li") for labelled in _labelled(item)]
        if not found:
            return None
        return LabelledExample(question.page, self.method, tuple(found[: self.most]), self.confidence, self.runner_up)


def _labelled(item: HtmlElement) -> list[LabelledObject]:
    author, body = (next(iter(item.cssselect(source)), None) for source in SHAPES[str(item.tag)])
    time = next(item.iter("time"), None)
    if author is None or body is None or time is None:
        return []
    labels = {
        "author": Label((author,), Person(plain_text(author))),
        "date": Label((time,), datetime.fromisoformat(time.get("datetime", "")), "datetime"),
        "body": Label((body,), plain_text(body)),
    }
    return [LabelledObject((item,), labels)]


@dataclass
class Crawl:
    """A helper that adapts, and all that happened."""

    application: Application = field(default_factory=forum)
    strategy: Knowing = field(default_factory=Knowing)
    told: list[LearnedAction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.adaptation = Adaptation((self.strategy,), induce, self.told.append)
        self.helper = ApplicationAwareHelper(KnowledgeBase((self.application,)), adapter=self.adaptation)

    def read(self, page: Page, former: Metadata | None = None) -> Assistance:
        return self.helper.assist(page, former)


def bodies(objects: Sequence[WebObject]) -> list[object]:
    """Return what objects say."""
    return [each.first("body") for each in objects]


def said(number: int, count: int = 3) -> list[object]:
    """Return what the posts of a thread say."""
    return [post.body for post in posts(number, count)]


def remembered(page: Page, application: Application | None = None) -> Metadata:
    """Return what a former crawl without adaptation understood of a page."""
    found = ApplicationAwareHelper(KnowledgeBase((application or forum(),))).assist(page)
    level = found.match.level.name if found.match and found.match.level else None
    name = found.match.application.name if found.match else None
    return Metadata(application=name, level=level, objects=found.objects)
