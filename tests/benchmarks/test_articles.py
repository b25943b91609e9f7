"""The benchmark of articles, on a world of two pages with a scorer of its own."""

import gzip
import json
import tarfile
from pathlib import Path

import pytest

from benchmarks import articles
from benchmarks.articles import Method, measure, worlds
from tests.induction.test_article_text import ICE, TEXT

SCORER = """
import gzip, json, pathlib, sys
world, read = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
truth = json.loads(gzip.open(world / "truth.json.gz").read())
rows = [json.loads(line) for line in read.read_text().splitlines()]
right = sum(truth[row["url"]] in row["text"] for row in rows)
print(json.dumps({"pages": len(truth), "empty": sum(not row["text"] for row in rows), "f1": right / len(truth)}))
"""
HEAD = '<html><head><title>Ice</title><meta name="generator" content="WordPress 6.1"></head>'
PAGES = {
    "http://blog.test/ice": f'{HEAD}<body class="single"><div><h1>Ice</h1>{TEXT}</div></body></html>',
    "odd::name": f"<html><head><title>Frost</title></head><body><main><h1>Frost</h1>{TEXT}</main></body></html>",
}


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shared" / "two"
    folder.mkdir(parents=True)
    (folder.parent / "score.py").write_text(SCORER)
    with gzip.open(folder / "truth.json.gz", "wt") as file:
        json.dump(dict.fromkeys(PAGES, ICE[0]), file)
    lines = []
    with tarfile.open(folder / "pages.tar.xz", "w:xz") as archive:
        for number, (url, markup) in enumerate(PAGES.items()):
            (tmp_path / f"{number}.html").write_text(markup)
            archive.add(tmp_path / f"{number}.html", f"{number}.html")
            lines.append(json.dumps({"url": url, "file": f"{number}.html"}))
        (tmp_path / "index.jsonl").write_text("\n".join(lines) + "\n")
        archive.add(tmp_path / "index.jsonl", "index.jsonl")
    monkeypatch.setattr(articles, "UNPACKED", tmp_path / "unpacked")
    return folder.parent


def test_each_method_reads_all_pages_and_ours_tells_applications_apart(shared: Path) -> None:
    [world] = worlds(shared, ())
    rows = {method: list(measure(world, method, shared / "score.py")) for method in Method}
    assert [(row["application"], row["pages"], row["f1"]) for row in rows[Method.OURS]] == [
        ("all", 2, 1),
        ("WordPress", 1, 1),
        ("none", 1, 1),
    ]
    assert all([row["application"] for row in rows[method]] == ["all"] for method in Method if method != Method.OURS)
    assert all(row[0]["f1"] == 1 and row[0]["empty"] == 0 for row in rows.values())


def test_only_the_worlds_that_are_named_are_read(shared: Path) -> None:
    assert list(worlds(shared, ("other",))) == []
