"""Values that are not what they were: mended where the page still shows the former ones, left alone where edited."""

from collections.abc import Callable, Sequence

import pytest
from lxml import etree

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.detection.failure_detection import compared, differs, evident, settled
from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.adaptation.repair.memory import MemoryStrategy, recall
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import Person, Value, WebObject
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from aahcrawler.wrapper_induction.induce import induce
from knowledge_base.model import KnowledgeBase
from tests.adaptation.redesigned import POSTS as THREAD_POSTS
from tests.adaptation.redesigned import Post, bodies, forum, old, posts, remembered, said, thread
from tests.helper.saved_pages import html_page

Skin = Callable[[Post], str]


def ranked(post: Post) -> str:
    """Show a rank where the author used to stand."""
    return (
        f'<div class="post" id="p{post.number}"><b class="who">Old hand</b> <span class="by">{post.author}</span>'
        f'<time datetime="{post.date.isoformat()}">then</time><div class="said">{post.body}</div></div>'
    )


def renamed(post: Post) -> str:
    """Show another author in the same place; the former one is gone."""
    return old(Post(post.number, f"{post.author[:3]}-42", post.date, post.body))


def formerly(post: Post) -> str:
    """Show another author in the same place, and beside it the former one."""
    shown = old(Post(post.number, "Somebody Else", post.date, post.body))
    return shown.replace("<time", f'<span class="was">{post.author}</span><time')


def headed(post: Post) -> str:
    """Show who wrote a post, and when, within the element of its text."""
    return (
        f'<div class="post" id="p{post.number}"><div class="said"><header class="top"><b class="who">{post.author}</b> '
        f'wrote this on <time datetime="{post.date.isoformat()}">that day</time></header>{post.body}</div></div>'
    )


class Recrawl:
    """Reads threads in a new skin that a former crawl saw in the old one."""

    def __init__(self) -> None:
        self.told: list[LearnedAction] = []
        adapter = Adaptation((MemoryStrategy(),), induce, self.told.append)
        self._helper = ApplicationAwareHelper(KnowledgeBase((forum(),)), adapter=adapter)

    def read(self, number: int, skin: Skin, shown: Sequence[Post] | None = None) -> tuple[WebObject, ...]:
        former = remembered(thread(number, old, shown))
        return self._helper.assist(thread(number, skin, shown), former).objects


def authors(objects: Sequence[WebObject]) -> list[str]:
    return [author.name for each in objects if isinstance(author := each.first("author"), Person)]


def test_an_action_that_finds_another_element_is_mended_at_once_and_learned() -> None:
    recrawl = Recrawl()
    for number in range(4):
        assert authors(recrawl.read(number, ranked)) == [post.author for post in posts(number)]
    (learned,) = recrawl.told
    assert learned.method is Method.MEMORY
    assert len(learned.pages) == 2


def test_what_was_edited_stays_as_it_is() -> None:
    recrawl = Recrawl()
    for number in range(4):
        assert authors(recrawl.read(number, renamed)) == [f"{post.author[:3]}-42" for post in posts(number)]
    assert not recrawl.told


def test_one_page_alone_does_not_tell_an_edit_from_a_failure() -> None:
    recrawl = Recrawl()
    assert authors(recrawl.read(0, formerly, posts(0, 1))) == ["Somebody Else"]
    assert all(authors(recrawl.read(number, old)) == [post.author for post in posts(number)] for number in (1, 2, 3))
    assert not recrawl.told


def test_a_text_that_holds_a_head_is_read_without_it_once_two_pages_agree() -> None:
    recrawl = Recrawl()
    read = [bodies(recrawl.read(number, headed)) for number in range(4)]
    assert read[0] != said(0)
    assert read[1:] == [said(number) for number in (1, 2, 3)]
    (learned,) = recrawl.told
    assert b"header" in etree.tostring(learned.xml())


TEXTS = tuple(f"{post.body}" for post in posts(1, 4))


