"""The judge that goes by labels: which one a sample is about, and what simulations make of it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from offline.simulation import label_judge
from offline.simulation.report import Row, gap_rows
from offline.simulation.sample import WorldError
from tests.offline.simulated_world import COOKING, SOLAR, with_reference, write_world


def labelled(world: Path, pages: int = 12) -> Path:
    rows = ["url\ttopic\ttags", f"{SOLAR}/\thome\tsite"]
    rows += [f"{SOLAR}/solar/{n}\tsolar\tsolar|site" for n in range(pages)]
    rows += [f"{COOKING}/soup/{n}\tsoup\tsite" for n in range(pages)]
    (world / "topics.tsv").write_text("\n".join(rows) + "\n")
    return world


def test_the_label_is_that_which_seeds_share_and_few_others_have(tmp_path: Path) -> None:
    numbers, labels, _ = label_judge.read_world(str(labelled(tmp_path)))
    seeds = [numbers[label_judge.key(f"{SOLAR}/solar/{n}")] for n in range(3)]
    label, share, relevance = label_judge.relevance(labels, seeds)
    assert (label, share, sum(relevance)) == ("solar", 1.0, 12)
    assert relevance[numbers[label_judge.key(f"{COOKING}/soup/1")]] == 0


def test_seeds_without_a_common_label_are_refused() -> None:
    labels = [{str(number): 1} for number in range(8)]
    with pytest.raises(WorldError, match="--judge cosine"):
        label_judge.relevance(labels, range(8))


def test_a_world_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="needs it"):
        label_judge.read_world(str(tmp_path))


@pytest.mark.starts
def test_a_simulation_goes_by_labels(tmp_path: Path) -> None:
    world = labelled(with_reference(write_world(tmp_path / "world")))
    names = "max,paper-first,oracle"
    shown = CliRunner().invoke(app, ["simulate", str(world), "--judge", "labels", "--strategies", names])
    assert shown.exit_code == 0, shown.output
    rows = {line.split()[0]: line.split() for line in shown.output.splitlines() if line.startswith("  ")}
    assert rows["oracle"][1] == "24"
    assert float(rows["oracle"][2]) >= float(rows["max"][2])


def test_the_gap_is_that_of_summed_harvests_between_first_and_the_oracle() -> None:
    harvests = {"paper-first": (0.2, 0.4), "max": (0.5, 0.4), "oracle": (0.8, 0.8)}
    rows = [Row(name, 2, 9, None, {"a#0": at, "a#1": at}) for name, at in harvests.items()]
    found = {row["strategy"]: row for row in gap_rows(rows, "paper-first", "oracle")}
    assert (found["max"]["gap@R"], found["max"]["gap@R/3"], found["oracle"]["gap@R"]) == (0.5, 0.0, 1.0)
    assert found["max"]["gap95@R"] == [0.5, 0.5]
    assert gap_rows(rows[:2], "paper-first", "oracle") == ()
