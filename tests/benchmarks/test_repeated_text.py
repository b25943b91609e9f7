import json
from pathlib import Path

import pytest

from aahcrawler.webobject import Person, WebObject
from benchmarks.damage import Change, damaged
from benchmarks.recorded import RecordedSite, recorded_files
from benchmarks.repeated_text import additions, repeating
from benchmarks.truth import false_changes, words, wrong_values
from tests.benchmarks import tinysite


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> RecordedSite:
    return tinysite.record(tmp_path_factory.mktemp("repeated"))


def truth(site: RecordedSite) -> list[dict[str, str]]:
    return [json.loads(line) for line in (site.folder / "truth.jsonl").read_text("utf-8").splitlines()]


def test_pages_and_truth_repeat_alike(site: RecordedSite, tmp_path: Path) -> None:
    copy = repeating(site, tmp_path, 0)
    before, after = truth(site), truth(copy)
    grown = [row for old, row in zip(before, after, strict=True) if row["body"] != old["body"]]
    assert len(grown) >= len(before) // 2
    told = [
        " ".join(words("\n".join(page.tree.itertext()).replace("Buy rope", "")))
        for _, page in recorded_files(copy)
        if page.is_html
    ]
    for row in grown:
        assert f"-- {row['author']}: " in row["body"]
        assert any(" ".join(words(row["body"])) in page for page in told)


def test_every_second_answer_quotes_the_one_before_it() -> None:
    rows = [
        {"id": str(n), "url": "http://a.test/t", "author": f"P{n}", "body": f"Said {n}.", "parent": "0" if n else None}
        for n in range(40)
    ]
    quoting = [number for number, added in additions(rows, 0).items() if added.quote]
    assert 10 < len(quoting) < 30
    assert 0 not in quoting


def test_damage_of_one_kind_leaves_everything_else(site: RecordedSite, tmp_path: Path) -> None:
    copy = damaged(site, tmp_path, 3, 1, (Change.IDS,))
    for (_, before), (_, after) in zip(recorded_files(site), recorded_files(copy), strict=True):
        names = [[(each.tag, each.get("class")) for each in page.tree.iter()] for page in (before, after)]
        assert names[0] == names[1]


def test_wrong_is_counted_apart_from_absent(site: RecordedSite) -> None:
    row = next(row for row in truth(site) if row["author"])
    for author, wrong in ((row["author"], 0.0), (None, 0.0), ("Somebody Else", 1.0)):
        said = {"body": (row["body"],)} | ({"author": (Person(author),)} if author else {})
        found = wrong_values(site, [WebObject("urn:x", "post", row["url"], said)])
        assert found["author_wrong"] in (wrong, None)


def test_changes_without_a_cause_are_counted() -> None:
    one = WebObject("urn:1", "post", "http://a.test/", {"body": ("One",)})
    other = WebObject("urn:1", "post", "http://a.test/", {"body": ("Another",)})
    assert false_changes([((one,), (one,)), ((one,), (other,)), ((one,), ())]) == 2
