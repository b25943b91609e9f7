"""Words of URLs on sites of unknown software: what is no page, what may be one, and what says so."""

from collections.abc import Collection
from dataclasses import dataclass, field

import pytest

from aahcrawler.helper.links.junk_urls import doubtful, junk, refusal, refusals
from aahcrawler.helper.site_memory import ByName
from knowledge_base.url_rules import Reason

SITE = "http://a.test"
FRONT = f"{SITE}/"


@dataclass
class Judge(ByName):
    """A crawl that knows some pages, and whose definition allows some words."""

    known: Collection[str] = field(default_factory=tuple)
    allowed: Collection[str] = field(default_factory=tuple)

    def knows(self, url: str) -> bool:
        return url in self.known

    def allows(self, url: str, word: str) -> bool:  # noqa: ARG002
        return word in self.allowed


@pytest.mark.parametrize(
    "link",
    [
        *(
            "/list.php?id=3&order=12",
            "/shop.php?order=4711",
            "/page.php?rev=3",
            "/wiki.php?diff=1",
            "/item.php?print=9",
        ),
        *("/poem.php?quote=5", "/x.php?reply=7", "/a.php?sort=name", "/b.php?view=info", "/c.php?op=stats"),
        *("/d.php?show=history", "/report.php?id=4", "/history.php?id=9", "/quote.php?id=2", "/calendar.php?id=1"),
    ],
)
def test_what_may_be_content_is_tried_after_the_rest_where_the_site_has_no_other_way(link: str) -> None:
    url = SITE + link
    assert refusals(FRONT, [url, f"{SITE}/about"], ByName()) == {}
    assert doubtful(FRONT, [url, f"{SITE}/about"]) == {url}


@pytest.mark.parametrize(
    ("link", "plain", "reason"),
    [
        ("/forum/3?sort=title&dir=asc", "/forum/3", Reason.SORT_ORDER),
        ("/forum.php?f=3&order=2", "/forum.php?f=3", Reason.SORT_ORDER),
        ("/members.php?sort=name", "/members.php", Reason.SORT_ORDER),
        ("/index.php?topic=7.0;sort=date", "/index.php?topic=7.0", Reason.SORT_ORDER),
        ("/wiki/Dike?rev=1204", "/wiki/Dike", Reason.OLD_REVISION),
        ("/thread.php?id=3&print=1", "/thread.php?id=3", Reason.PRINT_VIEW),
        ("/thread.php?id=3&quote=88", "/thread.php?id=3", Reason.REPLY_FORM),
        ("/comment/7/report", "/comment/7", Reason.MODERATION),
        ("/index.php?title=Dike&action=history", "/index.php?title=Dike", Reason.OLD_REVISION),
    ],
)
def test_another_view_of_a_page_that_the_site_has_is_refused(link: str, plain: str, reason: Reason) -> None:
    url = SITE + link
    assert refusals(FRONT, [url, SITE + plain], ByName()) == {url: reason}
    assert refusals(SITE + plain, [url], ByName()) == {url: reason}, "it is the page that the link stands on"
    assert refusals(FRONT, [url], Judge(known=[SITE + plain])) == {url: reason}
    assert refusal(url, ByName()) is None


def test_a_script_that_shows_many_pages_is_no_plain_form_of_each() -> None:
    links = [f"{SITE}/shop.php", *(f"{SITE}/shop.php?order={number}" for number in (4711, 4712))]
    assert refusals(FRONT, links, ByName()) == {}


def test_forms_are_refused_unless_they_are_allowed_and_deeds_are_even_then() -> None:
    forms = [f"{SITE}/newreply.php?t=3", f"{SITE}/index.php?action=login", f"{SITE}/?replytocom=4"]
    deeds = [f"{SITE}/logout", f"{SITE}/index.php?do=delete&id=3", f"{SITE}/vote.php?id=3", f"{SITE}/a/3/delete"]
    assert len(refusals(FRONT, forms + deeds, ByName())) == 7
    allowing = Judge(allowed=["newreply", "login", "replytocom", "logout", "delete", "vote"])
    assert refusals(FRONT, forms + deeds, allowing).keys() == set(deeds)


def test_a_calendar_by_its_dates_is_refused_and_a_page_of_that_name_is_not() -> None:
    days = [f"{SITE}/calendar.php?month=3&year=2001", f"{SITE}/index.php?action=calendar;year=2001;month=3"]
    assert refusals(FRONT, [*days, f"{SITE}/calendar.php", f"{SITE}/calendar.php?id=3"], ByName()).keys() == set(days)


def test_an_order_that_is_allowed_is_followed() -> None:
    url, plain = f"{SITE}/forum/3?sort=title", f"{SITE}/forum/3"
    assert refusals(FRONT, [url, plain], Judge(allowed=["sort"])) == {}


def test_no_name_of_a_session_makes_junk() -> None:
    for name in ("sid", "PHPSESSID", "jsessionid", "sessionid", "session_id", "session"):
        assert junk(f"{SITE}/article.php?{name}=20010320") is None
