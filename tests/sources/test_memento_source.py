"""Mementos: found by TimeGate and TimeMap, checked, and turned back into what their sites had sent."""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.crawl.fetch.sourced_captures import open_sources
from aahcrawler.page import Headers
from aahcrawler.sources import archive_client
from aahcrawler.sources.source import SnapshotChoice
from aahcrawler.wire.replay import replayed
from online_analysis.icd import Icd
from tests.crawl.site import Reply
from tests.crawl.world import NOWHERE
from tests.sources.dated import Dated, page
from tests.sources.memento_server import GATE, MAP, WEB, archive_of, source, stamp

URL = "http://dikes.test/"
NOW = datetime(2020, 1, 1, tzinfo=UTC)
BEFORE = Dated(URL, "2013-05-20T10:00:00Z", page("Before", "/before"))
DURING = Dated(URL, "2013-06-05T10:00:00Z", page("During", "/during", "http://dikes.test/more"))
LATER = Dated(URL, "2013-06-20T10:00:00Z", page("Later", "/later"))
AFTER = Dated(URL, "2013-09-01T10:00:00Z", page("After", "/after"))
WAYS = [
    pytest.param(("timegate", "timemap"), {}, id="both"),
    pytest.param(("timemap",), {"page_size": 2}, id="timemap, paged"),
    pytest.param(("timegate",), {"redirects": True, "names_next": True}, id="timegate that redirects, with next"),
    pytest.param(("timegate",), {"names_next": True}, id="timegate with next"),
]


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken of a URL: dates, heads, bodies, addresses in the archive, and whether links were turned back."""

    dates: Sequence[str]
    heads: Sequence[Headers] = ()
    bodies: Sequence[str] = ()
    places: Sequence[str] = ()
    raw: Sequence[bool] = ()
    statuses: Sequence[int] = ()
    unavailable: float | None = None
    counts: Mapping[str, float] = field(default_factory=dict)


def taken(folder: Path, sources: Sequence[Mapping[str, object]], snapshot: str = "auto", *urls: str) -> Taken:
    """Take URLs one after another from the sources of a definition about June 2013; return what the last one gave."""
    given = {
        "id": "flood",
        "contact": "archive@example.org",
        "seeds": [URL],
        "event": {"start": "2013-06-01", "end": "2013-06-30"},
        "captures": {"sources": sources, "snapshot": snapshot},
        "politeness": {"delay": "0", "delay_factor": "0"},
        "network": {"allow_private": "true"},
    }
    icd = Icd.model_validate(given)

    async def all_of() -> Taken:
        opened = open_sources(icd, folder, SnapshotChoice.of(icd, NOW))
        found = Taken(())
        try:
            for url in urls or (URL,):
                responses = [each async for each in opened.captures(url, opened.preferred, None, is_patient=True)]
                exchanges = [each.exchange for each in responses]
                pages = [replayed(each) for each in exchanges]
                mementos = [each.memento for each in exchanges if each.memento is not None]
                found = Taken(
                    [f"{each.started_at:%Y-%m-%d}" for each in exchanges],
                    [each.headers for each in pages if each is not None],
                    [each.body.decode() for each in pages if each is not None],
                    [each.uri for each in mementos],
                    [each.is_raw for each in mementos],
                    [each.status for each in responses],
                    None if (failed := opened.unavailable(url)) is None else failed.seconds,
                )
                for each in exchanges:
                    each.close()
            return replace(found, counts=opened.counts())
        finally:
            await opened.close()

    return asyncio.run(all_of())


def listed(folder: Path, source: Mapping[str, object]) -> Sequence[str]:
    """Return the days of the captures that a source lists of the URL."""
    given = {
        "id": "flood",
        "contact": "archive@example.org",
        "seeds": [URL],
        "event": {"start": "2013-06-01", "end": "2013-06-30"},
        "captures": {"sources": [source]},
        "politeness": {"delay": "0", "delay_factor": "0"},
        "network": {"allow_private": "true"},
    }
    icd = Icd.model_validate(given)

    async def moments() -> Sequence[str]:
        opened = open_sources(icd, folder, SnapshotChoice.of(icd, NOW))
        try:
            (one,) = opened.preferred
            return sorted(f"{each:%Y-%m-%d}" for each in await one.moments(URL))
        finally:
            await opened.close()

    return asyncio.run(moments())


@pytest.mark.parametrize(("kinds", "ways"), WAYS)
@pytest.mark.parametrize(
    ("snapshot", "captures", "expected"),
    [
        ("earliest-in-event", (BEFORE, DURING, LATER, AFTER), "2013-06-05"),
        ("earliest-in-event", (BEFORE, AFTER), "2013-05-20"),
        ("earliest-in-event", (AFTER,), "2013-09-01"),
        ("first-after-event", (BEFORE, LATER, AFTER), "2013-06-20"),
        ("first-after-event", (BEFORE,), ""),
        ("newest", (BEFORE, DURING, AFTER), "2013-09-01"),
    ],
)
def test_the_same_capture_is_taken_in_whatever_way_an_archive_answers(
    tmp_path: Path,
    kinds: tuple[str, ...],
    ways: dict[str, object],
    snapshot: str,
    captures: tuple[Dated, ...],
    expected: str,
) -> None:
    with archive_of(*captures, **ways) as archive:
        found = taken(tmp_path, [source(archive, *kinds)], snapshot)
    assert found.dates == ([expected] if expected else [])
    assert found.unavailable is None


def test_all_captures_are_taken_in_the_order_of_time(tmp_path: Path) -> None:
    with archive_of(AFTER, BEFORE, LATER, page_size=2) as archive:
        found = taken(tmp_path, [source(archive)], "all")
    assert found.dates == ["2013-05-20", "2013-06-20", "2013-09-01"]


def test_all_captures_of_a_time_map_are_listed_and_of_a_time_gate_those_that_it_names(tmp_path: Path) -> None:
    with archive_of(AFTER, BEFORE, LATER, page_size=2) as archive:
        assert listed(tmp_path, source(archive, "timemap")) == ["2013-05-20", "2013-06-20", "2013-09-01"]
    with archive_of(BEFORE, LATER, names_next=True) as archive:
        assert set(listed(tmp_path, source(archive, "timegate"))) == {"2013-05-20", "2013-06-20"}
    with archive_of() as archive:
        assert listed(tmp_path / "another", source(archive)) == []


@pytest.mark.parametrize("marks", [True, False])
def test_a_raw_memento_is_as_its_site_sent_it(tmp_path: Path, marks: bool) -> None:
    fields = {"Content-Type": "text/html; charset=utf-8", "Last-Modified": "Tue, 04 Jun 2013 08:00:00 GMT"}
    dated = Dated(URL, DURING.at, DURING.body, fields=fields)
    with archive_of(dated, marks=marks) as archive:
        found = taken(tmp_path, [source(archive)])
    assert found.bodies == [DURING.body]
    assert found.raw == [True]
    assert found.heads[0].get("Content-Type") == "text/html; charset=utf-8"
    # Without the mark nobody can tell whether the archive or the site has changed it last.
    assert bool(found.heads[0].get("Last-Modified")) is marks
    assert not found.heads[0].get("Link")
    assert not found.heads[0].get("Memento-Datetime")


def test_a_rewritten_page_has_its_links_turned_back(tmp_path: Path) -> None:
    with archive_of(DURING, is_raw=False) as archive:
        found = taken(tmp_path, [source(archive)])
    assert found.raw == [False]
    assert 'href="http://dikes.test/during"' in found.bodies[0]
    assert 'href="http://dikes.test/more"' in found.bodies[0]
    assert WEB not in found.bodies[0]
    assert "/help" not in found.bodies[0]


def test_a_redirect_leads_to_the_url_that_it_led_to_then(tmp_path: Path) -> None:
    moved = Dated(URL, DURING.at, "", "301 Moved", {"Location": "/new"})
    with archive_of(moved) as archive:
        found = taken(tmp_path, [source(archive)])
    assert found.statuses == [301]
    assert found.heads[0].get("Location") == "http://dikes.test/new"


def test_an_error_that_an_archive_has_recorded_is_no_page(tmp_path: Path) -> None:
    gone = Dated(URL, DURING.at, page("Gone"), "404 Not Found")
    with archive_of(gone, LATER) as archive:
        assert taken(tmp_path, [source(archive)]).dates == ["2013-06-20"]


def test_a_time_map_is_asked_for_once(tmp_path: Path) -> None:
    with archive_of(DURING) as archive:
        for _ in range(2):
            assert taken(tmp_path, [source(archive, "timemap")]).dates == ["2013-06-05"]
        assert archive.asked().count("map") == 1


def lies() -> list[object]:
    """Return what archives may answer to the request for a memento that is no memento of that URL and moment."""
    date = {"Memento-Datetime": "Wed, 05 Jun 2013 10:00:00 GMT"}
    return [
        pytest.param(Reply(b"<html>Sorry</html>"), id="a page of its own"),
        pytest.param(Reply(b"x", headers={"Memento-Datetime": "Wed, 05 Jun 2033 10:00:00 GMT"}), id="the future"),
        pytest.param(Reply(b"x", headers={"Memento-Datetime": "yesterday"}), id="no date"),
        pytest.param(Reply(b"x", headers={"Memento-Datetime": "Wed, 05 Jun 2002 10:00:00 GMT"}), id="another date"),
        pytest.param(Reply(b"x", headers={**date, "Link": '<http://else.test/>; rel="original"'}), id="another URL"),
        pytest.param(Reply(status=302, headers={"Location": f"{WEB}20130605100000id_/{URL}"}), id="a loop"),
        pytest.param(Reply(raw=lambda: [b"HTTP/1.1 200 OK\r\nMemento-Datetime: x"]), id="cut off"),
        pytest.param(Reply(status=500), id="an error of its own"),
    ]


@pytest.mark.parametrize("lie", lies())
def test_what_cannot_be_true_is_not_taken_and_the_next_archive_is_asked(tmp_path: Path, lie: Reply) -> None:
    with archive_of(DURING) as lying, archive_of(LATER) as honest:
        lying.replies |= {f"{WEB}{stamp(DURING)}{modifier}/{URL}": lie for modifier in ("", "id_")}
        found = taken(tmp_path, [source(lying), source(honest)])
    assert found.dates == ["2013-06-20"]
    assert honest.root in found.places[0]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"<!DOCTYPE html><html>Search our archive</html>"),
        Reply(b""),
        Reply(b'{"mementos": 3}', headers={"Content-Type": "application/json"}),
        Reply(b"<" * 1_000_000, headers={"Content-Type": "application/link-format"}),
        Reply(status=503, headers={"Retry-After": "30"}),
    ],
)
def test_what_is_no_time_map_is_told(tmp_path: Path, reply: Reply) -> None:
    with archive_of(DURING) as archive:
        archive.replies[MAP + URL] = reply
        found = taken(tmp_path, [source(archive, "timemap")])
    assert found.dates == []
    assert sum(number for name, number in found.counts.items() if name.startswith("source_trouble:")) == 1
    # Nobody knows what the archive has: that it has nothing would be said of it for ever.
    assert found.unavailable == (0.0 if reply.status == 200 else pytest.approx(30, abs=5))


def test_a_time_map_without_end_is_given_up(tmp_path: Path) -> None:
    with archive_of(DURING) as archive:
        numbers = iter(range(10_000))
        more = '<{}{}/x>; rel="timemap"; type="application/link-format"'

        def endless(path: str) -> Reply:
            if not path.startswith(MAP):
                return archive.answer(path)
            text = more.format(archive.timemap, next(numbers))
            return Reply(text.encode(), headers={"Content-Type": "application/link-format"})

        archive.site.other = endless
        found = taken(tmp_path, [source(archive, "timemap")])
        assert archive.asked().count("map") <= 51
    assert [name for name in found.counts if "endless TimeMap" in name]


def test_a_dead_archive_is_asked_once_and_the_others_give_all(tmp_path: Path) -> None:
    dead = {"memento": {"timegate": f"http://{NOWHERE}/"}}
    urls = [f"http://dikes.test/{number}" for number in range(20)]
    with archive_of(*(Dated(url, DURING.at, DURING.body) for url in urls)) as archive:
        found = taken(tmp_path, [dead, source(archive)], "auto", *urls)
    assert found.dates == ["2013-06-05"]
    told = {name.rpartition(": ")[2]: number for name, number in found.counts.items() if NOWHERE in name}
    assert told.keys() == {"connect", "at rest"}
    assert sum(told.values()) == 20
    assert told["connect"] < 5


def test_an_archive_that_never_answers_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_client, "FIRST_PATIENCE", 0.3)
    urls = [f"http://dikes.test/{number}" for number in range(20)]
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        archive_of(*(Dated(url, DURING.at, DURING.body) for url in urls)) as archive,
    ):
        silent_one = {"memento": {"timegate": f"http://127.0.0.1:{silent.getsockname()[1]}/"}}
        found = taken(tmp_path, [silent_one, source(archive)], "auto", *urls)
    assert found.dates == ["2013-06-05"]
    told = {name.rpartition(": ")[2]: number for name, number in found.counts.items() if "127.0.0.1" in name}
    assert told == {"timeout": 1, "at rest": 19}


def test_an_archive_that_lets_one_wait_is_passed_over_while_others_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_client, "FIRST_LATENESS", 0.05)
    monkeypatch.setattr(archive_client, "FIRST_PATIENCE", 600.0)
    urls = [f"http://dikes.test/{number}" for number in range(20)]
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        archive_of(*(Dated(url, DURING.at, DURING.body) for url in urls)) as archive,
    ):
        silent_one = {"memento": {"timegate": f"http://127.0.0.1:{silent.getsockname()[1]}/"}}
        found = taken(tmp_path, [silent_one, source(archive)], "auto", *urls)
        silent.settimeout(0.0)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert found.dates == ["2013-06-05"]
    told = {name.rpartition(": ")[2]: number for name, number in found.counts.items() if "127.0.0.1" in name}
    assert told.keys() == {"late"}
    assert 15 <= told["late"] <= 20, "a look-up that is under way as the other answers is not told of"


def test_a_slow_archive_is_asked_for_what_nobody_else_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_client, "LATENESS", 0.2)
    first, both, alone = (f"http://dikes.test/{name}" for name in ("first", "both", "alone"))
    with (
        archive_of(*(Dated(url, DURING.at, DURING.body) for url in (first, both, alone))) as slow,
        archive_of(Dated(both, LATER.at, LATER.body)) as quick,
    ):
        for url in (both, alone):
            slow.replies[MAP + url] = replace(slow.answer(MAP + url), pause=0.5)
        sources = [source(slow, "timemap"), source(quick)]
        found = taken(tmp_path / "both", sources, "auto", first, both)
        assert found.dates == ["2013-06-20"], "the quick one has it as well"
        found = taken(tmp_path / "alone", sources, "auto", first, both, alone)
    assert found.dates == ["2013-06-05"]
    assert found.unavailable is None


def test_an_archive_that_failed_once_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_client, "FIRST_REST", 0.0)
    dropped, had = "http://dikes.test/dropped", "http://dikes.test/had"
    with archive_of(*(Dated(url, DURING.at, DURING.body) for url in (dropped, had))) as archive:
        archive.replies[GATE + dropped] = Reply(raw=lambda: [b""])
        found = taken(tmp_path, [source(archive)], "auto", dropped, had)
    assert found.dates == ["2013-06-05"]


def test_a_memento_that_cannot_be_true_leaves_the_archive_its_others(tmp_path: Path) -> None:
    with archive_of(DURING, LATER) as archive:
        lie = Reply(b"x", headers={"Memento-Datetime": "Wed, 05 Jun 2002 10:00:00 GMT"})
        archive.replies |= {f"{WEB}{stamp(DURING)}{modifier}/{URL}": lie for modifier in ("", "id_")}
        found = taken(tmp_path, [source(archive)])
    assert found.dates == ["2013-06-20"]
    assert [name for name in found.counts if name.endswith("wrong memento")], "also where the next one is taken"


def test_a_time_map_tells_where_the_time_gate_is_none(tmp_path: Path) -> None:
    with archive_of(DURING) as archive:
        archive.replies[GATE + URL] = Reply(b"<html>Search our archive</html>")
        assert taken(tmp_path, [source(archive)]).dates == ["2013-06-05"]
        found = taken(tmp_path, [source(archive, "timegate")])
    assert (found.dates, found.unavailable) == ([], 0.0)


@pytest.mark.parametrize("ways", [("timegate",), ("timemap",), ("timegate", "timemap")], ids="+".join)
def test_an_archive_that_refuses_one_url_is_asked_for_others(tmp_path: Path, ways: Sequence[str]) -> None:
    other = Dated("http://dikes.test/more", DURING.at, page("More"))
    with archive_of(other) as archive:
        for place in (GATE, MAP):
            archive.replies[f"{place}{URL}"] = Reply(b"blocked", 403)
        given = [source(archive, *ways)]
        refused = taken(tmp_path / "refused", given)
        assert (refused.dates, refused.unavailable) == ([], None), "it is not asked for it again"
        assert [name for name in refused.counts if name.endswith("status 403")]
        assert taken(tmp_path / "both", given, "auto", URL, other.url).dates == ["2013-06-05"]


def test_the_listing_of_a_cdx_server_is_no_time_map(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with archive_of(DURING) as archive:
        listing = f'{{"urlkey": "test,dikes)/", "timestamp": "20130605100000", "url": "{URL}"}}\n' * 2
        archive.replies[f"{MAP}{URL}"] = Reply(listing.encode(), headers={"Content-Type": "text/x-ndjson"})
        assert taken(tmp_path, [source(archive, "timemap")]).dates == []
    assert "name TimeMaps in link format" in caplog.text
