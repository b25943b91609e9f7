import json

from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.traps.budgets import BELIEVED, FIRST_TRIAL, GAIN, SAVED, WIDER, Budgets
from aahcrawler.traps.patterns import UrlPattern, pattern_of

PATHS = ("/wiki/X", "/shop?size=l", "/shop?colour=red&size=l", "/calendar/2031/05", "/a/b/c/d", "/")
WALKS = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from([0.0, 0.4, 1.0])), max_size=200)


def pattern(path: str) -> UrlPattern:
    return pattern_of(f"http://a.test{path}")


def spend(budgets: Budgets, path: str, pages: int, worth: float = 0.0) -> None:
    for _ in range(pages):
        budgets.charge(pattern(path), is_new=worth == 1, promises=worth)


@given(WALKS, st.integers(1, 20))
def test_no_budget_refuses_before_its_minimum(walk: list[tuple[str, float]], minimum: int) -> None:
    budgets, fetched = Budgets(minimum), dict.fromkeys(PATHS, 0)
    for path, worth in walk:
        of = pattern(path)
        if budgets.refusing(of) is not None:
            assert fetched[path] >= minimum or sum(fetched.values()) >= WIDER * minimum
            assert budgets.may_refuse("a.test")
        if budgets.refusing(of, trusted=True) is not None:
            assert fetched[path] >= minimum
        budgets.charge(of, is_new=worth == 1, promises=worth)
        fetched[path] += 1


@given(WALKS, st.integers(1, 5))
def test_a_kept_state_goes_on(walk: list[tuple[str, float]], minimum: int) -> None:
    budgets = Budgets(minimum)
    for path, worth in walk:
        budgets.charge(pattern(path), is_new=worth == 1, promises=worth)
    restored = Budgets(minimum)
    restored.restore(json.loads(json.dumps(budgets.state())))
    assert restored.state() == budgets.state()
    assert restored.may_refuse("a.test") == budgets.may_refuse("a.test")
    assert [restored.refusing(pattern(path)) for path in PATHS] == [budgets.refusing(pattern(path)) for path in PATHS]


def test_pages_that_bring_nothing_exhaust_their_pattern_alone() -> None:
    budgets = Budgets(30)
    spend(budgets, "/calendar/2031/05", 29)
    assert budgets.refusing(pattern("/calendar/2032/01")) is None
    assert not budgets.may_refuse("a.test")
    spend(budgets, "/calendar/2031/05", 1)
    assert budgets.refusing(pattern("/calendar/2032/01")) is not None
    assert budgets.refusing(pattern("/wiki/X")) is None
    assert not budgets.may_refuse("b.test")


def test_one_page_of_eight_with_something_new_goes_on_for_ever() -> None:
    budgets = Budgets(30)
    for _ in range(1000):
        spend(budgets, "/wiki/X", 1, worth=1)
        spend(budgets, "/wiki/X", int(GAIN) - 1)
        assert budgets.refusing(pattern("/wiki/X")) is None


def test_a_good_past_does_not_pay_for_an_endless_future() -> None:
    budgets = Budgets(30)
    spend(budgets, "/wiki/X", 5000, worth=1)
    spend(budgets, "/wiki/X", SAVED * 30)
    assert budgets.refusing(pattern("/wiki/X")) is not None


def test_a_family_that_brings_nothing_stands_against_patterns_that_brought_nothing() -> None:
    budgets = Budgets(3)
    for _ in range(5):
        budgets.charge(pattern("/shop?product"), is_new=True)
    budgets.charge(pattern("/shop?once"), is_new=True)
    spend(budgets, "/shop?once", int(GAIN) + 1)
    for number in range(60):
        budgets.charge(pattern(f"/shop?a{'b' * (number % 10)}&c{'d' * (number // 10)}"), is_new=False)
    assert budgets.refusing(pattern("/shop?unheard")) is not None
    assert budgets.refusing(pattern("/shop?once")) is not None, "it has not earned what it cost"
    assert budgets.refusing(pattern("/shop?unheard"), trusted=True) is None
    assert budgets.refusing(pattern("/shop?product")) is None


def test_a_pattern_that_has_earned_what_it_cost_goes_on_when_its_family_cannot() -> None:
    budgets = Budgets(3)
    spend(budgets, "/index.php?topic=1", 20, worth=1)
    spend(budgets, "/index.php?topic=1", 11)
    for number in range(30):
        spend(budgets, f"/index.php?action={'abcdef'[number % 6]}{'xyz'[number % 3] * (number // 6 + 1)}", 1)
    assert budgets.refusing(pattern("/index.php?unheard=1")) is not None
    assert budgets.refusing(pattern("/index.php?topic=2")) is None


def test_something_new_on_a_page_that_was_let_through_opens_its_pattern_again() -> None:
    budgets = Budgets(2)
    spend(budgets, "/wiki/X", 2)
    refused = budgets.refusing(pattern("/wiki/X"))
    assert refused is not None
    assert [n for n in range(1, 1000) if refused.trial()] == [
        FIRST_TRIAL,
        2 * FIRST_TRIAL,
        4 * FIRST_TRIAL,
        8 * FIRST_TRIAL,
    ]
    spend(budgets, "/wiki/X", 1, worth=1)
    assert budgets.refusing(pattern("/wiki/X")) is None
    assert not budgets.may_refuse("a.test")


def test_promises_that_are_not_kept_are_no_longer_believed() -> None:
    budgets, of = Budgets(2), pattern("/month/X")
    assert [budgets.promise(pattern("/day/1"), of) for _ in range(BELIEVED * 2 + 1)] == [True] * BELIEVED * 2 + [False]
    spend(budgets, "/day/1", 1, worth=1)
    assert budgets.promise(pattern("/day/1"), of)


def test_what_a_page_promises_of_its_own_family_is_believed_once_such_pages_were_worth_it() -> None:
    budgets, of, threads = Budgets(2), pattern("/forum/page-2"), pattern("/forum/a-thread.17")
    assert not budgets.promise(threads, of)
    budgets.charge(threads, is_new=True)
    assert [budgets.promise(threads, of) for _ in range(int(GAIN) + 1)] == [True] * int(GAIN) + [False]
    assert not budgets.promise(of, of)


def test_the_oldest_patterns_are_forgotten() -> None:
    budgets = Budgets(1, capacity=10)
    for letter in "abcdefghijklmnop":
        spend(budgets, f"/{letter}{letter}/{letter}", 1)
        assert len(budgets.state()) <= 10
    assert budgets.refusing(pattern("/aa/X")) is None
    assert budgets.refusing(pattern("/pp/X")) is not None
