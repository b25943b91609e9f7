"""Results of seeds from the notes of a crawl."""

from collections.abc import Mapping

from aahcrawler import seeds
from aahcrawler.seeds import SeedResult, Verdict, seed_results
from aahcrawler.urls import queue_of

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"


def result(*notes: str, url: str = A, refused: str = "", site: Mapping[str, float] | None = None) -> SeedResult:
    noted = {**dict.fromkeys(notes, 1.0), **(site or {})}
    return seed_results({A: url}, noted, queue_of, lambda _: refused or None)[0]


def counts(pages: int, objects: int = 0, relevant: int = 0) -> dict[str, float]:
    found = {"pages": pages, "objects": objects, "relevant": relevant, "off_topic": pages - relevant}
    return {f"site_{name}:a.test": number for name, number in found.items()}


def test_what_was_not_fetched_waits() -> None:
    assert result().verdict is Verdict.PENDING
    assert not result().gave_nothing


def test_a_seed_that_the_scope_refuses_says_why() -> None:
    assert result(refused="denied").detail == "denied"
    assert result(url="").verdict is Verdict.OUT_OF_SCOPE


def test_relevant_pages_make_it_fetched_and_others_off_topic() -> None:
    note = seeds.of_page(A, Verdict.FETCHED)
    assert result(note, site=counts(3, 2, 1)) == SeedResult(A, Verdict.FETCHED, pages=3, objects=2)
    assert result(note, site=counts(3, 2)).verdict is Verdict.OFF_TOPIC


def test_pages_that_say_too_little_show_no_other_topic() -> None:
    note = seeds.of_page(A, Verdict.FETCHED)
    assert result(note, site=seeds.on_site("a.test", 0, None)).verdict is Verdict.FETCHED
    assert result(note, site=seeds.on_site("a.test", 0, relevant=False)).verdict is Verdict.OFF_TOPIC


def test_a_seed_that_is_to_be_tried_again_says_what_it_met() -> None:
    tried = seeds.of_attempt(A, Verdict.MAINTENANCE)
    found = result(tried)
    assert (found.verdict, found.detail, found.gave_nothing) == (
        Verdict.MAINTENANCE,
        "it is to be tried again",
        True,
    )
    assert result(seeds.of_redirect(B, A, sets_cookie=False), tried, url=B).verdict is Verdict.MAINTENANCE
    ended = result(tried, seeds.of_page(A, Verdict.NOT_FOUND))
    assert (ended.verdict, ended.detail) == (Verdict.NOT_FOUND, "")
    assert result("seed:tried:NO_SUCH http://a.test/").verdict is Verdict.PENDING


def test_a_seed_whose_answer_did_not_end_with_the_crawl_says_so_until_it_is_fetched() -> None:
    found = result(seeds.of_cut(A))
    assert (found.verdict, found.gave_nothing) == (Verdict.PENDING, False)
    assert found.detail == "its answer was under way when the crawl ended, and did not end"
    assert result(seeds.of_cut(A), seeds.of_page(A, Verdict.FETCHED)).detail == ""


def test_chains_end_where_they_end() -> None:
    notes = (seeds.of_redirect(A, B, sets_cookie=False), seeds.of_redirect(B, C, sets_cookie=False))
    assert result(*notes).verdict is Verdict.PENDING
    found = result(*notes, seeds.of_page(C, Verdict.LOGIN))
    assert (found.ended_at, found.verdict) == (C, Verdict.LOGIN)


def test_loops_are_told_with_and_without_cookies() -> None:
    there, back = seeds.of_redirect(A, B, sets_cookie=False), seeds.of_redirect(B, A, sets_cookie=False)
    assert result(there, back).verdict is Verdict.REDIRECT_LOOP
    assert result(seeds.of_redirect(A, A, sets_cookie=True)).verdict is Verdict.COOKIE_WALL


def test_of_two_notes_the_better_one_holds() -> None:
    notes = (seeds.of_failure(A, "timeout", blocked=False), seeds.of_page(A, Verdict.FETCHED))
    assert result(*notes, site=counts(1, relevant=1)).verdict is Verdict.FETCHED


def test_objects_on_its_site_disprove_a_wall_by_its_looks() -> None:
    note = seeds.of_page(A, Verdict.CONSENT)
    assert result(note, site=counts(9, 8, 7)).verdict is Verdict.FETCHED
    assert result(note, site=counts(9)).verdict is Verdict.CONSENT


def test_what_is_blocked_for_another_reason_was_not_wanted() -> None:
    assert result(seeds.of_failure(A, "rule:no-ads", blocked=True)).verdict is Verdict.NOT_WANTED
    assert result(seeds.of_failure(A, "robots", blocked=True)).verdict is Verdict.ROBOTS
