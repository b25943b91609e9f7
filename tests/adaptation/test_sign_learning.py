"""Signs of levels and applications are found again after a redesign."""

from dataclasses import dataclass, field, replace

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.detection.sign_learning import SignLearning
from aahcrawler.adaptation.detection.sign_relaxation import Mark, marks_on
from aahcrawler.adaptation.learned import LearnedSign
from aahcrawler.helper import ApplicationAwareHelper, Assistance, Failure
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.induce import induce
from knowledge_base.model import Application, Extract, KnowledgeBase, PageLevel
from knowledge_base.selectors import compile_selector
from knowledge_base.url_rules import PathGlob, UrlRule
from tests.adaptation.redesigned import SITE, Knowing, bodies, forum, new, old, posts, remembered, said, thread
from tests.helper.building import css, sign, text_field, when
from tests.helper.saved_pages import html_page


@dataclass
class Crawl:
    """A helper that adapts and learns signs; ``told`` are those it learned."""

    application: Application = field(default_factory=forum)
    told: list[LearnedSign] = field(default_factory=list)
    marks: int = 0

    def __post_init__(self) -> None:
        base = KnowledgeBase((self.application,))
        self.sign_learning = SignLearning(base, self.told.append)
        self.helper = ApplicationAwareHelper(base, adapter=Adaptation((Knowing(),), induce, None, self.sign_learning))

    def read(self, page: Page, former: Metadata | None = None) -> Assistance:
        return self.helper.assist(page, former)

    def level(self, page: Page) -> str | None:
        match = self.read(page).match
        return match.level.name if match is not None and match.level is not None else None


def board(number: int) -> Page:
    rows = "".join(f'<p class="row"><a href="/thread?t={n}">Thread {n}</a></p>' for n in range(number, number + 3))
    return html_page(f"{SITE}/board?b={number}", f'<html><body class="board forum-sign">{rows}</body></html>')


def elsewhere(page: Page) -> Page:
    """Return the same page under an address that the application does not document."""
    return replace(page, url=page.url.replace("/thread?t=", "/rewritten/"))


def renamed(number: int) -> Page:
    return thread(number, new, signs="topic-view forum-sign")


def test_a_sign_that_is_like_that_of_the_level_and_of_no_other_is_learned() -> None:
    crawl = Crawl()
    for number in range(1, 4):
        crawl.read(renamed(number))
        crawl.read(board(number))
    (learned,) = crawl.told
    assert (learned.level, learned.expression.css, learned.method) == ("thread", "body.topic-view", Method.RELAXED)
    assert learned.pages == (f"{SITE}/thread?t=1", f"{SITE}/thread?t=2")
    assert learned.others == 2
    assert bodies(crawl.read(elsewhere(renamed(9))).objects) == said(9)


def test_a_sign_needs_pages_of_other_levels_that_lack_it() -> None:
    crawl = Crawl()
    for number in range(1, 7):
        crawl.read(renamed(number))
    assert crawl.told == []


def test_a_sign_that_other_levels_have_too_is_none() -> None:
    crawl = Crawl()
    for number in range(1, 6):
        page = board(number)
        crawl.read(replace(page, body=page.body.replace(b"board forum-sign", b"board topic-view forum-sign")))
        crawl.read(renamed(number))
    assert all("topic-view" not in each.expression.css for each in crawl.told)


def test_a_name_that_is_like_none_must_tell_more_pages_apart() -> None:
    crawl = Crawl()
    told = []
    for number in range(1, 5):
        crawl.read(thread(number, new, signs="forum-sign conversation"))
        crawl.read(board(number))
        told.append(len(crawl.told))
    assert told == [0, 0, 0, 1]
    assert (crawl.told[0].expression.css, crawl.told[0].method) == ("body.conversation", Method.INDUCED)


def test_what_a_former_crawl_knew_of_pages_teaches_signs_where_no_address_tells_anything() -> None:
    crawl = Crawl()
    for number in range(1, 5):
        page = elsewhere(thread(number, new, signs="forum-sign conversation"))
        crawl.read(page, remembered(elsewhere(thread(number, old))))
        crawl.read(board(number))
    (learned,) = crawl.told
    assert learned.method is Method.MEMORY
    assert crawl.level(elsewhere(thread(8, new, signs="forum-sign conversation"))) == "thread"


