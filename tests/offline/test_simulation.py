"""Whole simulations of a small world: what is fetched, in which order, and what is said of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.induction import generic_objects
from knowledge_base.file_selection import named_folders
from offline.simulation import cosine_judge
from offline.simulation.report import Targets, report
from offline.simulation.sample import read_samples
from offline.simulation.simulation import Finished, Simulation, Watcher, simulate
from offline.simulation.strategies import strategies
from tests.offline.simulated_world import (
    COOKING,
    SEEDS,
    SOLAR,
    page,
    with_judge,
    with_reference,
    write_pages,
    write_topics,
    write_world,
)

PAGES = 13
Orders = Mapping[tuple[str, int], Sequence[str]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_reference(write_world(tmp_path_factory.mktemp("world")))


@pytest.fixture(scope="module")
def judge(world: Path) -> Path:
    return with_judge(world)


def simulation(world: Path, *names: str, judge: Path | None = None, processes: int = 1, seed: int = 0) -> Simulation:
    return Simulation(world, names, named_folders(""), judge=judge, processes=processes, seed=seed)


def finished(asked: Simulation) -> Finished:
    return simulate(asked, read_samples(asked.world), Watcher())


def orders(done: Finished) -> Orders:
    return {(order.strategy, order.sample.number): [done.urls[page] for page in order.pages] for order in done.orders}


@pytest.fixture(scope="module")
def everything(world: Path, judge: Path) -> Finished:
    return finished(simulation(world, judge=judge))


def test_every_strategy_fetches_its_budget_from_the_seeds_on_and_nothing_twice(everything: Finished) -> None:
    found = orders(everything)
    assert {name for name, _ in found} == set(strategies())
    for fetched in found.values():
        assert fetched[:2] == list(SEEDS)
        assert len(fetched) == len(set(fetched)) == PAGES


def test_the_oracle_fetches_relevant_pages_alone(everything: Finished) -> None:
    assert all(url.startswith(SOLAR) for url in orders(everything)["oracle", 0])


def test_best_first_prefers_the_topic_and_breadth_first_does_not(everything: Finished) -> None:
    found = orders(everything)
    for name in ("aahcrawler", "aahcrawler-batch", "max", "avg-batch", "paper-first", "paper-avg", "shark-search"):
        on_topic = sum(url.startswith(SOLAR) for url in found[name, 0])
        assert on_topic > sum(url.startswith(SOLAR) for url in found["breadth-first", 0])


def test_breadth_first_goes_in_the_order_of_discovery(everything: Finished) -> None:
    fetched = orders(everything)["breadth-first", 0]
    assert fetched[2:6] == [f"{COOKING}/soup/0", f"{COOKING}/soup/1", f"{COOKING}/soup/2", f"{SOLAR}/solar/1"]


def test_a_redirect_leads_to_its_target(everything: Finished) -> None:
    assert not any("old.test" in url for url in everything.urls)
    assert f"{COOKING}/soup/0" in orders(everything)["breadth-first", 0]


def test_batches_of_the_definition_are_those_of_the_crawl(world: Path) -> None:
    asked = replace(simulation(world, "aahcrawler", "aahcrawler-batch"), template={"scoring": {"batch": 20}})
    found = orders(finished(asked))
    assert found["aahcrawler", 0] == found["aahcrawler-batch", 0]
    asked = replace(simulation(world, "aahcrawler-unlearned"), template={"scoring": {"batch": 1000, "balance": 3}})
    fetched = orders(finished(asked))["aahcrawler-unlearned", 0]
    assert len(fetched) == len(set(fetched)) == PAGES


def test_chance_depends_on_the_seed_alone(world: Path) -> None:
    one, again, other = (orders(finished(simulation(world, "random", seed=seed))) for seed in (1, 1, 2))
    assert one == again
    assert one != other
    assert one["random", 0] != one["random", 1]


def test_processes_change_nothing(world: Path, judge: Path, everything: Finished) -> None:
    assert orders(finished(simulation(world, judge=judge, processes=2))) == orders(everything)


def test_the_ranker_learns_as_the_definition_says(tmp_path: Path) -> None:
    world = with_reference(write_world(tmp_path / "world", pages=40), pages=60, samples=1)
    write_topics(world, [SEEDS])
    names = ("aahcrawler", "aahcrawler-unlearned")

    def fetched(**scoring: object) -> Mapping[str, Sequence[str]]:
        found = orders(finished(Simulation(world, names, named_folders(""), {"scoring": scoring}, keep=tmp_path / "k")))
        return {name: found[name, 0] for name in names}

    shipped, exploring, off = fetched(), fetched(explore=0.4, seed=3), fetched(weights={"text": 1, "ranker": 0})
    assert shipped["aahcrawler"] != shipped["aahcrawler-unlearned"]
    assert exploring["aahcrawler"] != shipped["aahcrawler"]
    assert off["aahcrawler"] == off["aahcrawler-unlearned"] == exploring["aahcrawler-unlearned"]


def test_a_crawl_ends_when_nothing_is_left(world: Path) -> None:
    names = ("avg", "paper-avg-batch", "random", "tag-path-bandit", "sb-classifier", "tree-bandit")
    asked = Simulation(world, names, named_folders(""), pages=1000)
    for fetched in orders(finished(asked)).values():
        assert set(fetched) == {
            f"{SOLAR}/",
            *(f"{s}/{n}" for s in (f"{SOLAR}/solar", f"{COOKING}/soup") for n in range(12)),
        }


def test_a_reader_that_raises_is_told_and_ends_no_simulation(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise LookupError("an error that nobody foresaw")

    monkeypatch.setattr(generic_objects, "judge", broken)
    done = finished(simulation(world, "avg"))
    (stage,) = done.raised.pages
    assert (stage, done.raised.pages[stage]) == ("article", len({at for order in done.orders for at in order.pages}))
    said: list[str] = []
    report(done, simulation(world, "avg"), Targets(json=tmp_path / "told.json"), said.append)
    assert any("read without article, which failed: " in line for line in said)
    assert json.loads((tmp_path / "told.json").read_text())["failed_stages"] == dict(done.raised.pages)


def test_what_is_kept_is_not_read_again_until_the_world_changes(tmp_path: Path) -> None:
    world = with_reference(write_world(tmp_path / "world"))
    judge = with_judge(world)
    asked = Simulation(world, ("paper-avg", "oracle"), named_folders(""), judge=judge, keep=tmp_path / "kept")
    read: list[int] = []
    watcher = Watcher(read.append)
    first, second = (simulate(asked, read_samples(world), watcher) for _ in range(2))
    assert (orders(first), sum(read)) == (orders(second), 25)
    assert (second.cost.reading, second.cost.pages) == (0, 0)
    with_judge(world, pages=4)
    judge.write_text(judge.read_text() + "# another judge\n")
    third = simulate(asked, read_samples(world), watcher)
    assert (orders(third) != orders(first), sum(read)) == (True, 25)
    write_world(world, pages=5)
    simulate(asked, read_samples(world), watcher)
    assert sum(read) == 25 + 11


def test_a_page_is_read_once_it_is_met(world: Path, tmp_path: Path) -> None:
    few = Simulation(world, ("breadth-first", "avg"), named_folders(""), keep=tmp_path / "kept", pages=2)
    many = replace(few, pages=PAGES)
    read = [finished(each).cost.pages for each in (few, many, many)]
    assert 0 < read[0] < PAGES
    assert 0 < read[1] < 25
    assert read[2] == 0


def test_addresses_are_written_as_the_records_have_them(tmp_path: Path) -> None:
    odd = f"{SOLAR}/solar/Größe—1"
    home = page(SOLAR, 0, [(odd, "solar panels"), (f"{SOLAR}/solar/a%20b", "more")])
    world = with_reference(tmp_path, pages=3, samples=1)
    write_pages(world, {"http://SOLAR.test": home, odd: page(SOLAR, 1, []), f"{SOLAR}/solar/a b": page(SOLAR, 2, [])})
    write_topics(world, [["http://solar.test/"], [odd]])
    done = finished(Simulation(world, ("breadth-first",), named_folders(""), pages=9))
    assert orders(done) == {
        ("breadth-first", 0): ["http://SOLAR.test", odd, f"{SOLAR}/solar/a b"],
        ("breadth-first", 1): [odd, "http://SOLAR.test", f"{SOLAR}/solar/a b"],
    }


def test_links_with_ids_of_sessions_lead_to_the_pages_that_a_crawl_fetched_without(tmp_path: Path) -> None:
    ids = ("q1v8m2k0c7d5s9t3b6n4x1z0a2", "h7f3k9d2l5p8w1r4t6y0u3e7i9")
    first, again = ([(f"{SOLAR}/solar/{n}?zid={value}", f"part {n}") for n in range(3)] for value in ids)
    world = with_reference(tmp_path, pages=4, samples=1)
    pages = {f"{SOLAR}/": page(SOLAR, 0, first), SOLAR: page(SOLAR, 0, again)}
    write_pages(world, {**pages, **{f"{SOLAR}/solar/{n}": page(SOLAR, n + 1, []) for n in range(3)}})
    write_topics(world, [[f"{SOLAR}/"]])
    done = finished(Simulation(world, ("breadth-first",), named_folders(""), pages=9))
    assert orders(done)["breadth-first", 0] == [f"{SOLAR}/", *(f"{SOLAR}/solar/{n}" for n in range(3))]


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["simulate", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.output


@pytest.mark.starts
def test_the_command_writes_orders_tables_and_a_chart(world: Path, judge: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("orders.jsonl", "out.json", "plot.svg")]
    names = "aahcrawler,first,avg,avg-balance5,paper-first,paper-avg-batch,oracle"
    options = zip(("--orders", "--json", "--plot"), files, strict=True)
    code, output = run(world, "--strategies", names, "--judge", judge, *(part for option in options for part in option))
    assert code == 0, output
    assert "Table 1" in output
    assert "+0.250 [-0.500, +0.500]" in output
    lines = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert [line["strategy"] for line in lines[:7]] == names.split(",")
    assert {(line["topic"], line["sample"]) for line in lines} == {("Solar power", 0), ("Solar power", 1)}
    document = json.loads(files[1].read_text())
    rows = {row["strategy"]: row for row in document["rows"]}
    assert rows["oracle"]["harvest@R"] == 1.0
    assert rows["oracle"]["gap@R"] == 0.25
    assert rows["aahcrawler"]["fetched"] == 2 * PAGES
    assert document["pages"] == 25
    assert [cells["update"] for cells in document["tables"][0]["rows"]] == ["FIRST", "AVG"]
    assert {"batch": "yes", "balance": 1}.items() <= document["tables"][-1]["rows"][-1].items()
    assert document["courses"]["oracle"][-1] == 1.0
    drawing = ElementTree.parse(files[2]).getroot()  # noqa: S314 - written here
    assert len(drawing.findall("{http://www.w3.org/2000/svg}polyline")) == 7


def two_topics(folder: Path) -> Path:
    """Write a world of which ten pages are about solar power and ten about soup; anchors say nothing."""
    folder.mkdir()
    written: dict[str, str | bytes] = {"http://old.test/": b""}
    for number in range(10):
        links = [(f"{site}/{(2 * number + step) % 10}", "more") for site in (COOKING, SOLAR) for step in (1, 2)]
        written |= {f"{site}/{number}": page(site, number, links) for site in (COOKING, SOLAR)}
    write_pages(folder, written)
    write_topics(folder, [[f"{SOLAR}/0", f"{SOLAR}/1"]])
    return folder


@pytest.mark.starts
def test_the_paper_s_tables_come_out_with_the_judge_that_ships(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    names = "first,avg,avg-balance5,avg-batch,paper-first,paper-avg,paper-avg-batch,breadth-first,oracle"
    code, output = run(two_topics(tmp_path / "world"), "--judge", "cosine", "--strategies", names, "--json", out)
    assert code == 0, output
    assert "Table 1" in output
    assert "Table 2" in output
    rows = {row["strategy"]: row for row in json.loads(out.read_text())["rows"]}
    assert rows["oracle"]["fetched"] == 10, "the pages about solar power, and none about soup"
    assert rows["oracle"]["harvest@R"] == 1.0
    assert rows["breadth-first"]["harvest@R"] < 1.0


def test_the_judge_that_ships_compares_with_the_sum_of_the_seeds(tmp_path: Path) -> None:
    numbers, counts, _ = cosine_judge.read_world(str(two_topics(tmp_path / "world")))
    assert len(counts) == 20
    judged = cosine_judge.relevance(counts, [numbers[cosine_judge.key(f"{SOLAR}/{seed}")] for seed in (0, 1)])[2]
    solar = [judged[numbers[cosine_judge.key(f"{SOLAR}/{number}")]] for number in range(10)]
    soup = [judged[numbers[cosine_judge.key(f"{COOKING}/{number}")]] for number in range(10)]
    assert 1.0 + 1e-9 > min(solar) > cosine_judge.THRESHOLD > max(soup)


@pytest.mark.starts
def test_subtopics_with_relevant_pages_are_counted(tmp_path: Path) -> None:
    copied = write_world(tmp_path / "world")
    with_reference(copied)
    own_judge = with_judge(copied)
    lines = ["url\ttopic\ttags", f"{SOLAR}/\thome\t", f"{SOLAR}/solar/0\tfirst\t", f"{SOLAR}/solar/11\tlast\t"]
    lines.append(f"{COOKING}/soup/3\tsoup\t")
    (copied / "topics.tsv").write_text("\n".join(lines))
    code, output = run(
        copied, "--strategies", "oracle,breadth-first", "--judge", own_judge, "--json", tmp_path / "out.json"
    )
    assert code == 0, output
    rows = {row["strategy"]: row["subtopics"] for row in json.loads((tmp_path / "out.json").read_text())["rows"]}
    assert rows == {"oracle": 1.0, "breadth-first": pytest.approx(2 / 3)}


def broken_worlds(folder: Path) -> Iterator[tuple[Path, str]]:
    yield folder / "nowhere", "is no folder"
    (folder / "empty").mkdir()
    yield folder / "empty", "topics.json: is missing"
    (folder / "empty" / "topics.json").write_text('{"a": [["http://a.test/"]]}')
    yield folder / "empty", "nothing says how many pages"
    (folder / "odd").mkdir()
    (folder / "odd" / "topics.json").write_text('{"a": ["http://a.test/"]}')
    yield folder / "odd", "is no list of lists"
    lost = with_reference(write_world(folder / "lost"))
    (lost / "topics.json").write_text('{"Solar power": [["http://a.test/"]]}')
    yield lost, "the seed http://a.test/ of Solar power#0 is no page"
    bare = with_reference(write_world(folder / "bare"))
    (bare / "world.warc.gz").unlink()
    yield bare, "holds no WARC files"


@pytest.mark.slow
def test_what_is_no_world_is_told(tmp_path: Path) -> None:
    for folder, problem in broken_worlds(tmp_path):
        code, output = run(folder, "--strategies", "first")
        assert (code, problem in output) == (2, True), output


@pytest.mark.slow
def test_mistakes_in_options_are_told(world: Path, tmp_path: Path) -> None:
    nothing, no_judge = tmp_path / "nothing.yaml", tmp_path / "judge.py"
    no_judge.write_text("x = 1")
    for arguments, problem in (
        (("--strategies", "best"), "there is no strategy 'best'"),
        (("--strategies", "oracle"), "oracle needs the judge's judgements"),
        (("--strategies", "first", "--plot", tmp_path / "x.svg"), "--plot shows the pages that a judge"),
        (("--strategies", "first", "--icd", nothing), "cannot be read"),
        (("--strategies", "first", "--judge", no_judge), "is no judge, it has no function read_world"),
        (("--strategies", "first", "--judge", nothing), "is no file of Python"),
    ):
        code, output = run(world, *arguments)
        assert (code, problem in output) == (2, True), output


@pytest.mark.slow
def test_without_a_judge_the_oracle_is_left_out_and_nobody_judges(world: Path) -> None:
    code, output = run(world, "--pages", 3)
    assert code == 0, output
    assert "oracle" not in output.partition("The fetched pages")[0]
    assert "harvest" not in output.partition("The fetched pages")[0]