def objects(names: Sequence[str | None]) -> tuple[WebObject, ...]:
    given = [({"author": (Person(name),)} if name else {}) for name in names]
    return tuple(
        WebObject(f"http://forum.test/thread?t=1#{number}", "reply", "", {**who, "body": (text,)})
        for number, (who, text) in enumerate(zip(given, TEXTS, strict=False))
    )


def extracted(names: Sequence[str | None]) -> tuple[Extracted, ...]:
    return tuple(Extracted(each, ()) for each in objects(names))


@pytest.mark.parametrize(
    ("now", "is_wrong"),
    [
        (["Ann", "Jan", "Ines", "Tom"], False),
        (["Ann", "Jan", "Ines", "Eve"], False),
        (["Ann", "Jan", "Eve", "Eve"], True),
        (["Ann", "Jan", "Ines", None], True),
    ],
)
def test_half_of_the_values_must_differ_or_one_be_missing(now: list[str | None], is_wrong: bool) -> None:
    wrong = compared(THREAD_POSTS, extracted(now), objects(["Ann", "Jan", "Ines", "Tom"]))
    assert (wrong is not None) is is_wrong
    assert wrong is None or (wrong.remembered and wrong.fields == {"author"} and not wrong.certain)


def test_values_give_way_only_where_many_do() -> None:
    rows = "".join(f"<article><b>Ann</b><p>{text}</p></article>" for text in TEXTS)
    page = html_page("http://forum.test/thread?t=1", f"<html><body>{rows}</body></html>")
    objects = tuple(
        LabelledObject(
            (item,), {"author": Label((item[0],), Person("Ann")), "body": Label((item[1],), plain_text(item[1]))}
        )
        for item in page.tree.iter("article")
    )
    example = LabelledExample(page, Method.MEMORY, objects, 1.0)
    many = evident(extracted(["Eve"] * 4), example, frozenset({"author"}))
    few = evident(extracted(["Eve", "Ann", "Ann", None]), example, frozenset({"author"}))
    assert many is not None
    assert authors([each.object for each in many]) == ["Ann"] * 4
    assert few is not None
    assert authors([each.object for each in few]) == ["Eve", "Ann", "Ann", "Ann"]
    assert evident(extracted(["Ann"] * 4), example, frozenset({"author"})) is None


def recalled(body: str, now: str, author: str = "Ann Boyd") -> tuple[str, ...]:
    """Return the text of a post that said `SAID` by Ann Boyd, once memory has seen a page that shows ``body``."""
    shown = f'<div class="post" id="p1"><b class="who">{author}</b><div class="said">{body}</div></div>'
    page = html_page("http://a.test/t/1", shown)
    properties: dict[str, tuple[Value, ...]] = {"body": (SAID,), "author": (Person("Ann Boyd"),)}
    former = (WebObject("http://a.test/t/1#p1", "post", "http://a.test/t/1", properties),)
    found = (Extracted(WebObject("http://a.test/t/1#p1", "post", "http://a.test/t/1", {"body": (now,)}), ()),)
    example = recall(page, THREAD_POSTS, former)
    assert example is not None
    kept = settled(found, former, example) if differs(found, former) else None
    return tuple(str(each.object.first("body")) for each in kept or found)


SAID = "Ice held until noon, and nobody crossed the harbour."


def test_what_the_template_says_within_a_text_is_no_edit_of_it() -> None:
    shown = f'<p class="top">Post by Ann Boyd \u00bb 3 May</p>{SAID}<span class="b">Reply</span>'
    assert recalled(shown, f"Post by Ann Boyd \u00bb 3 May\n{SAID}\nReply") == (SAID,)


def test_what_an_author_adds_to_a_text_is_an_edit_of_it() -> None:
    assert recalled(f"{SAID}<p>Solved</p>", f"{SAID}\nSolved") == (f"{SAID}\nSolved",)
    longer = f'{SAID}<p class="x">And on the day after that the ferries sailed again.</p>'
    now = f"{SAID}\nAnd on the day after that the ferries sailed again."
    assert recalled(longer, now) == (now,)


def test_a_text_that_is_not_there_any_more_stays_as_it_was_found() -> None:
    now = "Ice held until three, and nobody crossed the harbour."
    assert recalled(now, now) == (now,)
