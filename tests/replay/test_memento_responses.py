"""The replay answers Memento clients, and crawls that take captures from it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.replay import memento_responses
from aahcrawler.replay.link_format import links_in, read_time_map
from aahcrawler.replay.replay_app import FixedFolders, replay_app
from tests.imports.archives import imported
from tests.replay.serving import Replay, serving
from tests.sources.dated import Dated, write_archive
from tests.sources.test_memento_source import AFTER, BEFORE, DURING, LATER, URL, taken

CAPTURES = (BEFORE, DURING, LATER, AFTER, Dated("http://dikes.test/r", DURING.at, "", "302 Found", {"Location": "/"}))


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    folder = tmp_path_factory.mktemp("archive")
    imported(folder / "floods", write_archive(folder / "a.warc.gz", CAPTURES))
    with serving(replay_app(FixedFolders({"floods": folder / "floods"}), ("localhost",))) as served:
        yield served


def test_a_time_gate_redirects_to_the_nearest_capture(replay: Replay) -> None:
    response = replay.ask(f"/floods/timegate/{URL}", Accept_Datetime="Thu, 06 Jun 2013 00:00:00 GMT")
    fields = {name.lower(): value for name, value in response.headers.items()}
    assert response.status == 302
    assert fields["location"].endswith(f"/floods/20130605100000mp_/{URL}")
    assert fields["vary"] == "accept-datetime"
    found = {relation: link for link in links_in(fields["link"]) for relation in link.relations}
    assert found["original"].target == URL
    assert str(found["prev"].date)[:10] == "2013-05-20"
    assert str(found["next"].date)[:10] == "2013-06-20"
    newest = replay.ask(f"/floods/timegate/{URL}")
    assert any("/20130901100000mp_/" in value for value in newest.headers.values())


@pytest.mark.parametrize(
    ("path", "date", "status"),
    [
        (f"/floods/timegate/{URL}", "yesterday", 400),
        ("/floods/timegate/http://dikes.test/never", "", 404),
        ("/floods/timemap/link/http://dikes.test/never", "", 404),
        (f"/floods/timemap/link/7/{URL}", "", 404),
        (f"/floods/timemap/html/{URL}", "", 404),
        (f"/none/timegate/{URL}", "", 404),
    ],
)
def test_what_cannot_be_answered_is_told(replay: Replay, path: str, date: str, status: int) -> None:
    asked = replay.ask(path, Accept_Datetime=date) if date else replay.ask(path)
    assert asked.status == status


@pytest.mark.parametrize("form", ["link", "json"])
def test_time_maps_list_all_captures_page_after_page(
    replay: Replay, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memento_responses, "PAGE_SIZE", 3)
    path, dates, text = f"/floods/timemap/{form}/{URL}", [], ""
    for _ in range(2):
        text = replay.ask(path).body.decode()
        read = read_time_map(text, "", f"http://localhost:{replay.port}/")
        dates += [f"{each.date:%Y-%m-%d}" for each in read.mementos]
        path = read.pages[0].partition(f":{replay.port}")[2] if read.pages else ""
    assert dates == ["2013-05-20", "2013-06-05", "2013-06-20", "2013-09-01"]
    assert path == ""
    if form == "json":
        assert json.loads(text)["original_uri"] == URL


def test_a_memento_names_its_neighbours(replay: Replay) -> None:
    response = replay.ask(f"/floods/20130605100000mp_/{URL}")
    fields = {name.lower(): value for name, value in response.headers.items()}
    assert fields["memento-datetime"] == "Wed, 05 Jun 2013 10:00:00 GMT"
    relations = {relation for link in links_in(fields["link"]) for relation in link.relations}
    assert relations == {"original", "timegate", "timemap", "prev", "next", "memento"}


@pytest.mark.parametrize("kinds", [("timegate",), ("timemap",)])
def test_another_crawl_takes_its_captures_as_they_came(replay: Replay, tmp_path: Path, kinds: tuple[str, ...]) -> None:
    root = f"http://localhost:{replay.port}/floods"
    places = {"timegate": f"{root}/timegate/", "timemap": f"{root}/timemap/link/"}
    source = {"memento": {kind: places[kind] for kind in kinds}}
    found = taken(tmp_path, [source])
    assert (found.dates, found.bodies, found.raw) == (["2013-06-05"], [DURING.body], [True])
    assert found.heads[0].get("Content-Type") == "text/html; charset=utf-8"
    moved = taken(tmp_path, [source], "auto", "http://dikes.test/r")
    assert moved.heads[0].get("Location") == URL
