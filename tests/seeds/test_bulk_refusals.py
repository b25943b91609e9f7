"""Seeds of which the first page is all: nothing on it is followed, and people are told why."""

import pytest

from aahcrawler import seeds
from aahcrawler.scope import Refusal
from aahcrawler.seeds import Verdict, seed_results
from aahcrawler.seeds.verdicts import main_reason, remedy

SEED = "http://a.test/"


def result(notes: dict[str, float]) -> seeds.SeedResult:
    return seed_results({SEED: SEED}, notes, lambda _: "a.test", lambda _: None)[0]


def test_the_reason_is_told_with_what_to_do() -> None:
    note = {seeds.of_refused_links(SEED, "denied"): 1.0}
    found = result({**note, **seeds.on_site("a.test", 0, relevant=True)})
    assert (found.verdict, found.gave_nothing) == (Verdict.LINKS, True)
    assert found.detail == "none of its links is followed, most of them since they are denied by scope.deny"
    assert found.advice == "make the patterns of scope.deny narrower"


def test_a_page_that_was_read_gave_something_and_the_refusal_is_told_nevertheless() -> None:
    note = {seeds.of_refused_links(SEED, "denied"): 1.0}
    for site in (seeds.on_site("a.test", 2, relevant=True), seeds.on_site("a.test", 0, relevant=None, has_text=True)):
        found = result({**note, **site})
        assert (found.verdict, found.gave_nothing) == (Verdict.FETCHED, False)
        assert found.detail == "none of its links is followed, most of them since they are denied by scope.deny"
        assert found.advice == "make the patterns of scope.deny narrower"


def test_names_of_rules_may_have_spaces() -> None:
    note = {seeds.of_refused_links(SEED, "rule:no old calendars"): 1.0}
    found = result({**note, **seeds.on_site("a.test", 0, relevant=None)})
    assert found.detail.endswith("refused by the rule no old calendars")


def test_a_site_that_gave_pages_by_another_way_is_fetched() -> None:
    note = {seeds.of_refused_links(SEED, "denied"): 1.0}
    found = result({**note, "site_pages:a.test": 3, "site_relevant:a.test": 3})
    assert (found.verdict, found.detail) == (Verdict.FETCHED, "")


def test_links_that_robots_txt_forbids_are_told_once_all_of_them_were_looked_at() -> None:
    note = {seeds.of_page(SEED, Verdict.FETCHED): 1.0, **seeds.on_site("a.test", 0, relevant=True, links=2)}
    assert result({**note, "site_forbidden:a.test": 1}).verdict is Verdict.FETCHED
    found = result({**note, "site_forbidden:a.test": 2})
    assert (found.verdict, found.reason) == (Verdict.LINKS, "robots")


def test_pages_that_are_to_lead_nowhere_are_as_they_should_be() -> None:
    assert main_reason({}, has_objects=False) == ""
    assert main_reason({"too_deep": 9, "denied": 1}, has_objects=False) == "", "the definition is to end here"
    assert main_reason({"login": 1, "register": 1}, has_objects=False) == "", "such links are on every page"
    assert main_reason({"other_site": 4}, has_objects=True) == "", "it is an article"
    assert main_reason({"other_site": 4}, has_objects=False) == "other_site"
    assert main_reason({"sort-order": 12, "login": 1}, has_objects=True) == "sort-order"
    assert main_reason({"not_due": 2, "other_site": 9}, has_objects=False) == "", "known pages are left alone this once"
    assert main_reason({"taken_down": 2}, has_objects=False) == "", "somebody took them out"


@pytest.mark.parametrize("refusal", [each for each in Refusal if each is not Refusal.NOT_ALLOWED])
def test_no_advice_is_to_widen_scope_allow_where_that_does_not_help(refusal: Refusal) -> None:
    assert "scope.allow" not in remedy(refusal)
