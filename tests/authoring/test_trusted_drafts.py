"""Drafts of software that nobody has seen: they read whole sites, avoid no content, and claim no other site."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from lxml.html import fromstring

from aahcrawler.editor.drafting.begin import Begun, Wish, begin, lines_of
from aahcrawler.editor.drafting.draft import loaded
from aahcrawler.editor.drafting.level_plans import Given
from aahcrawler.editor.text.edits import apply
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.page.text import fold, plain_text
from knowledge_base.matching import Detector
from knowledge_base.model import KnowledgeBase
from knowledge_base.url_rules import ParsedUrl
from tests.authoring import ropewalk
from tests.authoring.ropewalk import FORUMS, PAGES, SITE, THREADS, path_of
from tests.helper.saved_pages import html_page

SIGNED = '<meta name="generator" content="Ropewalk 3">'
SHOP = """<!DOCTYPE html><html><head><title>Garden chairs</title><link rel="icon" href="/static/favicon.ico">
<link rel="stylesheet" href="/static/css/styles.css"><script src="/static/js/main.js"></script></head>
<body><header class="header"><nav class="nav"><a href="/cart/">Cart</a></nav></header><div class="container">
<div class="content"><h1>Garden chairs</h1><div class="comment"><p>Solid oak, oiled twice, for the garden.</p></div>
</div></div></body></html>"""


def without_draft_mark(knowledge_base: KnowledgeBase) -> KnowledgeBase:
    """Return the knowledge base as if all guesses of its drafts were confirmed."""
    return replace(knowledge_base, applications=tuple(replace(a, draft=False) for a in knowledge_base.applications))


def crawled(begun: Begun, pages: Mapping[str, Page], seed: str) -> tuple[list[str], set[str]]:
    """Return the bodies that are read from a seed on, by the draft alone, and the URLs that were followed."""
    helper = ApplicationAwareHelper(without_draft_mark(begun.knowledge_base))
    waiting, seen = [seed], {seed}
    bodies: dict[str, str] = {}
    while waiting:
        page = pages.get(waiting.pop(0))
        if page is None:
            continue
        found = helper.assist(replace(page))
        bodies.update((each.iri, fold(str(each.first("body")))) for each in found.objects)
        new = dict.fromkeys(link.url for link in found.document.outlinks if link.url.startswith(SITE))
        waiting += [url for url in new if url not in seen]
        seen.update(new)
    return list(bodies.values()), seen


@pytest.fixture(scope="module")
def pages() -> Mapping[str, Page]:
    return ropewalk.site(SIGNED)


@pytest.fixture(scope="module")
def begun(pages: Mapping[str, Page], tmp_path_factory: pytest.TempPathFactory) -> Begun:
    contents = (pages[f"{SITE}{path_of(THREADS[0])}"], pages[f"{SITE}{path_of(11)}"])
    lists = (pages[f"{SITE}/forum/{FORUMS[0]}/"], pages[f"{SITE}/forum/{FORUMS[2]}/"])
    return begin(Wish("Ropewalk", "web-forum"), Given(contents, lists), (tmp_path_factory.mktemp("kb"),))


@pytest.mark.slow
def test_the_whole_site_is_read_from_its_front_page(begun: Begun, pages: Mapping[str, Page]) -> None:
    bodies, followed = crawled(begun, pages, f"{SITE}/")
    wanted = [(thread, 1) for thread in THREADS] + [(THREADS[0], page) for page in range(2, PAGES + 1)]
    texts = [fold(plain_text(fromstring(f"<div>{text}</div>"))) for each in wanted for text in ropewalk.bodies(*each)]
    assert sorted(bodies) == sorted(texts)
    words = ("login", "history", "publish", "like", "register", "search", "moderate", "page=1")
    assert [url for url in followed if any(f"/{word}/" in url or word in url.split("?")[1:] for word in words)] == []


def test_forums_are_one_level_whatever_their_names(begun: Begun) -> None:
    application = begun.knowledge_base.application("Ropewalk")
    levels = {application.level_of(ParsedUrl.parse(f"{SITE}/forum/{name}/")) for name in FORUMS}
    assert [level.name for level in levels if level is not None] == ["forum"]
    assert [level.name for level in application.levels] == ["board", "forum", "thread"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/user/login/", "login"),
        ("/user/login/?next=/topic/10-wet/", "login"),
        ("/login", "login"),
        ("/comment/history/1010/", "old-revision"),
        ("/comment/publish/10/", "reply-form"),
        ("/topic/publish/3/", "reply-form"),
        ("/comment/like/1010/", "vote"),
        ("/forum/6-login-problems/", None),
        ("/topic/30-history-of-rope/", None),
        ("/topic/31-search/", None),
    ],
)
def test_forms_are_avoided_and_titles_are_not(begun: Begun, path: str, reason: str | None) -> None:
    rule = begun.knowledge_base.application("Ropewalk").refusal(ParsedUrl.parse(f"{SITE}{path}"))
    assert (rule.reason.value if rule is not None else None) == reason


def test_the_number_of_the_first_page_is_dropped(begun: Begun) -> None:
    application = begun.knowledge_base.application("Ropewalk")
    first, second = (ParsedUrl.parse(f"{SITE}{path_of(10)}?page={number}") for number in (1, 2))
    assert application.canonical(first).url == f"{SITE}{path_of(10)}"
    assert application.canonical(second) == second


@pytest.mark.slow
def test_without_a_sign_of_the_software_the_draft_is_for_its_site_alone(tmp_path: Path) -> None:
    pages = ropewalk.site()
    given = Given((pages[f"{SITE}{path_of(11)}"],), (pages[f"{SITE}/"],))
    begun = begin(Wish("Ropewalk", "web-forum"), given, (tmp_path,))
    assert begun.knowledge_base.application("Ropewalk").hosts == ("ropewalk.example",)
    assert any("this site alone" in line for line in lines_of(begun, "page"))
    bodies, _ = crawled(begun, pages, f"{SITE}/")
    assert len(bodies) == 4 * len(THREADS)


@pytest.mark.slow
def test_bodies_of_one_paragraph_teach_to_read_longer_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ropewalk.site(SIGNED)[f"{SITE}{path_of(12)}"]
    with monkeypatch.context() as changed:
        short = "<p>Number {n}: which of the ropes of this long harbour wall holds best in winter storms?</p>"
        changed.setattr(
            ropewalk, "bodies", lambda thread, page=1: [short.format(n=thread + page + i) for i in range(4)]
        )
        given = ropewalk.site(SIGNED)[f"{SITE}{path_of(11)}"]
    begun = begin(Wish("Ropewalk", "web-forum"), Given((given,)), (tmp_path,))
    found = ApplicationAwareHelper(without_draft_mark(begun.knowledge_base)).assist(whole).objects
    texts = [fold(plain_text(fromstring(f"<div>{text}</div>"))) for text in ropewalk.bodies(12)]
    assert [fold(str(each.first("body"))) for each in found] == texts


@pytest.mark.slow
def test_an_unrelated_shop_is_not_claimed(begun: Begun, tmp_path: Path) -> None:
    pages = ropewalk.site()
    unsigned = begin(Wish("Ropewalk", "web-forum"), Given((pages[f"{SITE}{path_of(11)}"],)), (tmp_path,))
    for each in (begun, unsigned):
        shop = html_page("http://chairs.example/oak/", SHOP)
        assert Detector(each.knowledge_base).detect(shop).application is None


@pytest.mark.slow
def test_alternatives_of_all_doubts_can_be_chosen_and_give_valid_files(begun: Begun) -> None:
    doubts = begun.draft.doubts
    assert [doubt.doubt for doubt in doubts] == sorted((doubt.doubt for doubt in doubts), reverse=True)
    text = EntryText(begun.draft.file)
    assert {doubt.place for doubt in doubts} <= set(text.places())
    tried = [choice for doubt in doubts for choice in doubt.alternatives]
    assert len(tried) > len(doubts) / 2
    for choice in tried:
        changed = apply(text, choice.edits)
        assert changed != text
        assert loaded(changed.data).application("Ropewalk")


def test_every_action_finds_something_on_the_pages_it_was_made_from(begun: Begun) -> None:
    helper = ApplicationAwareHelper(without_draft_mark(begun.knowledge_base))
    found = [helper.assist(replace(page)) for page in begun.pages]
    assert all(each.objects for each in found[:2])
    assert all(link.action for each in found[2:] for link in each.document.outlinks)
    assert not any(each.failed_actions for each in found)
