"""The log of changes, as its writers fill it and its readers are told of it."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count
from pathlib import Path

import pytest

from aahcrawler.layout import CHANGE_LOG, CHANGES, CHANGES_INDEX, INDEXES
from aahcrawler.revisits.change_log import (
    ChangeKind,
    ChangeLog,
    ChangeState,
    Visit,
    last_visits,
    opened_changes,
    visits,
)
from aahcrawler.revisits.visit_record import DateSource, Place, VisitRecord, WantedVisits, milliseconds
from aahcrawler.segments import DamageError, segments

BEGUN = datetime(2026, 3, 2, 12, 30, 15, tzinfo=UTC)
DAY = timedelta(days=1)
URL = "http://a.test/page"
NEW, CHANGED, UNCHANGED = ChangeState.NEW, ChangeState.CHANGED, ChangeState.UNCHANGED
GONE, FAILED = ChangeState.GONE, ChangeState.FAILED


def kept(folder: Path, *seen: VisitRecord, number: int = 1, name: str = "test") -> Path:
    with ChangeLog(folder / CHANGES, name, number, lambda: BEGUN) as log:
        for each in seen:
            log.visited(each)
    return folder


def day(number: float) -> int:
    return milliseconds(BEGUN + number * DAY)


def page(at: float, payload: str, *, url: str = URL, status: int = 200, **fields: object) -> VisitRecord:
    known = {"url": url, "at": day(at), "status": status, "payload": payload, "text": payload, **fields}
    return VisitRecord.model_validate(known)


def states(folder: Path) -> list[tuple[ChangeState, ChangeKind | None]]:
    return [(visit.state, visit.kind) for visit in visits(folder)]


def test_a_crawl_changed_what_is_another_page_for_its_readers(tmp_path: Path) -> None:
    pages = [URL, *(f"{URL}{n}" for n in range(3))]
    kept(tmp_path, *(page(0, "a", url=url, template="t") for url in pages), page(0, "a", url=f"{URL}/feed"))
    second = [page(1, "", url=URL, status=404, template="t"), page(1, "b", url=pages[1], template="t")]
    kept(tmp_path, *second, page(1, "b", url=f"{URL}/feed"), number=2)
    third = [page(2, "", url=URL, status=404, template="t"), page(2, "b", url=pages[1], template="t")]
    of_template = page(2, "b", url=pages[2], template="t", kind=ChangeKind.TEMPLATE)
    kept(tmp_path, *third, of_template, page(2, "c", url=f"{URL}/feed"), number=3)
    with opened_changes(tmp_path) as index:
        assert index.telling_pages(2) == {GONE: 1, CHANGED: 1}
        assert index.telling_pages(3) == {}
        assert index.telling_pages(4) is None


def test_each_visit_is_told_against_the_one_before_it(tmp_path: Path) -> None:
    kept(
        tmp_path,
        page(0, "a"),
        page(1, "a"),
        page(2, "b", kind=ChangeKind.LINKS),
        VisitRecord(url=URL, at=day(3), reason="timeout"),
        VisitRecord(url=URL, at=day(4), status=304, said=UNCHANGED),
        page(5, "", status=404),
        page(6, "", status=410),
        page(7, "b"),
        VisitRecord(url=URL, at=day(8), status=301, to="http://a.test/other"),
        VisitRecord(url=URL, at=day(9), status=302, to="http://a.test/other"),
        VisitRecord(url=URL, at=day(10), status=302, to="http://b.test/"),
        page(11, "b"),
    )
    assert states(tmp_path) == [
        (NEW, None),
        (UNCHANGED, None),
        (CHANGED, ChangeKind.LINKS),
        (FAILED, None),
        (UNCHANGED, None),
        (GONE, ChangeKind.GONE),
        (UNCHANGED, None),
        (CHANGED, ChangeKind.BACK),
        (CHANGED, ChangeKind.MOVED),
        (UNCHANGED, None),
        (CHANGED, ChangeKind.MOVED),
        (CHANGED, ChangeKind.MOVED),
    ]
    unmodified = list(visits(tmp_path))[4]
    assert (unmodified.byte_digest, unmodified.text_digest) == ("b", "b")
    assert unmodified.previous == BEGUN + 2 * DAY  # The visit that failed saw nothing of the page.


def test_an_error_where_no_page_was_known_is_no_page_that_is_gone(tmp_path: Path) -> None:
    kept(tmp_path, page(0, "", status=404), page(1, "", status=503), page(2, "a"), page(3, "", status=500))
    assert [state for state, _ in states(tmp_path)] == [FAILED, FAILED, NEW, FAILED]


def test_a_visit_that_a_crash_had_repeated_tells_no_change_twice(tmp_path: Path) -> None:
    kept(tmp_path, page(0, "a"))
    repeated: dict[str, object] = {"said": CHANGED, "kind": ChangeKind.CONTENT, "compared": day(0)}
    second = page(1, "b").model_copy(update=repeated)
    kept(tmp_path, second, number=2, name="one")
    kept(tmp_path, second.model_copy(update={"at": day(1.01)}), number=2, name="two")
    assert [(visit.state, visit.crawl) for visit in visits(tmp_path)] == [(NEW, 1), (CHANGED, 2), (UNCHANGED, 2)]


def test_a_page_that_a_crawl_fetches_again_is_compared_with_its_own_last_visit(tmp_path: Path) -> None:
    """The crawl itself compares with the capture of the crawl before, which knew the first text."""
    former = {"compared": day(0), "said": CHANGED, "kind": ChangeKind.LINKS}
    again = {"compared": day(0), "said": UNCHANGED}
    kept(tmp_path, page(0, "a"))
    first, second = page(7, "b").model_copy(update=former), page(8, "a").model_copy(update=again)
    kept(tmp_path, first, second, number=2, name="two")
    assert states(tmp_path) == [(NEW, None), (CHANGED, ChangeKind.LINKS), (CHANGED, ChangeKind.CONTENT)]


def test_visits_that_are_read_late_are_told_where_they_stand(tmp_path: Path) -> None:
    kept(tmp_path, page(0, "a"), page(4, "b"), page(5, "", status=404))
    assert [state for state, _ in states(tmp_path)] == [NEW, CHANGED, GONE]
    late = [page(3, "b"), page(-1, "", status=404), page(2, "", status=410)]
    kept(tmp_path, *late, *late, name="zz")
    assert [state for state, _ in states(tmp_path)] == [FAILED, NEW, GONE, CHANGED, UNCHANGED, GONE]
    assert len(last_visits(tmp_path)) == 1
    assert last_visits(tmp_path)[URL].state is GONE


def test_what_was_known_before_the_log_began_holds(tmp_path: Path) -> None:
    kept(tmp_path, page(5, "b", said=CHANGED, kind=ChangeKind.TEMPLATE, compared=day(1)))
    (found,) = visits(tmp_path)
    assert (found.state, found.kind, found.previous) == (CHANGED, ChangeKind.TEMPLATE, BEGUN + DAY)
    assert not found.matters


def test_a_page_that_scripts_make_is_told_by_its_text(tmp_path: Path) -> None:
    kept(
        tmp_path,
        page(0, "shell", text="x", rendered=True),
        page(1, "other shell", text="x", rendered=True, said=UNCHANGED),
        page(2, "other shell", text="y", rendered=True, said=CHANGED, compared=day(1)),
        page(2.1, "third shell", text="y", rendered=True, said=CHANGED, compared=day(1)),
    )
    assert states(tmp_path) == [(NEW, None), (UNCHANGED, None), (CHANGED, ChangeKind.CONTENT), (UNCHANGED, None)]


def test_visits_are_chosen_by_url_time_state_and_kind(tmp_path: Path) -> None:
    other = "http://b.test/"
    kept(tmp_path, page(0, "a"), page(1, "b", url=other), page(2, "c"), page(3, "b", url=other))
    assert [visit.at for visit in visits(tmp_path, other)] == [BEGUN + DAY, BEGUN + 3 * DAY]
    assert [visit.url for visit in visits(tmp_path, since=BEGUN + 2 * DAY)] == [URL, other]
    with opened_changes(tmp_path) as index:
        wanted = WantedVisits(until=BEGUN + 3 * DAY, states=frozenset({NEW}), text="B.TEST")
        assert [visit.url for visit in index.newest(wanted)] == [other]
        assert [visit.state for visit in index.newest(WantedVisits(telling=True))] == [CHANGED, NEW, NEW]


def test_the_last_visit_of_each_url_is_known(tmp_path: Path) -> None:
    kept(tmp_path, page(0, "a"), page(1, "b", url="http://b.test/"), page(2, "c"))
    found = last_visits(tmp_path)
    assert {url: visit.at for url, visit in found.items()} == {URL: BEGUN + 2 * DAY, "http://b.test/": BEGUN + DAY}


def test_the_index_goes_on_while_the_log_is_written(tmp_path: Path) -> None:
    with ChangeLog(tmp_path / CHANGES, "test", 1, lambda: BEGUN) as log:
        log.visited(page(0, "a"))
        assert [visit.state for visit in visits(tmp_path)] == [NEW]
        log.visited(page(1, "b"))
        assert [visit.state for visit in visits(tmp_path)] == [NEW, CHANGED]
    (tmp_path / INDEXES / CHANGES_INDEX).unlink()
    assert [visit.state for visit in visits(tmp_path)] == [NEW, CHANGED]


def test_a_torn_end_loses_that_visit_alone(tmp_path: Path) -> None:
    with ChangeLog(tmp_path / CHANGES, "test", 1, lambda: BEGUN) as log:
        log.visited(page(0, "a"))
        (path,) = segments(tmp_path / CHANGES, CHANGE_LOG)
        with path.open("ab") as file:
            file.write(path.read_bytes()[:30])
        assert [visit.state for visit in visits(tmp_path)] == [NEW]


def test_a_damaged_log_is_told(tmp_path: Path) -> None:
    (tmp_path / CHANGES).mkdir()
    (tmp_path / CHANGES / "test-20260302123015-00000.changes.gz").write_bytes(b"no gzip")
    with pytest.raises(DamageError, match="move it elsewhere"):
        list(visits(tmp_path))


def test_there_is_nothing_without_a_log(tmp_path: Path) -> None:
    assert not list(visits(tmp_path))
    assert not last_visits(tmp_path)


# When it changed


def served(days: float, payload: str, url: str = URL, *, lag: timedelta) -> VisitRecord:
    """Return a visit whose server says that the page was changed so long before."""
    modified = format_datetime(BEGUN + days * DAY - lag, usegmt=True)
    return page(days, payload, url=url, modified=modified)


def last(folder: Path) -> Visit:
    return list(visits(folder))[-1]


def test_the_date_of_a_server_that_proved_right_is_that_of_the_change(tmp_path: Path) -> None:
    others = [served(number / 10, "x", f"http://a.test/{number}", lag=timedelta(hours=9)) for number in range(3)]
    kept(tmp_path, *others, page(1, "a"), served(8, "b", lag=timedelta(days=2, hours=1)))
    dated = last(tmp_path).dated
    assert dated is not None
    assert (dated.by, dated.before) == (DateSource.LAST_MODIFIED, BEGUN + 8 * DAY - timedelta(days=2, hours=1))


@pytest.mark.parametrize("lag", [timedelta(0), timedelta(seconds=3), timedelta(hours=-2), timedelta(days=30)])
def test_a_date_that_is_made_up_or_contradicts_what_was_seen_is_not_believed(tmp_path: Path, lag: timedelta) -> None:
    others = [served(number / 10, "x", f"http://a.test/{number}", lag=lag) for number in range(9)]
    kept(tmp_path, *others, page(1, "a"), served(8, "b", lag=lag))
    dated = last(tmp_path).dated
    assert dated is not None
    assert (dated.by, dated.after, dated.before) == (DateSource.COMPARISON, BEGUN + DAY, BEGUN + 8 * DAY)


def test_dates_that_change_without_the_page_are_not_believed(tmp_path: Path) -> None:
    same = [served(number, "a", lag=timedelta(hours=number)) for number in range(1, 9)]
    kept(tmp_path, *same, served(9, "b", lag=timedelta(hours=2)))
    dated = last(tmp_path).dated
    assert dated is not None
    assert dated.by is DateSource.COMPARISON
    with opened_changes(tmp_path) as index:
        assert index.server_dates(URL).idle == 7
        assert not index.server_dates("http://b.test/").told


def test_lists_and_the_page_itself_date_a_change(tmp_path: Path) -> None:
    kept(tmp_path, page(0, "a"), page(4, "b", shown=day(3.5)), page(8, "c"))
    with ChangeLog(tmp_path / CHANGES, "other", 1, lambda: BEGUN) as log:
        log.listed("http://a.test/sitemap.xml", BEGUN, {URL: BEGUN + 6 * DAY, "http://a.test/x": BEGUN})
    told = [visit.dated for visit in visits(tmp_path)]
    assert [each.by for each in told if each] == [DateSource.COMPARISON, DateSource.CONTENT, DateSource.LISTED]


@pytest.mark.parametrize(
    ("read", "crawl", "told", "by"),
    [
        (-1 / 48, 1, datetime(2026, 3, 2, tzinfo=UTC), DateSource.LISTED),
        (1 / 48, 1, datetime(2026, 3, 2, tzinfo=UTC), DateSource.COMPARISON),
        (1 / 48, 1, datetime(2026, 3, 2, 9, 30, tzinfo=UTC), DateSource.LISTED),
        (1 / 48, 1, datetime(2026, 3, 1, tzinfo=UTC), DateSource.LISTED),
        (7, 2, datetime(2026, 3, 1, tzinfo=UTC), DateSource.COMPARISON),
    ],
)
def test_a_date_that_is_listed_later_dates_no_visit_that_it_may_be_later_than(
    tmp_path: Path, read: float, crawl: int, told: datetime, by: DateSource
) -> None:
    kept(tmp_path, page(0, "a"))
    with ChangeLog(tmp_path / CHANGES, "other", crawl, lambda: BEGUN) as log:
        log.listed("http://a.test/sitemap.xml", BEGUN + read * DAY, {URL: told})
        log.listed("http://a.test/sitemap.xml", BEGUN + 9 * DAY, {URL: told})
    dated = last(tmp_path).dated
    assert dated is not None
    assert dated.by is by


# What changes on every visit

COUNTER = Place("html/body/div.stats/p", numbers=True, alone=True)
ADVERT = Place("html/body/div.content/div.box", numbers=False, alone=True)
TEXT = Place("html/body/div.content/p", numbers=False, alone=False)
numbers = count()


def differing(at: float, *places: Place, url: str = URL, template: str = "a.test /page") -> VisitRecord:
    kind = ChangeKind.CONTENT
    return page(at, f"{next(numbers)}", url=url, said=CHANGED, kind=kind, places=places, template=template)


def test_what_differs_on_every_visit_and_is_but_numbers_means_nothing(tmp_path: Path) -> None:
    seen = [differing(number, COUNTER) for number in range(4)]
    kept(tmp_path, *seen, differing(4, COUNTER, TEXT), differing(5, COUNTER, template="a.test /other"))
    found = list(visits(tmp_path))
    assert [visit.kind for visit in found[1:]] == [ChangeKind.TEMPLATE] * 3 + [ChangeKind.CONTENT] * 2
    assert [visit.volatile for visit in found[1:]] == [True] * 3 + [False] * 2
    with opened_changes(tmp_path) as index:
        assert [evidence.visits for evidence in index.volatile_places("a.test /page").values()] == [5]


def test_numbers_that_seldom_differ_mean_something(tmp_path: Path) -> None:
    seen = [differing(number, COUNTER) if number % 3 == 0 else page(number, "same") for number in range(1, 13)]
    same = [each.model_copy(update={"said": UNCHANGED, "template": "a.test /page"}) for each in seen if not each.kind]
    kept(tmp_path, page(0, "same"), *sorted([*same, *(each for each in seen if each.kind)], key=lambda each: each.at))
    assert ChangeKind.TEMPLATE not in [visit.kind for visit in visits(tmp_path)]


def test_words_mean_nothing_only_where_they_stand_alone_on_several_pages(tmp_path: Path) -> None:
    pages = [f"http://a.test/{number}" for number in range(3)]
    kept(tmp_path, *(differing(day + at / 10, ADVERT, url=url) for day in range(3) for at, url in enumerate(pages)))
    assert {visit.kind for visit in list(visits(tmp_path))[3:]} == {ChangeKind.TEMPLATE}


@pytest.mark.parametrize("place", [TEXT, ADVERT])
def test_a_page_that_says_something_new_each_day_is_not_taken_for_one_that_says_nothing(
    tmp_path: Path, place: Place
) -> None:
    kept(tmp_path, *(differing(number, place) for number in range(20)))
    assert {visit.kind for visit in list(visits(tmp_path))[1:]} == {ChangeKind.CONTENT}


def test_what_became_of_objects_counts_wherever_it_stands(tmp_path: Path) -> None:
    told = [differing(number, COUNTER) for number in range(5)]
    kept(tmp_path, *told[:4], told[4].model_copy(update={"edited": ("http://a.test/page#1",)}))
    assert last(tmp_path).kind is ChangeKind.CONTENT


@pytest.mark.parametrize("others", [0, 40])
def test_lines_that_visits_leave_mean_nothing_in_an_object_where_they_differ_on_nearly_every_visit_of_its_page(
    tmp_path: Path, others: int
) -> None:
    unchanged = {"said": UNCHANGED, "template": "a.test /page"}
    beside = [page(at / 10, "same", url=f"{URL}{at}") for at in range(others)]
    again = [page(5 + at / 10, "same", url=f"{URL}{at}").model_copy(update=unchanged) for at in range(others)]
    told = [differing(number, TEXT).model_copy(update={"idle": True, "edited": (URL,)}) for number in range(5)]
    kept(tmp_path, *beside, *told[:2], *again)
    assert {visit.volatile for visit in visits(tmp_path, URL)} == {False}, "two visits are no evidence"
    kept(tmp_path, *told[2:4], name="later", number=2)
    kept(tmp_path, told[4].model_copy(update={"idle": False}), name="last", number=3)
    found = list(visits(tmp_path, URL))
    assert [visit.volatile for visit in found] == [True, True, True, True, False]
    assert [visit.matters for visit in found] == [False, False, False, False, True], "another line was edited, too"
    assert found[1].edited == (URL,)


def test_a_counter_that_a_page_has_had_for_a_while_is_learned_by_the_visits_since_then(tmp_path: Path) -> None:
    long = [page(at, "same").model_copy(update={"said": UNCHANGED}) for at in range(1, 30)]
    told = [differing(30 + at, TEXT).model_copy(update={"idle": True, "edited": (URL,)}) for at in range(3)]
    kept(tmp_path, page(0, "same"), *long, *told)
    assert [visit.volatile for visit in visits(tmp_path)] == [False] * 30 + [True] * 3


def test_lines_that_visits_leave_on_few_of_them_mean_something(tmp_path: Path) -> None:
    seen = [differing(at, TEXT).model_copy(update={"idle": at % 2 == 0, "edited": (URL,)}) for at in range(12)]
    kept(tmp_path, *seen)
    assert {visit.volatile for visit in visits(tmp_path)} == {False}


def test_lists_tell_how_often_pages_change_and_which_section_they_are_of(tmp_path: Path) -> None:
    pages = [f"http://a.test/{number}" for number in range(250)]
    (tmp_path / CHANGES).mkdir()
    with ChangeLog(tmp_path / CHANGES, "test", 1, lambda: BEGUN) as log:
        log.listed("http://a.test/all.xml", BEGUN, {}, dict.fromkeys(pages, "yearly"))
        log.listed("http://a.test/news.xml", BEGUN, {pages[0]: BEGUN, pages[1]: BEGUN - 4 * DAY}, {pages[0]: "daily"})
        log.listed("http://a.test/all.xml", BEGUN + DAY, {}, {pages[2]: "weekly"})
    with opened_changes(tmp_path) as index:
        assert [index.frequencies()[pages[number]] for number in (1, 2, 249)] == ["yearly", "weekly", "yearly"]
        assert [index.sections()[pages[number]][-8:] for number in (0, 1, 2)] == ["news.xml", "news.xml", "/all.xml"]
        assert index.listed_changes() == {"http://a.test/news.xml": (2, 4.0)}
