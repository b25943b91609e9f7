"""``aah load`` and ``aah query``: answers, formats, and mistakes in plain words."""

import csv
import io
import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner, Result

from aahcrawler.cli import app
from aahcrawler.webobject import Person, WebObject
from offline.store.local import FOLDER, LocalStore
from offline.store.queries import FOLDER as READY
from offline.store.queries import ask, ready_queries
from tests.offline.crawls import THREAD, capture, post, segments_of, writer
from tests.offline.endpoints import endpoint

LINK = "http://elsewhere.test/{}"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a crawl of three threads, one of them captured twice."""
    folder = tmp_path_factory.mktemp("crawl")
    with writer(folder) as objects:
        flood = [
            post(1, 1, "ann", "The water came at night.", title="The Flood", day=1, links=[LINK.format(1)]),
            post(1, 2, "bob", "A FLOOD, at last", title="Re: The Flood", day=2, links=[LINK.format(1), LINK.format(2)]),
        ]
        objects.write(capture(1, thread=1), flood)
        objects.write(capture(2, thread=1), [*flood, post(1, 3, "ann", "Floodlights?", day=9, links=[LINK.format(2)])])
        objects.write(capture(3, thread=3), [post(3, 1, "ann", "=1+1", title="\x1b[31mBikes\nand more", day=20)])
        undatable = post(5, 3, "eve", "A day later", day=3)
        undated = WebObject("http://forum.test/t/5#p1", "post", THREAD.format(5), {"author": (Person("dee"),)})
        more = WebObject(
            "http://forum.test/t/5#p2", "post", THREAD.format(5), {"author": undatable.properties["author"]}
        )
        objects.write(capture(5), [undated, more, undatable])
        objects.write(capture(4, thread=4), [post(4, 1, "cy", 'say "hi" [bold]; DROP', links=[LINK.format(3)])])
    return folder


def aah(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def told(*arguments: str | Path) -> str:
    """Run a command that is refused; return what it says."""
    result = aah(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


def rows(crawl: Path, *arguments: str) -> list[list[str]]:
    result = aah("query", crawl, *arguments, "--format", "csv")
    assert result.exit_code == 0, result.output
    return list(csv.reader(io.StringIO(result.stdout, newline="")))


def test_load_says_what_it_loaded(crawl: Path, tmp_path: Path) -> None:
    assert aah("load", crawl, "--store", tmp_path / "kept").stdout.endswith("statements from 1 segment\n")
    assert aah("load", crawl, "--store", tmp_path / "kept").stdout == "nothing new\n"
    with endpoint() as stub:
        arguments = ("load", crawl, "--endpoint", f"{stub.url}/update", "--query-endpoint", f"{stub.url}/query")
        assert aah(*arguments).stdout.endswith("statements from 1 segment\n")
        assert aah(*arguments).stdout == "nothing new\n"
        with LocalStore(tmp_path / "kept") as store:
            assert {quad for quad in store.rdf if quad.graph_name != ox.DefaultGraph()} < set(stub.rdf)


def test_a_query_loads_what_is_new_first(tmp_path: Path) -> None:
    for number in (1, 2):
        with writer(tmp_path) as objects:
            objects.write(capture(number), [post(number, 1, "ann", "Text")])
        assert len(rows(tmp_path, "SELECT ?s { GRAPH ?g { ?s a sioc:Post } }")) == number + 1
    assert (tmp_path / FOLDER).is_dir()


def test_the_most_active_authors(crawl: Path) -> None:
    header, *found = rows(crawl, "--ready", "most-active-authors")
    assert header == ["author", "written", "first", "last", "person"]
    assert [row[:2] for row in found] == [["ann", "3"], ["eve", "2"], ["bob", "1"], ["cy", "1"], ["dee", "1"]]
    assert found[4][2:4] == ["", ""]
    assert found[1][2:4] == ["2020-05-03T12:00:00Z"] * 2
    assert found[0][2:] == ["2020-05-01T12:00:00Z", "2020-05-20T12:00:00Z", "http://forum.test/u/ann#person"]
    assert len(rows(crawl, "--ready", "most-active-authors", "--arg", "limit=2")) == 3


def test_threads_about_a_word(crawl: Path) -> None:
    header, *found = rows(crawl, "--ready", "threads-about", "--arg", "word=flood")
    assert header == ["thread", "about", "mentions"]
    assert found == [[THREAD.format(1), "The Flood", "3"]]
    assert len(rows(crawl, "--ready", "threads-about", "--arg", "word=absent")) == 1


@pytest.mark.parametrize("word", ['say "hi" [bold]; drop', "1+1", "=1+1", '"', "[", "\\", "') } #", "?word"])
def test_values_are_bound_and_no_part_of_the_query(crawl: Path, word: str) -> None:
    found = rows(crawl, "--ready", "threads-about", "--arg", f"word={word}")[1:]
    expected = {'say "hi" [bold]; drop': [4], '"': [4], "[": [3, 4], "1+1": [3], "=1+1": [3]}.get(word, [])
    assert sorted(row[0] for row in found) == [THREAD.format(number) for number in expected]


def test_posts_between_two_moments(crawl: Path) -> None:
    header, *found = rows(
        crawl, "--ready", "posts-between", "--arg", "from=2020-05-02", "--arg", "to=2020-05-20T12:00Z"
    )
    assert header == ["date", "author", "title", "post"]
    assert [row[1] for row in found] == ["bob", "eve", "ann"]
    assert found[0] == ["2020-05-02T12:00:00Z", "bob", "Re: The Flood", f"{THREAD.format(1)}#p2"]
    zoned = ("--arg", "from=2020-05-20T13:59:59+02:00", "--arg", "to=2020-05-20T14:00:01+02:00")
    assert [row[1] for row in rows(crawl, "--ready", "posts-between", *zoned)[1:]] == ["ann"]


def test_links_of_several_authors(crawl: Path) -> None:
    ready = ("--ready", "links-by-many-authors")
    assert [row[:2] for row in rows(crawl, *ready)[1:]] == [[LINK.format(1), "2"], [LINK.format(2), "2"]]
    assert len(rows(crawl, *ready, "--arg", "authors=1")) == 4
    assert len(rows(crawl, *ready, "--arg", "authors=3")) == 1


def test_the_list_names_each_file_and_what_it_is_given(crawl: Path) -> None:
    listed = aah("query", crawl, "--list").stdout
    assert {query.name for query in ready_queries()} == {path.stem for path in READY.glob("*.rq")}
    for query in ready_queries():
        assert query.name in listed
        assert query.summary.endswith(".")
        assert all(argument.meaning in listed for argument in query.arguments)


def test_ready_made_queries_hold_for_any_store_once_their_values_are_in() -> None:
    for query in ready_queries():
        given = {argument.name: argument.value("7") for argument in query.arguments if argument.kind == "integer"}
        given.pop("limit")
        ask(ox.Store(), query.text, given)
        assert "LIMIT" not in query.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--ready", "none"),
            "there are added-posts, deleted-posts, edited-posts, gone-pages, kept-pages, links-by-",
        ),
        (("--ready", "threads-about"), "threads-about needs --arg word=... (what to look for"),
        (("--ready", "threads-about", "--arg", "words=x"), "has no argument words; it has word, limit"),
        (("--ready", "threads-about", "--arg", "word"), "--arg word: write name=value"),
        (("--ready", "most-active-authors", "--arg", "limit=ten"), "limit=ten: write a value such as 10"),
        (("--ready", "most-active-authors", "--arg", "limit=-1"), "limit=-1: write 0 or more"),
        (
            ("--ready", "posts-between", "--arg", "from=May", "--arg", "to=2020-05-01"),
            "from=May: write a value such as",
        ),
        (("ASK {}", "--arg", "limit=3"), "--arg is for --ready"),
        (("ASK {}", "--ready", "posts-between"), "write a query in SPARQL, or --ready NAME, or --list"),
        ((), "write a query in SPARQL, or --ready NAME, or --list"),
        (("ASK {}", "--format", "ttl"), "ttl is for CONSTRUCT and DESCRIBE"),
        (("SELECT * { GRAPH ?g { ?s ?p ?o } }", "--format", "ttl"), "ttl is for CONSTRUCT and DESCRIBE"),
        (("SELECT ?x {\n?x foo:y ?z }",), "line 2, column 9: a prefix is used that is not declared\n  ?x foo:y ?z }\n"),
        (("SELECT (COUNT(?x) AS ?n) ?y {?x ?y ?z}",), "a variable is selected that is neither grouped by nor found"),
        (("SELECT * { ?s <rel> ?o }",), "an IRI has to be absolute"),
        (("SELECT * { ?s ?p ?o",), "line 1, column 20: this cannot stand here; possible would be"),
        (("nonsense",), "the query is not SPARQL: line 1, column 9"),
        (("INSERT DATA { <urn:a> <urn:b> 1 }",), "only questions can be asked"),
        (("PREFIX a: <urn:a>\n# x\nDELETE WHERE { ?s ?p ?o }",), "only questions can be asked"),
        (("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",), "the query cannot be answered"),
    ],
)
def test_mistakes_are_told(crawl: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in told("query", crawl, *arguments)


def test_folders_that_are_no_crawl_are_told_and_left_alone(tmp_path: Path, crawl: Path) -> None:
    for command in (("load", tmp_path), ("query", tmp_path, "ASK {}"), ("load", tmp_path / "absent")):
        assert "Name the output folder of a crawl" in told(*command)
    assert list(tmp_path.iterdir()) == []
    assert "not both" in told("load", crawl, "--store", tmp_path, "--endpoint", "http://127.0.0.1/")
    assert "is no URL of a store" in told("load", crawl, "--endpoint", "127.0.0.1:3030")


def test_a_store_in_use_is_told(crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offline.commands._PATIENCE", 0.05)
    with LocalStore(tmp_path):
        assert "is using this store; wait for it to end" in told("query", crawl, "ASK {}", "--store", tmp_path)


def test_an_empty_answer_without_a_graph_says_why(crawl: Path) -> None:
    result = aah("query", crawl, "SELECT ?s { ?s a sioc:Post }")
    assert result.exit_code == 0
    assert "write GRAPH ?capture { ... }" in result.stderr
    assert aah("query", crawl, "SELECT ?s { GRAPH ?g { ?s a sioc:Forum } }").stderr == ""


@pytest.mark.slow
def test_json_is_that_of_sparql(crawl: Path) -> None:
    query = "SELECT ?s ?t ?d ?none { GRAPH ?g { ?s dcterms:title ?t ; schema:datePublished ?d } } ORDER BY ?s"
    printed = aah("query", crawl, query, "--format", "json").stdout
    found = ox.parse_query_results(printed, ox.QueryResultsFormat.JSON)
    assert isinstance(found, ox.QuerySolutions)
    assert [variable.value for variable in found.variables] == ["s", "t", "d", "none"]
    with LocalStore(crawl / FOLDER) as store:
        expected = ask(store.rdf, query)
        assert [tuple(row) for row in found] == list(getattr(expected, "rows", ()))
        del expected
    assert (
        json.loads(aah("query", crawl, "ASK { GRAPH ?g { ?s ?p ?o } }", "--format", "json").stdout)["boolean"] is True
    )
    assert json.loads(aah("query", crawl, "SELECT ?s {}", "--format", "json").stdout)["results"]["bindings"] == [{}]


@pytest.mark.parametrize(
    ("query", "answer"), [("ASK { GRAPH ?g { ?s a sioc:Post } }", "true"), ("ASK { FILTER(1 > 2) }", "false")]
)
@pytest.mark.parametrize("output_format", ["table", "csv"])
def test_yes_and_no(crawl: Path, query: str, answer: str, output_format: str) -> None:
    assert aah("query", crawl, query, "--format", output_format).stdout == f"{answer}\n"


@pytest.mark.slow
def test_statements_are_written_once_as_turtle_json_ld_and_rows(crawl: Path) -> None:
    query = "CONSTRUCT { ?s schema:text ?t } { GRAPH ?g { ?s schema:text ?t } }"
    turtle = aah("query", crawl, query, "--format", "ttl").stdout
    parsed = {quad.triple for quad in ox.parse(turtle, ox.RdfFormat.TURTLE)}
    assert len(parsed) == turtle.count("schema:text") == 6
    linked = aah("query", crawl, query, "--format", "json").stdout
    assert {quad.triple for quad in ox.parse(linked, ox.RdfFormat.JSON_LD)} == parsed
    assert rows(crawl, query)[0] == ["subject", "predicate", "object"]
    assert aah("query", crawl, f"DESCRIBE <{THREAD.format(4)}#p1>", "--format", "ttl").exit_code == 0


@pytest.mark.slow
def test_text_of_pages_reaches_no_terminal_and_no_spreadsheet_as_a_command(crawl: Path) -> None:
    query = (
        "SELECT ?t ?b { GRAPH ?g { ?s schema:isPartOf <http://forum.test/t/3> ; dcterms:title ?t ; schema:text ?b } }"
    )
    table = aah("query", crawl, query).stdout
    assert "\x1b" not in table
    assert "�[31mBikes and more" in table
    assert rows(crawl, query)[1] == ["\x1b[31mBikes\nand more", "'=1+1"]
    assert (
        "[bold]"
        in aah("query", crawl, "SELECT ?b { GRAPH ?g { ?s schema:text ?b FILTER(CONTAINS(?b, 'hi')) } }").stdout
    )


def test_what_is_remembered_of_loading_is_in_no_graph(crawl: Path) -> None:
    assert segments_of(crawl)
    assert rows(crawl, "SELECT ?s { GRAPH ?g { ?s aah:loadedBytes ?n } }") == [["s"]]
    assert len(rows(crawl, "SELECT ?s { ?s aah:loadedBytes ?n }")) == 2
