"""A file whose guesses nobody has confirmed reads no page worse than no file does, and says where it would have."""

from dataclasses import replace

import pytest

from aahcrawler.helper import Assistance, Failure
from aahcrawler.helper.application.draft_reading import MAX_SEARCHED, ReadTexts, lines_of
from aahcrawler.webobject import WebObject
from knowledge_base.matching import Detector
from knowledge_base.model import Application, Extract, Identity, KnowledgeBase, LinkSource, Navigate, PageLevel
from knowledge_base.url_rules import AvoidRule, AvoidRules, PathGlob, Reason, UrlRule
from tests.helper.building import application, css, helper_of, level, links, sign, text_field, when, xpath
from tests.helper.saved_pages import html_page

URL = "http://knots.test/topic/7"
TEXTS = (
    "Which knot holds best when the rope is wet and stiff from the salt of the sea?",
    "The bowline, of course. It does not slip, and it can be untied after a long night.",
    "Take two half hitches more if the rope is new: new rope is slippery for a while.",
    "I have tied a sheet bend for thirty years now, and it has never let me down once.",
)
MORE = "And mind the tide when you do that, for the harbour master is not going to help you out."
NAMES = ("Ada", "Bo", "Cleo", "Dora")


def post(number: int, more: str = "") -> str:
    return (
        f'<div class="entry" id="entry-{number}"><div class="all"><p class="who"><a class="name" href="/user/{number}">'
        f'{NAMES[number]}</a></p><time datetime="2024-02-0{number + 1}T10:00:00+00:00">{number + 1} February</time>'
        f'<div class="text"><p class="said">{TEXTS[number]}</p>{more}</div><p>Answer to this post</p></div></div>'
    )


def thread(more: str = "", beside: str = "") -> str:
    head = '<title>Wet ropes</title><i id="knots-sign"></i>'
    posts = "".join(post(number, more) for number in range(len(TEXTS)))
    return f"<html><head>{head}</head><body><h1>Wet ropes</h1><main>{posts}</main>{beside}</body></html>"


def posts(item: str = ".entry", body: str = ".text", *more: str) -> Extract:
    fields = (text_field("body", body), *(text_field(name, ".name") for name in more))
    return Extract("posts", "reply", (css(item),), fields, many=True, always=True)


def numbered(action: Extract) -> Extract:
    return replace(action, identity=Identity((xpath("@id"),)))


def draft(*levels: PageLevel) -> Application:
    return replace(application("knots", *levels), draft=True)


def read(known: Application, markup: str, url: str = URL) -> Assistance:
    return helper_of(known).comparing_drafts().assist(html_page(url, markup))


def bodies(found: Assistance) -> list[str]:
    return [str(each.first("body")) for each in found.objects]


def less(found: Assistance) -> list[str]:
    return [each.detail for each in found.failed_actions if each.failure is Failure.READS_LESS]


def test_a_draft_that_reads_as_much_counts_and_lacks_no_field_that_generic_reading_has() -> None:
    found = read(draft(level("thread", ".entry", numbered(posts()))), thread())
    assert bodies(found) == list(TEXTS)
    assert [each.iri for each in found.objects] == [f"{URL}#entry-{number}" for number in range(4)]
    assert [str(getattr(each.first("author"), "name", "")) for each in found.objects] == list(NAMES)
    assert [each.inferred.get("author") for each in found.objects] == ["generic reading"] * 4
    assert not any("body" in each.inferred for each in found.objects)
    assert less(found) == []
    assert found.match is not None
    assert found.match.level is not None


@pytest.mark.parametrize(
    ("action", "markup", "told"),
    [
        (posts("#entry-1"), thread(), "3 missing"),
        (posts("main", "div"), thread(), "missing"),
        (posts("main", "main"), thread(), "4 missing"),
        (numbered(posts(".entry", ".all")), thread(), "4 with more"),
        (numbered(posts(".entry", ".said")), thread(f"<p>{MORE}</p>"), "4 cut"),
    ],
    ids=["few", "first", "nothing", "swollen", "cut"],
)
def test_where_generic_reading_has_more_it_counts_and_that_is_told(action: Extract, markup: str, told: str) -> None:
    found = read(draft(level("thread", ".entry", action)), markup)
    whole = [f"{text}\n{MORE}" for text in TEXTS] if MORE in markup else list(TEXTS)
    assert bodies(found) == whole
    assert {each.inferred["body"] for each in found.objects} == {"generic reading"}
    [detail] = less(found)
    assert told in detail
    failed = next(each for each in found.failed_actions if each.failure is Failure.READS_LESS)
    assert (failed.place, failed.objects) == ("knots/thread/read", len(TEXTS))


def test_posts_taken_for_one_are_told_apart() -> None:
    one = replace(posts("main", ".entry"), many=False)
    whole = replace(one, fields=(replace(one.fields[0], join=True),))
    found = read(draft(level("thread", ".entry", whole)), thread())
    assert bodies(found) == list(TEXTS)
    assert "1 with others in it" in less(found)[0]


def test_a_text_that_holds_the_comments_below_it_is_no_text() -> None:
    fields = (text_field("body", "main"), text_field("author", ".none"))
    whole = Extract("article", "article", (css("body"),), fields)
    comments = replace(numbered(posts()), name="comments", type="comment", items=(css(".entry:not(#entry-0)"),))
    form = "".join(f"<p>{name} is required</p>" for name in ("Name", "Address", "Answer"))
    found = read(draft(level("article", ".entry", whole, comments)), thread(beside=form))
    assert bodies(found) == list(TEXTS)
    assert "1 with others in it" in less(found)[0]


