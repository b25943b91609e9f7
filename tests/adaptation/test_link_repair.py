"""Navigation that a redesign broke is learned anew, kept and shared."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.learned import Learned, LearnedLinks, LearnedSign
from aahcrawler.adaptation.overlay import Overlay
from aahcrawler.adaptation.repair.link_repair import LinkRepair
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.metadata import Link, Metadata
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.induce import induce
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Kind, KnowledgeBase
from tests.adaptation.redesigned import SITE, Knowing, forum
from tests.helper.saved_pages import html_page


@dataclass
class Crawl:
    """A helper that adapts and learns navigation; ``told`` is what it learned."""

    told: list[LearnedLinks] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.link_repair = LinkRepair(self.told.append)
        self.adaptation = Adaptation((Knowing(),), induce, None, None, self.link_repair)
        self.helper = ApplicationAwareHelper(KnowledgeBase((forum(),)), adapter=self.adaptation)

    def read(self, page: Page, former: Metadata | None = None) -> Assistance:
        return self.helper.assist(page, former)


def board(number: int, row: str = 'li class="subject"', beside: str = "", *, thread: str = "/thread?t=") -> Page:
    tag = row.split(maxsplit=1)[0]
    rows = "".join(f'<{row}><a href="{thread}{n}">Thread {n}</a></{tag}>' for n in range(number, number + 3))
    markup = f'<html><body class="board forum-sign"><a href="/help">Help</a>{rows}{beside}</body></html>'
    return html_page(f"{SITE}/board?b={number}", markup)


def links(found: Assistance) -> list[str]:
    return [link.url for link in found.document.outlinks]


def test_where_links_stand_is_learned_of_two_pages() -> None:
    crawl = Crawl()
    for number in range(1, 6):
        assert links(crawl.read(board(number))) == [f"{SITE}/thread?t={number + k}" for k in range(3)]
    (learned,) = crawl.told
    assert (learned.level, learned.action, learned.to) == ("board", "threads", "thread")
    assert "subject" in learned.expression.css
    assert (learned.before, learned.after, len(learned.pages)) == (0, 6, 2)
    assert not learned.documented
    assert crawl.read(board(9)).failed_actions == ()


def test_links_that_stand_nowhere_in_particular_are_told_by_their_addresses() -> None:
    crawl = Crawl()
    for number in range(1, 4):
        crawl.read(board(number, "p", f'<div><i><a href="/thread?t={number + 50}">New</a></i></div>'))
    (learned,) = crawl.told
    assert (learned.expression.css, learned.documented) == ("a[href]", True)


def test_what_was_learned_and_misses_a_documented_link_is_put_behind() -> None:
    crawl = Crawl()
    for number in range(1, 4):
        crawl.read(board(number))
    mixed = board(7, beside='<p><a href="/thread?t=99">Another</a></p>')
    assert f"{SITE}/thread?t=99" in links(crawl.read(mixed))


def test_links_that_a_former_crawl_followed_are_learned_where_no_address_is_documented() -> None:
    crawl = Crawl()
    for number in range(1, 4):
        known = tuple(Link(f"{SITE}/rewritten/{n}", action="threads") for n in range(number, number + 2))
        former = Metadata(application="forum", level="board", links=known)
        crawl.read(board(number, thread="/rewritten/"), former)
    (learned,) = crawl.told
    assert learned.method is Method.MEMORY
    found = crawl.read(board(7, thread="/rewritten/"))
    assert links(found) == [f"{SITE}/rewritten/{n}" for n in (7, 8, 9)]


def test_an_empty_list_stays_empty() -> None:
    crawl = Crawl()
    for number in range(1, 4):
        crawl.read(board(number))
    markup = '<html><body class="board forum-sign"><a href="/help">Help</a></body></html>'
    empty = html_page(f"{SITE}/board?b=8", markup)
    assert links(crawl.read(empty)) == []


def test_what_another_worker_learned_is_used_on_its_first_page() -> None:
    crawl, other = Crawl(), Crawl()
    for number in range(1, 3):
        crawl.read(board(number))
    for each in crawl.told * 2:
        other.adaptation.adopt(each)
    found = other.read(board(5))
    assert links(found) == [f"{SITE}/thread?t={n}" for n in (5, 6, 7)]
    assert found.failed_actions == ()
    assert other.told == []


def test_navigation_and_signs_are_kept_and_read_back(tmp_path: Path) -> None:
    crawl = Crawl()
    for number in range(1, 3):
        crawl.read(board(number))
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    pages = (f"{SITE}/thread?t=1", f"{SITE}/thread?t=2")
    signs = [
        LearnedSign(
            site="forum.test",
            application="forum",
            level=level,
            name=f"learned-sign-{n}",
            expression=written,
            method=Method.RELAXED,
            pages=pages,
            others=3,
            confidence=0.8,
            date=now,
        )
        for n, (level, written) in enumerate(
            (("thread", Expression("body.topic")), ("", Expression(xpath="//i[@id='x']")))
        )
    ]
    overlay = Overlay(tmp_path)
    learnt: tuple[Learned, ...] = (*crawl.told, *signs, *crawl.told)
    for each in learnt:
        overlay.keep(each)
    base = KnowledgeBase((forum(),), (Kind("web-forum", "Forums", frozenset({"post", "reply"})),))
    found, problems = overlay.learned(base)
    assert problems == ()
    assert list(found) == [*signs, *crawl.told]
    assert overlay.actions(base) == ((), ())
    assert [(each.level, each.action, each.before, each.after) for each in overlay.evidence()] == [
        ("thread", "", 3, 2),
        ("", "", 3, 2),
        ("board", "threads", 0, 6),
    ]
