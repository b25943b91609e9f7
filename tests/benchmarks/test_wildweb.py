"""The benchmark of the web's own spelling: how it judges, and that its cases say what they mean."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from aahcrawler.objects.capture_statements import ObjectRow
from benchmarks.exact_server import Request
from benchmarks.wildweb.__main__ import CASES, judged, rows
from benchmarks.wildweb.addresses import id_in_folder, id_in_path, id_in_query, in_query
from benchmarks.wildweb.case import Case, WantedObject, WantedPage, front, plain_page
from benchmarks.wildweb.crawling import Judgement, Seen, SeenPage, judge, responder, together

ROOT = "http://boats.example"
SITE = Case(
    "a kind",
    "boats",
    {"/": front("Boats", ["/one"]), "/one": plain_page("One")},
    ("/", "/one"),
    objects=(WantedObject("/one", "the old boat", ("2001-03-20",), ("Ada",), "One"),),
    pages=(WantedPage("/one", "One", 1),),
)
OBJECT = ObjectRow(f"{ROOT}/one", "article", "One", "Ada", "2001-03-20T00:00:00Z", "Of the  old\nboat.", None, "urn:1")
SEEN = Seen(
    [f"{ROOT}/robots.txt", f"{ROOT}/", f"{ROOT}/one"],
    {f"{ROOT}/": SeenPage("Boats"), f"{ROOT}/one": SeenPage("One  boat", (OBJECT,))},
    ["fetched"],
)


def with_object(other: ObjectRow) -> Seen:
    """Return what was seen, with another object."""
    return replace(SEEN, pages={f"{ROOT}/one": SeenPage("One", (other,))})


def test_what_is_all_there_is_right() -> None:
    assert judge(SITE, SEEN) == Judgement()


@pytest.mark.parametrize(
    ("seen", "lost"),
    [
        (replace(SEEN, asked=[f"{ROOT}/"]), "1 of 2 not asked for: /one"),
        (with_object(replace(OBJECT, date=None)), "/one 'the old boat': undated, not of 2001-03-20"),
        (with_object(replace(OBJECT, author=None)), "/one 'the old boat': by None, not 'Ada'"),
        (with_object(replace(OBJECT, title="Two")), "/one 'the old boat': titled 'Two', not 'One'"),
        (replace(SEEN, verdicts=["empty page"]), "the verdict on / is 'empty page'"),
        (replace(SEEN, verdicts=[]), "0 of 1 seeds told of"),
        (replace(SEEN, verdicts=["not fetched yet"]), "the verdict on / is 'not fetched yet'"),
    ],
)
def test_what_is_missing_is_lost(seen: Seen, lost: str) -> None:
    assert judge(SITE, seen) == Judgement((lost,))


@pytest.mark.parametrize(
    ("seen", "invented"),
    [
        (replace(SEEN, asked=[*SEEN.asked, f"{ROOT}/two"]), "1 asked for: /two"),
        (
            with_object(replace(OBJECT, date="2026-03-20T00:00:00Z")),
            "/one 'the old boat': of 2026-03-20T00:00:00Z, not 2001-03-20",
        ),
        (with_object(replace(OBJECT, author="Bo")), "/one 'the old boat': by 'Bo', not 'Ada'"),
    ],
)
def test_what_nobody_wrote_is_invented(seen: Seen, invented: str) -> None:
    assert judge(SITE, seen) == Judgement((), (invented,))


def test_an_object_with_a_date_that_nobody_wants_is_invented() -> None:
    other = replace(OBJECT, body="Another", title="Two")
    seen = replace(SEEN, pages={**SEEN.pages, f"{ROOT}/": SeenPage("Boats", (other,))})
    assert judge(SITE, seen).invented == (f"{ROOT}/one: article of 2001-03-20T00:00:00Z, 'Two'",)
    undated = replace(SEEN, pages={**SEEN.pages, f"{ROOT}/": SeenPage("Boats", (replace(other, date=None),))})
    assert judge(SITE, undated).right


def test_a_page_has_as_many_objects_as_it_should() -> None:
    twice = replace(SEEN, pages={f"{ROOT}/one": SeenPage("One", (OBJECT, replace(OBJECT, date=None, iri="urn:2")))})
    assert judge(SITE, twice).invented[-1] == "/one: 2 objects, not 1"
    assert judge(SITE, replace(SEEN, pages={})).lost[-1] == "/one: 0 objects, not 1"


def test_one_of_several_dates_is_right() -> None:
    either = replace(SITE, objects=(WantedObject("/one", "the old boat", ("2001-03-20", None)),))
    assert judge(either, with_object(replace(OBJECT, date=None))).right
    assert judge(either, SEEN).right
    assert judge(replace(SITE, objects=(WantedObject("/one", "the old boat"),)), SEEN).invented


def test_one_of_several_targets_is_asked_for() -> None:
    either = replace(SITE, one_of=(("/two", "/three"),))
    assert judge(either, SEEN).lost == ("/two or /three not asked for",)
    assert judge(either, replace(SEEN, asked=[*SEEN.asked, f"{ROOT}/three"])).right
    assert judge(replace(SITE, may=r"/t\w+"), replace(SEEN, asked=[*SEEN.asked, f"{ROOT}/three"])).right


def test_few_pages_may_be_asked_for_with_an_id() -> None:
    ident = id_in_query("sid", 4)
    case = replace(SITE, same_page=ident.without, with_ids=1)
    assert judge(case, replace(SEEN, asked=[f"{ROOT}/", f"{ROOT}/one?sid=ab12"])).right
    many = [f"{ROOT}/", *(f"{ROOT}/one?sid=ab1{number}" for number in range(3))]
    assert judge(case, replace(SEEN, asked=many)).invented == (f"3 pages asked for with an id, such as {many[1]}",)


def test_the_exit_code_counts_for_a_case_that_is_alone() -> None:
    empty = replace(SITE, alone=True, gives=False)
    seen = replace(SEEN, verdicts=["empty page"], exit_code=3)
    assert judge(empty, seen).right
    assert judge(empty, replace(seen, exit_code=0)).lost == ("the exit code is 0, not 3",)
    assert judge(empty, replace(seen, verdicts=["fetched"])).lost == ("the verdict on / is 'fetched'",)


def test_ids_are_written_and_taken_away() -> None:
    for ident in (
        id_in_query("sid", 8),
        id_in_query("sid", 8, first=True),
        id_in_path("jsessionid=", 8),
        id_in_folder("(S(", 8, "abc", "))"),
    ):
        for target in ("/", "/a.html", "/a.php?x=1", "/a.php?x=1&y=2"):
            assert ident.without(ident.write(target, ident.numbered(1))) == target
            assert ident.without(target) == target


def test_queries_are_written_as_the_url_standard_has_it() -> None:
    assert in_query("маяк", "cp1251") == "%EC%E0%FF%EA"
    assert in_query("a b'\"<>", "utf-8") == "a%20b%27%22%3C%3E"


def test_cases_are_answered_by_their_own_hosts() -> None:
    respond = responder([SITE])

    def status(host: str, target: str) -> int:
        return respond(Request("GET", target, (("Host", host),), b"", b"")).status

    assert (status("boats.example", "/one"), status("BOATS.example:80", "/one")) == (200, 200)
    assert (status("boats.example", "/two"), status("other.example", "/one")) == (404, 404)


def test_rows_count_cases_by_kind() -> None:
    cases = [SITE, replace(SITE, name="b"), replace(SITE, name="c", kind="another")]
    found = {"boats": Judgement(), "b": Judgement(("x",), ("y",)), "c": Judgement(("x",))}
    assert [tuple(row.values()) for row in rows(cases, found)] == [
        ("a kind", 2, 1, 1, 1),
        ("another", 1, 0, 1, 0),
        ("all", 3, 1, 2, 1),
    ]


def test_cases_of_one_definition_are_crawled_together() -> None:
    cases = [SITE, replace(SITE, name="b", alone=True), replace(SITE, name="c"), replace(SITE, name="d", icd="a: 1\n")]
    assert sorted([case.name for case in group] for group in together(cases)) == [["b"], ["boats", "c"], ["d"]]


def test_each_case_has_a_host_of_its_own() -> None:
    assert [name for name, number in Counter(case.name for case in CASES).items() if number > 1] == []
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.name) for case in CASES)
    assert min(Counter(case.kind for case in CASES).values()) >= 6


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_case_wants_is_on_its_site(case: Case) -> None:
    for target in (*case.seeds, *case.wanted, *(each for choice in case.one_of for each in choice)):
        host, _, path = case.url(target).removeprefix("http://").partition("/")
        reply = responder([case])(Request("GET", f"/{path}", (("Host", f"{host}:80"),), b"", b""))
        assert reply.status != 404, target
        assert reply.head()


@pytest.mark.slow
def test_a_crawl_is_judged() -> None:
    found = judged([case for case in CASES if case.name in {"refresh-plain", "redirect-308"}])
    assert found == {"refresh-plain": Judgement(), "redirect-308": Judgement()}
