"""What the demo does around its crawl: definition, folder, five lines. The crawl itself is tested end to end."""

import json
from pathlib import Path

import pytest
from filelock import FileLock

from examples import demo
from examples.serve import PORT, WORLD, Request, World
from online_analysis.icd import Icd

COUNTS = demo.Counts(
    id="demo",
    seconds=9.6,
    pages=4,
    relevant=3,
    objects=12,
    requisites=2,
    object={"reply": 7, "post": 2, "article": 3},
    application={"phpBB": 3, "unknown": 1},
    refused={"reply-form": 20, "sort-order": 5, "login": 4, "spam": 6, "not_allowed": 2},
    blocked={"robots": 8},
)


def test_the_definition_has_no_mistakes_and_names_every_host_of_the_world() -> None:
    icd = Icd.load(demo.DEFINITION)
    resolved = {host: str(endpoint) for host, endpoint in icd.network.resolve.items()}
    assert resolved == dict.fromkeys(World.read(WORLD).sites, f"127.0.0.1:{PORT}")
    assert icd.scope.sites == "anywhere"
    assert icd.output == Path("crawls/demo")


def test_a_copy_for_another_port_means_the_same_crawl_elsewhere(tmp_path: Path) -> None:
    copy = Icd.load(demo.at_port(demo.DEFINITION, 1234, tmp_path / "copy.yaml"))
    original = Icd.load(demo.DEFINITION)
    assert {str(endpoint) for endpoint in copy.network.resolve.values()} == {"127.0.0.1:1234"}
    assert copy.model_dump(exclude={"network", "topic"}) == original.model_dump(exclude={"network", "topic"})
    assert copy.topic.keywords == original.topic.keywords


def test_five_lines_say_what_was_collected_and_avoided() -> None:
    known = demo.Known(
        on_topic=frozenset({"http://a.test/1", "http://a.test/2", "http://b.test/1"}),
        off_topic_hosts=frozenset({"food.test"}),
        trap_paths=frozenset({("b.test", "/calendar/")}),
    )
    urls = ("http://a.test/1", "http://a.test/2", "http://a.test/3", "http://food.test/")
    rows = [demo.PageRow(url=url) for url in urls]
    requests = [
        Request(0, "b.test", "/calendar/?month=2019-11", "x", 200),
        Request(0, "a.test", "/calendar/", "x", 404),
    ]
    lines = demo.five_lines(COUNTS, rows, requests, known, Path("crawls/demo"))
    assert len(lines) == 5
    assert "4 pages of 2 sites in 10 s, 75% of them relevant: 2 of the 3 pages about the flood" in lines[0]
    assert "12 web objects (7 reply, 3 article, 2 post) from 3 phpBB, 1 unknown" in lines[1]
    assert "29 junk links (20 reply-form, 5 sort-order, 4 login), 6 spam links, 8 URLs" in lines[2]
    assert lines[3].split("endless calendar ")[1] == "1 times, into sites about something else for 1 pages."
    assert "crawls/demo/report.html" in lines[4]
    assert lines[4].endswith("aah cockpit crawls/demo")


def test_five_lines_are_said_of_an_empty_crawl_too() -> None:
    empty = COUNTS.model_copy(update={"pages": 0, "relevant": 0, "objects": 0, "object": {}, "application": {}})
    lines = demo.five_lines(empty, [], [], demo.Known.read(WORLD), Path("crawls/demo"))
    assert "0 pages of 0 sites" in lines[0]
    assert "0 web objects (none) from none" in lines[1]


def test_the_world_knows_what_it_is_about() -> None:
    known = demo.Known.read(WORLD)
    assert known.off_topic_hosts == {"oven-and-ladle.example", "kickoff-weekly.example", "best-offers.test"}
    assert known.trap_paths == {("townhall-varhaven.example", "/calendar/")}
    assert "http://harbourforum.example/viewtopic.php?t=11&start=12" in known.on_topic
    assert not any("cinnamon" in url for url in known.on_topic)


@pytest.mark.parametrize(("name", "text"), [("crawl.json", '{"id": "demo"}'), ("icd.json", '{"id": "\\"demo\\""}')])
def test_the_folder_of_an_earlier_demo_is_removed(tmp_path: Path, name: str, text: str) -> None:
    folder = tmp_path / "demo"
    (folder / "archive").mkdir(parents=True)
    (folder / name).write_text(text)
    demo.clear(folder, "demo")
    assert not folder.exists()
    demo.clear(folder, "demo")


@pytest.mark.parametrize("text", ['{"id": "solar"}', "{}", "[]", "broken"])
def test_the_folder_of_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "crawl.json").write_text(text)
    with pytest.raises(demo.DemoError, match="not a folder of the demo"):
        demo.clear(tmp_path, "demo")
    assert (tmp_path / "crawl.json").read_text() == text


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "crawl.json").write_text(json.dumps({"id": "demo"}))
    with FileLock(tmp_path / ".lock"), pytest.raises(demo.DemoError, match="another demo is running"):
        demo.clear(tmp_path, "demo")
    assert (tmp_path / "crawl.json").exists()
