"""Applications that scripts outside of the project build: filled, served, crawled and scored, unknown and known."""

import sys
from pathlib import Path

import pytest

from benchmarks.software.installation import InstallationError
from benchmarks.software.measuring import Case, Plan
from benchmarks.software.scripted import Scripted, build, described, measure_scripted, without_entries
from benchmarks.software.writing import QUICK

FILLS = '''import json, pathlib
here = pathlib.Path("@HERE@")
page = """<!DOCTYPE html><html lang="en"><head><title>%(title)s</title></head>
<body><h1>%(title)s</h1>%(body)s</body></html>"""
post = """<div class="post" id="p%(n)d"><a class="author" href="/people.html">%(author)s</a>
<time datetime="2011-03-0%(n)dT10:00:00Z">2011-03-0%(n)d</time><div class="text">%(text)s</div></div>"""
text = "Boat number %d went out past the pier in the %d. hour, and lamps of the harbour followed its %d men for long."
items = []
(here / "out").mkdir()
for thread in range(1, 6):
    posts = [{"n": n, "author": "Ann Bo Cy Di Ed".split()[(n + thread) % 5], "text": text % (n * thread, n, thread + n)}
             for n in range(1, 5)]
    title = "Crossing number %d" % thread
    (here / "out" / ("t%d.html" % thread)).write_text(page % {"title": title, "body": "".join(post % p for p in posts)})
    items += [{"page": "/t%d.html" % thread, "kind": "post", "title": title, "author": p["author"],
               "date": "2011-03-0%d" % p["n"], "bodies": [p["text"]]} for p in posts]
links = "".join('<p><a href="/t%d.html">Crossing number %d</a></p>' % (n, n) for n in range(1, 6))
(here / "out" / "index.html").write_text(page % {"title": "Harbour", "body": links})
(here / "truth" / "boats.json").write_text(json.dumps({"items": items}))
'''
BOATS = Scripted(
    "boats",
    (sys.executable, "sites/boats.py"),
    (sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", "out"),
    {},
    entry="phpbb",
)


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    for name in ("sites", "icd"):
        (folder / name).mkdir(parents=True)
    (folder / "sites" / "boats.py").write_text(FILLS, "utf-8")
    (folder / "icd" / "boats.yaml").write_text("id: boats\nseeds: [http://boats.seen.test/index.html]\n", "utf-8")
    return folder


@pytest.mark.soak
def test_an_application_of_a_script_is_crawled_unknown_and_known(scripts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "measured"
    folder.mkdir()
    plan = Plan(frozenset({Case.UNKNOWN, Case.KNOWN}), (), QUICK, 1)
    rows = list(measure_scripted(BOATS, scripts, plan, folder))
    assert [row["case"] for row in rows] == [Case.UNKNOWN, Case.KNOWN]
    for row in rows:
        assert (row["recall"], row["author"], row["date"]) == (1, 1, 1)
    assert "@HERE@" in (scripts / "sites" / "boats.py").read_text("utf-8"), "The scripts themselves stay as they are."


def test_only_the_cases_that_apply_are_measured(scripts: Path, tmp_path: Path) -> None:
    plan = Plan(frozenset({Case.EDITS}), (), QUICK, 1)
    assert not list(measure_scripted(BOATS, scripts, plan, tmp_path))
    assert not (tmp_path / "here").exists()


def test_a_folder_without_scripts_is_told(tmp_path: Path) -> None:
    with pytest.raises(InstallationError, match="say where with --scripts"):
        build(BOATS, tmp_path / "nowhere", tmp_path / "here")


def test_what_a_script_fails_with_is_told(scripts: Path, tmp_path: Path) -> None:
    (scripts / "sites" / "boats.py").write_text("raise SystemExit('no boats today')", "utf-8")
    with pytest.raises(InstallationError, match="no boats today"):
        build(BOATS, scripts, tmp_path / "here")


def test_the_knowledge_base_of_an_unknown_application_lacks_its_file_alone(tmp_path: Path) -> None:
    copy = without_entries(["trac", "roundup"], tmp_path / "kb")
    left = {file.stem for file in (copy / "applications").glob("*.xml")}
    assert "phpbb" in left
    assert not left & {"trac", "roundup"}


def test_the_first_body_is_the_whole_one() -> None:
    item = {"page": "/m1", "title": None, "author": "Ann", "date": None, "bodies": ["all of it", "it"]}
    found = described(3, item)
    assert (found.id, found.url, found.body, found.others) == ("3", "/m1", "all of it", ("it",))
