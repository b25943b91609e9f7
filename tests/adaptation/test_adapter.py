"""Redesigns are noticed and survived; nothing is claimed where nothing is."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.adaptation.adapter import Adaptation, adaptation
from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.assistance import Failure
from aahcrawler.metadata import Link, Metadata
from aahcrawler.webobject import Person
from aahcrawler.wrapper_induction.examples import LabelledExample, Method
from aahcrawler.wrapper_induction.induce import induce
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.model import Extract, KnowledgeBase
from tests.adaptation.redesigned import (
    POSTS,
    SITE,
    Crawl,
    Knowing,
    bodies,
    forum,
    new,
    newest,
    old,
    posts,
    remembered,
    said,
    thread,
)
from tests.helper.saved_pages import html_page


def test_an_undamaged_site_is_read_without_asking_anybody() -> None:
    crawl = Crawl()
    found = [crawl.read(thread(number, old)) for number in range(8)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(8)]
    assert [each.failed_actions for each in found] == [()] * 8
    assert crawl.strategy.asked == []
    assert crawl.told == []


def test_no_page_of_a_redesigned_site_is_lost() -> None:
    crawl = Crawl()
    found = [crawl.read(thread(number, new)) for number in range(6)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(6)]
    authors = [Person(posts(n)[0].author, f"{SITE}/u/{100 * n}") for n in range(6)]
    assert [each.objects[0].first("author") for each in found][1:] == authors[1:]


def test_objects_keep_the_addresses_and_types_that_the_action_of_the_file_gives_them() -> None:
    crawl = Crawl()
    for number in range(4):
        now, before = crawl.read(thread(number, new)).objects, Crawl().read(thread(number, old)).objects
        assert [(each.iri, each.type, each.part_of) for each in now] == [
            (each.iri, each.type, each.part_of) for each in before
        ]
        assert [each.first("date") for each in now] == [each.first("date") for each in before]


def test_two_pages_that_agree_put_a_learned_action_in_force() -> None:
    crawl = Crawl()
    reported = [[each.failure for each in crawl.read(thread(n, new)).failed_actions] for n in range(4)]
    assert reported == [[Failure.NOTHING_FOUND], [], [], []]
    (learned,) = crawl.told
    assert (learned.site, learned.application, learned.level, learned.action) == (
        "forum.test",
        "forum",
        "thread",
        "posts",
    )
    assert (learned.before, learned.after, learned.method) == (0, 6, Method.INDUCED)
    assert learned.pages == (f"{SITE}/thread?t=0", f"{SITE}/thread?t=1")
    assert learned.failure == Failure.NOTHING_FOUND


def test_a_page_tells_which_learned_action_read_it() -> None:
    crawl = Crawl()
    matches = [crawl.read(thread(number, new)).match for number in range(3)]
    assert [match.variant for match in matches if match] == ["", "learned-posts-1", "learned-posts-1"]


def test_a_learned_action_in_force_is_looked_after_ever_more_rarely() -> None:
    crawl = Crawl()
    for number in range(40):
        crawl.read(thread(number, new))
    assert len(crawl.strategy.asked) <= 2 + 6


def test_a_second_redesign_is_survived_as_the_first_was() -> None:
    crawl = Crawl()
    skins = [old] * 3 + [new] * 4 + [newest] * 4
    found = [crawl.read(thread(number, skin)) for number, skin in enumerate(skins)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(len(skins))]
    assert [learned.name for learned in crawl.told] == ["learned-posts-1", "learned-posts-2"]


def test_pages_of_several_shapes_are_each_read_their_own_way() -> None:
    crawl = Crawl()
    skins = [new, newest, old] * 4
    found = [crawl.read(thread(number, skin)) for number, skin in enumerate(skins)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(len(skins))]
    assert [each.failed_actions for each in found[6:]] == [()] * 6


def test_going_back_to_the_old_skin_needs_no_strategy() -> None:
    crawl = Crawl()
    for number in range(4):
        crawl.read(thread(number, new))
    asked = len(crawl.strategy.asked)
    found = [crawl.read(thread(number, old)) for number in range(4, 8)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(4, 8)]
    assert len(crawl.strategy.asked) == asked


@pytest.mark.parametrize(
    "strategy",
    [Knowing(confidence=0.4), Knowing(confidence=0.9, runner_up=0.85), Knowing(most=1)],
    ids=["unsure", "a close rival", "one of three"],
)
def test_an_unsound_example_is_not_used(strategy: Knowing) -> None:
    crawl = Crawl(strategy=strategy)
    found = [crawl.read(thread(number, new)) for number in range(5)]
    assert [each.objects for each in found] == [()] * 5
    assert crawl.told == []
    assert {failure.failure for each in found for failure in each.failed_actions} == {Failure.NOTHING_FOUND}


def test_what_every_page_says_is_no_text_of_any_of_them() -> None:
    crawl = Crawl(strategy=Knowing())
    found = [crawl.read(replace(thread(4, new), url=f"{SITE}/topic/{number}")) for number in range(5)]
    assert [len(each.objects) for each in found] == [3, 0, 0, 0, 0], "the first page cannot know"
    assert crawl.told == []


@pytest.mark.slow
def test_a_site_that_cannot_be_repaired_is_asked_about_ever_more_rarely() -> None:
    crawl = Crawl(strategy=Knowing(confidence=0.1))
    for number in range(100):
        crawl.read(thread(number, new))
    assert len(crawl.strategy.asked) <= 12


@pytest.mark.slow
def test_what_teaches_nothing_is_learned_from_ever_more_rarely_and_read_all_the_same() -> None:
    crawl, tried = Crawl(), []

    def learn(examples: Sequence[LabelledExample], _: Extract) -> Wrapper | None:
        tried.append(examples[-1].page.url)
        return None

    adaptation = Adaptation((crawl.strategy,), learn)
    helper = ApplicationAwareHelper(KnowledgeBase((crawl.application,)), adapter=adaptation)
    found = [helper.assist(thread(number, new)) for number in range(100)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(100)]
    assert len(set(tried)) <= 12
    spared = [any(failure.spared for failure in each.failed_actions) for each in found]
    assert spared == [thread(number, new).url not in tried for number in range(100)]


def test_a_page_without_objects_is_not_healed() -> None:
    crawl = Crawl()
    for number in range(4):
        crawl.read(thread(number, new))
    empty = crawl.read(thread(9, new, shown=()))
    assert empty.objects == ()


def test_an_action_whose_objects_may_be_absent_reports_nothing_that_no_strategy_finds() -> None:
    crawl = Crawl(forum(replace(POSTS, always=False)))
    found = [crawl.read(thread(number, new, shown=())) for number in range(12)]
    assert [each.failed_actions for each in found] == [()] * 12
    assert [each.objects for each in found] == [()] * 12


def test_an_action_that_used_to_work_and_whose_objects_are_there_has_stopped_working() -> None:
    crawl = Crawl(forum(replace(POSTS, always=False)))
    for number in range(6):
        crawl.read(thread(number, old))
    found = [crawl.read(thread(number, new)) for number in range(6, 12)]
    reported = [failure.failure for each in found for failure in each.failed_actions]
    assert reported
    assert set(reported) == {Failure.STOPPED_WORKING}
    assert [bodies(each.objects) for each in found[3:]] == [said(number) for number in range(9, 12)]


def test_a_level_that_is_not_shown_is_told_by_the_address_of_the_page() -> None:
    crawl = Crawl()
    found = [crawl.read(thread(number, new, signs="forum-sign")) for number in range(5)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(5)]
    assert {each.match.level.name for each in found if each.match and each.match.level} == {"thread"}


def test_an_address_alone_makes_no_page_of_a_level() -> None:
    crawl = Crawl()
    markup = '<html><body class="forum-sign"><p>The thread that you look for is gone.</p></body></html>'
    found = [crawl.read(html_page(f"{SITE}/thread?t={number}", markup)) for number in range(10)]
    assert [each.match.level for each in found if each.match] == [None] * 10
    assert [(each.objects, each.failed_actions) for each in found] == [((), ())] * 10
    assert len(crawl.strategy.asked) <= 6


def test_a_site_keeps_its_application_where_no_page_shows_a_sign_of_it_any_more() -> None:
    crawl = Crawl()
    for number in range(3):
        crawl.read(thread(number, old))
    found = [crawl.read(thread(number, new, signs="topic")) for number in range(3, 8)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(3, 8)]
    assert {each.match.application.name for each in found if each.match} == {"forum"}


def test_pages_of_unknown_addresses_are_read_as_those_of_any_site() -> None:
    crawl = Crawl()
    crawl.read(thread(1, old))
    page = html_page(f"{SITE}/about", "<html><body><h1>About</h1><p>We are the harbour.</p></body></html>")
    assert crawl.read(page).match is None


def test_what_a_former_crawl_found_at_an_address_and_is_still_there_is_missed() -> None:
    crawl = Crawl(forum(replace(POSTS, always=False)), Knowing(method=Method.MEMORY))
    former = remembered(thread(1, old))
    found = crawl.read(thread(1, new), former)
    assert bodies(found.objects) == said(1)
    assert [each.failure for each in found.failed_actions] == [Failure.STOPPED_WORKING]


def test_former_objects_that_are_gone_from_a_page_were_deleted() -> None:
    crawl = Crawl(strategy=Knowing(method=Method.MEMORY))
    former = remembered(thread(1, old))
    found = crawl.read(thread(1, old, shown=()), former)
    assert (found.objects, found.failed_actions) == ((), ())


def test_a_part_of_the_former_objects_is_not_all() -> None:
    crawl = Crawl(strategy=Knowing(method=Method.MEMORY))
    former = remembered(thread(1, old))
    first, *others = posts(1)
    mixed = thread(1, lambda post: old(post) if post is first else new(post), (first, *others))
    found = crawl.read(mixed, former)
    assert [each.failure for each in found.failed_actions] == [Failure.CHANGED_SHAPE]


def test_what_leaves_out_former_objects_that_the_page_shows_does_not_count_as_found() -> None:
    former = remembered(thread(1, old))
    first, *others = posts(1)
    mixed = thread(1, lambda post: old(post) if post is first else new(post), (first, *others))
    helpless = Crawl(strategy=Knowing(confidence=0.1)).read(mixed, former)
    assert len(helpless.objects) == 1
    assert [each.objects for each in helpless.failed_actions] == [0]
    mended = Crawl(strategy=Knowing(method=Method.MEMORY)).read(thread(1, new), former)
    assert [each.objects for each in mended.failed_actions] == [3]


def test_a_former_application_and_level_are_believed() -> None:
    crawl = Crawl()
    former = remembered(thread(1, old))
    found = crawl.read(thread(1, new, signs="nothing"), former)
    assert found.match is not None
    assert found.match.level is not None
    assert (found.match.level.name, bodies(found.objects)) == ("thread", said(1))


def test_an_action_learned_elsewhere_is_tried_before_strategies_are_asked() -> None:
    first = Crawl()
    for number in range(3):
        first.read(thread(number, new))
    second = Crawl(strategy=Knowing(confidence=0.0))
    second.adaptation.adopt(first.told[0])
    page = replace(thread(7, new), url="http://other.test/thread?t=7")
    found = second.read(page)
    assert bodies(found.objects) == said(7)
    assert found.failed_actions == ()


def test_what_was_learned_outlives_a_change_of_the_knowledge_base() -> None:
    crawl = Crawl()
    for number in range(3):
        crawl.read(thread(number, new))
    crawl.strategy.confidence = 0.0
    again = ApplicationAwareHelper(KnowledgeBase((forum(replace(POSTS)),)), adapter=crawl.adaptation)
    assert bodies(again.assist(thread(4, new)).objects) == said(4)


def test_a_truncated_page_says_nothing_about_its_template() -> None:
    crawl = Crawl()
    for number in range(5):
        crawl.read(replace(thread(number, new), complete=False))
    assert crawl.strategy.asked == []


class Raising:
    """A repair strategy that stumbles over a page."""

    def label(self, question: Question) -> LabelledExample | None:
        raise ValueError(f"{question.page.url}: a year that no calendar has")


def test_a_strategy_that_stumbles_costs_its_example_and_no_more() -> None:
    strategy, told = Knowing(), list[LearnedAction]()
    helper = ApplicationAwareHelper(
        KnowledgeBase((forum(),)), adapter=Adaptation((Raising(), strategy), induce, told.append)
    )
    assert bodies(helper.assist(thread(1, new)).objects) == said(1)


def test_the_same_pages_teach_the_same() -> None:
    one, other = Crawl(), Crawl()
    for crawl in (one, other):
        for number in range(6):
            crawl.read(thread(number, new))
    assert one.told == other.told


def board(number: int, skin: str) -> str:
    rows = "".join(f'<{skin}><a href="/thread?t={n}">Thread {n}</a></{skin}>' for n in range(number, number + 3))
    return f'<html><body class="board forum-sign"><a href="/help">Help</a>{rows}</body></html>'


ROW = 'p class="row"'


def test_a_list_whose_links_are_not_found_is_left_by_the_addresses_that_they_should_have() -> None:
    crawl = Crawl()
    found = [crawl.read(html_page(f"{SITE}/board?b={n}", board(n, "p"))) for n in range(4)]
    followed = [[link.url for link in each.document.outlinks] for each in found]
    assert followed == [[f"{SITE}/thread?t={n + k}" for k in range(3)] for n in range(4)]
    assert [len(each.failed_actions) for each in found] == [1, 1, 0, 0]


def test_a_list_that_works_is_left_by_its_actions_alone() -> None:
    crawl = Crawl()
    markup = board(1, "p").replace("<p>", f"<{ROW}>", 2)
    found = crawl.read(html_page(f"{SITE}/board?b=1", markup))
    assert [link.url for link in found.document.outlinks] == [f"{SITE}/thread?t={n}" for n in (1, 2)]
    assert found.failed_actions == ()


def test_an_empty_list_among_others_of_its_template_is_just_empty() -> None:
    crawl = Crawl()
    for number in range(6):
        crawl.read(html_page(f"{SITE}/board?b={number}", board(number, "p").replace("<p>", f"<{ROW}>")))
    empty = '<html><body class="board forum-sign"><div class="row"></div><a href="/thread?t=5">Newest</a></body></html>'
    found = [crawl.read(html_page(f"{SITE}/board?b={number}", empty)) for number in range(10, 14)]
    assert [each.failed_actions for each in found] == [()] * 4


def test_links_that_a_former_crawl_followed_are_followed_with_those_that_stand_beside_them() -> None:
    crawl = Crawl()
    known = tuple(Link(f"{SITE}/thread?t={n}", action="threads") for n in (1, 2))
    former = Metadata(application="forum", level="board", links=known)
    found = crawl.read(html_page(f"{SITE}/board?b=1", board(1, "p")), former)
    assert [link.url for link in found.document.outlinks] == [f"{SITE}/thread?t={n}" for n in (1, 2, 3)]
    assert [each.failure for each in found.failed_actions] == [Failure.STOPPED_WORKING]


PIECES = st.sampled_from(
    [
        "<article class=entry>",
        "</article>",
        "<time datetime=2024-01-01>",
        "<div id=p1>",
        "</div>",
        "<a href=/u/1>Ann",
        "</a>",
        "<li>",
        "<p>",
        "<table><tr><td>",
        "text of some length that somebody wrote in 2023",
        "&#0;",
        "<b",
        "<ul>",
    ]
)


@pytest.mark.slow
@given(st.lists(st.lists(PIECES, max_size=30), min_size=1, max_size=3))
def test_nothing_that_a_page_holds_is_raised(pages: list[list[str]]) -> None:
    application = forum()
    knowledge_base = KnowledgeBase((application,))
    helper = ApplicationAwareHelper(knowledge_base, adapter=adaptation(knowledge_base))
    former = remembered(thread(1, old))
    for number, pieces in enumerate(pages):
        markup = f'<html><body class="topic forum-sign">{"".join(pieces)}</body></html>'
        for before in (None, former):
            found = helper.assist(html_page(f"{SITE}/thread?t={number}", markup), before)
            assert not [each for each in found.failed_actions if each.failure in (Failure.ERROR, Failure.SLOW)]


def test_with_all_strategies_of_a_crawl_a_redesign_is_survived() -> None:
    knowledge_base, told = KnowledgeBase((forum(),)), list[LearnedAction]()
    helper = ApplicationAwareHelper(knowledge_base, adapter=adaptation(knowledge_base, told.append))
    found = [helper.assist(thread(number, new)) for number in range(1, 7)]
    assert [bodies(each.objects) for each in found] == [said(number) for number in range(1, 7)]
    assert [bool(each.failed_actions) for each in found] == [True, False, False, False, False, False]
    assert len(told) == 1