def test_a_page_that_is_named_like_a_level_is_tried_as_one() -> None:
    crawl = Crawl()
    assert bodies(crawl.read(elsewhere(renamed(1))).objects) == said(1)
    assert crawl.level(html_page(f"{SITE}/x", '<html><body class="forum-sign"><p>Nothing.</p></body></html>')) is None


def test_signs_of_a_list_that_are_on_all_pages_by_now_are_not_believed_any_more() -> None:
    crawl = Crawl()
    levels = [crawl.level(thread(number, new, signs="board forum-sign")) for number in range(1, 6)]
    assert levels == ["board", "board", "thread", "thread", "thread"]
    assert bodies(crawl.read(thread(7, new, signs="board forum-sign")).objects) == said(7)
    assert crawl.level(board(1)) == "board"


def test_a_list_at_the_address_of_an_object_is_a_list_where_objects_show_their_signs() -> None:
    crawl = Crawl()
    for number in range(1, 6):
        crawl.read(thread(number, old))
        assert crawl.level(replace(board(number), url=f"{SITE}/thread?t=7{number}")) == "board"


def test_a_list_that_holds_no_objects_stays_one_whatever_its_address() -> None:
    crawl = Crawl()
    levels = {crawl.level(replace(board(number), url=f"{SITE}/thread?t=7{number}")) for number in range(1, 30)}
    assert levels == {"board"}


def lists_first() -> Application:
    """Return an application that looks for the signs of lists before those of threads, which are not specific."""
    threads, boards = forum().levels
    anything = replace(threads, addresses=(UrlRule(PathGlob("**")),))
    return replace(forum(), levels=(boards, anything))


def signed_like_a_thread(number: int) -> Page:
    """Return a board that lost its sign and has that of threads, with a post that introduces it."""
    intro = old(posts(number)[0])
    return html_page(
        f"{SITE}/board?b={number}", board(number).text.replace("board ", "topic ").replace("</body>", intro)
    )


def test_a_list_that_lost_its_sign_is_none_of_the_objects_whose_sign_it_has() -> None:
    crawl = Crawl(lists_first())
    assert bodies(crawl.read(signed_like_a_thread(1)).objects) == said(1)[:1]
    bare = html_page(f"{SITE}/board?b=2", board(2).text.replace("board ", ""))
    assert crawl.level(bare) == "board"
    assert crawl.level(signed_like_a_thread(3)) == "board"
    found = crawl.read(signed_like_a_thread(4))
    assert (found.objects, [link.action for link in found.document.outlinks]) == ((), ["threads"] * 3)
    assert crawl.level(thread(5, old)) == "thread"


def test_signs_are_believed_on_a_site_that_shows_those_of_its_lists() -> None:
    crawl = Crawl(lists_first())
    assert [crawl.level(board(1)), crawl.level(html_page(f"{SITE}/board?b=2", "<p>Nothing.</p>"))] == ["board", None]
    crawl.read(html_page(f"{SITE}/board?b=2", board(2).text.replace("board ", "")))
    assert crawl.level(signed_like_a_thread(3)) == "thread"


def test_a_learned_sign_is_given_up_where_an_address_says_otherwise() -> None:
    crawl = Crawl()
    for number in range(1, 4):
        crawl.read(renamed(number))
        crawl.read(board(number))
    wrong = '<html><body class="topic-view forum-sign"><p class="row"><a href="/thread?t=1">One</a></p></body></html>'
    crawl.read(html_page(f"{SITE}/board?b=7", wrong))
    assert crawl.sign_learning.level(renamed(5), crawl.application) is None


def test_a_learned_sign_is_given_up_where_nothing_is_found_on_page_after_page() -> None:
    crawl = Crawl()
    for number in range(1, 4):
        crawl.read(renamed(number))
        crawl.read(board(number))
    for number in range(10, 16):
        crawl.read(elsewhere(thread(number, new, shown=(), signs="topic-view forum-sign")))
    assert crawl.sign_learning.level(elsewhere(renamed(5)), crawl.application) is None


def test_a_learned_sign_is_kept_where_some_pages_hold_nothing() -> None:
    crawl = Crawl()
    for number in range(1, 4):
        crawl.read(renamed(number))
        crawl.read(board(number))
    for number in range(10, 20):
        crawl.read(elsewhere(thread(number, new, shown=(), signs="topic-view forum-sign")))
        crawl.read(elsewhere(renamed(number)))
    assert crawl.sign_learning.level(elsewhere(renamed(5)), crawl.application) is not None


