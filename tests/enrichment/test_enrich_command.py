"""``aah enrich``, and what becomes of annotations in stores and takedowns."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner, Result

from aahcrawler.annotations import Annotation, annotations_of
from aahcrawler.annotations.annotation import annotating
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.cli import app
from aahcrawler.layout import ANNOTATIONS, ARCHIVE, INDEXES, STORE
from aahcrawler.search.likeness import TextVectors
from aahcrawler.takedown.removal import TakedownError, WantedRemoval, remove
from offline.enrichment import entity_annotator
from offline.store.local import reading
from tests.enrichment.archives import LONG, define, write_posts
from tests.imports.archives import imported, members, pages
from tests.offline.crawls import THREAD, capture, post, writer

TEXTS = [[("ann", f"We met Dr Ida Berg there. {LONG}")], [("bob", f"Then I. Berg of the Water Board left. {LONG}")]]

NAMES = "--steps", "language,entities,consolidation"


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write two threads, for a machine without models."""
    monkeypatch.setattr(entity_annotator, "installed_models", dict)
    define(tmp_path / "crawl")
    write_posts(tmp_path / "crawl", TEXTS)
    (tmp_path / "crawl" / ARCHIVE).mkdir()
    return tmp_path / "crawl"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def said(crawl: Path) -> list[Annotation]:
    with annotations_of(crawl) as annotations:
        return list(annotations)


