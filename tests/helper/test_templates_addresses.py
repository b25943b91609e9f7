"""One page, one address: what forums and blogs write in many ways is fetched once, and what repeats it is not."""

import pytest

from knowledge_base.url_rules import ParsedUrl
from tests.shipped import shipped

SAME = [
    ("phpBB", "/viewtopic.php?f=2&t=5", "/viewtopic.php?t=5"),
    ("phpBB", "/viewtopic.php?f=2&t=5&sid=0f", "/viewtopic.php?t=5"),
    ("phpBB", "/viewtopic.php?f=2&t=5&start=0", "/viewtopic.php?t=5"),
    ("phpBB", "/viewtopic.php?f=2&t=5&p=31", "/viewtopic.php?t=5"),
    ("phpBB", "/viewtopic.php?f=2&t=5&view=unread", "/viewtopic.php?t=5"),
    ("phpBB", "/viewtopic.php?f=2&t=5&hilit=oar", "/viewtopic.php?t=5"),
    ("phpBB", "/viewtopic.php?f=2&t=5&st=0&sk=t&sd=a&start=10", "/viewtopic.php?t=5&start=10"),
    ("phpBB", "/viewforum.php?f=2&st=0&sk=t&sd=d&start=25", "/viewforum.php?f=2&start=25"),
    ("phpBB", "/forum/index.php?sid=0f", "/forum/"),
    ("MyBB", "/showthread.php?tid=5&pid=31", "/showthread.php?tid=5"),
    ("MyBB", "/showthread.php?tid=5&page=1", "/showthread.php?tid=5"),
    ("MyBB", "/showthread.php?mode=threaded&tid=5&pid=31", "/showthread.php?tid=5"),
    ("MyBB", "/showthread.php?mode=linear&tid=5&pid=31", "/showthread.php?mode=linear&tid=5"),
    ("MyBB", "/showthread.php?tid=5&action=lastpost", "/showthread.php?tid=5"),
    ("MyBB", "/thread-5.html?mode=threaded", "/thread-5.html"),
    ("MyBB", "/thread-5-page-2.html?highlight=oar", "/thread-5-page-2.html"),
    ("WordPress", "/?p=7&replytocom=12", "/?p=7"),
    ("WordPress", "/2024/05/worms/?replytocom=12", "/2024/05/worms/"),
    ("WordPress", "/blog/index.php", "/blog/"),
    ("WordPress", "/?cat=3&paged=1", "/?cat=3"),
]

REFUSED = [
    ("phpBB", "/viewtopic.php?p=31", "duplicate"),
    ("phpBB", "/viewtopic.php?f=2&p=31&view=show", "duplicate"),
    ("phpBB", "/viewtopic.php?f=2&t=5&sk=s&sd=a", "sort-order"),
    ("phpBB", "/viewtopic.php?f=2&t=5&sk=t&sd=d", "sort-order"),
    ("phpBB", "/viewtopic.php?f=2&t=5&st=7&sk=t&sd=a", "sort-order"),
    ("phpBB", "/viewforum.php?f=2&sk=t&sd=a", "sort-order"),
    ("phpBB", "/viewtopic.php?f=2&t=5&view=next", "redirect"),
    ("phpBB", "/viewtopic.php?f=2&t=5&start=0&view=print", "print-view"),
    ("phpBB", "/forum/app.php/help/faq", "help"),
    ("MyBB", "/showthread.php?pid=31", "duplicate"),
    ("MyBB", "/thread-5-post-31.html", "duplicate"),
    ("MyBB", "/post-31.html", "duplicate"),
    ("MyBB", "/thread-5-lastpost.html", "redirect"),
    ("MyBB", "/showthread.php?tid=5&action=nextnewest", "redirect"),
    ("MyBB", "/forumdisplay.php?fid=2&datecut=9999&prefix=0&sortby=subject&order=asc", "sort-order"),
    ("MyBB", "/portal.php", "duplicate"),
    ("MyBB", "/archive/index.php/thread-5.html", "archive-view"),
    ("WordPress", "/?s=worms", "search"),
    ("WordPress", "/blog/?feed=comments-rss2", "feed"),
    ("WordPress", "/2024/05/worms/feed/", "feed"),
]

LEVELS = [
    ("phpBB", "/viewtopic.php?t=5&start=10", "thread"),
    ("phpBB", "/forum/viewforum.php?f=2&start=25", "forum"),
    ("MyBB", "/thread-5-page-2.html", "thread"),
    ("MyBB", "/forum-3.html", "forum"),
    ("MyBB", "/showthread.php?tid=5&page=2&mode=linear", "thread"),
    ("WordPress", "/?paged=2", "front"),
    ("WordPress", "/?p=7", "article"),
    ("WordPress", "/blog/?page_id=2", "article"),
    ("WordPress", "/?cat=3&paged=2", "archive"),
    ("WordPress", "/?p=7&cpage=2", "comments"),
    ("WordPress", "/2024/05/worms/comment-page-2/", "comments"),
    ("WordPress", "/?attachment_id=8", None),
]


@pytest.mark.parametrize(("name", "written", "expected"), SAME)
def test_several_addresses_of_one_page_are_one(name: str, written: str, expected: str) -> None:
    application = shipped().application(name)
    canonical = application.canonical(ParsedUrl.parse(f"http://a.test{written}"))
    assert canonical.url == f"http://a.test{expected}"
    assert application.refusal(canonical) is None


@pytest.mark.parametrize(("name", "written", "reason"), REFUSED)
def test_views_of_the_same_content_are_refused(name: str, written: str, reason: str) -> None:
    application = shipped().application(name)
    rule = application.refusal(application.canonical(ParsedUrl.parse(f"http://a.test{written}")))
    assert rule is not None
    assert rule.reason.value == reason


@pytest.mark.parametrize(("name", "written", "expected"), LEVELS)
def test_addresses_tell_their_level(name: str, written: str, expected: str | None) -> None:
    application = shipped().application(name)
    level = application.level_of(application.canonical(ParsedUrl.parse(f"http://a.test{written}")))
    assert (level.name if level else None) == expected
