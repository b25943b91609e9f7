"""Values that are not those of the objects they stand beside."""

from collections.abc import Sequence
from datetime import UTC, datetime

from aahcrawler.adaptation.repair.action_learning import PageObjects, Values, misbehaving
from aahcrawler.webobject import Person, Value

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
NAMES = ("Ann", "Bo", "Cy")


def post(author: str, month: int, day: int, title: str = "", hour: int = 10) -> Values:
    said: dict[str, Value] = {"author": Person(author), "date": datetime(2024, month, day, hour, tzinfo=UTC)}
    return said | {"title": title} if title else said


def thread(number: int, size: int = 4) -> PageObjects:
    """Return a page of posts by three people, on days of their own, below one title."""
    made = [post(NAMES[n % 3], 1 + number % 12, 1 + n, f"Thread {number}" if n == 0 else "") for n in range(size)]
    return PageObjects(made, NOW)


def wrong(*pages: Sequence[Values], many: bool = True) -> frozenset[str]:
    return misbehaving([PageObjects(page, NOW) for page in pages], many=many)


def test_values_of_posts_behave() -> None:
    assert not misbehaving([thread(n) for n in range(6)], many=True)


def test_a_date_that_is_the_same_on_all_posts_of_an_author_is_the_member_s() -> None:
    joined = {name: 3 + n for n, name in enumerate(NAMES)}
    posts = [post(name, joined[name], joined[name]) for name in ("Ann", "Bo", "Ann", "Cy", "Bo")]
    assert wrong(posts[:3], posts[3:]) == {"date"}
    assert wrong([*posts, post("Ann", 9, 9)]) == frozenset()


def test_people_who_wrote_all_on_one_day_keep_their_dates() -> None:
    assert wrong([post(name, 5, 5) for name in ("Ann", "Bo", "Ann", "Bo")]) == frozenset()


def test_dates_that_are_months_are_those_of_members() -> None:
    assert wrong([post(NAMES[n % 3] + str(n), 1 + n % 4, 1, hour=0) for n in range(6)]) == {"date"}


def test_nothing_was_written_after_it_was_fetched() -> None:
    assert misbehaving([PageObjects([post("Ann", 1, 1)], datetime(2023, 1, 1, tzinfo=UTC))], many=True) == {"date"}


def test_a_title_of_all_pages_is_that_of_the_site() -> None:
    pages = [[post("Ann", 1, n, "The Lantern Board")] for n in (1, 2, 3)]
    assert wrong(*pages, many=False) == {"title"}
    assert wrong(*pages[:2], many=False) == frozenset()


def test_subjects_of_answers_are_no_authors() -> None:
    subjects = [post(name, 1, n + 1) for n, name in enumerate(("Ice in May", "Re: Ice in May", "RE: Re: Ice in May"))]
    page = PageObjects(subjects, NOW, "Ice in May - The Lantern Board")
    assert misbehaving([page], many=True) == {"author"}
    assert misbehaving([page, thread(3)], many=True) == frozenset()
    assert misbehaving([PageObjects([post("Ann", 1, 1)], NOW, "Ice - Ann writes")], many=False) == frozenset()
    assert misbehaving([PageObjects(thread(3).objects, NOW, "A board of Ann, Bo and Cy")], many=True) == frozenset()


def test_an_author_of_all_posts_is_no_author_but_a_blog_has_one() -> None:
    pages = [[post("Reply", 1, n), post("Reply", 2, n), post("Reply", 3, n)] for n in (1, 2)]
    assert wrong(*pages) == {"author"}
    assert wrong(*pages, many=False) == frozenset()


def listed(*days: int) -> PageObjects:
    """Return a page that lists posts of different people by date, written on some days of a month."""
    return PageObjects([post(f"{days}{n}", 5, day) for n, day in enumerate(days)], NOW, by_date=True)


def test_dates_of_posts_rise_or_fall_down_all_threads() -> None:
    up, more, down = listed(1, 2, 3, 4, 5), listed(2, 3, 4, 9), listed(9, 8, 7, 7, 3)
    odd = listed(1, 2, 9, 4, 5)
    for pages in ([up, more], [down, listed(8, 6, 5, 4)], [up, more, down], [odd, up], [listed(1, 2), up, listed(3)]):
        assert misbehaving(pages, many=True) == frozenset()


def test_dates_that_go_up_and_down_are_not_those_of_posts() -> None:
    members = (listed(4, 9, 2, 7, 1), listed(8, 3, 6, 1, 5), listed(1, 2, 3))
    assert misbehaving(members, many=True) == {"date"}
    assert misbehaving([*members, listed(2, 3, 5), listed(3, 4, 6)], many=True) == frozenset()
    assert misbehaving([PageObjects(page.objects, NOW) for page in members], many=True) == frozenset()


def test_a_few_dates_out_of_order_say_nothing() -> None:
    assert misbehaving([listed(4, 9, 2), listed(8, 3)], many=True) == frozenset()
