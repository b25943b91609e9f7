"""Pages that only a browser could read are reported as such, and others are not."""

from dataclasses import replace

import pytest

from aahcrawler.helper import Assistance, Failure
from aahcrawler.helper.application.scripted import Scripted
from knowledge_base.behaviours import Act, Behaviour, BehaviourStep
from knowledge_base.model import Condition
from tests.helper.building import application, article, assist, css, helper_of, level, links
from tests.helper.saved_pages import html_page, saved_pages

SCRIPT = '<script src="/static/main.3f.js"></script>'


def reported(assistance: Assistance) -> bool:
    return any(failure.failure is Failure.NEEDS_BROWSER for failure in assistance.failed_actions)


SHELLS = {
    "react": f'<body><noscript>You need to enable JavaScript.</noscript><div id="root"></div>{SCRIPT}</body>',
    "vue": f'<body><noscript><strong>Bitte JavaScript einschalten</strong></noscript><div id="app"></div>{SCRIPT}',
    "angular": f'<body><app-root></app-root>{SCRIPT}<script type="module" src="x.js"></script></body>',
    "loading": f'<body><div id="__next"><div class="spinner">読み込み中…</div></div>{SCRIPT}</body>',
    "nothing": f"<head>{SCRIPT}</head><body></body>",
    "data": '<body><div id="main"></div><script id="d" type="application/json">{"a": "' + "text " * 400 + '"}</script>'
    "<script>start()</script></body>",
    "logo": '<body><div id="app"><img src="l.png"></div><noscript>JavaScript нужен</noscript><script>go()</script>',
}
READABLE = {
    "no scripts": '<body><div id="root"></div></body>',
    "data only": '<body><div id="root"></div><script type="application/ld+json">{}</script></body>',
    "text": f'<body><div id="root">{"A walk along the river. " * 20}</div>{SCRIPT}</body>',
    "a word": f'<body><h1 id="t">It works!</h1>{SCRIPT}</body>',
    "a line": f'<body><div id="content"><p>This topic does not exist yet.</p></div>{SCRIPT}</body>',
    "links": f'<body><div id="root"></div><a href="/about">About</a>{SCRIPT}</body>',
    "photo": f'<body><img src="heron.jpg"><noscript><img src="/pixel.gif"></noscript>{SCRIPT}</body>',
    "login": f'<body><div id="app"></div><form><input name="user"></form>{SCRIPT}</body>',
    "frames": f'<frameset><frame src="/left.html"></frameset>{SCRIPT}',
    "moved": f'<head><meta http-equiv="Refresh" content="0;url=/new">{SCRIPT}</head><body></body>',
    "styled": f"<body><p>Hello.</p><noscript><style>p {{ color: red }}</style></noscript>{SCRIPT}</body>",
}


@pytest.mark.parametrize("markup", SHELLS.values(), ids=SHELLS.keys())
def test_an_empty_shell_of_no_known_application(markup: str) -> None:
    found = helper_of().assist(html_page("http://app.test/", f"<html>{markup}</html>"))
    assert [(failure.application, failure.failure) for failure in found.failed_actions] == [("", Failure.NEEDS_BROWSER)]
    assert found.match is None


@pytest.mark.parametrize("markup", READABLE.values(), ids=READABLE.keys())
def test_what_can_be_read_without_a_browser(markup: str) -> None:
    assert not reported(helper_of().assist(html_page("http://app.test/", f"<html>{markup}</html>")))


def test_saved_pages_can_all_be_read() -> None:
    """They are read as expected (``test_saved_pages.py``), and of none it is expected that only a browser could."""
    assert not any(Failure.NEEDS_BROWSER.value in saved.expected.failed.values() for saved in saved_pages())


SIGNED = replace(
    application("board", level("thread", ".thread", replace(article(), always=True), links("more", "thread", "a"))),
    needs_browser=(Condition(css("thread-view:empty"), cite="src/thread.html, Board 4"),),
)


def test_a_sign_counts_where_nothing_was_found_and_says_why() -> None:
    found = assist(SIGNED, '<div class="thread"><thread-view></thread-view></div>')
    assert [(failure.level, failure.failure, failure.detail) for failure in found.failed_actions] == [
        ("thread", Failure.NEEDS_BROWSER, "src/thread.html, Board 4")
    ]
    assert [f.failure for f in assist(SIGNED, '<div class="thread"></div>').failed_actions] == [Failure.NOTHING_FOUND]


@pytest.mark.parametrize("content", ['<article><p class="body">words</p></article>', '<a href="/2">2</a>'])
def test_a_sign_does_not_count_where_something_was_found(content: str) -> None:
    assert not reported(assist(SIGNED, f'<div class="thread"><thread-view></thread-view></div>{content}'))


def test_pages_of_no_level_and_shells_of_known_applications_are_reported_too() -> None:
    assert reported(assist(SIGNED, "<thread-view></thread-view>"))
    assert not reported(assist(SIGNED, "<p>A form to log in</p>"))
    shell = replace(SIGNED, needs_browser=(), levels=(level("thread", "body"),))
    assert reported(assist(shell, f'<div id="root"></div>{SCRIPT}'))


def test_what_is_known_of_an_application_tells_pages_to_be_looked_at_in_a_browser() -> None:
    more = Behaviour("more", (BehaviourStep(Act.CLICK, (css(".more"),)),), frozenset({"thread"}))
    helper = helper_of(replace(SIGNED, behaviours=(more,)))

    def told(markup: str) -> Scripted:
        return helper.scripted(html_page("http://site.test/page", f'<body><i id="board-sign"></i>{markup}</body>'))

    assert told(f'<div class="thread"><thread-view></thread-view></div>{SCRIPT}') is Scripted.SHELL
    words = "<p>Words of a post that stand there already, and that make some lines of it.</p>" * 5
    helper.assist(html_page("http://site.test/page", f'<body><i id="board-sign"></i><div class="thread">{words}</div>'))
    assert told(f'<div class="thread">{words}<button class="more">More</button></div>') is Scripted.FRAME
    assert told(f'<div class="board">{words}<button class="more">More</button></div>') is Scripted.NO
    assert told(f'<div class="thread">{words}</div>') is Scripted.NO