def test_a_site_without_trouble_is_not_looked_at() -> None:
    crawl = Crawl()
    for number in range(1, 6):
        crawl.read(thread(number, old))
        crawl.read(board(number))
    assert crawl.told == []


def test_the_sign_of_an_application_is_relaxed_where_its_pages_show_none() -> None:
    application = replace(forum(), patterns=(sign("#quuxboard-root"),))
    crawl = Crawl(application)
    body = 'body class="topic"'
    for number in range(1, 3):
        page = thread(number, old, signs="topic")
        crawl.read(replace(page, body=page.body.replace(body.encode(), b'body id="quuxboard-root" class="topic"')))
    redesigned = [thread(number, new, signs="topic quuxboard-root") for number in range(3, 8)]
    assert [bodies(crawl.read(page).objects) for page in redesigned] == [said(number) for number in range(3, 8)]
    signs = [each for each in crawl.told if not each.level]
    assert [(each.expression.css, each.method) for each in signs] == [(".quuxboard-root", Method.RELAXED)]
    away = elsewhere(thread(9, new, signs="topic quuxboard-root"))
    assert bodies(crawl.read(away).objects) == said(9)


def test_a_site_without_any_sign_says_so_until_pages_that_a_former_crawl_knew_have_taught_one() -> None:
    crawl = Crawl(replace(forum(), patterns=(sign("#quuxboard-root"),)))
    failed: list[list[Failure]] = []
    for number in range(1, 8):
        shown = thread(number, new, signs="conversation nothing-like-it")
        found = crawl.read(shown, remembered(thread(number, old)))
        assert bodies(found.objects) == said(number)
        failed.append([each.failure for each in found.failed_actions if each.action == "detect"])
    signs = [each for each in crawl.told if not each.level]
    assert [each.method for each in signs] == [Method.MEMORY]
    assert failed[0] == [Failure.NO_SIGN]
    assert failed[-1] == []
    assert bodies(crawl.read(thread(9, new, signs="conversation nothing-like-it")).objects) == said(9)


def test_a_site_never_seen_is_taken_for_the_application_whose_signs_it_is_like() -> None:
    application = replace(forum(), patterns=(sign("#quuxboard-root"), sign("#quuxboard-foot")))
    page = thread(1, new, signs="topic quuxboard-root")
    one_sign = Crawl(application).read(page)
    assert one_sign.match is None
    both = replace(page, body=page.body.replace(b"<footer>", b'<footer class="quuxboard-foot">'))
    found = Crawl(application).read(both)
    assert found.match is not None
    assert bodies(found.objects) == said(1)


def test_signs_learned_by_others_are_used() -> None:
    crawl, other = Crawl(), Crawl()
    for number in range(1, 4):
        crawl.read(renamed(number))
        crawl.read(board(number))
    for each in crawl.told * 2:
        other.sign_learning.adopt(each)
    assert other.sign_learning.level(elsewhere(renamed(4)), other.application) is other.application.level("thread")
    assert other.told == []


def test_marks_are_expressions_that_find_what_they_name() -> None:
    page = html_page(f"{SITE}/", '<html><body class="a-b c2"><i id="pid_12" role="x y"></i></body></html>')
    found = {mark.expression.css for mark in marks_on(page.tree)}
    assert found == {"body.a-b", ".a-b", 'i[id^="pid_"]', '[id^="pid_"]', 'i[role~="x"]', '[role~="x"]'} | {
        'i[role~="y"]',
        '[role~="y"]',
    }
    assert all(compile_selector(css=css).elements(page.tree) for css in found)
    assert Mark("p", "class", "1a:b").expression.css == 'p[class~="1a:b"]'


def test_a_level_is_not_proposed_for_ever_for_pages_of_another_because_its_own_pages_are_told_by_their_address() -> (
    None
):
    text = Extract("text", "article", (css("#text"),), (text_field("body", "#text"),))
    every = PageLevel("any", "terminal", when(".any"), actions=(text,), addresses=(UrlRule(PathGlob("**")),))
    application = forum()
    crawl = Crawl(replace(application, levels=(*application.levels, every)))
    levels = []
    for number in range(1, 16):
        assert bodies(crawl.read(renamed(number)).objects) == said(number)
        markup = f'<html><body class="topic-view forum-sign"><p id="text">About the ice of {number}.</p></body></html>'
        levels.append(crawl.level(html_page(f"{SITE}/about/{number}", markup)))
    assert levels.count("any") > levels.count(None)