def test_a_confirmed_file_is_trusted_alone() -> None:
    known = replace(draft(level("thread", ".entry", posts("#entry-1"))), draft=False)
    found = read(known, thread(beside='<a href="/about">About us</a>'))
    assert bodies(found) == [TEXTS[1]]
    assert less(found) == []
    assert found.document.outlinks == ()


def test_authors_see_what_a_draft_says_by_itself() -> None:
    known = draft(level("thread", ".entry", posts("#entry-1")))
    found = helper_of(known).assist(html_page(URL, thread(beside='<a href="/about">About us</a>')))
    assert bodies(found) == [TEXTS[1]]
    assert less(found) == []
    assert found.document.outlinks == ()


def test_what_a_draft_takes_for_a_list_is_read_all_the_same() -> None:
    known = draft(level("board", ".entry", links("threads", "board", "a.name"), role="intermediate"))
    found = read(known, thread())
    assert bodies(found) == list(TEXTS)
    assert found.match is not None
    assert found.match.level is None
    assert "4 missing" in less(found)[0]
    assert {link.action for link in found.document.outlinks} == {None}


def test_a_page_of_no_level_is_read_generically_and_nothing_is_told() -> None:
    found = read(draft(level("other", ".never", posts())), thread())
    assert bodies(found) == list(TEXTS)
    assert less(found) == []
    assert found.document.application == "knots"


def linking() -> Application:
    rule = UrlRule(PathGlob("/topic/#"))
    known = level("thread", ".entry", posts(), Navigate("more", "thread", (LinkSource(css("a"), documented=True),)))
    avoided = tuple(
        AvoidRule(UrlRule(PathGlob(path)), reason)
        for path, reason in (("/user/*", Reason.PROFILE), ("/topic/*", Reason.DUPLICATE), ("/**/reply", Reason.EDIT))
    )
    return replace(draft(replace(known, addresses=(rule,))), avoid=AvoidRules(avoided))


def test_a_draft_adds_links_and_takes_none_away_but_those_it_avoids_without_contradicting_itself() -> None:
    menu = '<a href="/topic/8">8</a> <a href="/board/2">Sailing</a> <a href="/topic/x">x</a> <a href="/login">in</a>'
    found = read(linking(), thread(beside=menu))
    actions = {link.url.removeprefix("http://knots.test"): link.action for link in found.document.outlinks}
    assert actions == {"/topic/8": "more", "/board/2": None}
    refused = {each.url.removeprefix("http://knots.test"): each.reason for each in found.refused}
    assert refused["/topic/x"] is Reason.DUPLICATE
    assert refused["/user/1"] is Reason.PROFILE
    assert refused["/login"] is Reason.LOGIN


def test_a_guess_to_avoid_that_the_words_of_the_url_confirm_counts_against_a_level() -> None:
    known = linking()
    wide = replace(known.levels[0], addresses=(UrlRule(PathGlob("/topic/**")),))
    found = read(replace(known, levels=(wide,)), thread(beside='<a href="/topic/8/reply">answer</a>'))
    assert [each.url for each in found.document.outlinks] == []
    assert ("http://knots.test/topic/8/reply", Reason.REPLY_FORM) in {(each.url, each.reason) for each in found.refused}


def test_where_another_file_claims_a_page_a_draft_is_not_asked() -> None:
    shared = replace(draft(level("thread", ".entry", posts())), patterns=(sign("#knots-sign"), sign(".entry")))
    known = application("other", level("thread", ".entry", posts()), patterns=(sign("#entry-1"),))
    page = html_page(URL, thread())
    assert Detector(KnowledgeBase((known, shared))).detect(page).application is known
    assert Detector(KnowledgeBase((shared,))).detect(page).application is shared
    confirmed = replace(shared, draft=False)
    assert Detector(KnowledgeBase((known, confirmed))).detect(page).application is confirmed


def test_addresses_of_a_draft_are_no_reason_to_pass_a_page_over() -> None:
    rule = (UrlRule(PathGlob("/topic/#")),)
    board = PageLevel("board", "intermediate", when(".entry"), addresses=rule)
    for known, passed in ((draft(board), False), (replace(draft(board), draft=False), True)):
        helper = helper_of(known)
        helper.assist(html_page(URL, thread()))
        assert helper.is_intermediate("http://knots.test/topic/9") is passed


def test_texts_are_compared_in_bounded_time() -> None:
    line = "x" * 100_000
    own = ReadTexts([WebObject("urn:1", "post", URL, {"body": (line,)})])
    searched = [f"{number}y" for number in range(2 * MAX_SEARCHED // len(line))]
    assert own.letters_of(searched) == 0
    assert own.letters_of(lines_of(line)) == len(line)


def test_what_an_application_says_nothing_of_is_followed_as_without_it() -> None:
    known = replace(linking(), has_lone_pages=True, avoid=AvoidRules(()))
    found = read(known, thread(beside='<a href="/about">About us</a> <a href="/feeds/rss/">News</a>'))
    followed = [each.url.removeprefix("http://knots.test") for each in found.document.outlinks]
    assert "/about" in followed
    assert "/feeds/rss/" not in followed
