import json

from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.traps.budgets import FIRST_TRIAL, GAIN
from aahcrawler.traps.patterns import UrlPattern, pattern_of
from aahcrawler.traps.traps import Seen, Traps
from aahcrawler.traps.yields import FAMILY, IN_A_ROW, MIN_WORTH, Brought, Yields
from online_analysis.icd import Traps as TrapsSection

PATHS = ("/comment/7/history/", "/comment/7/", "/user/3/ann/", "/index.php?topic=1.0", "/index.php?topic=1.msg4")
WALKS = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(Brought)), max_size=60)


def pattern(path: str) -> UrlPattern:
    return pattern_of(f"http://a.test{path}")


def noted(path: str, *brought: Brought, bound: int = 5) -> Yields:
    yields = Yields(bound)
    for each in brought:
        yields.note(pattern(path), each)
    return yields


def test_a_pattern_that_led_to_nothing_is_barren_and_others_are_not() -> None:
    yields = noted("/comment/7/history/", *[Brought.NOTHING] * 4)
    assert yields.barren(pattern("/comment/8/history/")) == ""
    assert yields.note(pattern("/comment/9/history/"), Brought.NOTHING) == "a.test/comment/#/history/"
    assert yields.barren(pattern("/comment/8/history/")) == "a.test/comment/#/history/"
    assert yields.barren(pattern("/comment/8/")) == ""


def test_values_of_another_shape_are_another_pattern() -> None:
    yields = noted("/index.php?topic=1.msg4", *[Brought.NOTHING] * 5)
    assert yields.barren(pattern("/index.php?topic=2.msg9")) != ""
    assert yields.barren(pattern("/index.php?topic=2.0")) == ""


def test_each_page_with_content_makes_up_for_empty_ones() -> None:
    yields = noted("/wiki/X", Brought.CONTENT, *[Brought.NOTHING] * (4 + int(GAIN)))
    assert yields.barren(pattern("/wiki/Y")) == ""
    assert yields.note(pattern("/wiki/Z"), Brought.NOTHING) == "a.test/wiki/*"


def test_a_list_that_is_turned_beyond_its_end_is_left_however_much_it_brought() -> None:
    yields = noted("/recent?page=1", *[Brought.CONTENT] * 50)
    borne = 0
    while not yields.barren(pattern("/recent?page=2")):
        yields.note(pattern("/recent?page=2"), Brought.NOTHING)
        borne += 1
    assert borne == 5 * IN_A_ROW
    yields.note(pattern("/recent?page=3"), Brought.CONTENT)
    assert yields.barren(pattern("/recent?page=4")) == ""


def test_content_that_another_page_shows_is_withdrawn() -> None:
    yields = noted("/message/1", *[Brought.CONTENT] * 6)
    yields.withdraw(pattern("/message/1"), 6)
    assert yields.barren(pattern("/message/2")) == "a.test/message/#"
    assert yields.repeats("a.test/message/#")


def test_a_family_without_content_is_barren_for_patterns_that_were_never_tried() -> None:
    yields = Yields(5)
    for number in range(int(5 * FAMILY)):
        yields.note(pattern(f"/user/{chr(97 + number)}/x/{'y/' * (number % 3)}"), Brought.NOTHING)
    assert yields.barren(pattern("/user/k/other/way/")) != ""
    assert yields.barren(pattern("/wiki/X")) == ""


def test_text_without_objects_counts_against_hosts_that_show_objects_elsewhere() -> None:
    silent = noted("/user/3/ann/", *[Brought.TEXT] * 50)
    assert silent.barren(pattern("/user/4/bob/")) == ""
    silent.note(pattern("/thread/1/"), Brought.CONTENT)
    for _ in range(5):
        assert silent.barren(pattern("/user/4/bob/")) == ""
        silent.note(pattern("/user/4/bob/"), Brought.TEXT)
    assert silent.barren(pattern("/user/4/bob/")) != ""


def test_a_bound_of_0_is_none() -> None:
    assert noted("/a/1", *[Brought.NOTHING] * 500, bound=0).barren(pattern("/a/2")) == ""


def test_refused_urls_are_tried_again_ever_more_rarely() -> None:
    yields = noted("/a/1", *[Brought.NOTHING] * 5)
    tried = [number for number in range(1, 1000) if yields.trial(yields.barren(pattern("/a/2")))]
    assert tried == [FIRST_TRIAL, 2 * FIRST_TRIAL, 4 * FIRST_TRIAL, 8 * FIRST_TRIAL]


