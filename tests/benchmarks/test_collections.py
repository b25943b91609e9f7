"""Dated worlds, the archives that serve them, and what the benchmark of event collections measures on them."""

import json
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.client import HTTPConnection
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from benchmarks.collections import archives
from benchmarks.collections.__main__ import KINDS, Scale, break_even, interval, measures, paired, tables, world_rows
from benchmarks.collections.crawling import CONTENT, OURS, Course, Fetched, archived, choice_of, definition
from benchmarks.collections.dated_world import COVERAGE, DatedWorld, build, write
from benchmarks.results import Row

ORIGINAL = "http://www.site.test/page?a=1"


@pytest.fixture(scope="module")
def world() -> DatedWorld:
    return build("recurring", 1, 120)


def test_a_number_makes_the_same_world(world: DatedWorld) -> None:
    again = build("recurring", 1, 120)
    assert world.captures == again.captures
    assert world.seeds == again.seeds
    assert world.captures != build("recurring", 2, 120).captures


def test_a_world_has_gaps_overlaps_errors_and_drift(world: DatedWorld) -> None:
    by_url: dict[str, set[str]] = {}
    for each in world.captures:
        by_url.setdefault(each.url, set()).add(each.archive)
    assert set(world.articles) - set(by_url), "some pages are in no archive"
    assert {len(names) for names in by_url.values()} >= {1, 2}, "archives overlap in part"
    assert {200, 301, 404} <= {each.response.status for each in world.captures}
    drifted = [
        each
        for each in world.captures
        if each.response.status == 200 and each.url in world.articles and each.moment >= world.articles[each.url].dies
    ]
    assert drifted, "some captures show what took a page's place"
    assert not any(each.response.relevance for each in drifted)


def test_relevant_pages_are_of_the_event_and_few(world: DatedWorld) -> None:
    counted = Counter(article.relevance for article in world.articles.values())
    assert 0 < counted[1.0] + counted[0.5] < counted[0.0]
    assert all(
        each.published >= world.event.begin - timedelta(days=600) for each in world.articles.values() if each.relevance
    )
    assert set(world.seeds) <= {each.url for each in world.captures if each.response.status == 200}
    single = build("single", 1, 120)
    assert all(each.published >= single.event.begin for each in single.articles.values() if each.relevance)


def test_the_live_web_forgets(world: DatedWorld) -> None:
    relevant = [each.url for each in world.articles.values() if each.relevance]

    def there(years: int) -> int:
        responses = (world.live(url, world.event.end + timedelta(days=365 * years)) for url in relevant)
        return sum(response is not None and response.relevance > 0 for response in responses)

    assert there(1) > there(8)
    assert world.live(relevant[0], world.articles[relevant[0]].published - timedelta(days=1)) is None


def test_worlds_are_written_as_warc_files_that_others_read(world: DatedWorld, tmp_path: Path) -> None:
    found = Counter[str]()
    for name, file in write(world, tmp_path).items():
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests=True):
                found[name] += record.rec_type == "response" and bool(record.http_headers.get_statuscode())
    assert found == Counter(each.archive for each in world.captures)
    assert set(found) == set(COVERAGE)
    lines = (tmp_path / "truth.jsonl").read_text("utf-8").splitlines()
    assert sum(json.loads(line)["relevance"] for line in lines) == sum(
        each.response.relevance for each in world.captures
    )


class Holding(archives._Handler):
    """An archive that holds two captures of everything."""

    def do_GET(self) -> None:  # noqa: N802 - the name that the server calls
        moments = (datetime(2003, 1, 1, tzinfo=UTC), datetime(2009, 5, 1, tzinfo=UTC))
        lines = [
            f'<http://{self.headers.get("Host")}/{each:%Y%m%d%H%M%S}/x>; rel="memento"; '
            f'datetime="{format_datetime(each, usegmt=True)}"'
            for each in moments
        ]
        self.respond(200, ",\n".join(lines).encode())


