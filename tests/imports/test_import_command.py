"""``aah import`` makes a folder that everything else takes for that of a crawl."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.crawl.directory.folder import CrawlFolder, CrawlRefusedError
from aahcrawler.exits import MISTAKE, NOT_WHOLE
from aahcrawler.layout import DEFINITION, SUMMARY
from aahcrawler.replay.recorded_responses import RecordedResponses
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.cockpit.site import COOKIE
from online_analysis.icd import Icd
from tests.cockpit.cockpit_browser import OPERATOR, READER, serving
from tests.crawl.crawling import until
from tests.imports.archives import PAGE, Written, members, pages, record

TOPIC = """
id: floods
contact: archive@example.org
seeds: [http://dikes.test/]
topic: {keywords: [river, dike]}
"""
ARTICLE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><title>The dike holds</title>"
    b'<script type="application/ld+json">{"@context": "https://schema.org", "@type": "BlogPosting", '
    b'"headline": "The dike holds", "author": {"@type": "Person", "name": "Ann Boyd"}, '
    b'"datePublished": "2012-01-01", "articleBody": "The river has risen, and the dike holds."}</script>'
    b"<article><h1>The dike holds</h1><p>The river has risen, and the dike holds.</p></article></html>"
)
OTHER = PAGE.replace(b"The river has risen by two metres since Monday, and the dike holds.", b"Bread is baked at six.")


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    return result.exit_code, result.output


def rows(*arguments: object) -> list[dict[str, object]]:
    code, output = run(*arguments)
    assert code == 0
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    redirect = record(40, b"HTTP/1.1 301 Moved\r\nLocation: /1\r\n\r\n", url="http://dikes.test/old")
    picture = record(
        41, b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n", url="http://dikes.test/p"
    )
    later = record(42, ARTICLE, url="http://dikes.test/1", WARC_Date="2012-01-01T00:00:00Z")
    path = tmp_path / "dikes.warc.gz"
    path.write_bytes(members([*pages(3), redirect, picture, later]))
    return path


def test_captures_of_a_page_tell_what_became_of_it(tmp_path: Path) -> None:
    def captured(number: int, day: int, response: bytes) -> Written:
        return record(number, response, url="http://dikes.test/1", WARC_Date=f"2012-01-0{day}T00:00:00Z")

    edited = ARTICLE.replace(b"The river has risen, and the dike holds.</p>", b"The dike broke.</p>")
    around = edited.replace(b"</html>", b"<footer>Made in 2013</footer></html>")
    archives = [tmp_path / name for name in ("first.warc.gz", "second.warc.gz")]
    archives[0].write_bytes(members([captured(1, 1, ARTICLE), captured(3, 3, edited), captured(4, 4, around)]))
    archives[1].write_bytes(members([captured(2, 2, ARTICLE)]))
    told = []
    for archive in archives:
        assert run("import", archive, tmp_path / "imported")[0] == 0
        told.append([(row["state"], row["kind"]) for row in rows("changes", tmp_path / "imported", "--format=jsonl")])
    first, second = told
    assert first == [("new", None), ("changed", "content"), ("changed", "template")]
    assert second == [("new", None), ("unchanged", None), ("changed", "content"), ("changed", "template")]
    (changed,) = rows("changes", tmp_path / "imported", "--format=jsonl", "--kind=content")
    assert (changed["changed_after"], changed["seconds"]) == ("2012-01-02T00:00:00.000Z", None)


@pytest.mark.starts
def test_captures_of_a_table_are_compared_by_their_rows(tmp_path: Path) -> None:
    def captured(day: int, table: str) -> Written:
        response = f"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n\r\n{table}".encode()
        return record(day, response, url="http://dikes.test/gauges", WARC_Date=f"2012-01-0{day}T00:00:00Z")

    tables = "id,level\n1,5\n2,7\n", "level,id\n7,2\n5,1\n", "id,level\n1,5\n2,8\n3,1\n"
    archive = tmp_path / "tables.warc.gz"
    archive.write_bytes(members([captured(day, table) for day, table in enumerate(tables, 1)]))
    assert run("import", archive, tmp_path / "imported")[0] == 0
    told = rows("changes", tmp_path / "imported", "--format=jsonl")
    assert [(row["state"], row["kind"], row["statements"]) for row in told] == [
        ("new", None, None),
        ("unchanged", None, None),
        ("changed", "content", [1, 0, 1]),
    ]


@pytest.mark.slow
def test_pages_objects_selection_and_replay_work_on_imported_archives(archive: Path, tmp_path: Path) -> None:
    crawl = tmp_path / "crawls" / "dikes"
    code, output = run("import", archive, crawl)
    assert (code, "kept 6 of 6 records" in output, "5 pages and redirects read" in output) == (0, True, True)
    found = rows("pages", crawl)
    # A page counts once, however often it was captured.
    assert json.loads((crawl / SUMMARY).read_bytes())["pages"] == 3
    assert sorted(str(row["url"]) for row in found) == [
        f"http://dikes.test/{name}" for name in ("1", "1", "2", "3", "old")
    ]
    assert {row["score"] for row in found} == {None}
    assert [(row["title"], row["author"]) for row in rows("objects", crawl)] == [("The dike holds", "Ann Boyd")]
    code, output = run("select", crawl, "--from", "2012-01-01", "--to", tmp_path / "later.warc.gz")
    assert (code, "1 page" in output) == (0, True)
    response = RecordedResponses(crawl).nearest("http://dikes.test/1", "20120101000000")
    assert response is not None
    assert response.record_id == record(42, b"").record_id
    assert run("report", crawl)[0] == 0
    assert run("archive", "check", crawl)[0] == 0
    assert "0 captures read again" in run("reread", crawl)[1]
    assert "4 captures read again, 0 with another result" in run("reread", crawl, "--all")[1]


def test_the_same_command_does_nothing_the_second_time(archive: Path, tmp_path: Path) -> None:
    crawl = tmp_path / "dikes"
    run("import", archive, crawl)
    before = rows("pages", crawl)
    code, output = run("import", archive, crawl)
    assert (code, "kept 0 of 6 records; 6 not: 6 already there" in output) == (0, True)
    assert "0 pages and redirects read" in output
    assert rows("pages", crawl) == before


def test_pages_are_read_later_where_that_is_wished(archive: Path, tmp_path: Path) -> None:
    crawl = tmp_path / "dikes"
    run("import", "--no-read", archive, crawl)
    assert rows("pages", crawl) == []
    assert "5 pages and redirects read" in run("import", crawl)[1]
    assert len(rows("pages", crawl)) == 5


@pytest.mark.slow
def test_pages_are_scored_by_the_topic_of_a_definition(tmp_path: Path) -> None:
    crawl, icd, archive = tmp_path / "floods", tmp_path / "floods.yaml", tmp_path / "a.warc"
    icd.write_text(TOPIC, "utf-8")
    archive.write_bytes(record(1, PAGE % (b"1", b"1")).text + record(2, OTHER % (b"2", b"2")).text)
    assert run("import", "--icd", icd, archive, crawl)[0] == 0
    scores = {str(row["url"]): row["score"] for row in rows("pages", crawl)}
    about, other = scores["http://dikes.test/1"], scores["http://dikes.test/2"]
    assert isinstance(about, float)
    assert isinstance(other, float)
    assert about > other
    assert json.loads((crawl / SUMMARY).read_bytes())["harvest_ratio"] is not None
    icd.write_text(TOPIC.replace("river", "bread"), "utf-8")
    code, output = run("import", "--icd", icd, archive, crawl)
    assert (code, "another definition" in output) == (MISTAKE, True)


def test_an_import_is_shown_beside_a_crawl_of_the_same_definition(tmp_path: Path) -> None:
    icd, archive = tmp_path / "floods.yaml", tmp_path / "a.warc"
    icd.write_text(TOPIC + f"output: {tmp_path / 'crawls' / 'floods'}\n", "utf-8")
    archive.write_bytes(record(1, PAGE % (b"1", b"1")).text)
    with closing(CrawlFolder.open(Icd.load(icd))) as folder:
        folder.keep_definition(Icd.load(icd))
    for _ in range(2):
        code, output = run("import", "--no-read", "--icd", icd, archive, tmp_path / "crawls" / "before")
        assert (code, output) == (0, output)
    catalog = Catalog([tmp_path / "crawls"])
    assert [(crawl.id, crawl.is_import) for crawl in catalog.crawls()] == [("before", True), ("floods", False)]
    assert catalog.passed_over() == ()
    assert catalog.crawls()[0].icd.topic == catalog.crawls()[1].icd.topic


def test_what_could_not_be_kept_is_said_and_in_the_exit_code(archive: Path, tmp_path: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-30])
    code, output = run("import", archive, tmp_path / "dikes")
    assert code == NOT_WHOLE
    assert "kept 5 of 6 records; 1 not: 1 that cannot be read" in output
    assert f"{archive.name}, byte " in output


def test_other_folders_are_not_imported_into(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("Monday", "utf-8")
    for wrong in (tmp_path / "notes", tmp_path / "notes" / "diary.txt"):
        code, output = run("import", archive, wrong)
        assert code == MISTAKE
        assert "diary" in output or "imported archives" in output
    code, output = run("import", archive)
    assert (code, "behind them the folder" in output) == (MISTAKE, True)
    assert archive.is_file()
    code, output = run("import", tmp_path / "missing.warc", tmp_path / "dikes")
    assert (code, "is not there" in output) == (MISTAKE, True)


def test_the_folder_opens_in_the_cockpit_though_no_crawl_ever_ran_in_it(archive: Path, tmp_path: Path) -> None:
    place = tmp_path / "crawls"
    run("import", archive, place / "dikes")
    assert json.loads((place / "dikes" / DEFINITION).read_bytes())["id"] == '"dikes"'
    with serving(place) as cockpit:
        cookie = f"{COOKIE}={cockpit.entered(READER)}"

        def shown(path: str) -> bytes:
            response = cockpit.ask("GET", f"/crawls/dikes{path}", Cookie=cookie)
            assert response.status == 200, path
            return response.body

        assert b"dikes" in cockpit.ask("GET", "/", Cookie=cookie).body
        until(lambda: b"http://dikes.test/3" in shown("/pages").replace(b"<wbr>", b""))
        for path in ("", "/objects", "/failures", "/queue", "/sites", "/seeds", "/definition", "/log", "/exclusions"):
            shown(path)
        capture = record(3, b"").record_id.removeprefix("urn:uuid:")
        assert b"The dike at 3" in shown(f"/captures/{capture}")


def test_an_import_is_shown_as_one_and_no_crawl_begins_there(archive: Path, tmp_path: Path) -> None:
    place = tmp_path / "crawls"
    archive.write_bytes(archive.read_bytes()[:-30])
    run("import", archive, place / "dikes")
    with serving(place) as cockpit:
        cookie = f"{COOKIE}={cockpit.entered(OPERATOR)}"

        def shown(path: str) -> str:
            return cockpit.ask("GET", path, Cookie=cookie).body.decode().replace("<wbr>", "")

        first, listed = shown("/crawls/dikes"), shown("/")
        assert "What was imported" in first
        assert "dikes.warc.gz" in first
        assert "its compressed data are damaged" in first or "the file ends" in first
        assert ">5<" in first.partition("Records kept")[2][:40]
        for page in (first, listed, shown("/crawls/dikes/manage")):
            assert "Crawl again" not in page
            assert "acts/start" not in page
        for path in ("/crawls/dikes", "/", "/crawls/dikes/manage", "/crawls/dikes/definition", "/new"):
            assert "nobody.invalid" not in shown(path), path
        assert "a second" not in first
        assert not [page for page in (first, listed) if "of the limit" in page]
        session = cookie.removeprefix(f"{COOKIE}=")
        fields = {"secret": cockpit.form_secret(session)}
        response = cockpit.post("/crawls/dikes/acts/start", fields, session)
        assert response.status == 409
        assert b"no crawl runs there" in response.body


def test_a_crawl_and_an_import_do_not_share_a_folder(archive: Path, tmp_path: Path) -> None:
    icd = tmp_path / "floods.yaml"
    icd.write_text(f"{TOPIC}output: {tmp_path / 'dikes'}\n", "utf-8")
    run("import", archive, tmp_path / "dikes")
    with pytest.raises(CrawlRefusedError, match="holds imported archives"):
        CrawlFolder.open(Icd.load(icd), accept_changes=True)
    (tmp_path / "floods").mkdir()
    (tmp_path / "floods" / DEFINITION).write_text("{}", "utf-8")
    code, output = run("import", archive, tmp_path / "floods")
    assert (code, "is the folder of a crawl" in output) == (MISTAKE, True)
    assert [path.name for path in (tmp_path / "floods").iterdir()] == [DEFINITION]