def test_a_link_is_worth_less_the_more_of_the_bound_is_used_up_until_there_is_content() -> None:
    yields = Yields(5)
    worth = []
    for _ in range(6):
        worth.append(round(yields.worth(pattern("/a/1")), 2))
        yields.note(pattern("/a/1"), Brought.NOTHING)
    assert worth == [1.0, 0.82, 0.64, 0.46, 0.28, 0.1]
    yields.note(pattern("/a/1"), Brought.CONTENT)
    assert yields.worth(pattern("/a/1")) == 1.0


def test_where_a_host_shows_objects_pages_without_any_come_last_and_untried_ones_come_first() -> None:
    yields = Yields(5)
    for _ in range(9):
        yields.count(pattern("/list/1"), shows=False)
    assert yields.worth(pattern("/list/2")) == 1.0
    yields.count(pattern("/thread/1"), shows=True)
    assert yields.worth(pattern("/list/2")) == MIN_WORTH
    assert yields.worth(pattern("/thread/2")) == yields.worth(pattern("/other/1")) == 1.0


def test_links_count_by_what_pages_like_those_behind_them_had() -> None:
    yields = Yields(5)
    for path, brought in (("/thread/1", Brought.CONTENT), ("/log/1", Brought.CONTENT), ("/log/2", Brought.TEXT)):
        yields.count(pattern(path), shows=False)
        yields.note(pattern(path), brought)
    assert [yields.rate(pattern(path)) for path in ("/thread/2", "/log/3", "/new/1")] == [1.0, 0.5, 0.0]


def test_links_to_untried_pages_are_news_until_enough_of_them_wait() -> None:
    yields = Yields(5)
    for _ in range(5):
        assert yields.is_open(pattern("/thread/1"))
        yields.expect(pattern("/thread/1"))
    assert not yields.is_open(pattern("/thread/1"))
    yields.count(pattern("/thread/1"), shows=False)
    assert yields.is_open(pattern("/thread/1"))
    yields.note(pattern("/thread/1"), Brought.CONTENT)
    assert not yields.is_open(pattern("/thread/1"))


def test_what_a_pattern_brought_says_how_many_empty_pages_in_a_row_are_borne() -> None:
    yields = noted("/thread/1", *[Brought.CONTENT] * 400)
    for _ in range(99):
        assert yields.note(pattern("/thread/1"), Brought.NOTHING) == ""
    assert yields.note(pattern("/thread/1"), Brought.NOTHING) != ""


def test_pages_whose_objects_others_show_are_left_sooner() -> None:
    yields = Yields(5)
    yields.note_held(pattern("/post/1"), Brought.CONTENT)
    yields.note_held(pattern("/post/2"), Brought.LINKS)
    for _ in range(7):
        assert yields.barren_held(pattern("/post/3")) == ""
        yields.note_held(pattern("/post/3"), Brought.REPEATED)
    assert yields.barren_held(pattern("/post/3")) != ""


def test_pages_that_are_gone_are_half_as_empty_as_those_that_are_there() -> None:
    yields = noted("/wiki/X", *[Brought.GONE] * 9)
    assert yields.barren(pattern("/wiki/Y")) == ""
    assert yields.note(pattern("/wiki/Y"), Brought.GONE) == "a.test/wiki/*"


def test_a_state_without_the_newer_numbers_is_read() -> None:
    yields = Yields(5)
    yields.restore({"a.test/wiki/*": (0.0, 5.0, 3)})
    assert yields.barren(pattern("/wiki/X")) == "a.test/wiki/*"


@given(WALKS)
def test_a_kept_state_goes_on(walk: list[tuple[str, Brought]]) -> None:
    yields, restored = Yields(3), Yields(3)
    for path, brought in walk:
        yields.note(pattern(path), brought)
    restored.restore(json.loads(json.dumps(yields.state())))
    assert restored.state() == yields.state()
    assert [restored.barren(pattern(path)) for path in PATHS] == [yields.barren(pattern(path)) for path in PATHS]


def test_memory_is_bounded() -> None:
    yields = Yields(5, capacity=10)
    for number in range(100):
        yields.note(pattern(f"/{chr(97 + number % 26)}{'x' * (number // 26)}/1"), Brought.NOTHING)
    assert len(yields.state()) == 10


def test_pages_of_objects_that_differ_in_author_and_date_alone_are_no_barren_pattern() -> None:
    traps = Traps(TrapsSection(pages=0))
    for number in range(60):
        url = f"http://a.test/flood/{number}.html"
        said = f"The storm surge of year {number} broke the dike, and the harbour stood under water for {number} days."
        seen = Seen(url, "a.test", said, objects=(said,), identities=(f"Writer {number}: {said}",))
        assert traps.fetched(url, traps.judge(seen, "x"), ["http://a.test/"]) == ""
