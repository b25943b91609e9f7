"""A sample of a collection out of archives: seeds looked up, captures scored, and nothing kept."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.exits import MISTAKE
from tests.crawl.world import define
from tests.sources.dated import Dated, page, write_archive

HOME = "http://dikes.test/"
EVENT = {"start": "2013-06-01", "end": "2013-06-30", "cool_down": "4 weeks"}
FLOOD = "The storm surge floods the harbour, and the dike breaks."


def archive(folder: Path) -> Path:
    return write_archive(
        folder / "old.warc.gz",
        [
            Dated(HOME, "2012-01-01T10:00:00Z", page("Before", "/never")),
            Dated(HOME, "2013-06-05T10:00:00Z", page("Flood", "/levels", "/cakes", "/gone", "/private/diary")),
            Dated(f"{HOME}levels", "2013-06-20T10:00:00Z", page("Levels of the river", "/deep")),
            Dated(f"{HOME}cakes", "2013-06-06T00:00:00Z", page("Cakes", text="Butter and sugar make it sweet. " * 9)),
            Dated(f"{HOME}deep", "2019-06-06T00:00:00Z", page("Years later")),
            Dated(f"{HOME}private/diary", "2013-06-06T00:00:00Z", page("A diary of the flood")),
        ],
    )


def defined(folder: Path, **sections: object) -> Path:
    fields: dict[str, object] = {
        "captures": {"sources": [{"archive": str(archive(folder))}]},
        "event": EVENT,
        "scope": {"deny": ["/private/"]},
        "scoring": {"relevance": {"combination": "gated"}, "relevant": 0.5},
        "network": {},
        **sections,
    }
    return define(folder, [HOME, "http://nobody.test/", f"{HOME}levels"], **fields)


def sampled(path: Path, captures: int = 50) -> tuple[int, dict[str, Any]]:
    ended = CliRunner().invoke(app, ["icd", "try", str(path), "--sample", str(captures), "--json"])
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    (found,) = [each for each in told if each["kind"] == "sample"]
    return ended.exit_code, found


def test_seeds_are_looked_up_and_captures_scored_by_topic_and_time(tmp_path: Path) -> None:
    path = defined(tmp_path)
    code, found = sampled(path)
    assert code == 0
    home, nobody, levels = found["seeds"]
    assert (home["captures"], home["first"][:10], home["last"][:10]) == (2, "2012-01-01", "2013-06-05")
    assert home["nearest"][:10] == "2013-06-05"
    assert (nobody["captures"], nobody["nearest"], nobody["problem"]) == (0, "", "no archive has it")
    assert levels["captures"] == 1
    by_title = {each["title"]: each for each in found["best"]}
    assert set(by_title) == {"Flood", "Levels of the river", "Cakes", "Years later"}
    assert by_title["Flood"]["time"] == 1
    assert by_title["Flood"]["topic"] > 0.5 > by_title["Cakes"]["topic"]
    assert by_title["Years later"]["topic"] > 0.5 > by_title["Years later"]["score"]
    assert found["best"][0]["score"] == max(each["score"] for each in found["best"])
    members = {each["threshold"]: each["captures"] for each in found["members"]}
    assert members[0.5] == sum(each["score"] >= 0.5 for each in found["best"]) == 2
    assert list(members.values()) == sorted(members.values(), reverse=True)
    assert sorted(found["missing_urls"]) == [f"{HOME}gone", "http://nobody.test/"]
    assert (found["missing"], found["taken"], found["ended"]) == (2, 4, "nothing is left to be looked up")
    assert {each.name for each in tmp_path.iterdir()} == {"icd.yaml", "old.warc.gz"}


def test_what_each_archive_holds_of_the_seeds_is_told(tmp_path: Path) -> None:
    other = write_archive(tmp_path / "other.warc.gz", [Dated(HOME, "2013-06-07T10:00:00Z", page("Once more"))])
    sources = [{"archive": str(archive(tmp_path))}, {"name": "Other", "archive": str(other)}]
    path = defined(tmp_path, captures={"sources": sources})
    _, found = sampled(path)
    assert found["sources"] == [
        {"name": "old.warc.gz", "seeds": 2, "captures": 3, "failed": 0},
        {"name": "Other", "seeds": 1, "captures": 1, "failed": 0},
    ]
    assert found["seeds"][0]["captures"] == 3
    told = CliRunner().invoke(app, ["icd", "try", str(path), "--sample", "5"]).output
    assert "Other: 1 seed, 1 capture" in told


def test_a_sample_ends_with_the_captures_that_are_wanted(tmp_path: Path) -> None:
    code, found = sampled(defined(tmp_path), 1)
    assert (code, found["taken"], found["ended"]) == (0, 1, "enough was looked up")
    assert found["best"][0]["title"] == "Flood"


def test_links_of_pages_below_the_bound_are_not_followed(tmp_path: Path) -> None:
    scoring = {"relevance": {"combination": "gated"}, "relevant": 0.5, "follow": 1.0}
    found = sampled(defined(tmp_path, scoring=scoring, event={"start": "2015-01-01", "end": "2015-01-02"}))[1]
    assert {each["title"] for each in found["best"]} == {"Flood", "Levels of the river"}
    assert {each["time"] for each in found["best"]} == {0.0}
    assert found["ended"].startswith(f"no seed scored more than {found['best'][0]['score']:.3f}, below 1, ")
    assert "nothing was followed; lower scoring.follow" in found["ended"]


def test_members_are_counted_up_to_the_best_score_where_all_are_low(tmp_path: Path) -> None:
    topic = {"documents": ["text.txt"]}
    (tmp_path / "text.txt").write_text(
        f"{'Ministers of many countries met to talk about taxes and trade. ' * 9} {FLOOD}"
    )
    found = sampled(defined(tmp_path, topic=topic, scoring={"relevant": 0.5, "follow": 0.0}))[1]
    best = found["best"][0]["score"]
    assert 0 < best < 0.2
    counts = {each["threshold"]: each["captures"] for each in found["members"]}
    assert counts.pop(0.5) == 0
    assert len(counts) >= 6
    assert all(threshold <= best and number for threshold, number in counts.items())


def test_people_are_told_the_same_and_the_live_web_is_no_archive(tmp_path: Path) -> None:
    run = CliRunner()
    told = run.invoke(app, ["icd", "try", str(defined(tmp_path)), "--sample", "50"]).stdout
    assert f"{HOME}: 2 captures, 2012-01-01 to 2013-06-05; 2013-06-05 would be taken first" in told
    assert "members from 0.5 on: 2 of 4, as the definition has it" in told
    assert "2 URLs in no archive" in told
    refused = run.invoke(app, ["icd", "try", str(defined(tmp_path, captures={})), "--sample", "50"])
    assert refused.exit_code == MISTAKE
    assert "captures.sources names no archive" in refused.stderr


def test_a_reference_document_comes_from_the_archive_that_captures_come_from(tmp_path: Path) -> None:
    topic = {"documents": [f"{HOME}levels"], "keywords": ["harbour"]}
    code, found = sampled(defined(tmp_path, topic=topic))
    assert code == 0
    best = found["best"][0]
    assert (best["url"], best["topic"] > 0.9) == (f"{HOME}levels", True)


def test_a_reference_document_that_no_archive_has_is_told(tmp_path: Path) -> None:
    topic = {"documents": [f"{HOME}nowhere"], "keywords": ["harbour"]}
    told = CliRunner().invoke(app, ["icd", "try", str(defined(tmp_path, topic=topic)), "--sample", "5"])
    assert "topic.documents[0]" in told.stderr
    assert "none of the sources has it" in told.stderr


def test_what_the_institution_excludes_is_no_seed_no_capture_and_no_reference(tmp_path: Path) -> None:
    (tmp_path / "exclusions.txt").write_text(f"{HOME}levels\n")
    topic = {"documents": [f"{HOME}levels"], "keywords": ["harbour", "flood"]}
    told = CliRunner().invoke(app, ["icd", "try", str(defined(tmp_path, topic=topic)), "--sample", "50", "--json"])
    found = json.loads(told.stdout.splitlines()[-1])
    assert found["seeds"][2]["problem"] == "out of scope: excluded"
    assert {each["title"] for each in found["best"]} == {"Flood", "Cakes"}
    assert "the institution excludes it" in told.stdout