def asked(address: str, path: str, wanted: datetime | None = None) -> tuple[int, dict[str, str], str]:
    connection = HTTPConnection(address.removeprefix("http://").rstrip("/"), timeout=20)
    fields = {"Accept-Datetime": format_datetime(wanted, usegmt=True)} if wanted else {}
    connection.request("GET", f"/{path}", headers=fields)
    response = connection.getresponse()
    found = response.status, dict(response.getheaders()), response.read().decode()
    connection.close()
    return found


def test_an_aggregator_passes_over_archives_that_fail() -> None:
    with ExitStack() as stack:
        failing = [
            archives.dead_archive(),
            *map(stack.enter_context, (archives.silent_archive(), archives.lying_archive())),
        ]
        holding = stack.enter_context(archives.served(Holding))
        address = stack.enter_context(archives.aggregator([*failing, holding], seconds=0.3))
        status, _, body = asked(address, f"timemap/link/{ORIGINAL}")
        assert status == 200
        assert [each.moment.year for each in archives.mementos(body)] == [2003, 2009]
        assert 'rel="first memento"' in body
        assert 'rel="last memento"' in body
        assert "next" not in body
        status, fields, _ = asked(address, f"timegate/{ORIGINAL}", datetime(2008, 1, 1, tzinfo=UTC))
        assert (status, fields["Location"]) == (302, f"{holding}20090501000000/x")
        assert fields["Vary"] == "accept-datetime"
        nobody = stack.enter_context(archives.aggregator(failing[:1], seconds=0.3))
        assert asked(nobody, f"timemap/link/{ORIGINAL}")[0] == 404


def test_a_crawl_of_a_world_finds_pages_of_its_event() -> None:
    rows = world_rows("recurring", 1, Scale(1, 60, 12))
    by_name = {row["configuration"]: row for row in rows}
    assert by_name["content"]["relevant"]
    assert by_name["archive, 2920 days after"]["relevant"], "archives keep what sites have forgotten"
    assert all(0 <= float(row["precision"] or 0) <= 1 for row in rows)
    shown = tables(rows)
    assert {row["kind"] for row in shown["configurations"]} == {KINDS[0]}
    assert any(row["of"] == OURS.name and row["beside"] == CONTENT.name for row in shown["goals"])


def test_the_capture_that_is_taken_is_of_the_event_where_one_is(world: DatedWorld, tmp_path: Path) -> None:
    icd = definition(world, CONTENT, tmp_path)
    find = archived(world, choice_of(icd, world))
    begin, end = world.event.begin, world.event.end
    for url in world.articles:
        of_url = [each.moment for each in world.captures if each.url == url and each.response.status < 400]
        within = [moment for moment in of_url if begin <= moment <= end]
        found = find(url)
        assert (found is None) == (not of_url)
        if found is not None and within:
            assert found.moment == min(within)


def test_measures_of_a_course() -> None:
    fetched = [
        Fetched(f"u{n}", score, 0, truth, "") for n, (score, truth) in enumerate([(0.9, 1), (0.5, 0), (0.4, 0.5)])
    ]
    found = measures(Course(fetched, looked_up=4, missing=["m"], considered=9), there=4)
    assert (found["precision"], found["recall"], found["accumulated"]) == (2 / 3, 0.5, 1.5)
    assert (found["break_even"], found["retrieval_rate"], found["looked_up_a_relevant"]) == (0.5, 0.75, 2)
    assert break_even([(0.5, 0.0)]) is None


def test_differences_are_paired_over_worlds() -> None:
    rows: list[Row] = [
        {"kind": "single", "seed": seed, "configuration": name, "accumulated": value + seed}
        for seed in range(6)
        for name, value in (("a", 3.0), ("b", 1.0))
    ]
    (found,) = paired(rows, "a", "b", "accumulated")
    assert (found["difference"], found["low"], found["high"]) == (2, 2, 2)
    low, high = interval([0.0, 1.0, 2.0, 3.0])
    assert 0 <= low < 1.5 < high <= 3
