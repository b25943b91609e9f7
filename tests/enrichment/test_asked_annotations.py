"""Ready-made queries over annotations: what is spoken of together, and praise and blame by month."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.annotations import Kind, annotations_of
from aahcrawler.cli import app
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import chosen_steps
from tests.enrichment.annotators import FREQUENT, WORDS
from tests.enrichment.archives import define
from tests.offline.crawls import capture, post, writer

STEPS = ("language", "entities", "consolidation", "opinions")
POSTS = (
    (5, "The Harbour Board met in Arnhem. I hate what the Harbour Board did, it is awful."),
    (5, "I love the Harbour Board, what a wonderful lot they are. Nobody went to Velp at all."),
    (6, "The Harbour Board is terrible, I am sad to say. The ferry is great, I love it."),
)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "demo"
    define(folder, ("Harbour Board", "Arnhem"))
    with writer(folder) as objects:
        for number, (month, text) in enumerate(POSTS, 1):
            given = post(number, 1, "ann", text)
            dated = {**given.properties, "date": (datetime(2020, month, 3, 12, tzinfo=UTC),)}
            objects.write(capture(number), [replace(given, properties=dated)])
    list(enrich(folder, chosen_steps(STEPS)))
    return folder


def answers(crawl: Path, name: str, given: str) -> list[list[str]]:
    arguments = ["query", str(crawl), "--ready", name, "--arg", f"name={given}", "--format", "csv"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return [*csv.reader(io.StringIO(result.stdout, newline=""))][1:]


def test_what_is_spoken_of_together(crawl: Path) -> None:
    found = answers(crawl, "spoken-of-together", "harbour board")
    assert ["Arnhem", "1"] in [row[1:] for row in found]
    assert "Harbour Board" not in [row[1] for row in found]
    assert answers(crawl, "spoken-of-together", "nobody") == []


def test_praise_and_blame_of_a_name_by_month(crawl: Path) -> None:
    assert answers(crawl, "opinions-by-month", "Harbour Board") == [["2020-05", "1", "1"], ["2020-06", "0", "1"]]


def test_praise_and_blame_in_sentences_that_have_a_word_by_month(crawl: Path) -> None:
    assert answers(crawl, "opinions-by-month", "FERRY") == [["2020-06", "1", "0"]]
    assert answers(crawl, "opinions-by-month", "i love") == [["2020-05", "1", "0"], ["2020-06", "1", "0"]]
    assert answers(crawl, "opinions-by-month", "ferr") == []
    assert answers(crawl, "opinions-by-month", "ferry (") == []


def test_praise_and_blame_in_texts_on_a_topic_by_month(tmp_path: Path) -> None:
    define(tmp_path / "demo")
    with writer(tmp_path / "demo") as objects:
        for number, (_, text) in enumerate(POSTS, 1):
            objects.write(capture(number), [post(number, 1, "ann", text)])
    list(enrich(tmp_path / "demo", (*chosen_steps(["language", "opinions"]), WORDS, FREQUENT)))
    with annotations_of(tmp_path / "demo") as found:
        topic = found.counts(Kind.TOPIC)[0]
        on_it = len([*found.beside_meant(Kind.OPINION, Kind.TOPIC, topic.meant)])
    assert on_it
    told = answers(tmp_path / "demo", "opinions-by-month", topic.label)
    assert sum(int(praise) + int(blame) for _, praise, blame in told) == on_it


def test_what_could_be_asked_for_is_told_where_nothing_is_found(crawl: Path, tmp_path: Path) -> None:
    def told(folder: Path, name: str) -> str:
        asked = CliRunner().invoke(app, ["query", str(folder), "--ready", "opinions-by-month", "--arg", f"name={name}"])
        assert asked.exit_code == 0
        return asked.stderr

    hint = told(crawl, "a\x1bdike")
    assert hint.startswith(
        'nothing found for "a dike": name is a whole name or topic as it is shown, or words, such as "'
    )
    assert '"Harbour Board"' in hint
    assert told(crawl, "Harbour Board") == ""
    with writer(tmp_path) as objects:
        objects.write(capture(1), [post(1, 1, "ann", "So it is.")])
    assert "`aah enrich CRAWL` finds them" in told(tmp_path, "dike")


def test_how_close_ties_are_by_month(crawl: Path) -> None:
    found = answers(crawl, "ties-by-month", "Harbour Board")
    assert ["2020-05", "Arnhem", "1", "0.5"] in [[row[0], *row[2:]] for row in found]