def asked(crawl: Path, query: str) -> list[list[str]]:
    """Load a crawl into its store, and return the rows of an answer."""
    loaded = run("load", crawl)
    assert loaded.exit_code == 0, loaded.output
    with reading(crawl / STORE) as store:
        found = store.query(
            query, prefixes={"aah": "urn:aahcrawler:term:", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
        )
        assert isinstance(found, ox.QuerySolutions)
        return sorted([getattr(value, "value", "") for value in row] for row in found)


def test_each_step_says_what_it_did_and_what_it_went_by(crawl: Path) -> None:
    ended = run("enrich", crawl, *NAMES)
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.splitlines() == [
        f"{crawl}: language: 2 annotations at 2 captures",
        f"{crawl}: entities: 3 annotations at 2 captures",
        f"{crawl}: consolidation: 1 annotation at 1 capture",
    ]
    assert (
        "names in 2 objects in en: no model of the language is installed; found by words with capitals\n"
        in ended.stderr
    )
    assert "install a pipeline for spaCy" in ended.stderr
    again = run("enrich", crawl, *NAMES)
    assert again.stdout.splitlines() == [
        f"{crawl}: language: nothing new (2 annotations of former runs)",
        f"{crawl}: entities: nothing new (3 annotations of former runs)",
        f"{crawl}: consolidation: nothing new (1 annotation of former runs)",
    ]


def test_steps_can_be_chosen_and_results_read_by_programs(crawl: Path) -> None:
    ended = run("enrich", crawl, "--steps", "language", "--json")
    (line,) = ended.stdout.splitlines()
    told = json.loads(line)
    assert (told["step"], told["annotations"], told["languages"]) == ("language", 2, {"en": 2})
    assert run("enrich", "--list").stdout.splitlines()[:2] == ["language", "entities"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--steps", "spelling"), "there is no step spelling; there are language, entities"),
        ((), "name the folder of a crawl"),
    ],
)
def test_mistakes_are_told(crawl: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = run("enrich", *((crawl, *arguments) if arguments else ()))
    assert (ended.exit_code, message in ended.stderr) == (2, True)


def test_a_step_without_its_library_is_left_out_and_told(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "offline.enrichment.opinions", raising=False)
    monkeypatch.setitem(sys.modules, "vaderSentiment.vaderSentiment", None)
    ended = run("enrich", crawl)
    assert (ended.exit_code, "opinions is left out: it rests on vaderSentiment" in ended.stderr) == (4, True)
    assert f"{crawl}: events: " in ended.stdout
    assert run("enrich", crawl, "--steps", "opinions").exit_code == 2


def test_what_a_step_cannot_read_is_named_with_what_to_do(crawl: Path, tmp_path: Path) -> None:
    lexicons = tmp_path / "lexicons"
    lexicons.mkdir()
    (lexicons / "de.tsv").write_text("gut\tvery\n")
    told = run("enrich", crawl, "--steps", "language,opinions", "--lexicons", lexicons)
    assert (told.exit_code, told.stdout) == (2, "")  # No step was begun.
    assert "de.tsv, line 1" in told.output
    assert "distribution" not in told.output
    (crawl / "annotations").mkdir(exist_ok=True)
    (crawl / "annotations" / "topics.json").write_text("{bad")
    told = run("enrich", crawl, "--steps", "language,topics")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "delete it" in told.output


def test_an_import_whose_pages_were_not_read_is_told_with_what_to_do(tmp_path: Path) -> None:
    crawl, file = tmp_path / "crawl", tmp_path / "others.warc.gz"
    file.write_bytes(members(pages(1)))
    run("import", file, crawl, "--no-read")
    ended = run("enrich", crawl, "--steps", "language")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert f"aah import {crawl} reads them" in ended.stderr
    run("import", crawl)
    assert run("enrich", crawl, "--steps", "language").exit_code == 0
    file.write_bytes(members(pages(1, first=2)))
    run("import", file, crawl, "--no-read")
    ended = run("enrich", crawl, "--steps", "language")
    assert (ended.exit_code, f"{crawl}: language: nothing new" in ended.stdout) == (4, True)
    assert f"aah import {crawl} reads them" in ended.stderr


def test_settings_that_are_not_heeded_are_told_before_the_first_step(crawl: Path) -> None:
    (crawl.parent / "annotations.toml").write_text("people = maybe\n")
    ended = run("enrich", crawl, "--steps", "language")
    assert ended.exit_code == 0
    assert ended.stderr.startswith("note: annotations.toml is not heeded")


def test_a_folder_without_a_crawl_is_told(tmp_path: Path) -> None:
    ended = run("enrich", tmp_path)
    assert ended.exit_code == 2
    assert "holds no crawl and no import" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_of_a_folder_of_crawls_those_in_it_are_named(tmp_path: Path) -> None:
    for name in ("one", "two", ".deleted-three"):
        define(tmp_path / name)
    ended = run("enrich", tmp_path)
    assert ended.exit_code == 2
    assert f"name the folder of one: {tmp_path / 'one'}, {tmp_path / 'two'}\n" in ended.stderr
    for number in range(20):
        define(tmp_path / f"x{number}")
    assert run("enrich", tmp_path).stderr.endswith("x17 ...\n")


def test_a_store_has_the_annotations_that_count(crawl: Path) -> None:
    query = "SELECT ?label ?a { GRAPH ?g { ?a aah:kind 'person' ; rdfs:label ?label } } ORDER BY ?label"
    run("enrich", crawl, *NAMES)
    assert [row[0] for row in asked(crawl, query)] == ["I. Berg", "Ida Berg", "Ida Berg"]
    write_posts(crawl, [[("cy", f"We met Ira Berg there. {LONG}")]], first=8)
    run("enrich", crawl, *NAMES)
    # I. Berg may be either by now: the run before does not count any more.
    assert [row[0] for row in asked(crawl, query)] == ["I. Berg", "Ida Berg"]


def test_nothing_is_said_of_what_was_taken_down(crawl: Path) -> None:
    run("enrich", crawl, *NAMES)
    with TextVectors(crawl) as vectors:
        made = vectors.path
    remove(crawl, WantedRemoval(urls=(THREAD.format(1),)), "Ida", "asked for")
    assert made is not None
    assert not made.exists()
    run("enrich", crawl, *NAMES)
    assert [each.label for each in said(crawl) if each.kind != "language"] == ["I. Berg", "Water Board"]
    labels = asked(crawl, "SELECT ?label { GRAPH ?g { ?a aah:kind ?kind ; rdfs:label ?label } }")
    assert ["Ida Berg"] not in labels


def test_what_does_not_speak_of_what_was_taken_down_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entity_annotator, "installed_models", dict)
    crawl, file = tmp_path / "crawl", tmp_path / "others.warc.gz"
    file.write_bytes(members(pages(3)))
    imported(crawl, file)
    define(crawl)
    texts = (
        "We met Dr Ida Berg there.",
        "Then we saw I. Berg at the lock.",
        "Some met Dr. Óscar Nilsen, and then Oscar Nilsen left.",
    )
    with writer(crawl) as objects, ArchivedCaptures(crawl) as source:
        for number, (archived, text) in enumerate(zip(source.captures(), texts, strict=True), 1):
            page = replace(capture(number), iri=archived.record_id, url=archived.target_uri)
            objects.write(page, [post(number, 1, "ann", f"{text} {LONG}")])
    steps = "language,entities,consolidation,keywords,conversations"
    run("enrich", crawl, "--steps", steps)
    before = {each for each in said(crawl) if each.annotator in ("consolidation", "keywords")}
    removed = WantedRemoval(urls=("http://dikes.test/1",))
    _, selected = remove(crawl, removed, "Ida", "asked for")
    left = {each for each in before if each.capture not in selected.captures}
    assert {each.label for each in left if each.annotator == "consolidation"} == {"Ida Berg", "Óscar Nilsen"}
    after = {each for each in said(crawl) if each.annotator in ("consolidation", "keywords")}
    assert after == {each for each in left if each.label != "Ida Berg"}
    run("enrich", crawl, "--steps", steps)
    assert {each.label for each in said(crawl) if each.annotator == "consolidation"} == {"Óscar Nilsen"}


def test_nothing_is_taken_down_while_annotations_are_written(crawl: Path) -> None:
    with annotating(crawl), pytest.raises(TakedownError, match="aah enrich is at work"):
        remove(crawl, WantedRemoval(urls=(THREAD.format(1),)), "Ida", "asked for")
    assert (crawl / ANNOTATIONS).is_dir()
    assert not (crawl / INDEXES / "removing.json").exists()
